#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

#include "base/out.h"

enum { TOLD_FROM = 16 * 1024 * 1024 };

enum kind { STATIC, HEADERS, OBJECTS, NSIGHT, SAMPLES, DOCUMENTS, KINDS };

static const char *const names[KINDS] = { "static libraries",     "headers", "object files",
					  "Nsight and profilers", "samples", "documentation" };

/* Where the rule's own advice, the runtime packages of CUDA, is not what helps. */
static const char *const fixes[KINDS] = {
	[DOCUMENTS] = "Leave documentation out where packages are installed (dpkg: path-exclude "
		      "/usr/share/doc/*; dnf: tsflags=nodocs), or delete it in the same step.",
};

/* Headers, objects and archives outside the toolkit come with compilers and -dev packages. */
static const char *const fix_elsewhere =
	"Compile in a stage of its own and copy what it made, so that compilers and -dev packages "
	"stay out of the image; or delete them in the step that brings them.";

static const char *const fix_wheels =
	"Wheels bring them; delete them in the step that installs the wheels.";

struct tally {
	uint64_t bytes;
	size_t files;
	uint64_t toolkit_bytes; /* of them, those of a CUDA toolkit */
	uint64_t wheel_bytes;   /* of them, those that pip installed */
	const struct tree_node *first;
};

static bool in_toolkit(const char *path)
{
	return str_starts(path, "/usr/local/cuda") || str_starts(path, "/opt/nvidia/");
}

static bool in_wheel(const char *path)
{
	return path_has_part(path, "site-packages") || path_has_part(path, "dist-packages");
}

static int kind_of(const char *path)
{
	const char *name = path_name(path);
	bool toolkit = in_toolkit(path);

	if (strstr(path, "/nsight") ||
	    (toolkit && (path_has_part(path, "libnvvp") || path_has_part(path, "jre"))))
		return NSIGHT;
	if (str_ends(name, ".a"))
		return STATIC;
	if (str_ends(name, ".h") || str_ends(name, ".hpp") || str_ends(name, ".cuh") ||
	    str_ends(name, ".hxx") || str_ends(name, ".inl"))
		return HEADERS;
	if (str_ends(name, ".o"))
		return OBJECTS;
	if (toolkit && path_has_part(path, "samples"))
		return SAMPLES;
	if (str_starts(path, "/usr/share/doc/") || (toolkit && path_has_part(path, "doc")))
		return DOCUMENTS;
	return -1;
}

/* Packages that compile when they run want the headers and small static parts. */
static bool compiles_at_run_time(const struct facts *facts)
{
	static const char *const tools[] = {
		"triton",       "flashinfer-python", "deepspeed",  "deep-gemm",     "cupy-cuda12x",
		"cupy-cuda13x", "cupy-cuda11x",      "numba-cuda", "nvmath-python", "sglang",
		"vllm"
	};

	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		if (facts_dist(facts, NULL, tools[i]))
			return true;
	}
	return false;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	struct tally tallies[KINDS] = { 0 };
	cleanup_strbuf struct strbuf path = { 0 };
	bool compiles = compiles_at_run_time(facts);
	size_t count;
	struct tree_node **nodes = facts_nodes(facts, &count);

	(void)err;
	for (size_t i = 0; i < count; i++) {
		const char *at = facts_path_in(facts, nodes[i], &path);
		int kind = nodes[i]->entry.type == TAR_FILE ? kind_of(at) : -1;

		if (kind < 0 || (compiles && (kind == HEADERS || kind == OBJECTS)))
			continue;
		tallies[kind].bytes += nodes[i]->entry.size;
		tallies[kind].toolkit_bytes += in_toolkit(at) ? nodes[i]->entry.size : 0;
		tallies[kind].wheel_bytes += in_wheel(at) ? nodes[i]->entry.size : 0;
		if (!tallies[kind].files++)
			tallies[kind].first = nodes[i];
	}
	for (int i = 0; i < KINDS; i++) {
		const struct tally *t = &tallies[i];
		struct finding *f;
		char size[32];

		if (t->bytes < TOLD_FROM)
			continue;
		f = finding_add(found, rule, facts_path(facts, t->first),
				facts_layer(facts, t->first), names[i],
				"%s of %s in %zu files, the first is %s.", out_size(t->bytes, size),
				names[i], t->files, facts_path(facts, t->first));
		if (fixes[i])
			f->fix = fixes[i];
		else if (t->wheel_bytes > t->bytes / 2)
			f->fix = fix_wheels;
		else if (t->toolkit_bytes < t->bytes / 2)
			f->fix = fix_elsewhere;
	}
	return 0;
}

const struct rule rule_siz004 = {
	.id = "SIZ004",
	.name = "development-files",
	.severity = SEVERITY_INFO,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = 0,
	.what = "The image carries what only a compiler or a profiler needs: static libraries, "
		"headers, object files, Nsight, samples, documentation of the toolkit.",
	.why = "The static libraries of the CUDA toolkit alone are more than a gigabyte, and "
	       "nothing at run time reads them.",
	.fix = "Install the runtime packages (cuda-libraries-* instead of cuda-toolkit-*, a "
	       "runtime base instead of devel), or delete them in the step that brings them.",
	.sources = "CUDA Installation Guide, \"Meta Packages\"",
	.check = check,
};
