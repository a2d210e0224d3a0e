/* Prints docs/stack.schema.json, made from the table of the manifest's keys. */
#include "manifests/stack_schema.h"

int main(void)
{
	cleanup_strbuf struct strbuf out = { 0 };

	stack_schema(&out);
	fputs(strbuf_text(&out), stdout);
	return fflush(stdout) ? 1 : 0;
}
