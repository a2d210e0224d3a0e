#include "lint/coverage.h"

#include "base/strbuf.h"

static const struct gpu_arch *arch_of(const struct tables *tables, unsigned sm)
{
	char capability[16];

	snprintf(capability, sizeof(capability), "%u.%u", sm / 10, sm % 10);
	return gpu_arch(&tables->gpus, capability);
}

static bool same_family(const struct gpu_row *row, const struct host_gpu *gpu,
			const struct tables *tables)
{
	const struct gpu_arch *of = arch_of(tables, row->sm);

	return of && of->family && gpu->target.arch->family &&
	       str_equal(of->family, gpu->target.arch->family) && gpu->sm >= row->sm;
}

/* Before the driver compiles or runs it: does the suffix let it at all? */
static bool suffix_fits(const struct gpu_row *row, const struct host_gpu *gpu,
			const struct tables *tables)
{
	if (row->suffix == 'a')
		return row->sm == gpu->sm;
	return row->suffix != 'f' || same_family(row, gpu, tables);
}

static enum coverage of_cubin(const struct gpu_row *row, const struct host_gpu *gpu,
			      const struct tables *tables)
{
	if (!suffix_fits(row, gpu, tables))
		return COVER_NONE;
	if (row->sm == gpu->sm || row->suffix == 'f')
		return COVER_CODE;
	if (row->sm / 10 != gpu->sm / 10 || row->sm > gpu->sm)
		return COVER_NONE;
	return gpu->target.arch->embedded ? COVER_EMBEDDED : COVER_CODE;
}

enum coverage coverage_of_row(const struct gpu_row *row, const struct host_gpu *gpu,
			      const struct tables *tables)
{
	switch (row->kind) {
	case FATBIN_CUBIN:
		return of_cubin(row, gpu, tables);
	case FATBIN_PTX:
		return row->sm <= gpu->sm && suffix_fits(row, gpu, tables) ? COVER_PTX : COVER_NONE;
	case FATBIN_LTO:
		return row->sm <= gpu->sm ? COVER_LTO : COVER_NONE;
	default:
		return COVER_NONE;
	}
}

enum coverage coverage_of(const struct gpu_code *code, const struct host_gpu *gpu,
			  const struct tables *tables)
{
	enum coverage best = COVER_NONE;

	for (size_t i = 0; i < code->count; i++) {
		enum coverage c = coverage_of_row(&code->rows[i], gpu, tables);

		best = MAX(best, c);
	}
	return best;
}

bool coverage_is_exact(const struct gpu_code *code)
{
	for (size_t i = 0; i < code->count; i++) {
		if (code->rows[i].suffix != 'a')
			return false;
	}
	return code->count > 0;
}

static unsigned order_of(const struct gpu_row *r)
{
	return r->sm * 256 + (unsigned char)r->suffix;
}

/* The row of that kind with the least architecture above `last`; rows lie by section first. */
static const struct gpu_row *next_arch(const struct gpu_code *code, enum fatbin_kind kind,
				       unsigned last)
{
	const struct gpu_row *next = NULL;

	for (size_t i = 0; i < code->count; i++) {
		const struct gpu_row *r = &code->rows[i];

		if (r->kind == kind && order_of(r) > last &&
		    (!next || order_of(r) < order_of(next)))
			next = r;
	}
	return next;
}

bool ptx_is_newer(const struct gpu_row *a, const struct gpu_row *b)
{
	return a->ptx_major > b->ptx_major ||
	       (a->ptx_major == b->ptx_major && a->ptx_minor > b->ptx_minor);
}

const struct gpu_row *coverage_compiled(const struct gpu_code *code, const struct host_gpu *gpu,
					const struct tables *tables)
{
	const struct gpu_row *best = NULL;

	if (coverage_of(code, gpu, tables) != COVER_PTX)
		return NULL;
	for (size_t i = 0; i < code->count; i++) {
		const struct gpu_row *r = &code->rows[i];

		if (coverage_of_row(r, gpu, tables) == COVER_PTX &&
		    (!best || r->sm > best->sm || (r->sm == best->sm && ptx_is_newer(r, best))))
			best = r;
	}
	return best;
}

const char *coverage_text(const struct gpu_code *code, struct arena *arena)
{
	static const enum fatbin_kind kinds[] = { FATBIN_CUBIN, FATBIN_PTX, FATBIN_LTO };
	static const char *const names[] = { "", "PTX ", "LTO-IR " };
	cleanup_strbuf struct strbuf text = { 0 };

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		const struct gpu_row *r = next_arch(code, kinds[k], 0);

		if (r)
			strbuf_addf(&text, "%s%s", text.len ? "; " : "", names[k]);
		for (const char *between = ""; r; between = ", ") {
			strbuf_addf(&text, "%ssm_%u", between, r->sm);
			if (r->suffix)
				strbuf_addc(&text, r->suffix);
			r = next_arch(code, kinds[k], order_of(r));
		}
	}
	return arena_strdup(arena, strbuf_text(&text));
}
