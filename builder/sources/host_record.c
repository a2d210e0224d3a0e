#include "builder/sources/host_record.h"

bool host_record_documents(const char *path)
{
	return str_starts(path, "usr/share/doc/") || str_starts(path, "usr/share/licenses/");
}

/* A folder that documentation lies in. */
static bool is_above(const char *path)
{
	static const char *const folders[] = { "", "usr", "usr/share", "usr/share/doc",
					       "usr/share/licenses" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		if (str_equal(path, folders[i]))
			return true;
	}
	return false;
}

bool host_record_keeps(const struct tar_entry *entry)
{
	if (entry->type == TAR_DIR && is_above(entry->path))
		return true;
	return host_record_documents(entry->path) &&
	       (entry->type != TAR_HARDLINK || host_record_documents(entry->link));
}
