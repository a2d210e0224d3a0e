#include "manifests/dotted.h"
#include "manifests/table_frameworks.h"

/* A row speaks of a span of releases; each minor of it becomes a build. */
static int read_span(const struct table_row *row, const char *newest, uint64_t *first,
		     uint64_t *last, uint64_t *major, struct error *err)
{
	const char *from, *to;

	if (row_version(row, "from", &from, err) < 0 || row_version_opt(row, "to", &to, err) < 0)
		return -1;
	if (!to)
		to = newest;
	*major = dotted_number(from, 0);
	*first = dotted_number(from, 1);
	*last = dotted_number(to, 1);
	if (dotted_number(to, 0) != *major || *last < *first || *last - *first > 200)
		return row_error(row, "to", err, "does not end a span of minors that begins at %s",
				 from);
	return 0;
}

static int add_onnx(const struct table_row *row, const char *newest, struct arena *arena,
		    struct table_frameworks *out, struct error *err)
{
	struct framework_build b = { .framework = "onnxruntime-gpu",
				     .package = "onnxruntime-gpu[cuda,cudnn]",
				     .is_default = true };
	uint64_t first, last, major;
	unsigned cudnn;

	if (read_span(row, newest, &first, &last, &major, err) < 0 ||
	    row_version(row, "pypi_cuda", &b.built_with, err) < 0 ||
	    row_number(row, "cudnn", &cudnn, err) < 0)
		return -1;
	b.cuda_major = (unsigned)dotted_number(b.built_with, 0);
	b.cuda = arena_printf(arena, ">=%s,<%u", b.built_with, b.cuda_major + 1);
	b.cudnn = arena_printf(arena, ">=%u,<%u", cudnn, cudnn + 1);
	b.flavour = "pypi";
	b.origin = row_origin(row, NULL, arena);
	b.origin.row = arena_printf(arena, "onnxruntime_gpu %llu.%llu to %llu.%llu",
				    (unsigned long long)major, (unsigned long long)first,
				    (unsigned long long)major, (unsigned long long)last);
	b.origin.source = "microsoft/onnxruntime#29500; microsoft/onnxruntime#21684; "
			  "https://onnxruntime.ai/docs/execution-providers/"
			  "CUDA-ExecutionProvider.html";
	for (uint64_t m = first; m <= last; m++) {
		b.version = m == last && newest && dotted_number(newest, 1) == m
				    ? newest
				    : arena_printf(arena, "%llu.%llu", (unsigned long long)major,
						   (unsigned long long)m);
		vec_push(&out->builds, b);
	}
	return 0;
}

/* vLLM follows the torch it pins; CUDA, cuDNN and NCCL are that torch's. */
static int add_vllm(const struct table_row *row, const char *capability_min, struct arena *arena,
		    struct table_frameworks *out, struct error *err)
{
	struct framework_build b = { .framework = "vllm",
				     .needs = "torch",
				     .flavour = "pypi",
				     .confidence = "reported",
				     .is_default = true };
	uint64_t first, last, major;
	const char *torch;

	if (read_span(row, NULL, &first, &last, &major, err) < 0 ||
	    row_version(row, "torch", &torch, err) < 0)
		return -1;
	b.capability_min = capability_min;
	b.needs_range = arena_printf(arena, "==%s", torch);
	b.origin = row_origin(row, NULL, arena);
	b.origin.row = arena_printf(arena, "vllm %s", row->name);
	b.origin.source = "requirements of the vllm distribution, as reported";
	for (uint64_t m = first; m <= last; m++) {
		b.version = arena_printf(arena, "%llu.%llu", (unsigned long long)major,
					 (unsigned long long)m);
		vec_push(&out->builds, b);
	}
	return 0;
}

/* A build as it stands in a list of them. */
static int add_build(const struct table_row *row, const char *framework, const json_t *section,
		     struct arena *arena, struct table_frameworks *out, struct error *err)
{
	const char *source =
		json_string_value(json_array_get(json_object_get(section, "sources"), 0));
	struct framework_build b = { .framework = framework, .is_default = true };

	if (row_version(row, "version", &b.version, err) < 0 ||
	    row_text(row, "flavour", &b.flavour, err) < 0 ||
	    row_text_opt(row, "package", &b.package, err) < 0 ||
	    row_text_opt(row, "cuda", &b.cuda, err) < 0 ||
	    row_text_opt(row, "cudnn", &b.cudnn, err) < 0 ||
	    row_version_opt(row, "capability_min", &b.capability_min, err) < 0 ||
	    row_version_opt(row, "python_min", &b.python_min, err) < 0 ||
	    row_version_opt(row, "python_max", &b.python_max, err) < 0 ||
	    row_texts(row, "compiles_with", arena, &b.compiles_with, err) < 0)
		return -1;
	if ((b.cuda && dotted_range_check(b.cuda, err) < 0) ||
	    (b.cudnn && dotted_range_check(b.cudnn, err) < 0)) {
		struct error cause = *err;

		return row_error(row, b.cuda ? "cuda" : "cudnn", err, "%s", cause.text);
	}
	if (b.cuda) {
		b.built_with =
			arena_slice(arena, slice_of(b.cuda + strspn(b.cuda, ">="),
						    strcspn(b.cuda + strspn(b.cuda, ">="), ",")));
		b.cuda_major = (unsigned)dotted_number(b.built_with, 0);
	}
	b.confidence = json_string_value(json_object_get(section, "confidence"));
	b.origin = row_origin(row, NULL, arena);
	b.origin.row = arena_printf(arena, "%s builds %s %s", framework, b.version, b.flavour);
	b.origin.source = source ? source : "as reported";
	vec_push(&out->builds, b);
	return 0;
}

/* Products whose builds are listed. */
static int add_listed(const struct table *table, struct arena *arena, struct table_frameworks *out,
		      struct error *err)
{
	static const struct {
		const char *section, *framework;
	} products[] = {
		{ "tensorrt", "tensorrt" },
		{ "cupy", "cupy" },
		{ "triton", "triton" },
		{ "transformer_engine", "transformer-engine" },
	};

	for (size_t p = 0; p < ARRAY_LEN(products); p++) {
		json_t *section, *builds;

		if (table_object(table, products[p].section, &section, err) < 0)
			return -1;
		builds = json_object_get(section, "builds");
		for (size_t i = 0; i < json_array_size(builds); i++) {
			struct table_row row;

			if (table_row_at(table, products[p].section, builds, i, "version", arena,
					 &row, err) < 0 ||
			    add_build(&row, products[p].framework, section, arena, out, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* "1.31.1 (2026-10)" → "1.31.1" */
static const char *newest_of(const json_t *section, struct arena *arena)
{
	const char *text = json_string_value(json_object_get(section, "newest"));

	return text ? arena_slice(arena, slice_of(text, strspn(text, "0123456789."))) : NULL;
}

int table_others_read(const struct table *table, struct arena *arena, struct table_frameworks *out,
		      struct error *err)
{
	static const char *const sections[] = { "onnxruntime_gpu", "vllm" };

	for (size_t s = 0; s < ARRAY_LEN(sections); s++) {
		json_t *section, *rows;
		const char *newest;

		if (table_object(table, sections[s], &section, err) < 0)
			return -1;
		newest = newest_of(section, arena);
		rows = json_object_get(section, "rows");
		for (size_t i = 0; i < json_array_size(rows); i++) {
			struct table_row row;

			if (table_row_at(table, sections[s], rows, i, "from", arena, &row, err) < 0)
				return -1;
			if ((s == 0 ? add_onnx(&row, newest, arena, out, err)
				    : add_vllm(
					      &row,
					      json_string_value(json_object_get(section, "cc_min")),
					      arena, out, err)) < 0)
				return -1;
		}
	}
	return add_listed(table, arena, out, err);
}
