#include "registry/registries_conf.h"

#include "base/fs.h"
#include "base/vec.h"
#include "formats/toml.h"
#include "oci/reference.h"

void registries_conf_release(struct registries_conf *c)
{
	vec_release(&c->rules);
	arena_release(&c->arena);
}

/* Values. */

static int wrong_type(const struct node *n, const char *key, const char *wanted, struct error *err)
{
	return error_set(err, ERROR_FORMAT, "%s:%zu:%zu: %s: %s is wanted, not %s", n->file,
			 n->line, n->column, key, wanted, node_type_name(n));
}

/* The text of `key`, "" when it is missing. */
static int take_text(const struct node *map, const char *key, const char **out, struct error *err)
{
	const struct node *n = node_get(map, key);

	*out = "";
	if (!n)
		return 0;
	if (n->type != NODE_SCALAR || !n->quoted)
		return wrong_type(n, key, "text in quotes", err);
	*out = n->text;
	return 0;
}

static int take_bool(const struct node *map, const char *key, bool *out, struct error *err)
{
	const struct node *n = node_get(map, key);

	*out = false;
	if (!n)
		return 0;
	if (n->type != NODE_SCALAR || n->quoted || !node_bool(n, out))
		return wrong_type(n, key, "true or false", err);
	return 0;
}

/* The list `key`; *out_count is 0 when it is missing. */
static int take_list(const struct node *map, const char *key, const struct node **out,
		     size_t *out_count, struct error *err)
{
	const struct node *n = node_get(map, key);

	*out_count = 0;
	if (!n)
		return 0;
	if (n->type != NODE_LIST)
		return wrong_type(n, key, "a list", err);
	*out = n->items;
	*out_count = n->count;
	return 0;
}

/* A place as people write it: without the scheme, which is refused, and "/" at the end. */
static int take_place(const struct node *map, const char *key, struct arena *arena,
		      const char **out, struct error *err)
{
	const char *text;
	size_t len;

	if (take_text(map, key, &text, err) < 0)
		return -1;
	if (strstr(text, "://"))
		return error_set(err, ERROR_FORMAT,
				 "%s:%zu: %s: \"%.100s\": a host is wanted, without a scheme",
				 map->file, map->line, key, text);
	for (len = strlen(text); len && text[len - 1] == '/';)
		len--;
	*out = arena_slice(arena, slice_of(text, len));
	return 0;
}

/* Rules. */

static int take_pull_from(const struct node *map, bool digest_only, enum pull_from *out,
			  struct error *err)
{
	static const char *const names[] = { "all", "digest-only", "tag-only" };
	const char *text;

	if (take_text(map, "pull-from-mirror", &text, err) < 0)
		return -1;
	*out = digest_only ? PULL_FROM_DIGEST_ONLY : PULL_FROM_ALL;
	if (!*text)
		return 0;
	if (digest_only)
		return error_set(err, ERROR_FORMAT,
				 "%s:%zu: pull-from-mirror and mirror-by-digest-only exclude each "
				 "other",
				 map->file, map->line);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		*out = (enum pull_from)i;
		if (str_equal(names[i], text))
			return 0;
	}
	return error_set(
		err, ERROR_FORMAT,
		"%s:%zu: pull-from-mirror: \"%.40s\" is none of all, digest-only, tag-only",
		map->file, map->line, text);
}

static int take_mirrors(struct arena *arena, const struct node *map, bool digest_only,
			struct registry_rule *rule, struct error *err)
{
	const struct node *items;
	size_t count;

	if (take_list(map, "mirror", &items, &count, err) < 0)
		return -1;
	rule->mirrors = arena_array(arena, count + 1, sizeof(*rule->mirrors));
	for (size_t i = 0; i < count; i++) {
		struct registry_place *m = &rule->mirrors[i];

		if (items[i].type != NODE_MAP)
			return wrong_type(&items[i], "mirror", "a table", err);
		if (take_place(&items[i], "location", arena, &m->location, err) < 0 ||
		    take_bool(&items[i], "insecure", &m->insecure, err) < 0 ||
		    take_pull_from(&items[i], digest_only, &m->pull_from, err) < 0)
			return -1;
		if (!*m->location)
			return error_set(err, ERROR_FORMAT, "%s:%zu: a mirror without its location",
					 items[i].file, items[i].line);
	}
	rule->mirror_count = count;
	return 0;
}

static bool is_wildcard(const char *prefix)
{
	return str_starts(prefix, "*.");
}

static int check_prefix(const struct node *map, const char *prefix, const char *location,
			struct error *err)
{
	bool wildcard = is_wildcard(prefix);

	if (!*prefix && !*location)
		return error_set(err, ERROR_FORMAT,
				 "%s:%zu: a registry without prefix and location", map->file,
				 map->line);
	if (strchr(prefix + (wildcard ? 2 : 0), '*') ||
	    (wildcard && (!prefix[2] || strpbrk(prefix, "/@:"))))
		return error_set(err, ERROR_FORMAT,
				 "%s:%zu: prefix \"%.100s\": \"*\" may only stand for the first "
				 "parts of a host's name (\"*.example.org\")",
				 map->file, map->line, prefix);
	return 0;
}

/* The one with that prefix, empty; or a new one. NULL: too many. */
static struct registry_rule *place_for(struct registries_conf *c, const char *prefix)
{
	for (size_t i = 0; i < c->rules.len; i++)
		if (str_equal(c->rules.items[i].prefix, prefix))
			return &c->rules.items[i];
	if (c->rules.len == REGISTRIES_CONF_ENTRIES_MAX)
		return NULL;
	return vec_add(&c->rules);
}

static int add_rule(struct registries_conf *c, const struct registry_rule *rule, struct error *err)
{
	struct registry_rule *at = place_for(c, rule->prefix);

	if (!at)
		return error_set(err, ERROR_LIMIT, "%s: more than %d registries", rule->file,
				 REGISTRIES_CONF_ENTRIES_MAX);
	*at = *rule;
	return 0;
}

static int take_registry(struct registries_conf *c, const struct node *map, const char *file,
			 struct error *err)
{
	struct registry_rule rule = { .file = file };
	const char *prefix, *location;
	bool digest_only;

	if (map->type != NODE_MAP)
		return wrong_type(map, "registry", "a table", err);
	if (take_place(map, "prefix", &c->arena, &prefix, err) < 0 ||
	    take_place(map, "location", &c->arena, &location, err) < 0 ||
	    take_bool(map, "insecure", &rule.place.insecure, err) < 0 ||
	    take_bool(map, "blocked", &rule.blocked, err) < 0 ||
	    take_bool(map, "mirror-by-digest-only", &digest_only, err) < 0 ||
	    check_prefix(map, prefix, location, err) < 0 ||
	    take_mirrors(&c->arena, map, digest_only, &rule, err) < 0)
		return -1;
	rule.prefix = *prefix ? prefix : location;
	rule.place.location = location;
	return add_rule(c, &rule, err);
}

/* Version 1: [registries.insecure] and [registries.block] with a list "registries" each. */
static int take_version_1(struct registries_conf *c, const struct node *registries,
			  const char *file, struct error *err)
{
	static const char *const kinds[] = { "insecure", "block" };

	for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
		const struct node *table = node_get(registries, kinds[k]), *items;
		size_t count;

		if (!table)
			continue;
		if (table->type != NODE_MAP)
			return wrong_type(table, kinds[k], "a table", err);
		if (take_list(table, "registries", &items, &count, err) < 0)
			return -1;
		for (size_t i = 0; i < count; i++) {
			struct registry_rule rule = { .file = file, .place.location = "" };
			const struct registry_rule *old;

			if (items[i].type != NODE_SCALAR || !*items[i].text)
				return wrong_type(&items[i], kinds[k], "a list of hosts", err);
			rule.prefix = arena_strdup(&c->arena, items[i].text);
			old = place_for(c, rule.prefix);
			if (old && old->prefix)
				rule = *old;
			else if (old)
				c->rules.len--;
			rule.place.insecure = rule.place.insecure || k == 0;
			rule.blocked = rule.blocked || k == 1;
			if (add_rule(c, &rule, err) < 0)
				return -1;
		}
	}
	return 0;
}

int registries_conf_add(struct registries_conf *c, struct slice text, const char *name,
			struct error *err)
{
	const char *file = arena_strdup(&c->arena, name);
	cleanup_arena struct arena arena = { 0 };
	const struct node *registries, *items;
	struct node root;
	size_t count;

	if (toml_parse(text, file, &arena, &root, err) < 0 ||
	    take_list(&root, "registry", &items, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (take_registry(c, &items[i], file, err) < 0)
			return -1;
	registries = node_get(&root, "registries");
	if (!registries)
		return 0;
	if (registries->type != NODE_MAP)
		return wrong_type(registries, "registries", "a table", err);
	if (count)
		return error_set(err, ERROR_FORMAT,
				 "%s: [[registry]] and [registries.…] are of different versions of "
				 "the format and do not go together",
				 file);
	return take_version_1(c, registries, file, err);
}

/* Files. */

static int add_file(struct registries_conf *c, const char *path, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	if (fs_read(AT_FDCWD, path, REGISTRIES_CONF_BYTES_MAX, &text, err) < 0)
		return -1;
	return registries_conf_add(c, strbuf_slice(&text), path, err);
}

static int add_folder(struct registries_conf *c, const char *dir, struct error *err)
{
	struct fs_names names = { 0 };
	struct error ignored = { 0 };
	int rc = 0;

	if (fs_list(AT_FDCWD, dir, &names, &ignored) < 0)
		return 0; /* most hosts have none */
	for (size_t i = 0; rc == 0 && i < names.len; i++) {
		cleanup_free char *path = fs_join(dir, names.items[i]);

		if (str_ends(names.items[i], ".conf"))
			rc = add_file(c, path, err);
	}
	fs_names_release(&names);
	return rc;
}

int registries_conf_load(struct registries_conf *out, struct error *err)
{
	const char *named = getenv("CONTAINERS_REGISTRIES_CONF");
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	static const char system[] = "/etc/containers/registries.conf";
	cleanup_free char *dir = config && *config ? fs_join(config, "containers")
				 : home && *home   ? fs_join(home, ".config/containers")
						   : NULL;
	cleanup_free char *own = dir ? fs_join(dir, "registries.conf") : NULL;
	cleanup_free char *own_d = dir ? fs_join(dir, "registries.conf.d") : NULL;
	bool users = own && fs_exists(AT_FDCWD, own);

	if (named && *named)
		return add_file(out, named, err);
	if (users && add_file(out, own, err) < 0)
		return -1;
	if (!users && fs_exists(AT_FDCWD, system) && add_file(out, system, err) < 0)
		return -1;
	if (!users && add_folder(out, "/etc/containers/registries.conf.d", err) < 0)
		return -1;
	return own_d ? add_folder(out, own_d, err) : 0;
}

/* Finding. */

/* How much of `name` the prefix covers, at a border of its parts; 0: none. */
static size_t covered(const char *prefix, const char *name)
{
	size_t len = strlen(prefix), host = strcspn(name, "/:");

	if (is_wildcard(prefix))
		return host > len - 1 && strncmp(name + host - (len - 1), prefix + 1, len - 1) == 0
			       ? host
			       : 0;
	if (strncmp(name, prefix, len) || (name[len] && !strchr("/:", name[len])))
		return 0;
	return len;
}

const struct registry_rule *registries_conf_find(const struct registries_conf *c,
						 const char *registry, const char *repository)
{
	cleanup_free char *name =
		*repository ? xasprintf("%s/%s", registry, repository) : xstrdup(registry);
	const struct registry_rule *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < c->rules.len; i++) {
		size_t n = covered(c->rules.items[i].prefix, name);

		if (n > most || (n && n == most && is_wildcard(best->prefix))) {
			most = n;
			best = &c->rules.items[i];
		}
	}
	return best;
}

/* The name of an image where its first `len` characters stand for the place's location. */
static int place_to_endpoint(const struct registry_rule *rule, const struct registry_place *place,
			     const char *name, struct arena *arena, struct registry_endpoint *out,
			     struct error *err)
{
	size_t len = *place->location ? covered(rule->prefix, name) : 0;
	const char *text = arena_printf(arena, "%s%s", place->location, name + len);
	size_t host = strcspn(text, "/");
	struct error parse = { 0 };
	struct reference ref;

	/* the first part is a host, whatever it looks like */
	if (!host || !text[host] ||
	    reference_parse(arena_printf(arena, "host.invalid%s", text + host), arena, &ref,
			    &parse) < 0)
		return error_set(err, ERROR_USAGE,
				 "%s: \"%.100s\" for \"%.100s\" gives \"%.200s\", which is no "
				 "repository",
				 rule->file, place->location, rule->prefix, text);
	out->registry = arena_slice(arena, slice_of(text, host));
	out->repository = ref.repository;
	out->insecure = place->insecure;
	return 0;
}

static bool serves(const struct registry_place *mirror, bool by_digest)
{
	return mirror->pull_from == PULL_FROM_ALL ||
	       (mirror->pull_from == PULL_FROM_DIGEST_ONLY) == by_digest;
}

int registries_conf_endpoints(const struct registries_conf *c, const char *registry,
			      const char *repository, bool by_digest, struct arena *arena,
			      struct registry_endpoint **out, size_t *out_count, struct error *err)
{
	const struct registry_rule *rule = registries_conf_find(c, registry, repository);
	const char *name = arena_printf(arena, "%s/%s", registry, repository);
	struct registry_endpoint *list = arena_array(arena, REGISTRY_ENDPOINTS_MAX, sizeof(*list));

	*out = list;
	*out_count = 0;
	if (!rule) {
		list[(*out_count)++] =
			(struct registry_endpoint){ .registry = arena_strdup(arena, registry),
						    .repository = arena_strdup(arena, repository) };
		return 0;
	}
	if (rule->blocked)
		return error_set(err, ERROR_USAGE, "%s: is blocked by %s (prefix \"%s\")", name,
				 rule->file, rule->prefix);
	for (size_t i = 0; i < rule->mirror_count; i++) {
		if (!serves(&rule->mirrors[i], by_digest))
			continue;
		if (*out_count == REGISTRY_ENDPOINTS_MAX - 1)
			return error_set(err, ERROR_LIMIT, "%s: more than %d mirrors of %s",
					 rule->file, REGISTRY_ENDPOINTS_MAX - 1, rule->prefix);
		list[*out_count].mirror = true;
		if (place_to_endpoint(rule, &rule->mirrors[i], name, arena, &list[(*out_count)++],
				      err) < 0)
			return -1;
	}
	return place_to_endpoint(rule, &rule->place, name, arena, &list[(*out_count)++], err);
}
