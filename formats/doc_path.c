#include "formats/doc_path.h"

#include "base/slice.h"

bool doc_path_is(const char *path)
{
	return str_starts(path, "usr/share/doc/") || str_starts(path, "usr/share/licenses/");
}

bool doc_path_is_above(const char *path)
{
	static const char *const folders[] = { "", "usr", "usr/share", "usr/share/doc",
					       "usr/share/licenses" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		if (str_equal(path, folders[i]))
			return true;
	}
	return false;
}
