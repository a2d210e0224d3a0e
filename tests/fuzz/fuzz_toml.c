/*
 * TOML. Properties: each value stands inside the text and knows its key; what is accepted is
 * accepted again, with the same values, behind a comment and with CR LF for LF where that changes
 * nothing but the breaks of texts of several lines.
 */
#include "base/strbuf.h"
#include "formats/toml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_node(const struct node *node, size_t lines, unsigned depth)
{
	assert(depth <= 64 && node->text && node->type != NODE_NULL);
	assert(node->line >= 1 && node->line <= lines && node->column >= 1);
	for (size_t i = 0; i < node->count; i++) {
		if (node->type == NODE_LIST) {
			check_node(&node->items[i], lines, depth + 1);
			continue;
		}
		assert(node->type == NODE_MAP);
		assert(node_get(node, node->pairs[i].key.text) == &node->pairs[i].value);
		check_node(&node->pairs[i].value, lines, depth + 1);
	}
}

static void check_same(const struct node *a, const struct node *b)
{
	assert(a->type == b->type && a->count == b->count && a->quoted == b->quoted);
	assert(str_equal(a->text, b->text) && b->line == a->line + 1);
	for (size_t i = 0; i < a->count; i++) {
		if (a->type == NODE_LIST) {
			check_same(&a->items[i], &b->items[i]);
		} else {
			assert(str_equal(a->pairs[i].key.text, b->pairs[i].key.text));
			check_same(&a->pairs[i].value, &b->pairs[i].value);
		}
	}
}

/* The same with a line before it, and all its line breaks the long form. */
static void rewrite(struct slice text, struct strbuf *out)
{
	if (slice_starts(text, "\xef\xbb\xbf"))
		text = slice_of(text.data + 3, text.len - 3);
	strbuf_adds(out, "# \xc3\xa9\r\n");
	for (size_t i = 0; i < text.len; i++) {
		if (text.data[i] == '\n' && (i == 0 || text.data[i - 1] != '\r'))
			strbuf_addc(out, '\r');
		strbuf_addc(out, (char)text.data[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct slice text = slice_of(data, len);
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf again = { 0 };
	struct error err = { 0 };
	struct node top, second;
	size_t lines = 2;

	if (len > 64 * KIB)
		return 0;
	if (toml_parse(text, "f", &arena, &top, &err) < 0) {
		assert(err.code && str_starts(err.text, "f:"));
		return 0;
	}
	for (size_t i = 0; i < len; i++)
		lines += data[i] == '\n';
	check_node(&top, lines, 0);
	rewrite(text, &again);
	if (toml_parse(strbuf_slice(&again), "f", &arena, &second, &err) < 0)
		abort();
	assert(second.count == top.count);
	for (size_t i = 0; i < top.count; i++)
		check_same(&top.pairs[i].value, &second.pairs[i].value);
	return 0;
}
