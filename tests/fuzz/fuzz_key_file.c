/* PEM that was read, written again, reads the same; keys in it are read without a password. */
#include "base/alloc.h"
#include "formats/key_file.h"
#include "formats/pem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_pem(struct slice text)
{
	cleanup_strbuf struct strbuf bytes = { 0 }, again = { 0 }, written = { 0 };
	cleanup_free char *name = NULL;
	struct error err = { 0 };
	struct slice label;

	if (pem_read(text, &label, &bytes, &err) < 0) {
		assert(err.code == ERROR_FORMAT || err.code == ERROR_LIMIT);
		return;
	}
	name = xstrndup((const char *)label.data, label.len);
	if (strlen(name) != label.len || strchr(name, '\n') || bytes.len > PEM_BYTES_MAX / 2)
		return;
	pem_write(name, strbuf_slice(&bytes), &written);
	if (pem_read(strbuf_slice(&written), &label, &again, &err) < 0)
		abort();
	assert(slice_equal(strbuf_slice(&bytes), strbuf_slice(&again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct slice text = slice_of(data, len);
	struct error err = { 0 };
	struct key *k = key_file_private(text, NULL, NULL, &err);

	assert(k || err.code);
	key_free(k);
	err = (struct error){ 0 };
	k = key_file_public(text, &err);
	assert(k || err.code);
	key_free(k);
	check_pem(text);
	return 0;
}
