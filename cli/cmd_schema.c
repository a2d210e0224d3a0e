#include "cli/command.h"
#include "lint/site_policy.h"
#include "manifests/stack_schema.h"

static int run(const struct invocation *in, struct error *err)
{
	const char *what = in->arg_count ? in->args[0] : "stack";
	cleanup_strbuf struct strbuf text = { 0 };

	if (str_equal(what, "stack"))
		stack_schema(&text);
	else if (str_equal(what, "lint-policy"))
		site_policy_schema(&text);
	else
		return error_set(err, ERROR_USAGE,
				 "schema: '%.60s' is neither stack nor lint-policy", what);
	if (fwrite(text.data, 1, text.len, in->out->out) != text.len || fflush(in->out->out))
		return error_set_errno(err, errno, "write to standard output");
	return 0;
}

const struct command command_schema = {
	.name = "schema",
	.usage = "[stack|lint-policy]",
	.summary = "print the JSON Schema of the stack manifest, or of a lint policy",
	.description =
		"Prints the JSON Schema (draft 2020-12) of the stack manifest (or, asked for "
		"lint-policy, of the file of gpuimg lint --policy), made from the same table "
		"that reads it. Editors complete and check files with it: name it in the "
		"first line,\n"
		"# yaml-language-server: $schema=stack.schema.json",
	.examples = "gpuimg schema > stack.schema.json\n"
		    "gpuimg schema lint-policy > lint-policy.schema.json\n"
		    "check-jsonschema --schemafile stack.schema.json stack.yaml\n",
	.args_min = 0,
	.args_max = 1,
	.run = run,
};
