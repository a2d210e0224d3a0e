/*
 * What parses has one canonical text, which parses to the same again; the pretty text as well. What
 * is plain JSON is the same to our reader of that and to Jansson; members are cut out of what
 * parses as an object, and of nothing else.
 */
#include "formats/json.h"
#include "formats/json_members.h"
#include "formats/json_plain.h"

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

static void check_plain(struct slice text)
{
	cleanup_json json_t *ours = json_plain(text);
	cleanup_json json_t *theirs = NULL;
	json_error_t error;

	if (!ours)
		return;
	theirs = json_loadb((const char *)text.data, text.len,
			    JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
	if (!theirs || !json_equal(ours, theirs))
		abort();
}

/* `whole` is what the text parses to, or NULL. */
static void check_members(struct slice text, const json_t *whole)
{
	struct json_member m = { .key = "a" };
	cleanup_json json_t *value = NULL;
	struct error err = { 0 };
	int rc = json_members(text, &m, 1, &err);

	assert((rc == 0) == json_is_object(whole));
	if (rc < 0)
		return;
	assert((m.value.data != NULL) == (json_object_get(whole, "a") != NULL));
	if (!m.value.data)
		return;
	if (json_parse(m.value, &value, &err) < 0 ||
	    !json_equal(value, json_object_get(whole, "a")))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_strbuf struct strbuf canonical = { 0 };
	cleanup_strbuf struct strbuf pretty = { 0 };
	cleanup_json json_t *value = NULL;
	struct error err = { 0 };

	if (len > MIB)
		return 0;
	check_plain(slice_of(data, len));
	if (json_parse(slice_of(data, len), &value, &err) < 0) {
		check_members(slice_of(data, len), NULL);
		return 0;
	}
	check_members(slice_of(data, len), value);
	json_canonical(value, &canonical);
	json_pretty(value, &pretty);
	check_again(value, &canonical);
	check_again(value, &pretty);
	return 0;
}
