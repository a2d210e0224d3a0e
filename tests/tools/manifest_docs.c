/* Prints docs/manifest.md, made from the table of the manifest's keys. */
#include "manifests/stack_keys.h"

int main(void)
{
	cleanup_strbuf struct strbuf out = { 0 };

	stack_keys_markdown(&out);
	fputs(strbuf_text(&out), stdout);
	return fflush(stdout) ? 1 : 0;
}
