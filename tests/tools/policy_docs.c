/* Prints docs/lint-policy.md ("page") or docs/lint-policy.schema.json ("schema"). */
#include "lint/site_policy.h"

int main(int argc, char **argv)
{
	cleanup_strbuf struct strbuf out = { 0 };

	if (argc == 2 && str_equal(argv[1], "schema"))
		site_policy_schema(&out);
	else
		site_policy_markdown(&out);
	fputs(strbuf_text(&out), stdout);
	return fflush(stdout) ? 1 : 0;
}
