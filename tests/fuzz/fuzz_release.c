/*
 * Clear-signed Release files, armoured keys, gpgv's status lines. Properties: what is signed,
 * wrapped again, splits to the same; nothing passes as good without its keyword.
 */
#include "builder/sources/apt_release.h"
#include "builder/sources/armor.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void wrap_again(struct slice text, struct slice signature)
{
	cleanup_strbuf struct strbuf whole = { 0 }, text2 = { 0 }, signature2 = { 0 };
	struct error err = { 0 };
	struct slice line;

	strbuf_adds(&whole, "-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\n");
	while (slice_cut(&text, '\n', &line)) {
		strbuf_adds(&whole, line.len && line.data[0] == '-' ? "- " : "");
		strbuf_add(&whole, line.data, line.len);
		strbuf_addc(&whole, '\n');
	}
	text = strbuf_slice(&whole);
	strbuf_add(&whole, signature.data, signature.len);
	if (apt_clearsigned_split(strbuf_slice(&whole), "f", &text2, &signature2, &err) < 0 ||
	    !slice_equal(strbuf_slice(&signature2), signature))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct slice in = slice_of(data, len);
	cleanup_strbuf struct strbuf text = { 0 }, signature = { 0 }, key = { 0 };
	cleanup_apt_release struct apt_release r = { 0 };
	struct apt_keys keys = { 0 };
	struct error err = { 0 };

	if (apt_clearsigned_split(in, "f", &text, &signature, &err) == 0) {
		wrap_again(strbuf_slice(&text), strbuf_slice(&signature));
		in = strbuf_slice(&text);
	}
	if (apt_release_parse(in, "f", &r, &err) == 0 && !r.suite)
		abort();
	in = slice_of(data, len);
	if (armor_decode(in, "f", &key, &err) == 0 && !armor_is(in))
		abort();
	if (apt_gpgv_judge(in, &keys, &err) == 0 &&
	    (!memmem(data, len, "GOODSIG", 7) || !memmem(data, len, "VALIDSIG", 8)))
		abort();
	return 0;
}
