/* A registries.conf: the rule that is found covers the name, and its own place is the last. */
#include "registry/registries_conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_name(const struct registries_conf *c, const char *registry,
		       const char *repository)
{
	const struct registry_rule *rule = registries_conf_find(c, registry, repository);
	cleanup_arena struct arena arena = { 0 };
	struct registry_endpoint *list;
	struct error err = { 0 };
	size_t count;

	if (rule && rule->prefix[0] != '*')
		assert(strncmp(rule->prefix, registry, strcspn(rule->prefix, "/:")) == 0);
	if (registries_conf_endpoints(c, registry, repository, strlen(registry) % 2, &arena, &list,
				      &count, &err) < 0)
		return;
	assert(count >= 1 && !list[count - 1].mirror && *list[0].registry && *list[0].repository);
	assert(!rule || !rule->blocked);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	cleanup_registries_conf struct registries_conf conf = { 0 };
	struct error err = { 0 };

	if (registries_conf_add(&conf, slice_of(data, len), "f", &err) < 0) {
		assert(err.code == ERROR_FORMAT || err.code == ERROR_LIMIT);
		return 0;
	}
	check_name(&conf, "h.example", "team/app");
	check_name(&conf, "a.b.example:5000", "x");
	for (size_t i = 0; i < conf.rules.len; i++)
		assert(*conf.rules.items[i].prefix);
	return 0;
}
