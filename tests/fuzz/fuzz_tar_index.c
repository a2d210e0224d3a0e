/*
 * The members of a hostile tar archive, as image archives are read. Each member that is found lies
 * inside the archive and can be read to its end.
 */
#include <sys/mman.h>

#include "base/alloc.h"
#include "oci/tar_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_tar_index struct tar_index index = { 0 };
	cleanup_fd int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct error err = { 0 };

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	if (tar_index_read(fd, "fuzz", &index, &err) < 0)
		return 0;
	for (size_t i = 0; i < index.members.len; i++) {
		const struct tar_member *m =
			tar_index_find(&index, index.members.entries[i].key, &err);
		cleanup_stream struct stream *in = m ? tar_index_open(&index, m) : NULL;

		if (in && (m->offset + m->size > len || stream_drain(in, NULL, &err) < 0))
			abort();
	}
	return 0;
}
