/* The stanzas, written out again field by field, read back as the same names and values. */
#include "formats/deb822.h"

#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static bool inside(struct slice s, struct slice text)
{
	return s.data >= text.data && s.data + s.len <= text.data + text.len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_deb822 struct deb822 stanza = { 0 };
	cleanup_deb822 struct deb822 again = { 0 };
	struct slice text = slice_of(data, len), rest = text;
	struct error err = { 0 };
	size_t line = 1;
	int rc;

	if (len > MIB)
		return 0;
	while ((rc = deb822_next(&rest, "f", &line, &stanza, &err)) == 1) {
		cleanup_strbuf struct strbuf copy = { 0 };
		struct slice written;
		size_t at = 1;

		assert(stanza.len > 0 && inside(rest, text));
		for (size_t i = 0; i < stanza.len; i++) {
			assert(inside(stanza.items[i].name, text) &&
			       inside(stanza.items[i].value, text));
			strbuf_add(&copy, stanza.items[i].name.data, stanza.items[i].name.len);
			strbuf_addc(&copy, ':');
			strbuf_add(&copy, stanza.items[i].value.data, stanza.items[i].value.len);
			strbuf_addc(&copy, '\n');
		}
		written = strbuf_slice(&copy);
		if (deb822_next(&written, "f", &at, &again, &err) != 1)
			abort();
		assert(again.len == stanza.len);
		for (size_t i = 0; i < stanza.len; i++)
			assert(slice_equal(again.items[i].name, stanza.items[i].name) &&
			       slice_equal(again.items[i].value, stanza.items[i].value));
	}
	assert(rc == 0 || str_starts(err.text, "f:"));
	return 0;
}
