/* Writes docs/rules/<ID>.md of every rule into the folder that is named: make docs. */
#include "base/fs.h"
#include "lint/report.h"

int main(int argc, char **argv)
{
	struct error err = { 0 };

	if (argc != 2)
		return 2;
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
