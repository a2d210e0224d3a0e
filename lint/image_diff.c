#include "lint/image_diff.h"

#include "base/out.h"
#include "lint/facts.h"
#include "lint/report_parts.h"

enum { PARTS = 7 };

/* One side. */
struct side {
	struct facts facts;
	struct lint_result result;
};

static void release(struct side *side)
{
	lint_result_release(&side->result);
	facts_release(&side->facts);
}

static int read_side(struct image *image, const struct lint_options *options, struct side *side,
		     struct error *err)
{
	side->facts.hash_files = true;
	side->facts.known = options->cache;
	side->facts.site = options->policy.site;
	if (facts_read(&side->facts, image, &options->target, err) < 0 ||
	    lint_judge(&side->facts, options, &side->result, err) < 0)
		return error_wrap(err, "%s", image->name);
	if (side->result.unreadable)
		return error_set(err, ERROR_INTEGRITY, "%s could not be read completely: %s",
				 image->name, side->result.unreadable);
	return 0;
}

static const char *kept(struct arena *arena, const char *text)
{
	return text ? arena_strdup(arena, text) : NULL;
}

/* Rows of what two maps of texts do not share. */
static void compare(struct arena *arena, struct map *a, struct map *b, struct diff_rows *out)
{
	const struct map_entry *left = map_sorted(a), *right = map_sorted(b);
	size_t i = 0, k = 0;

	while (i < a->len || k < b->len) {
		int c = i == a->len ? 1 : k == b->len ? -1 : strcmp(left[i].key, right[k].key);
		const char *key = c <= 0 ? left[i].key : right[k].key;
		const char *before = c <= 0 ? left[i].value : NULL;
		const char *after = c >= 0 ? right[k].value : NULL;

		if (c || !str_equal(before, after))
			vec_push(out,
				 ((struct diff_row){ arena_strdup(arena, key), kept(arena, before),
						     kept(arena, after) }));
		i += c <= 0;
		k += c >= 0;
	}
}

/* Collects what one side has of a part into a map; texts live in the arena. */
typedef void collect_fn(const struct side *side, struct arena *arena, struct map *out);

static void put(struct map *out, const char *key, const char *value)
{
	map_put(out, key, (void *)(uintptr_t)value);
}

static void collect_stack(const struct side *side, struct arena *arena, struct map *out)
{
	struct report_stack parts[8];
	size_t count;

	(void)arena;
	report_stack(&side->result, parts, &count);
	for (size_t i = 0; i < count; i++)
		put(out, parts[i].name, parts[i].version);
	if (side->result.platform)
		put(out, "platform", side->result.platform);
}

static void collect_packages(const struct side *side, struct arena *arena, struct map *out)
{
	const struct facts *facts = &side->facts;

	for (size_t i = 0; i < facts->packages.len; i++) {
		const struct package *p = &facts->packages.items[i];
		const char *arch = p->arch ? p->arch : "";
		const char *key = arena_printf(arena, "%s%s%s (%s)", p->name, *arch ? ":" : "",
					       arch, p->kind);
		const char *have = map_get(out, key);

		put(out, key,
		    have && !str_equal(have, p->version)
			    ? arena_printf(arena, "%s, %s", have, p->version)
			    : p->version);
	}
}

static const char *joined(const struct string_list *list, struct arena *arena)
{
	const char *text = "";

	for (size_t i = 0; i < list->count; i++)
		text = arena_printf(arena, "%s%s%s", text, i ? " " : "", list->items[i]);
	return secrets_masked(text, arena);
}

static void put_list(struct map *out, const char *key, const struct string_list *list,
		     struct arena *arena)
{
	if (list->count)
		put(out, key, joined(list, arena));
}

static void put_text(struct map *out, const char *key, const char *text)
{
	if (text && *text)
		put(out, key, text);
}

static void collect_config(const struct side *side, struct arena *arena, struct map *out)
{
	const struct image_config *c = side->facts.config;

	for (size_t i = 0; i < c->env.count; i++) {
		const char *variable = secrets_masked(c->env.items[i], arena);
		int len = (int)strcspn(variable, "=");

		put(out, arena_printf(arena, "Env %.*s", len, variable),
		    variable[len] ? variable + len + 1 : "");
	}
	for (size_t i = 0; i < c->label_keys.count; i++)
		put(out, arena_printf(arena, "Label %s", c->label_keys.items[i]),
		    secrets_masked(c->label_values.items[i], arena));
	put_list(out, "Entrypoint", &c->entrypoint, arena);
	put_list(out, "Cmd", &c->cmd, arena);
	put_list(out, "ExposedPorts", &c->ports, arena);
	put_list(out, "Volumes", &c->volumes, arena);
	put_text(out, "User", c->user);
	put_text(out, "WorkingDir", c->workdir);
	put_text(out, "StopSignal", c->stop_signal);
}

static void collect_layers(const struct side *side, struct arena *arena, struct map *out)
{
	const struct image_config *c = side->facts.config;
	char digest[DIGEST_TEXT_MAX], size[32];

	for (size_t i = 0; i < c->diff_id_count; i++) {
		uint64_t bytes = i < side->result.layer_list.len
					 ? side->result.layer_list.items[i].bytes
					 : 0;

		put(out, arena_printf(arena, "layer %3zu", i),
		    arena_printf(arena, "%.19s, %s", digest_text(&c->diff_ids[i], digest),
				 out_size(bytes, size)));
	}
}

static const char *file_text(const struct tree_node *node, struct arena *arena)
{
	const struct tree_node *file = tree_target(node) ? tree_target(node) : node;
	const struct file_facts *f = node_facts(node);
	char digest[DIGEST_TEXT_MAX] = "", size[32];

	if (file->entry.type == TAR_FILE)
		return arena_printf(arena, "%s, %.19s", out_size(file->entry.size, size),
				    f && f->hashed ? digest_text(&f->digest, digest) : "not read");
	if (node->entry.type == TAR_SYMLINK)
		return arena_printf(arena, "-> %s", tree_link(node));
	return node->entry.type == TAR_DIR ? "directory" : "special file";
}

static void collect_files(const struct side *side, struct arena *arena, struct map *out)
{
	size_t count;
	struct tree_node **nodes = facts_nodes(&side->facts, &count);

	for (size_t i = 0; i < count; i++) {
		const struct tree_node *n = nodes[i];

		put(out, facts_path(&side->facts, n),
		    n->entry.type == TAR_SYMLINK
			    ? file_text(n, arena)
			    : arena_printf(arena, "%s, %04o %" PRIu32 ":%" PRIu32,
					   file_text(n, arena), n->entry.mode, n->entry.uid,
					   n->entry.gid));
	}
}

static void collect_findings(const struct side *side, struct arena *arena, struct map *out)
{
	for (size_t i = 0; i < side->result.findings.len; i++) {
		const struct finding *f = side->result.findings.items[i];

		if (!f->suppressed)
			put(out,
			    arena_printf(arena, "%s %s [%.8s]", f->rule->id,
					 *f->path ? f->path : f->rule->name, f->fingerprint),
			    arena_printf(arena, "%s: %s", severity_name(f->severity), f->message));
	}
}

static void collect_sizes(const struct side *side, struct arena *arena, struct map *out)
{
	char size[32];

	put(out, "all files", arena_strdup(arena, out_size(side->result.bytes, size)));
	for (size_t i = 0; i < side->result.components.len; i++)
		put(out, side->result.components.items[i].name,
		    arena_strdup(arena, out_size(side->result.components.items[i].bytes, size)));
}

static void compare_part(const struct side *a, const struct side *b, collect_fn *collect,
			 struct arena *arena, struct diff_rows *out)
{
	cleanup_arena struct arena scratch = { 0 };
	cleanup_map struct map left = { 0 }, right = { 0 };

	collect(a, &scratch, &left);
	collect(b, &scratch, &right);
	compare(arena, &left, &right, out);
}

/* The same rule at the same place with other words is no change. */
static void drop_reworded(struct diff_rows *rows)
{
	size_t left = 0;

	for (size_t i = 0; i < rows->len; i++) {
		if (!rows->items[i].before || !rows->items[i].after)
			rows->items[left++] = rows->items[i];
	}
	rows->len = left;
}

static void compare_sides(const struct side *a, const struct side *b, struct image_diff *out)
{
	struct arena *arena = &out->arena;

	compare_part(a, b, collect_stack, arena, &out->stack);
	compare_part(a, b, collect_packages, arena, &out->packages);
	compare_part(a, b, collect_files, arena, &out->files);
	compare_part(a, b, collect_findings, arena, &out->findings);
	drop_reworded(&out->findings);
	compare_part(a, b, collect_sizes, arena, &out->sizes);
	if (a->facts.config && b->facts.config) {
		compare_part(a, b, collect_config, arena, &out->config);
		compare_part(a, b, collect_layers, arena, &out->layers);
	}
	out->different = out->stack.len || out->packages.len || out->config.len ||
			 out->layers.len || out->files.len || out->findings.len;
}

int image_diff_make(struct image *a, struct image *b, const struct lint_options *options,
		    struct image_diff *out, struct error *err)
{
	struct side left = { 0 }, right = { 0 };
	int rc;

	*out = (struct image_diff){ 0 };
	rc = read_side(a, options, &left, err);
	if (rc == 0)
		rc = read_side(b, options, &right, err);
	if (rc == 0)
		compare_sides(&left, &right, out);
	out->before = arena_strdup(&out->arena, a->name);
	out->after = arena_strdup(&out->arena, b->name);
	release(&left);
	release(&right);
	return rc;
}

void image_diff_release(struct image_diff *diff)
{
	vec_release(&diff->stack);
	vec_release(&diff->packages);
	vec_release(&diff->config);
	vec_release(&diff->layers);
	vec_release(&diff->files);
	vec_release(&diff->findings);
	vec_release(&diff->sizes);
	arena_release(&diff->arena);
}

/* ------------------------------------------------------------------------- reports */

/* The parts in the order in which they are told. */
struct part {
	const char *name;
	const struct diff_rows *rows;
};

static void parts_of(const struct image_diff *d, struct part out[PARTS])
{
	const struct part parts[PARTS] = {
		{ "stack", &d->stack },   { "packages", &d->packages },
		{ "config", &d->config }, { "findings", &d->findings },
		{ "layers", &d->layers }, { "sizes", &d->sizes },
		{ "files", &d->files },
	};

	memcpy(out, parts, sizeof(parts));
}

static void put_row(struct strbuf *out, const struct diff_row *row)
{
	strbuf_adds(out, !row->before ? "  + " : !row->after ? "  - " : "  ~ ");
	put_clean(out, row->what);
	strbuf_adds(out, ": ");
	if (row->before)
		put_clean(out, row->before);
	if (row->before && row->after)
		strbuf_adds(out, "  =>  ");
	if (row->after)
		put_clean(out, row->after);
	strbuf_addc(out, '\n');
}

void image_diff_text(const struct image_diff *diff, size_t rows_max, struct strbuf *out)
{
	struct part parts[PARTS];

	if (diff->different) {
		strbuf_adds(out, "- ");
		put_clean(out, diff->before);
		strbuf_adds(out, "\n+ ");
		put_clean(out, diff->after);
		strbuf_addc(out, '\n');
	}
	parts_of(diff, parts);
	for (size_t i = 0; i < PARTS; i++) {
		const struct diff_rows *rows = parts[i].rows;

		if (!rows->len)
			continue;
		strbuf_addf(out, "%s\n", parts[i].name);
		for (size_t k = 0; k < rows->len && k < rows_max; k++)
			put_row(out, &rows->items[k]);
		if (rows->len > rows_max)
			strbuf_addf(out, "  and %zu more (-v for all)\n", rows->len - rows_max);
	}
	if (!diff->different)
		strbuf_adds(out, "no difference\n");
}

static json_t *rows_json(const struct diff_rows *rows)
{
	json_t *out = json_array();

	for (size_t i = 0; i < rows->len; i++) {
		const struct diff_row *row = &rows->items[i];
		json_t *one = json_object();

		json_put(one, "what", json_text(row->what));
		json_put(one, "before", row->before ? json_text(row->before) : json_null());
		json_put(one, "after", row->after ? json_text(row->after) : json_null());
		json_push(out, one);
	}
	return out;
}

json_t *image_diff_json(const struct image_diff *diff)
{
	json_t *out = json_object();
	struct part parts[PARTS];

	parts_of(diff, parts);
	json_put(out, "schema", json_text("gpuimg-diff/1"));
	json_put(out, "before", json_text(diff->before));
	json_put(out, "after", json_text(diff->after));
	json_put(out, "different", json_boolean(diff->different));
	for (size_t i = 0; i < PARTS; i++)
		json_put(out, parts[i].name, rows_json(parts[i].rows));
	return out;
}
