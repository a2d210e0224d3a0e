#include "lint/account.h"
#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"
#include "lint/start.h"
#include "lint/judge.h"

static bool may_execute(const struct facts *facts, const struct tree_node *n)
{
	struct account a = account_of_user(facts);

	/* Groups beyond the first are not known: any bit of another's will do. */
	if (!a.known || a.uid == 0)
		return n->entry.mode & 0111;
	if (a.uid == n->entry.uid)
		return n->entry.mode & 0100;
	return n->entry.mode & 0011;
}

static const char *problem_of(const struct facts *facts, const struct start_program *start)
{
	struct arena *arena = facts_arena(facts);
	const struct tree_node *node = start->node;
	const struct object *o;

	if (tree_target(node))
		node = tree_target(node);
	if (node->entry.type != TAR_FILE)
		return "it is not a regular file";
	if (!may_execute(facts, node))
		return arena_printf(
			arena, "mode %04o does not let user '%s' execute it", node->entry.mode,
			facts->config->user && *facts->config->user ? facts->config->user : "root");
	o = facts_object(facts, start->path);
	if (o && facts->machine && o->elf->machine != facts->machine &&
	    !(o->elf->machine == ELF_MACHINE_386 && facts->machine == ELF_MACHINE_X86_64) &&
	    !machine_is_wrong_throughout(facts))
		return arena_printf(arena, "it is for %s, the image is for %s",
				    machine_name(o->elf->machine), machine_name(facts->machine));
	if (!start->shebang)
		return NULL;
	if (str_ends(start->shebang, "\r"))
		return "its first line ends in a carriage return, which becomes part of the "
		       "interpreter's name";
	if (*start->interpreter != '/')
		return NULL;
	if (!facts_resolve(facts, start->interpreter, NULL))
		return arena_printf(arena, "its interpreter %s is not in the image",
				    start->interpreter);
	return NULL;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	struct start_program start = start_program_of(facts);
	const char *what = facts->config->entrypoint.count ? "Entrypoint" : "Cmd";
	const char *problem;

	(void)err;
	if (!start.word)
		return 0;
	if (!start.path) {
		finding_add(found, rule, "", -1, start.word, "%s starts %s, which %s%s.", what,
			    start.word,
			    start.is_directory ? "is a directory" : "is not in the image",
			    strchr(start.word, '/') ? "" : ", in no directory of PATH");
		return 0;
	}
	problem = problem_of(facts, &start);
	if (problem)
		finding_add(found, rule, start.path, facts_layer(facts, start.node), "",
			    "%s starts %s, which cannot be executed: %s.", what, start.path,
			    problem);
	return 0;
}

const struct rule rule_run003 = {
	.id = "RUN003",
	.name = "entrypoint-cannot-start",
	.severity = SEVERITY_ERROR,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_CONFIG | NEEDS_ALL_LAYERS,
	.what = "The program that the image starts is missing or cannot be executed.",
	.why = "The container ends at once with \"executable file not found\", \"permission "
	       "denied\", "
	       "\"exec format error\" or \"no such file or directory\".",
	.fix = "Correct the Entrypoint or PATH, set the execute bit, install the interpreter, save "
	       "the "
	       "script with Unix line ends, or build for the image's machine.",
	.sources = "OCI image specification, config.md; execve(2)",
	.check = check,
};
