/*
 * RECORD and entry_points.txt of hostile wheels. Property: rows that parse, written again, parse
 * to the same rows.
 */
#include "formats/wheel_meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_rows(const struct wheel_record *rows, struct arena *arena)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct wheel_record again = { 0 };
	struct error err = { 0 };

	for (size_t i = 0; i < rows->len; i++) {
		const struct wheel_record_row *r = &rows->items[i];

		if (r->size == UINT64_MAX || strpbrk(r->path, "\r\n") ||
		    slice_trim(slice_str(r->path)).len != strlen(r->path))
			return;
		wheel_record_line(&text, r->path, r->has_digest ? &r->digest : NULL, r->size);
	}
	if (wheel_record_parse(strbuf_slice(&text), arena, &again, &err) < 0 ||
	    again.len != rows->len)
		abort();
	for (size_t i = 0; i < rows->len; i++) {
		if (!str_equal(again.items[i].path, rows->items[i].path) ||
		    again.items[i].has_digest != rows->items[i].has_digest)
			abort();
	}
	vec_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	struct wheel_record rows = { 0 };
	struct wheel_entry_points points = { 0 };
	struct error err = { 0 };

	if (wheel_record_parse(slice_of(data, len), &arena, &rows, &err) == 0)
		check_rows(&rows, &arena);
	if (wheel_entry_points_parse(slice_of(data, len), &arena, &points, &err) == 0) {
		for (size_t i = 0; i < points.len; i++) {
			if (strchr(points.items[i].name, '/'))
				abort();
		}
	}
	vec_release(&rows);
	vec_release(&points);
	return 0;
}
