/*
 * The bytes of an .rpm into a component, all in memory, whole and as the record that is left of one
 * that the host brings. Properties: every file's range lies within the content, no name leaves the
 * root, every owner is one of an entry; a record has no script, a part of the entries, and a header
 * that can be read.
 */
#include "builder/sources/rpm_package.h"
#include "formats/rpm_header.h"
#include "tests/fuzz/unpacked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_component struct component *whole = component_new(COMPONENT_RPM, "", "");
	cleanup_component struct component *record = component_new(COMPONENT_RPM, "", "");
	struct slice bytes = slice_of(data, len);
	struct rpm_header header;
	struct error err = { 0 };

	if (unpack_checked(rpm_unpack, bytes, whole) < 0)
		return 0;
	for (size_t i = 0; i < whole->entries.len; i++) {
		if (!*whole->entries.items[i].tar.path)
			abort();
	}
	if (unpack_checked(rpm_unpack_record, bytes, record) < 0 || record->scripts.len ||
	    record->entries.len > whole->entries.len ||
	    rpm_header_parse(record->rpm_header, &header, &err) < 0)
		abort();
	return 0;
}
