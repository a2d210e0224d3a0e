/*
 * The bytes of a .deb into a component, all in memory, whole and as the record that is left of one
 * that the host brings. Properties: every file's range lies within the content, and no name leaves
 * the root; a record has no script, and a part of the entries.
 */
#include "builder/sources/deb_package.h"
#include "tests/fuzz/unpacked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_component struct component *whole = component_new(COMPONENT_DEB, "", "");
	cleanup_component struct component *record = component_new(COMPONENT_DEB, "", "");
	struct slice bytes = slice_of(data, len);

	if (unpack_checked(deb_read, bytes, whole) < 0)
		return 0;
	if (unpack_checked(deb_read_record, bytes, record) < 0 || record->scripts.len ||
	    record->entries.len > whole->entries.len)
		abort();
	return 0;
}
