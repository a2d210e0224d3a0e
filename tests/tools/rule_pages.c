/* Writes docs/rules/<ID>.md of every rule, and README.md that lists them, into the folder that is
 * named: make docs. */
#include "base/fs.h"
#include "lint/report.h"

static void add_list(struct strbuf *page)
{
	strbuf_adds(page, "# Lint rules\n\n"
			  "`gpuimg lint --explain ID` prints the page of a rule. How to choose "
			  "among them, and to\n"
			  "change what counts: [judging images](../lint.md).\n\n"
			  "| rule | name | severity | finds |\n| --- | --- | --- | --- |\n");
	for (size_t i = 0; i < rules_count; i++)
		strbuf_addf(page, "| [%s](%s.md) | `%s` | %s | %s |\n", rules[i]->id, rules[i]->id,
			    rules[i]->name, severity_name(rules[i]->severity), rules[i]->what);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	cleanup_strbuf struct strbuf list = { 0 };

	if (argc != 2)
		return 2;
	cleanup_free char *index = xasprintf("%s/README.md", argv[1]);
	add_list(&list);
	if (fs_write(AT_FDCWD, index, strbuf_slice(&list), 0644, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 3;
	}
	for (size_t i = 0; i < rules_count; i++) {
		cleanup_free char *path = xasprintf("%s/%s.md", argv[1], rules[i]->id);
		cleanup_strbuf struct strbuf page = { 0 };

		rule_page(rules[i], &page);
		if (fs_write(AT_FDCWD, path, strbuf_slice(&page), 0644, &err) < 0) {
			fprintf(stderr, "%s\n", err.text);
			return 3;
		}
	}
	return 0;
}
