#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"
#include "lint/start.h"

/* The configuration and the entry of the index that led to it. */
static const char *against_entry(const struct facts *facts)
{
	const struct platform *entry = facts->entry_platform, *own = &facts->config->platform;

	if (!entry || !entry->os || !entry->architecture || !own->os || !own->architecture ||
	    (str_equal(entry->os, own->os) && str_equal(entry->architecture, own->architecture)))
		return NULL;
	return arena_printf(facts_arena(facts),
			    "the index entry is for %s/%s, the configuration for %s/%s", entry->os,
			    entry->architecture, own->os, own->architecture);
}

/* The machine of the program that starts, when most objects are of it and the image is not. */
static const char *against_content(const struct facts *facts)
{
	struct start_program start = start_program_of(facts);
	const struct object *program = start.path ? facts_object(facts, start.path) : NULL;
	size_t same = 0;

	if (!program && start.interpreter)
		program = facts_object(facts, start.interpreter);
	if (!program || !facts->machine || program->elf->machine == facts->machine ||
	    (program->elf->machine == ELF_MACHINE_386 && facts->machine == ELF_MACHINE_X86_64))
		return NULL;
	for (size_t i = 0; i < facts->objects.len; i++)
		same += facts->objects.items[i].elf->machine == program->elf->machine;
	if (same * 2 <= facts->objects.len)
		return NULL;
	return arena_printf(facts_arena(facts),
			    "the configuration says %s, but %s and %zu of %zu ELF files are for %s",
			    facts->config->platform.architecture, program->path, same,
			    facts->objects.len, machine_name(program->elf->machine));
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const char *problem = against_entry(facts);

	(void)err;
	if (!problem)
		problem = against_content(facts);
	if (problem)
		finding_add(found, rule, "", -1, "", "The image's platform is wrong: %s.", problem);
	return 0;
}

const struct rule rule_oci004 = {
	.id = "OCI004",
	.name = "platform-mismatch",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_CONFIG | NEEDS_ALL_LAYERS,
	.what = "The platform in the configuration is not that of the index entry, or not that of "
		"the "
		"programs in the image.",
	.why = "Engines choose an image by its platform: the wrong machines pull it, and starting "
	       "it ends "
	       "with \"exec format error\".",
	.fix = "Build for the platform that is named (--platform), or correct the configuration "
	       "and the "
	       "index.",
	.sources = "OCI image specification, config.md and image-index.md",
	.check = check,
};
