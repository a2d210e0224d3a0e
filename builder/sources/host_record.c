#include "builder/sources/host_record.h"

#include "formats/doc_path.h"

bool host_record_keeps(const struct tar_entry *entry)
{
	if (entry->type == TAR_DIR && doc_path_is_above(entry->path))
		return true;
	return doc_path_is(entry->path) &&
	       (entry->type != TAR_HARDLINK || doc_path_is(entry->link));
}
