#include "tests/support/test.h"

#include <stdlib.h>

char *test_dir(void)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = xasprintf("%s/gpuimg-test-XXXXXX", tmp ? tmp : "/tmp");

	if (!mkdtemp(dir))
		fail_msg("cannot create %s", dir);
	return dir;
}

void test_dir_free(char *dir)
{
	struct error err = { 0 };

	if (dir && fs_remove_tree(AT_FDCWD, dir, &err) < 0)
		fail_msg("%s", err.text);
	free(dir);
}
