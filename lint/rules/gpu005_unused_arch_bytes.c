#include "lint/coverage.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"

/* Less than this over the whole image is not worth a build of one's own. */
static const uint64_t WORTH_BYTES = 64 * MIB;

struct unused {
	const struct object *object;
	uint64_t bytes;
};

static bool is_used(const struct facts *facts, const struct gpu_row *row)
{
	for (size_t i = 0; i < facts->hosts.gpus.len; i++) {
		if (coverage_of_row(row, &facts->hosts.gpus.items[i], &facts->tables) != COVER_NONE)
			return true;
	}
	return false;
}

static uint64_t unused_bytes(const struct facts *facts, const struct object *o)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < o->elf->gpu->count; i++) {
		const struct gpu_row *r = &o->elf->gpu->rows[i];

		if (r->kind == FATBIN_CUBIN && !is_used(facts, r))
			bytes += r->stored;
	}
	return bytes;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	struct unused most = { 0 };
	uint64_t total = 0;
	size_t objects = 0;
	const char *gpus = "";
	struct finding *f;

	(void)err;
	for (size_t i = 0; i < facts->objects.len; i++) {
		const struct object *o = &facts->objects.items[i];
		uint64_t bytes;

		if (!o->elf->gpu || o->node->entry.type == TAR_HARDLINK)
			continue;
		bytes = unused_bytes(facts, o);
		total += bytes;
		objects += bytes != 0;
		if (bytes > most.bytes)
			most = (struct unused){ o, bytes };
	}
	if (total < WORTH_BYTES)
		return 0;
	for (size_t i = 0; i < facts->hosts.gpus.len; i++)
		gpus = arena_printf(facts_arena(facts), "%s%s%s", gpus, *gpus ? ", " : "",
				    host_gpu_name(&facts->hosts.gpus.items[i], facts_arena(facts)));
	f = finding_add(found, rule, most.object->path, facts_layer(facts, most.object->node), "",
			"%" PRIu64 " MiB of machine code in %zu object%s are for architectures "
			"that %s do%s not use; %" PRIu64 " MiB of it in %s (%s).",
			total / MIB, objects, objects == 1 ? "" : "s", gpus,
			facts->hosts.gpus.len == 1 ? "es" : "", most.bytes / MIB, most.object->path,
			coverage_text(most.object->elf->gpu, facts_arena(facts)));
	finding_evidence(found, f, "bytes", arena_printf(facts_arena(facts), "%" PRIu64, total));
	return 0;
}

const struct rule rule_gpu005 = {
	.id = "GPU005",
	.name = "unused-arch-bytes",
	.severity = SEVERITY_INFO,
	.confidence = CONFIDENCE_CERTAIN,
	.wave = 2,
	.needs = NEEDS_GPU | NEEDS_GPU_IMAGE,
	.what = "A large part of the machine code is for GPUs that none of those named is.",
	.why = "It is stored, pulled and unpacked on each node and never runs.",
	.fix = "Build your own extensions for the architectures you have. NVIDIA's libraries come "
	       "as they are.",
	.sources = "CUDA C++ Programming Guide, \"Compute Capability and Binary Compatibility\"",
	.check = check,
};
