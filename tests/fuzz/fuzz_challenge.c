/* Challenges, written out again in the strict form, read back the same. */
#include "registry/challenge.h"

#include "base/strbuf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void write_value(struct strbuf *out, const char *value)
{
	strbuf_addc(out, '"');
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			strbuf_addc(out, '\\');
		strbuf_addc(out, *value);
	}
	strbuf_addc(out, '"');
}

static void write_all(const struct challenges *all, struct strbuf *out)
{
	for (size_t i = 0; i < all->len; i++) {
		const struct challenge *c = &all->items[i];

		strbuf_addf(out, "%s%s ", i ? "," : "", c->scheme);
		for (size_t j = 0; j < c->param_count; j++) {
			strbuf_addf(out, "%s%s=", j ? "," : "", c->params[j].name);
			write_value(out, c->params[j].value);
		}
	}
}

static void check_same(const struct challenges *a, const struct challenges *b)
{
	assert(a->len == b->len);
	for (size_t i = 0; i < a->len; i++) {
		assert(str_equal(a->items[i].scheme, b->items[i].scheme));
		assert(a->items[i].param_count == b->items[i].param_count);
		for (size_t j = 0; j < a->items[i].param_count; j++) {
			assert(str_equal(a->items[i].params[j].name, b->items[i].params[j].name));
			assert(str_equal(a->items[i].params[j].value, b->items[i].params[j].value));
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_challenges struct challenges all = { 0 };
	cleanup_challenges struct challenges again = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	struct error err = { 0 };

	if (challenge_parse(slice_of(data, len), &arena, &all, &err) < 0) {
		assert(err.code == ERROR_FORMAT || err.code == ERROR_LIMIT);
		return 0;
	}
	write_all(&all, &text);
	if (text.len > CHALLENGE_BYTES_MAX)
		return 0;
	if (challenge_parse(strbuf_slice(&text), &arena, &again, &err) < 0)
		abort();
	check_same(&all, &again);
	return 0;
}
