#include "lint/facts_parts.h"

enum { UNDEFINED_KEPT = 16384, VERSIONS_KEPT = 4096 };

uint64_t symbol_hash(struct slice name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < name.len; i++)
		hash = (hash ^ name.data[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* Beginnings of the names that rules ask about: libraries whose copies get mixed up. */
static const char *const families[] = {
	"nccl",        "pnccl",      "cudnn",       "cublas",      "nvJitLink",
	"__nvJitLink", "nvrtc",      "cusparse",    "__cusparse",  "_ZN2at",
	"_ZNK2at",     "_ZN3c10",    "_ZNK3c10",    "_ZTIN3c10",   "_ZTVN3c10",
	"_ZN5torch",   "_ZNK5torch", "_ZTVN5torch", "_ZTIN5torch",
};

static bool is_kept(struct slice name)
{
	if (!name.len || !strchr("npc_", name.data[0]))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		if (slice_starts(name, families[i]))
			return true;
	}
	return false;
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

bool elf_exports(const struct elf_facts *elf, const char *name)
{
	uint64_t hash = symbol_hash(slice_str(name));

	return elf->export_count &&
	       bsearch(&hash, elf->exports, elf->export_count, sizeof(hash), by_value);
}

static void keep_symbols(const struct elf_symbols *symbols, struct elf_facts *facts,
			 struct arena *arena)
{
	size_t undefined = 0, exports = 0, named = 0;
	struct undefined_symbol *missing;
	uint64_t *hashes;

	for (size_t i = 0; i < symbols->len; i++) {
		named += symbols->items[i].name.len != 0;
		facts->python_module |= symbols->items[i].defined &&
					slice_starts(symbols->items[i].name, "PyInit_");
		if (!is_kept(symbols->items[i].name))
			continue;
		undefined += !symbols->items[i].defined;
		exports += symbols->items[i].defined;
	}
	/* Of a large file only parts are read: names that are all empty were not among them. */
	facts->symbols_known = named || !symbols->len;
	missing = arena_array(arena, MIN(undefined, (size_t)UNDEFINED_KEPT) + 1, sizeof(*missing));
	hashes = arena_array(arena, exports + 1, sizeof(*hashes));
	for (size_t i = 0; i < symbols->len; i++) {
		const struct elf_symbol *s = &symbols->items[i];

		if (!is_kept(s->name))
			continue;
		if (s->defined)
			hashes[facts->export_count++] = symbol_hash(s->name);
		else if (facts->undefined_count < UNDEFINED_KEPT)
			missing[facts->undefined_count++] =
				(struct undefined_symbol){ arena_slice(arena, s->name), s->weak };
	}
	qsort(hashes, facts->export_count, sizeof(*hashes), by_value);
	facts->undefined = missing;
	facts->exports = hashes;
}

static void keep_versions(const struct elf *elf, struct elf_facts *facts, struct arena *arena)
{
	struct elf_versions needs = { 0 }, defs = { 0 };
	struct version_need *kept_needs;
	const char **kept_defs, *file = "";

	elf_version_needs(elf, &needs);
	elf_version_definitions(elf, &defs);
	needs.len = MIN(needs.len, (size_t)VERSIONS_KEPT);
	defs.len = MIN(defs.len, (size_t)VERSIONS_KEPT);
	kept_needs = arena_array(arena, needs.len + 1, sizeof(*kept_needs));
	kept_defs = arena_array(arena, defs.len + 1, sizeof(*kept_defs));
	for (size_t i = 0; i < needs.len; i++) {
		const struct elf_version *v = &needs.items[i];

		if (!slice_is(v->file, file))
			file = arena_slice(arena, v->file);
		kept_needs[i] = (struct version_need){ file, arena_slice(arena, v->name), v->weak };
	}
	for (size_t i = 0; i < defs.len; i++)
		kept_defs[i] = arena_slice(arena, defs.items[i].name);
	facts->version_needs = kept_needs;
	facts->version_need_count = needs.len;
	facts->version_defs = kept_defs;
	facts->version_def_count = defs.len;
	vec_release(&needs);
	vec_release(&defs);
}

void symbol_facts_of(const struct elf *elf, struct elf_facts *facts, struct arena *arena)
{
	struct elf_symbols symbols = { 0 };
	struct error ignored = { 0 };

	keep_versions(elf, facts, arena);
	if (elf_dynamic_symbols(elf, &symbols, &ignored) == 0)
		keep_symbols(&symbols, facts, arena);
	vec_release(&symbols);
}
