#include "cli/command.h"
#include "manifests/stack_schema.h"

static int run(const struct invocation *in, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	stack_schema(&text);
	if (fwrite(text.data, 1, text.len, in->out->out) != text.len || fflush(in->out->out))
		return error_set_errno(err, errno, "write to standard output");
	return 0;
}

const struct command command_schema = {
	.name = "schema",
	.usage = "",
	.summary = "print the JSON Schema of the stack manifest",
	.description = "Prints the JSON Schema (draft 2020-12) of the stack manifest, made from "
		       "the same table that\n"
		       "reads it. Editors complete and check manifests with it: name it in the "
		       "first line,\n"
		       "# yaml-language-server: $schema=stack.schema.json",
	.examples = "gpuimg schema > stack.schema.json\n"
		    "check-jsonschema --schemafile stack.schema.json stack.yaml\n",
	.args_min = 0,
	.args_max = 0,
	.run = run,
};
