/*
 * The files of apt's configuration, each parser on the same bytes. Property: every source has an
 * address that ends in "/", and components exactly when it is not flat.
 */
#include "builder/sources/apt_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check(const struct apt_config *c)
{
	for (size_t i = 0; i < c->sources.len; i++) {
		const struct apt_source *s = &c->sources.items[i];

		if (!str_ends(s->uri, "/") ||
		    str_ends(s->suite, "/") != (s->component_count == 0) || !s->place)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct slice text = slice_of(data, len);
	cleanup_apt_config struct apt_config c = { 0 };
	struct error err = { 0 };
	int rc = apt_sources_list(text, "f", &c, &err);

	rc |= apt_sources_deb822(text, "f", &c, &err);
	check(&c);
	rc |= apt_preferences(text, "f", &c, &err);
	rc |= apt_conf(text, "f", &c, &err);
	apt_auth_conf(text, &c);
	free(apt_config_authorization(&c, "https://a.example.org/x"));
	return rc > 0; /* never: the parsers give 0 or -1 */
}
