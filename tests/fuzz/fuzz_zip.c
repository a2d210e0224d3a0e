/*
 * Property: entries are sorted, apart from each other and inside the file; content that reads to
 * its end has the size the directory says.
 */
#include <sys/mman.h>

#include "formats/zip_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_entry(int fd, const struct zip_entry *e, size_t len)
{
	struct error err = { 0 };
	uint64_t seen = 0;
	cleanup_stream struct stream *s = zip_open(fd, e), *limited = stream_limit(s, 1 << 20);

	assert(e->data_offset <= len && e->compressed_size <= len - e->data_offset);
	if (stream_drain(limited, &seen, &err) == 0)
		assert(seen == e->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct error err = { 0 };
	cleanup_arena struct arena arena = { 0 };
	cleanup_fd int fd = memfd_create("zip", MFD_CLOEXEC); /* random access needs a descriptor */
	struct zip zip;

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		return 0;
	if (zip_read(fd, "zip", &arena, &zip, &err) < 0) {
		assert(err.code == ERROR_FORMAT || err.code == ERROR_LIMIT);
		return 0;
	}
	for (size_t i = 0; i < zip.count; i++) {
		assert(i == 0 || strcmp(zip.entries[i - 1].path, zip.entries[i].path) < 0);
		assert(zip_find(&zip, zip.entries[i].path) == &zip.entries[i]);
		check_entry(fd, &zip.entries[i], len);
	}
	return 0;
}
