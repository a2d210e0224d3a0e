/* What is found has no entry's text in any error, and a credential that is found is usable. */
#include "registry/credentials.h"

#include "base/alloc.h"
#include "registry/auth.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const struct credential *c)
{
	switch (c->kind) {
	case CREDENTIAL_NONE:
		assert(!c->secret);
		break;
	case CREDENTIAL_PASSWORD: {
		cleanup_free char *basic = NULL;

		assert(c->username && c->secret);
		basic = credential_basic(c);
		assert(str_starts(basic, "Basic ") && !strpbrk(basic, "\r\n"));
		break;
	}
	default:
		assert(c->secret && *c->secret);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const char *const registries[] = { "r.example.org", "docker.io", "localhost:5000" };
	cleanup_credential struct credential helper = { 0 };
	struct token token = { 0 };
	struct error err = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(registries); i++) {
		cleanup_credential_entry struct credential_entry e = { 0 };

		if (credential_parse_config(slice_of(data, len), registries[i], "team/app", &e,
					    &err) == 0)
			check(&e.found);
		assert(!e.helper || !strchr(e.helper, '/'));
	}
	if (credential_parse_helper(slice_of(data, len), &helper, &err) == 0)
		check(&helper);
	if (token_parse(slice_of(data, len), &token, &err) == 0)
		assert(token.life_s && !strpbrk(token.value, " \r\n"));
	token_release(&token);
	return 0;
}
