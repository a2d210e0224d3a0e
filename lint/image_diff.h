/*
 * What differs between two images: stack, packages, configuration, layers, files, findings, sizes.
 * Rows are sorted, so the same two images give the same bytes.
 */
#ifndef LINT_IMAGE_DIFF_H
#define LINT_IMAGE_DIFF_H

#include "formats/json.h"
#include "lint/lint.h"

struct diff_row {
	const char *what;           /* "libc6 (dpkg)", "/usr/bin/app", "Env PATH" */
	const char *before, *after; /* NULL: not there */
};

struct diff_rows {
	struct diff_row *items;
	size_t len, cap;
};

struct image_diff {
	struct arena arena;
	const char *before, *after; /* the images' names */
	struct diff_rows stack, packages, config, layers, files, findings;
	struct diff_rows sizes; /* of components, for information */
	bool different;         /* one of the others has rows */
};

/*
 * Both are read to their end, every file is hashed. `options` is for the findings. ERROR_INTEGRITY:
 * one could not be read completely.
 */
int image_diff_make(struct image *a, struct image *b, const struct lint_options *options,
		    struct image_diff *out, struct error *err) MUST_USE;
void image_diff_release(struct image_diff *diff);
#define cleanup_image_diff cleanup(image_diff_release)

/* At most `rows_max` rows of each part, then how many more. */
void image_diff_text(const struct image_diff *diff, size_t rows_max, struct strbuf *out);
/* Schema gpuimg-diff/1, all rows. The caller's. */
json_t *image_diff_json(const struct image_diff *diff);

#endif
