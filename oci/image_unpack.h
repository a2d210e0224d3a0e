/*
 * An image's effective files in a folder: what a container would see, whiteouts applied.
 *
 * Nothing is written outside the folder, whatever the layers say: names and links are resolved
 * before anything is made, and no path goes through a symlink on disk. Owners, devices and
 * capabilities need root; without it they are left out and counted.
 */
#ifndef OCI_IMAGE_UNPACK_H
#define OCI_IMAGE_UNPACK_H

#include "oci/image.h"

struct unpack_result {
	uint64_t files, bytes;
	uint64_t owners;  /* entries of others than root whose owner was not set */
	uint64_t devices; /* left out */
	uint64_t xattrs;  /* not set */
};

/*
 * Unpack into `dir`, which is made and must not be there, or be empty. It appears under its name
 * when it is complete. ERROR_USAGE the folder holds something; ERROR_FORMAT two names that differ
 * for the image and not for the file system; those of reading; ERROR_SYSTEM.
 */
int image_unpack(struct image *image, const char *dir, struct unpack_result *out,
		 struct error *err) MUST_USE;

#endif
