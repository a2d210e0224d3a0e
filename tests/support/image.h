/*
 * Images from a few lines of text, for the tests of everything that reads images.
 *
 * One statement a line; blanks at its start and empty lines do not count, "#" starts a comment:
 *
 *   image linux/arm64         another image: the tag then stands for an index of all of them.
 *                             Without it there is one image, for linux/amd64.
 *   env K=V                   entrypoint WORD…    cmd WORD…    user NAME    workdir PATH
 *   label K=V
 *   layer [none|gzip|zstd]    another layer (gzip), with the entries that follow:
 *   dir PATH [MODE]           mode 0755
 *   file PATH [MODE] [=TEXT]  mode 0644; TEXT to the end of the line, "\n" in it is a newline
 *   file PATH [MODE] @NAME    the bytes of the blob of that name (test_image_with)
 *   file PATH [MODE] *SIZE    that many bytes "x"
 *   link PATH -> TARGET       symbolic link       hard PATH -> TARGET    hard link
 *   char PATH                 a character device  fifo PATH
 *   owner UID GID             of the entries that follow in this layer
 *   whiteout PATH             PATH of lower layers is gone
 *   opaque DIR                all that lower layers have in DIR is gone
 *
 * And to get it wrong: `type TEXT` sets the layer's media type; `fault X` spoils it: diff_id (the
 * configuration has another), digest (the blob's last byte differs), missing (the blob is not
 * there), short (its last byte is missing); `fault history` (of the image) writes one entry of
 * history too many, `fault platform` puts another architecture into the configuration.
 *
 * Paths are written as they stand, so that "file ../x" makes the unsafe entry it looks like. All
 * times are 1980-01-01, so the same text always gives the same digests. Any mistake in the text
 * ends the test.
 */
#ifndef TESTS_SUPPORT_IMAGE_H
#define TESTS_SUPPORT_IMAGE_H

#include "oci/layout.h"

struct test_blob {
	const char *name;
	struct slice bytes;
};

/* Add the image to the OCI layout at `dir`, made when missing, under `tag`. */
void test_image(const char *dir, const char *tag, const char *text);
void test_image_with(const char *dir, const char *tag, const char *text,
		     const struct test_blob *blobs, size_t blob_count);

/*
 * The same as a docker-archive at `path`, named `reference`, with plain layers named by their
 * diff_ids; of faults and types only `fault diff_id` counts. One image.
 */
void test_docker_archive(const char *path, const char *reference, const char *text);

#endif
