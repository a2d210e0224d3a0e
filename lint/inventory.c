#include "lint/inventory.h"

#include "base/out.h"
#include "lint/report_parts.h"

/* Text in a column, cleaned; wider text moves what follows. */
static void put_cell(struct strbuf *out, const char *text, size_t width)
{
	size_t from = out->len;

	put_clean(out, text);
	for (size_t len = out->len - from; len < width; len++)
		strbuf_addc(out, ' ');
	strbuf_adds(out, "  ");
}

static void end_line(struct strbuf *out)
{
	while (out->len && out->data[out->len - 1] == ' ')
		strbuf_truncate(out, out->len - 1);
	strbuf_addc(out, '\n');
}

void inventory_stack_text(const struct facts *facts, struct strbuf *out)
{
	cleanup_json json_t *stack = inventory_stack(facts);
	const char *name;
	json_t *version;

	json_object_foreach(stack, name, version)
	{
		put_cell(out, name, 10);
		put_clean(out, json_string_value(version));
		strbuf_addc(out, '\n');
	}
	if (!json_object_size(stack))
		strbuf_adds(out, "nothing of a GPU stack is known\n");
}

static char type_letter(enum tar_type type)
{
	static const char letters[] = {
		[TAR_FILE] = '-', [TAR_DIR] = 'd',   [TAR_SYMLINK] = 'l', [TAR_HARDLINK] = 'h',
		[TAR_CHAR] = 'c', [TAR_BLOCK] = 'b', [TAR_FIFO] = 'p'
	};

	return letters[type];
}

void inventory_tree_text(const struct facts *facts, struct strbuf *out)
{
	cleanup_strbuf struct strbuf path = { 0 };
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	for (size_t i = 0; i < count; i++) {
		const struct tree_node *n = nodes[i], *target = tree_target(n);

		strbuf_addf(out, "%c%04o %5" PRIu32 ":%-5" PRIu32 " %12" PRIu64 " ",
			    type_letter(n->entry.type), n->entry.mode, n->entry.uid, n->entry.gid,
			    n->entry.size);
		if (!facts->is_rootfs)
			strbuf_addf(out, "%3" PRIu32 " ", n->layer);
		put_clean(out, facts_path_in(facts, n, &path));
		if (target || *tree_link(n)) {
			strbuf_adds(out, target ? " => " : " -> ");
			put_clean(out, target ? facts_path_in(facts, target, &path) : tree_link(n));
		}
		strbuf_addc(out, '\n');
	}
}

void inventory_packages_text(const struct facts *facts, struct strbuf *out)
{
	for (size_t i = 0; i < facts->packages.len; i++) {
		const struct package *p = &facts->packages.items[i];

		put_cell(out, p->kind, 5);
		put_cell(out, p->name, 36);
		put_cell(out, p->version, 0);
		end_line(out);
	}
}

void inventory_components_text(const struct facts *facts, struct strbuf *out)
{
	cleanup_arena struct arena arena = { 0 };
	struct components components = { 0 };

	components_find(facts, &arena, &components);
	for (size_t i = 0; i < components.len; i++) {
		char size[32];

		strbuf_addf(out, "%10s %8zu files  ", out_size(components.items[i].bytes, size),
			    components.items[i].files);
		put_clean(out, components.items[i].name);
		strbuf_addc(out, '\n');
	}
	vec_release(&components);
}

/* ------------------------------------------------------------------------- GPU code */

static bool is_kind(const struct gpu_row *row, enum fatbin_kind kind)
{
	return row->kind == kind || (kind == FATBIN_CUBIN && row->kind == FATBIN_OLD_CUBIN);
}

/* The next architecture of that kind after `last`, as sm and suffix in one number; 0: none. */
static unsigned next_architecture(const struct gpu_code *code, enum fatbin_kind kind, unsigned last)
{
	unsigned next = 0;

	for (size_t i = 0; i < code->count; i++) {
		const struct gpu_row *row = &code->rows[i];
		unsigned at = row->sm * 256 + (uint8_t)row->suffix;

		if (is_kind(row, kind) && at > last && (!next || at < next))
			next = at;
	}
	return next;
}

/* "80 90a", each architecture of that kind once. */
static void put_architectures(struct strbuf *out, const struct gpu_code *code,
			      enum fatbin_kind kind)
{
	unsigned at = 0;

	while ((at = next_architecture(code, kind, at))) {
		strbuf_addf(out, "%s%u", out->len ? " " : "", at / 256);
		if (at % 256)
			strbuf_addc(out, (char)(at % 256));
	}
	if (!out->len)
		strbuf_addc(out, '-');
}

static uint64_t stored_of(const struct gpu_code *code)
{
	uint64_t stored = 0;

	for (size_t i = 0; i < code->count; i++)
		stored += code->rows[i].stored;
	return stored;
}

static void put_code(struct strbuf *out, const struct gpu_code *code, const char *path)
{
	static const enum fatbin_kind kinds[] = { FATBIN_CUBIN, FATBIN_PTX, FATBIN_LTO };
	char size[32];

	strbuf_addf(out, "%10s  ", out_size(stored_of(code), size));
	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		cleanup_strbuf struct strbuf cell = { 0 };

		put_architectures(&cell, code, kinds[k]);
		put_cell(out, strbuf_text(&cell), k ? 10 : 32);
	}
	put_clean(out, path);
	strbuf_addc(out, '\n');
}

void inventory_gpu_text(const struct facts *facts, struct strbuf *out)
{
	size_t count, rows = 0;
	struct tree_node **nodes = facts_nodes(facts, &count);

	for (size_t i = 0; i < count; i++) {
		const struct file_facts *f =
			nodes[i]->entry.type == TAR_FILE ? node_facts(nodes[i]) : NULL;
		const struct gpu_code *code = !f ? NULL : f->elf ? f->elf->gpu : f->gpu;

		if (!code || !code->count)
			continue;
		if (!rows++)
			strbuf_addf(out, "%10s  %-32s  %-10s  %-10s  %s\n", "GPU code",
				    "machine code (sm)", "PTX", "LTO-IR", "file");
		put_code(out, code, facts_path(facts, nodes[i]));
	}
	if (!rows)
		strbuf_adds(out, "no GPU code\n");
}
