/* Each value stands inside the text, in order in its list; what is refused names line or limit. */
#include "formats/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_node(const struct node *node, size_t lines, unsigned depth)
{
	assert(depth <= 65 && node->text);
	assert(node->line >= 1 && node->line <= lines && node->column >= 1);
	for (size_t i = 0; i < node->count; i++) {
		if (node->type == NODE_LIST) {
			check_node(&node->items[i], lines, depth + 1);
			continue;
		}
		assert(node->type == NODE_MAP);
		assert(node->pairs[i].key.type == NODE_SCALAR);
		assert(node_get(node, node->pairs[i].key.text) == &node->pairs[i].value);
		check_node(&node->pairs[i].value, lines, depth + 1);
	}
}

/* YAML breaks lines at LF, CR, NEL, LS and PS: three bytes at most tell of one. */
static size_t lines_at_most(struct slice text)
{
	size_t lines = 2;

	for (size_t i = 0; i < text.len; i++)
		lines += text.data[i] == '\n' || text.data[i] == '\r' || text.data[i] == 0x85 ||
			 text.data[i] == 0xa8 || text.data[i] == 0xa9;
	return lines;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct slice text = slice_of(data, len);

	if (len > 64 * KIB)
		return 0;
	for (int json = 0; json < 2; json++) {
		cleanup_arena struct arena arena = { 0 };
		struct error err = { 0 };
		struct node top;

		if ((json ? yaml_parse_json : yaml_parse)(text, "f", &arena, &top, &err) < 0)
			assert(err.code && str_starts(err.text, "f:"));
		else
			check_node(&top, lines_at_most(text), 0);
	}
	return 0;
}
