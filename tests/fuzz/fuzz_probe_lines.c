/* Lines of the probe: whatever stands in them, what is kept is bounded and the same every time. */
#include "testkernels/probe_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void same(const char *a, const char *b)
{
	assert((!a && !b) || (a && b && str_equal(a, b)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_probe_lines struct probe_lines one = { 0 }, two = { 0 };
	cleanup_strbuf struct strbuf spaced = { 0 };

	probe_lines_parse(slice_of(data, len), &one);
	assert(one.outcomes.len <= PROBE_TESTS_MAX);

	/* empty lines change nothing */
	for (size_t i = 0; i < len; i++) {
		strbuf_addc(&spaced, (char)data[i]);
		if (data[i] == '\n')
			strbuf_addc(&spaced, '\n');
	}
	probe_lines_parse(strbuf_slice(&spaced), &two);
	assert(one.outcomes.len == two.outcomes.len && one.dropped == two.dropped &&
	       one.done == two.done && !one.hello == !two.hello);
	for (size_t i = 0; i < one.outcomes.len; i++) {
		const struct probe_outcome *a = one.outcomes.items[i], *b = two.outcomes.items[i];

		same(a->id, b->id);
		same(a->message, b->message);
		same(a->last_words, b->last_words);
		assert(a->status == b->status && a->status <= TEST_SKIP);
		assert(probe_lines_find(&one, a->id) == a);
		assert(!a->ended || (a->signal >= 0 && a->exit_status >= -1));
	}
	return 0;
}
