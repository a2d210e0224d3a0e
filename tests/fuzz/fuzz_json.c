/* What parses has one canonical text, which parses to the same again; the pretty text as well. */
#include "formats/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_again(const json_t *value, const struct strbuf *text)
{
	cleanup_strbuf struct strbuf canonical = { 0 }, second = { 0 };
	cleanup_json json_t *again = NULL;
	struct error err = { 0 };

	if (json_parse(strbuf_slice(text), &again, &err) < 0)
		abort();
	json_canonical(value, &canonical);
	json_canonical(again, &second);
	assert(slice_equal(strbuf_slice(&canonical), strbuf_slice(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_strbuf struct strbuf canonical = { 0 };
	cleanup_strbuf struct strbuf pretty = { 0 };
	cleanup_json json_t *value = NULL;
	struct error err = { 0 };

	if (len > MIB || json_parse(slice_of(data, len), &value, &err) < 0)
		return 0;
	json_canonical(value, &canonical);
	json_pretty(value, &pretty);
	check_again(value, &canonical);
	check_again(value, &pretty);
	return 0;
}
