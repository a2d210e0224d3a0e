#include "testkernels/test_plan.h"

#include "base/alloc.h"

enum {
	JOBS_MAX = 8,
	PAIRS_MAX = 60, /* of a text and a target in one line of the plan */
};

/* Tests of one library beyond opening it. */
static const struct special_test {
	const char *id, *stem, *check;
	bool takes_targets;
} special_tests[] = {
	{ "load.cudnn-set", "libcudnn", "cudnn-set", false },
	{ "load.nvrtc-compile", "libnvrtc", "nvrtc-compile", true },
	{ "load.jitlink", "libnvJitLink", "jitlink", true },
	{ "load.curand-host", "libcurand", "curand-host", false },
	{ "run.cudart", "libcudart", "cudart", false },
	{ "run.cublas-sgemm", "libcublas", "cublas-sgemm", false },
	{ "run.cublaslt-tf32", "libcublasLt", "cublaslt-tf32", false },
	{ "run.cublaslt-bf16", "libcublasLt", "cublaslt-bf16", false },
	{ "run.cublaslt-fp8", "libcublasLt", "cublaslt-fp8", false },
	{ "run.cudnn-conv", "libcudnn", "cudnn-conv", false },
	{ "run.cufft", "libcufft", "cufft", false },
	{ "run.curand", "libcurand", "curand", false },
	{ "run.cusolver", "libcusolver", "cusolver", false },
	{ "run.cusparse", "libcusparse", "cusparse", false },
	{ "run.nvrtc-run", "libnvrtc", "nvrtc-run", false },
	{ "run.nccl-allreduce", "libnccl", "nccl-allreduce", false },
};

static const struct run_test {
	const char *id, *check;
} run_tests[] = {
	{ "run.init", "init" },
	{ "run.nvml", "nvml" },
	{ "run.vadd-cubin", "vadd-cubin" },
	{ "run.vadd-ptx", "vadd-ptx" },
	{ "run.reduce", "reduce" },
	{ "run.pinned-overlap", "pinned-overlap" },
	{ "run.graph", "graph" },
	{ "run.managed", "managed" },
	{ "run.p2p", "p2p" },
	{ "run.bandwidth", "bandwidth" },
};

/* cuDNN 9's libraries that are opened only when an operation needs them. */
static const char *const cudnn_engines[] = {
	"libcudnn_engines_precompiled",
	"libcudnn_engines_runtime_compiled",
	"libcudnn_heuristic",
};

void test_plan_release(struct test_plan *plan)
{
	for (size_t i = 0; i < ARRAY_LEN(plan->lines); i++)
		strbuf_release(&plan->lines[i]);
	vec_release(&plan->tests);
	vec_release(&plan->skips);
	arena_release(&plan->arena);
	*plan = (struct test_plan){ 0 };
}

static enum test_tier tier_of(const char *id)
{
	return str_starts(id, "run.") ? TIER_RUN : TIER_LOAD;
}

static void add_field(struct strbuf *line, const char *text)
{
	strbuf_addc(line, '\t');
	for (; *text; text++)
		strbuf_addc(line, *text == '\t' || *text == '\n' ? '?' : *text);
}

static struct strbuf *add_test(struct test_plan *plan, const struct plan_request *q, const char *id,
			       enum test_tier tier, const struct library_copy *copy,
			       const char *check)
{
	struct planned_test t = { .id = arena_strdup(&plan->arena, id),
				  .tier = tier,
				  .copy = copy };
	struct strbuf *line = &plan->lines[tier];

	for (char *p = (char *)t.id; *p; p++) {
		if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
			*p = '?';
	}
	vec_push(&plan->tests, t);
	strbuf_addf(line, "%s%s\t%" PRIu64, line->len ? "\n" : "", t.id, q->timeout_ms);
	add_field(line, check);
	return line;
}

/* By name as a program would, where that gives this copy; else by its path. */
static void add_name(struct strbuf *line, const struct library_copy *copy)
{
	add_field(line, copy->found_by_name ? copy->soname : copy->path);
}

static bool is_first_copy(const struct library_copies *copies, size_t i)
{
	return i == 0 || !str_equal(copies->items[i - 1].soname, copies->items[i].soname);
}

static void add_library(struct test_plan *plan, const struct plan_request *q,
			const struct library_copies *copies, size_t i)
{
	const struct library_copy *copy = &copies->items[i];
	bool first = is_first_copy(copies, i);
	cleanup_free char *name =
		xasprintf("%s%s%s", copy->soname, first ? "" : "@", first ? "" : copy->path);
	cleanup_free char *open_id = xasprintf("load.%s", name);
	enum test_tier tier = copy->family->asks_driver ? TIER_RUN : TIER_LOAD;
	cleanup_free char *version_id =
		xasprintf("%s.version.%s", tier == TIER_RUN ? "run" : "load", name);
	struct strbuf *line;

	add_name(add_test(plan, q, open_id, TIER_LOAD, copy, "open"), copy);
	if (!copy->family->has_version)
		return;
	line = add_test(plan, q, version_id, tier, copy, "version");
	add_field(line, copy->family->stem);
	add_name(line, copy);
}

/* "libcudnn.so.9" has engine libraries "…so.9"; older ones have none. */
static void add_engines(struct strbuf *line, const struct library_copy *copy)
{
	const char *so = strstr(copy->soname, ".so."), *slash = strrchr(copy->path, '/');
	uint64_t major;

	if (!so || !slash || !slice_u64(slice_str(so + 4), &major) || major < 9)
		return;
	for (size_t i = 0; i < ARRAY_LEN(cudnn_engines); i++) {
		cleanup_free char *name = xasprintf("%s.so.%" PRIu64, cudnn_engines[i], major);
		cleanup_free char *path =
			xasprintf("%.*s/%s", (int)(slash - copy->path), copy->path, name);

		add_field(line, copy->found_by_name ? name : path);
	}
}

static void add_special(struct test_plan *plan, const struct plan_request *q,
			const struct library_copies *copies, const struct special_test *special)
{
	bool any = false;

	for (size_t i = 0; i < copies->len; i++) {
		const struct library_copy *copy = &copies->items[i];
		cleanup_free char *id = NULL;
		struct strbuf *line;

		if (!str_equal(copy->family->stem, special->stem) || !is_first_copy(copies, i))
			continue;
		id = xasprintf("%s%s%s", special->id, any ? "@" : "", any ? copy->soname : "");
		line = add_test(plan, q, id, tier_of(id), copy, special->check);
		add_name(line, copy);
		if (str_equal(special->check, "cudnn-set"))
			add_engines(line, copy);
		for (size_t k = 0; special->takes_targets && k < q->target_count; k++)
			add_field(line, q->targets[k]);
		any = true;
	}
}

/* A test that was not planned. `id` and `why` live in the plan. */
static void add_skip(struct test_plan *plan, const char *id, const char *why)
{
	struct plan_skip skip = { .id = id, .tier = tier_of(id), .why = why };

	vec_push(&plan->skips, skip);
}

/* The newest assembler that a program would find, or NULL. */
static const struct library_copy *find_linker(const struct library_copies *copies)
{
	const struct library_copy *found = NULL;

	for (size_t i = 0; i < copies->len; i++) {
		if (str_equal(copies->items[i].family->stem, "libnvJitLink") &&
		    is_first_copy(copies, i))
			found = &copies->items[i];
	}
	return found;
}

/* Of plain PTX, a driver takes the one for the latest architecture that serves. */
static bool is_taken(const struct ptx_sample *of, size_t count, size_t i, const char *target)
{
	if (!ptx_serves(&of[i], target))
		return false;
	for (size_t k = 0; !of[i].suffix && k < count; k++) {
		if (!of[k].suffix && of[k].sm > of[i].sm && ptx_serves(&of[k], target))
			return false;
	}
	return true;
}

/* What to assemble of one object. */
struct pairs {
	struct strbuf fields;
	size_t count;
	size_t left_out; /* there is no text to do it with, or no room in the line */
};

static void add_pair(struct pairs *pairs, const struct ptx_sample *sample, const char *target)
{
	if (!sample->file || pairs->count >= PAIRS_MAX) {
		pairs->left_out++;
		return;
	}
	pairs->count++;
	add_field(&pairs->fields, sample->file);
	add_field(&pairs->fields, target);
}

/* For each target what a driver would take, else each for its own architecture. */
static void choose_pairs(const struct plan_request *q, const struct ptx_sample *of, size_t count,
			 struct pairs *pairs)
{
	for (size_t i = 0; i < count; i++) {
		cleanup_free char *own = xasprintf("~sm_%u%.1s", of[i].sm, &of[i].suffix);

		if (!q->target_count)
			add_pair(pairs, &of[i], own);
		for (size_t k = 0; k < q->target_count; k++) {
			if (is_taken(of, count, i, q->targets[k]))
				add_pair(pairs, &of[i], q->targets[k]);
		}
	}
}

static void add_rehearsal(struct test_plan *plan, const struct plan_request *q,
			  const struct library_copy *linker, const struct ptx_sample *of,
			  size_t count)
{
	cleanup_free char *id = xasprintf("load.ptx-rehearsal@%s", of->object), *left_out = NULL;
	struct pairs pairs = { 0 };
	struct strbuf *line;

	choose_pairs(q, of, count, &pairs);
	if (pairs.count + pairs.left_out) {
		line = add_test(plan, q, id, TIER_LOAD, NULL, "ptx-rehearsal");
		plan->tests.items[plan->tests.len - 1].object = of->object;
		left_out = xasprintf("%zu", pairs.left_out);
		add_name(line, linker);
		add_field(line, left_out);
		strbuf_add(line, pairs.fields.data, pairs.fields.len);
	}
	strbuf_release(&pairs.fields);
}

/* The image's PTX through its own assembler, a test for each object. */
static void add_rehearsals(struct test_plan *plan, const struct plan_request *q,
			   const struct library_copies *copies)
{
	const struct library_copy *linker = find_linker(copies);
	size_t before = plan->tests.len, end;

	if (!q->ptx)
		return;
	if (!linker || !q->ptx->len) {
		add_skip(plan, "load.ptx-rehearsal",
			 linker ? "the image's objects hold no PTX"
				: "the image holds no run-time linker to assemble its PTX");
		return;
	}
	for (size_t i = 0; i < q->ptx->len; i = end) {
		const struct ptx_sample *first = &q->ptx->items[i];

		for (end = i + 1; end < q->ptx->len; end++) { /* they are sorted by their objects */
			if (!str_equal(q->ptx->items[end].object, first->object))
				break;
		}
		add_rehearsal(plan, q, linker, first, end - i);
	}
	if (plan->tests.len == before)
		add_skip(plan, "load.ptx-rehearsal",
			 "none of the image's PTX is for the targets that were named");
}

/* What cannot be tested, because the image lacks the library. */
static void add_absent(struct test_plan *plan, const struct library_copies *copies, bool nvidia)
{
	for (size_t i = 0; i < library_families_count; i++) {
		const struct library_family *family = &library_families[i];
		const char *why = arena_printf(&plan->arena, "the image holds no %s", family->what);
		bool any = false;

		for (size_t k = 0; k < copies->len; k++)
			any |= copies->items[k].family == family;
		if (any)
			continue;
		add_skip(plan, arena_printf(&plan->arena, "load.%s", family->stem), why);
		for (size_t k = 0; nvidia && k < ARRAY_LEN(special_tests); k++) {
			if (str_equal(special_tests[k].stem, family->stem) &&
			    tier_of(special_tests[k].id) == TIER_RUN)
				add_skip(plan, special_tests[k].id, why);
		}
	}
}

/* Only where the devices are NVIDIA's does the driver API say anything about them. */
static bool is_nvidia(const struct injection *in)
{
	for (size_t i = 0; in && i < in->edits.nodes.len; i++) {
		if (str_starts(in->edits.nodes.items[i].path, "/dev/nvidia"))
			return true;
	}
	for (size_t i = 0; in && i < in->edits.mounts.len; i++) {
		if (strstr(in->edits.mounts.items[i].container_path, "/libcuda.so"))
			return true;
	}
	return !in || (!in->edits.nodes.len && !in->edits.mounts.len);
}

static void add_nodes(struct test_plan *plan, const struct plan_request *q)
{
	struct strbuf *line;
	size_t any = 0;

	for (size_t i = 0; q->injection && i < q->injection->edits.nodes.len; i++)
		any += q->injection->edits.nodes.items[i].permissions[0] != '\0';
	if (!any)
		return;
	line = add_test(plan, q, "run.nodes", TIER_RUN, NULL, "nodes");
	for (size_t i = 0; i < q->injection->edits.nodes.len && i < 60; i++) {
		if (q->injection->edits.nodes.items[i].permissions[0])
			add_field(line, q->injection->edits.nodes.items[i].path);
	}
}

/* GPU code of the image's own, to be loaded on the device. */
static void add_own_code(struct test_plan *plan, const struct plan_request *q)
{
	if (!q->code) { /* there is no device: it is named, and skipped with its tier */
		add_test(plan, q, "run.own-code", TIER_RUN, NULL, "own-code");
		return;
	}
	for (size_t i = 0; i < q->code->len; i++) {
		const struct code_object *o = &q->code->items[i];
		cleanup_free char *id = xasprintf("run.own-code@%s", o->path);
		struct strbuf *line = add_test(plan, q, id, TIER_RUN, NULL, "own-code");

		add_field(line, o->path);
		for (size_t k = 0; k < o->count; k++)
			strbuf_addf(line, "\t%" PRIu64 ":%" PRIu64, o->containers[k].offset,
				    o->containers[k].size);
	}
	if (!q->code->len)
		vec_push(&plan->skips,
			 ((struct plan_skip){ .id = "run.own-code",
					      .tier = TIER_RUN,
					      .why = "the image holds no GPU code of its own" }));
}

/* The image's runtime against the driver: injected, or the stand-in of `what_if`. */
static void add_runtimes(struct test_plan *plan, const struct plan_request *q,
			 const struct library_copies *copies, const char *id, enum test_tier tier)
{
	for (size_t i = 0; i < copies->len; i++) {
		const struct library_copy *copy = &copies->items[i];
		cleanup_free char *name = xasprintf("%s.%s", id, copy->soname);

		if (!str_equal(copy->family->stem, "libcudart") || !is_first_copy(copies, i))
			continue;
		add_name(add_test(plan, q, name, tier, copy, "runtime"), copy);
	}
}

/* The words of a command, for people. */
static const char *command_text(struct arena *arena, const struct test_command *c)
{
	cleanup_strbuf struct strbuf text = { 0 };

	for (size_t i = 0; i < c->argc; i++)
		strbuf_addf(&text, "%s%s", i ? " " : "", c->argv[i]);
	return arena_strdup(arena, strbuf_text(&text));
}

static void add_commands(struct test_plan *plan, const struct plan_request *q)
{
	for (size_t i = 0; i < q->command_count; i++) {
		const struct test_command *c = &q->commands[i];
		cleanup_free char *id = xasprintf("run.user.%zu", i + 1);
		enum test_tier tier = c->gpu ? TIER_RUN : TIER_LOAD;
		struct strbuf *line = add_test(plan, q, id, tier, NULL, "command");
		struct planned_test *t = &plan->tests.items[plan->tests.len - 1];

		t->command = true;
		t->words = command_text(&plan->arena, c);
		t->expect = c->expect && *c->expect ? c->expect : NULL;
		for (size_t k = 0; k < c->argc; k++)
			add_field(line, c->argv[k]);
	}
}

void test_plan_make(const struct library_copies *copies, const struct plan_request *request,
		    struct test_plan *out)
{
	bool nvidia = is_nvidia(request->injection);

	*out = (struct test_plan){ 0 };
	if (request->jobs > 1) /* those of the other tier may want the whole GPU */
		strbuf_addf(&out->lines[TIER_LOAD], "!%u", MIN(request->jobs, JOBS_MAX));
	for (size_t i = 0; i < copies->len; i++)
		add_library(out, request, copies, i);
	for (size_t i = 0; i < ARRAY_LEN(special_tests); i++) {
		if (nvidia || tier_of(special_tests[i].id) == TIER_LOAD)
			add_special(out, request, copies, &special_tests[i]);
	}
	add_rehearsals(out, request, copies);
	if (!request->injected)
		add_test(out, request, "load.no-driver", TIER_LOAD, NULL, "no-driver");
	add_nodes(out, request);
	for (size_t i = 0; nvidia && i < ARRAY_LEN(run_tests); i++)
		add_test(out, request, run_tests[i].id, TIER_RUN, NULL, run_tests[i].check);
	if (nvidia) {
		add_own_code(out, request);
		add_runtimes(out, request, copies, "run.runtime", TIER_RUN);
	}
	add_commands(out, request);
	add_absent(out, copies, nvidia);
}

void test_plan_what_if(const struct library_copies *copies, const struct plan_request *request,
		       struct test_plan *out)
{
	*out = (struct test_plan){ 0 };
	add_runtimes(out, request, copies, "load.driver-what-if", TIER_LOAD);
}

bool test_plan_id_known(const char *id)
{
	for (size_t i = 0; i < ARRAY_LEN(run_tests); i++) {
		if (str_equal(id, run_tests[i].id))
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(special_tests); i++) {
		if (str_starts(id, special_tests[i].id))
			return true;
	}
	return str_equal(id, "run.inject") || str_equal(id, "run.nodes") ||
	       str_starts(id, "run.user.") || str_starts(id, "run.own-code") ||
	       str_starts(id, "run.runtime.lib") || str_starts(id, "load.driver-what-if.lib") ||
	       str_equal(id, "load.loader") || str_equal(id, "load.no-driver") ||
	       str_starts(id, "load.ptx-rehearsal") || str_starts(id, "load.lib") ||
	       str_starts(id, "load.version.lib") || str_starts(id, "run.version.lib");
}
