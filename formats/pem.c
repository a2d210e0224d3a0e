#include "formats/pem.h"

#include "base/base64.h"

enum { LINE = 64 };

static const char begin[] = "-----BEGIN ", end[] = "-----END ", dashes[] = "-----";

/* The label of a line "-----WORD label-----"; false for other lines. */
static bool boundary(struct slice line, const char *start, struct slice *out_label)
{
	size_t skip = strlen(start), tail = sizeof(dashes) - 1;

	line = slice_trim(line);
	if (!slice_starts(line, start) || line.len < skip + tail ||
	    memcmp(line.data + line.len - tail, dashes, tail) != 0)
		return false;
	*out_label = slice_of(line.data + skip, line.len - skip - tail);
	return true;
}

static int decode(const struct strbuf *body, struct strbuf *out, struct error *err)
{
	strbuf_reserve(out, body->len);
	if (!base64_decode_strict(strbuf_slice(body), out))
		return error_set(err, ERROR_FORMAT,
				 "PEM: what stands between its lines is no "
				 "base64");
	return 0;
}

int pem_read(struct slice text, struct slice *out_label, struct strbuf *out, struct error *err)
{
	cleanup_secret struct strbuf body = { 0 };
	struct slice rest = text, line, label;
	bool open = false;

	if (text.len > PEM_BYTES_MAX)
		return error_set(err, ERROR_LIMIT, "PEM: longer than %d bytes", PEM_BYTES_MAX);
	strbuf_reserve(&body, text.len);
	while (slice_cut(&rest, '\n', &line)) {
		if (!open) {
			open = boundary(line, begin, out_label);
			continue;
		}
		if (boundary(line, end, &label)) {
			if (!slice_equal(label, *out_label))
				return error_set(err, ERROR_FORMAT,
						 "PEM: begins and ends with different names");
			return decode(&body, out, err);
		}
		line = slice_trim(line);
		if (line.len && memchr(line.data, ':', line.len))
			return error_set(err, ERROR_FORMAT,
					 "PEM: has headers, as keys of old ways of encrypting "
					 "have; `openssl pkcs8 -topk8` makes a key of today's way "
					 "of it");
		strbuf_add(&body, line.data, line.len);
	}
	return error_set(err, ERROR_FORMAT,
			 open ? "PEM: the line that ends it is missing"
			      : "no PEM: there is no line \"-----BEGIN …-----\"");
}

void pem_write(const char *label, struct slice bytes, struct strbuf *out)
{
	cleanup_secret struct strbuf text = { 0 };

	strbuf_reserve(&text, (bytes.len + 2) / 3 * 4);
	base64_encode(bytes, &text);
	strbuf_reserve(out, text.len + text.len / LINE + 2 * strlen(label) + 64);
	strbuf_addf(out, "%s%s%s\n", begin, label, dashes);
	for (size_t at = 0; at < text.len; at += LINE) {
		strbuf_add(out, text.data + at, MIN(text.len - at, (size_t)LINE));
		strbuf_addc(out, '\n');
	}
	strbuf_addf(out, "%s%s%s\n", end, label, dashes);
}
