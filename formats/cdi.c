#include "formats/cdi.h"

#include <ctype.h>

#include "formats/yaml.h"

/* 1.1 is 10100, 0.5.0 is 500. */
enum {
	VERSION_0_4 = 400,
	VERSION_0_5 = 500,
	VERSION_0_6 = 600,
	VERSION_0_7 = 700,
	VERSION_1_1 = 10100
};

struct cdi_reading {
	struct arena *arena;
	const char *version_text;
	uint32_t version;
};

static const uint32_t versions[] = { 300, 301, 400, 500, 600, 700, 800, 10000, 10100 };

/* A member that may stand in a map, and the version that brought it. */
struct member {
	const char *key;
	uint32_t since;
};

static int check_members(const struct cdi_reading *r, const struct node *map,
			 const struct member *members, struct error *err)
{
	if (map->type != NODE_MAP)
		return node_error(map, ERROR_FORMAT, err, "a map is expected here, this is %s",
				  node_type_name(map));
	for (size_t i = 0; i < map->count; i++) {
		const struct node *key = &map->pairs[i].key;
		const struct member *m = members;

		while (m->key && !str_equal(m->key, key->text))
			m++;
		if (!m->key)
			return node_error(key, ERROR_FORMAT, err,
					  "\"%.60s\" is no member that CDI knows here", key->text);
		if (m->since > r->version)
			return node_error(
				key, ERROR_FORMAT, err,
				"\"%s\" needs cdiVersion %u.%u.%u or newer; the file says %s",
				key->text, m->since / 10000, m->since / 100 % 100, m->since % 100,
				r->version_text);
	}
	return 0;
}

/* Text, or NULL when it is absent. */
static int get_text(const struct cdi_reading *r, const struct node *map, const char *key,
		    bool required, const char **out, struct error *err)
{
	const struct node *n = node_get(map, key);

	*out = NULL;
	if (!n || n->type == NODE_NULL)
		return required ? node_error(map, ERROR_FORMAT, err, "\"%s\" is missing", key) : 0;
	if (n->type != NODE_SCALAR)
		return node_error(n, ERROR_FORMAT, err, "\"%s\" is %s, not text", key,
				  node_type_name(n));
	if (required && !n->text[0])
		return node_error(n, ERROR_FORMAT, err, "\"%s\" is empty", key);
	*out = arena_strdup(r->arena, n->text);
	return 0;
}

static int get_number(const struct node *map, const char *key, bool *out_has, uint32_t *out,
		      struct error *err)
{
	const struct node *n = node_get(map, key);
	uint64_t value;

	*out_has = false;
	if (!n || n->type == NODE_NULL)
		return 0;
	if (!node_u64(n, &value) || value > UINT32_MAX)
		return node_error(n, ERROR_FORMAT, err, "\"%s\" is no number from 0 to %u", key,
				  UINT32_MAX);
	*out = (uint32_t)value;
	*out_has = true;
	return 0;
}

static int get_list(const struct node *map, const char *key, const struct node **out,
		    struct error *err)
{
	static const struct node none = { .type = NODE_LIST, .text = "" };
	const struct node *n = node_get(map, key);

	*out = n && n->type != NODE_NULL ? n : &none;
	if ((*out)->type != NODE_LIST)
		return node_error(n, ERROR_FORMAT, err, "\"%s\" is %s, not a list", key,
				  node_type_name(n));
	return 0;
}

static int get_texts(const struct cdi_reading *r, const struct node *map, const char *key,
		     struct cdi_texts *out, struct error *err)
{
	const struct node *list;

	if (get_list(map, key, &list, err) < 0)
		return -1;
	out->items = arena_array(r->arena, list->count + 1, sizeof(*out->items));
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].type != NODE_SCALAR)
			return node_error(&list->items[i], ERROR_FORMAT, err,
					  "\"%s\" holds something that is no text", key);
		out->items[out->count++] = arena_strdup(r->arena, list->items[i].text);
	}
	return 0;
}

static int read_env(const struct cdi_reading *r, const struct node *edits, struct cdi_edits *out,
		    struct error *err)
{
	const struct node *list;
	struct cdi_texts texts = { 0 };

	if (get_list(edits, "env", &list, err) < 0 || get_texts(r, edits, "env", &texts, err) < 0)
		return -1;
	for (size_t i = 0; i < texts.count; i++) {
		const char *equals = strchr(texts.items[i], '=');

		if (!equals || equals == texts.items[i])
			return node_error(&list->items[i], ERROR_FORMAT, err,
					  "environment entry \"%.60s\" is not "
					  "NAME=VALUE",
					  texts.items[i]);
		vec_push(&out->env, texts.items[i]);
	}
	return 0;
}

static int read_node(const struct cdi_reading *r, const struct node *n, struct cdi_node *out,
		     struct error *err)
{
	static const struct member members[] = {
		{ "path", 0 },        { "hostPath", VERSION_0_5 },
		{ "type", 0 },        { "major", 0 },
		{ "minor", 0 },       { "fileMode", 0 },
		{ "permissions", 0 }, { "uid", 0 },
		{ "gid", 0 },         { 0 },
	};
	const char *type = NULL, *p;
	bool has_major, has_minor;

	if (check_members(r, n, members, err) < 0 ||
	    get_text(r, n, "path", true, &out->path, err) < 0 ||
	    get_text(r, n, "hostPath", false, &out->host_path, err) < 0 ||
	    get_text(r, n, "type", false, &type, err) < 0 ||
	    get_text(r, n, "permissions", false, &out->permissions, err) < 0 ||
	    get_number(n, "major", &has_major, &out->major, err) < 0 ||
	    get_number(n, "minor", &has_minor, &out->minor, err) < 0 ||
	    get_number(n, "fileMode", &out->has_mode, &out->mode, err) < 0 ||
	    get_number(n, "uid", &out->has_uid, &out->uid, err) < 0 ||
	    get_number(n, "gid", &out->has_gid, &out->gid, err) < 0)
		return -1;
	if (out->path[0] != '/')
		return node_error(n, ERROR_FORMAT, err, "device node \"%.80s\" is no absolute path",
				  out->path);
	if (type && *type && (type[1] || !strchr("bcup", type[0])))
		return node_error(n, ERROR_FORMAT, err,
				  "type \"%.20s\" of a device node is none of b, c, u, p", type);
	out->type = type ? type[0] : '\0';
	out->has_number = has_major || has_minor;
	if (!out->host_path)
		out->host_path = out->path;
	if (!out->permissions || !*out->permissions)
		out->permissions = "rwm";
	if (str_equal(out->permissions, "none"))
		out->permissions = "";
	for (p = out->permissions; *p; p++) {
		if (!strchr("rwm", *p))
			return node_error(n, ERROR_FORMAT, err,
					  "permissions \"%.20s\" of a device node are not of r, "
					  "w, m",
					  out->permissions);
	}
	return 0;
}

static int read_mount(const struct cdi_reading *r, const struct node *n, struct cdi_mount *out,
		      struct error *err)
{
	static const struct member members[] = {
		{ "hostPath", 0 },
		{ "containerPath", 0 },
		{ "type", VERSION_0_4 },
		{ "options", 0 },
		{ 0 },
	};

	if (check_members(r, n, members, err) < 0 ||
	    get_text(r, n, "hostPath", true, &out->host_path, err) < 0 ||
	    get_text(r, n, "containerPath", true, &out->container_path, err) < 0 ||
	    get_text(r, n, "type", false, &out->type, err) < 0 ||
	    get_texts(r, n, "options", &out->options, err) < 0)
		return -1;
	if (out->container_path[0] != '/')
		return node_error(n, ERROR_FORMAT, err,
				  "mount destination \"%.80s\" is no absolute path",
				  out->container_path);
	return 0;
}

static int read_hook(const struct cdi_reading *r, const struct node *n, struct cdi_hook *out,
		     struct error *err)
{
	static const struct member members[] = {
		{ "hookName", 0 }, { "path", 0 },    { "args", 0 },
		{ "env", 0 },      { "timeout", 0 }, { 0 },
	};
	static const char *const names[] = { "prestart",       "createRuntime", "createContainer",
					     "startContainer", "poststart",     "poststop" };
	uint32_t timeout = 0;
	bool has, known = false;

	if (check_members(r, n, members, err) < 0 ||
	    get_text(r, n, "hookName", true, &out->name, err) < 0 ||
	    get_text(r, n, "path", true, &out->path, err) < 0 ||
	    get_texts(r, n, "args", &out->args, err) < 0 ||
	    get_texts(r, n, "env", &out->env, err) < 0 ||
	    get_number(n, "timeout", &has, &timeout, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		known |= str_equal(out->name, names[i]);
	return known ? 0
		     : node_error(n, ERROR_FORMAT, err,
				  "\"%.40s\" is no hook that OCI runtimes have", out->name);
}

static int read_net_device(const struct cdi_reading *r, const struct node *n,
			   struct cdi_net_device *out, struct error *err)
{
	static const struct member members[] = { { "hostInterfaceName", 0 }, { "name", 0 }, { 0 } };

	if (check_members(r, n, members, err) < 0 ||
	    get_text(r, n, "hostInterfaceName", true, &out->host_name, err) < 0)
		return -1;
	return get_text(r, n, "name", true, &out->name, err);
}

static int read_gids(const struct node *edits, struct cdi_edits *out, struct error *err)
{
	const struct node *list;

	if (get_list(edits, "additionalGids", &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list->count; i++) {
		uint64_t gid;

		if (!node_u64(&list->items[i], &gid) || gid > UINT32_MAX)
			return node_error(&list->items[i], ERROR_FORMAT, err,
					  "an additional group is no number");
		if (gid)
			vec_push(&out->gids, (uint32_t)gid);
	}
	return 0;
}

/* Each item of the list `key` through its reader, appended to `vec`. */
#define READ_LIST(key, vec, reader)                                              \
	do {                                                                     \
		const struct node *list_;                                        \
                                                                                 \
		if (get_list(n, key, &list_, err) < 0)                           \
			return -1;                                               \
		for (size_t i_ = 0; i_ < list_->count; i_++) {                   \
			if (reader(r, &list_->items[i_], vec_add(vec), err) < 0) \
				return -1;                                       \
		}                                                                \
	} while (0)

static int read_edits(const struct cdi_reading *r, const struct node *n, struct cdi_edits *out,
		      struct error *err)
{
	static const struct member members[] = {
		{ "env", 0 },
		{ "deviceNodes", 0 },
		{ "mounts", 0 },
		{ "hooks", 0 },
		{ "intelRdt", VERSION_0_7 },
		{ "additionalGids", VERSION_0_7 },
		{ "netDevices", VERSION_1_1 },
		{ 0 },
	};

	if (check_members(r, n, members, err) < 0 || read_env(r, n, out, err) < 0 ||
	    read_gids(n, out, err) < 0)
		return -1;
	READ_LIST("deviceNodes", &out->nodes, read_node);
	READ_LIST("mounts", &out->mounts, read_mount);
	READ_LIST("hooks", &out->hooks, read_hook);
	READ_LIST("netDevices", &out->net_devices, read_net_device);
	out->intel_rdt = node_get(n, "intelRdt") != NULL;
	return 0;
}

/* Letters and digits at both ends, between them also what `inner` holds. */
static bool is_name(const char *s, size_t len, const char *inner, bool letter_first)
{
	if (!len ||
	    (letter_first ? !isalpha((unsigned char)s[0]) : !isalnum((unsigned char)s[0])) ||
	    !isalnum((unsigned char)s[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)s[i]) && !strchr(inner, s[i]))
			return false;
	}
	return true;
}

static bool is_kind(const char *kind, uint32_t version)
{
	const char *slash = strchr(kind, '/');

	return slash && is_name(kind, (size_t)(slash - kind), "_-.", true) &&
	       is_name(slash + 1, strlen(slash + 1), version >= VERSION_0_6 ? "_-." : "_-", true);
}

static bool edits_are_empty(const struct cdi_edits *e)
{
	return !e->env.len && !e->nodes.len && !e->mounts.len && !e->hooks.len &&
	       !e->net_devices.len && !e->gids.len && !e->intel_rdt;
}

static int check_annotations(const struct cdi_reading *r, const struct node *n, struct error *err)
{
	const struct node *map = node_get(n, "annotations");

	(void)r;
	if (!map || map->type == NODE_NULL)
		return 0;
	if (map->type != NODE_MAP)
		return node_error(map, ERROR_FORMAT, err, "\"annotations\" is %s, not a map",
				  node_type_name(map));
	for (size_t i = 0; i < map->count; i++) {
		if (map->pairs[i].value.type != NODE_SCALAR)
			return node_error(&map->pairs[i].value, ERROR_FORMAT, err,
					  "annotation \"%.40s\" is no text",
					  map->pairs[i].key.text);
	}
	return 0;
}

static int read_device(const struct cdi_reading *r, const struct node *n, struct cdi_device *out,
		       struct error *err)
{
	static const struct member members[] = {
		{ "name", 0 }, { "annotations", VERSION_0_6 }, { "containerEdits", 0 }, { 0 }
	};
	const struct node *edits = n->type == NODE_MAP ? node_get(n, "containerEdits") : NULL;

	if (check_members(r, n, members, err) < 0 ||
	    get_text(r, n, "name", true, &out->name, err) < 0 || check_annotations(r, n, err) < 0)
		return -1;
	if (!is_name(out->name, strlen(out->name), "_-.:", r->version < VERSION_0_5))
		return node_error(n, ERROR_FORMAT, err, "\"%.60s\" is no name of a device",
				  out->name);
	if (!edits)
		return node_error(n, ERROR_FORMAT, err, "device \"%s\" has no containerEdits",
				  out->name);
	if (read_edits(r, edits, &out->edits, err) < 0)
		return error_wrap(err, "device %s", out->name);
	return edits_are_empty(&out->edits) ? node_error(edits, ERROR_FORMAT, err,
							 "device \"%s\" has no edits", out->name)
					    : 0;
}

static int read_version(const struct node *root, struct cdi_reading *r, struct error *err)
{
	const struct node *at;
	struct slice rest, part;
	uint64_t number, version = 0;
	size_t parts = 0;
	bool known = false;

	if (get_text(r, root, "cdiVersion", true, &r->version_text, err) < 0)
		return -1;
	at = node_get(root, "cdiVersion");
	for (rest = slice_str(r->version_text); slice_cut(&rest, '.', &part); parts++) {
		if (!slice_u64(part, &number) || number > 99)
			return node_error(at, ERROR_FORMAT, err,
					  "cdiVersion \"%.20s\" is no version", r->version_text);
		version = version * 100 + number;
	}
	if (parts != 3)
		return node_error(at, ERROR_FORMAT, err, "cdiVersion \"%.20s\" is no version",
				  r->version_text);
	for (size_t i = 0; i < ARRAY_LEN(versions); i++)
		known |= versions[i] == version;
	if (!known)
		return node_error(
			at, ERROR_FORMAT, err,
			version > versions[ARRAY_LEN(versions) - 1]
				? "cdiVersion %s is newer than " CDI_VERSION_MAX
				  ", which is read here; write it with --spec-version or update"
				: "cdiVersion %s does not exist",
			r->version_text);
	r->version = (uint32_t)version;
	return 0;
}

static int read_spec(const struct node *root, struct arena *arena, struct cdi_spec *out,
		     struct error *err)
{
	static const struct member members[] = {
		{ "cdiVersion", 0 }, { "kind", 0 },           { "annotations", VERSION_0_6 },
		{ "devices", 0 },    { "containerEdits", 0 }, { 0 },
	};
	struct cdi_reading r = { .arena = arena };
	const struct node *list, *edits;

	if (root->type != NODE_MAP)
		return node_error(root, ERROR_FORMAT, err, "a map is expected here, this is %s",
				  node_type_name(root));
	if (read_version(root, &r, err) < 0 || check_members(&r, root, members, err) < 0 ||
	    get_text(&r, root, "kind", true, &out->kind, err) < 0 ||
	    check_annotations(&r, root, err) < 0 || get_list(root, "devices", &list, err) < 0)
		return -1;
	out->version = r.version_text;
	if (!is_kind(out->kind, r.version))
		return node_error(root, ERROR_FORMAT, err, "kind \"%.80s\" is not VENDOR/CLASS",
				  out->kind);
	if (!list->count)
		return node_error(root, ERROR_FORMAT, err, "it names no device");
	edits = node_get(root, "containerEdits");
	if (edits && edits->type != NODE_NULL && read_edits(&r, edits, &out->edits, err) < 0)
		return -1;
	for (size_t i = 0; i < list->count; i++) {
		struct cdi_device *d = vec_add(&out->devices);

		if (read_device(&r, &list->items[i], d, err) < 0)
			return -1;
		if (cdi_device_find(out, d->name) != d)
			return node_error(&list->items[i], ERROR_FORMAT, err,
					  "device \"%s\" is there twice", d->name);
	}
	return 0;
}

int cdi_parse(struct slice text, const char *name, struct arena *arena, struct cdi_spec *out,
	      struct error *err)
{
	const char *file = arena_strdup(arena, name);
	struct node root = { .file = file };
	int rc;

	*out = (struct cdi_spec){ .file = file };
	rc = str_ends(name, ".json") ? yaml_parse_json(text, file, arena, &root, err)
				     : yaml_parse(text, file, arena, &root, err);
	if (rc < 0 || read_spec(&root, arena, out, err) < 0) {
		cdi_spec_release(out);
		return -1;
	}
	return 0;
}

void cdi_edits_release(struct cdi_edits *e)
{
	vec_release(&e->env);
	vec_release(&e->nodes);
	vec_release(&e->mounts);
	vec_release(&e->hooks);
	vec_release(&e->net_devices);
	vec_release(&e->gids);
}

void cdi_spec_release(struct cdi_spec *spec)
{
	for (size_t i = 0; i < spec->devices.len; i++)
		cdi_edits_release(&spec->devices.items[i].edits);
	vec_release(&spec->devices);
	cdi_edits_release(&spec->edits);
	*spec = (struct cdi_spec){ 0 };
}

const struct cdi_device *cdi_device_find(const struct cdi_spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->devices.len; i++) {
		if (spec->devices.items[i].name && str_equal(spec->devices.items[i].name, name))
			return &spec->devices.items[i];
	}
	return NULL;
}

static void add_node(struct cdi_edits *into, const struct cdi_node *node)
{
	for (size_t i = 0; i < into->nodes.len; i++) {
		if (str_equal(into->nodes.items[i].path, node->path)) {
			into->nodes.items[i] = *node;
			return;
		}
	}
	vec_push(&into->nodes, *node);
}

static void add_mount(struct cdi_edits *into, const struct cdi_mount *mount)
{
	for (size_t i = 0; i < into->mounts.len; i++) {
		if (str_equal(into->mounts.items[i].container_path, mount->container_path)) {
			into->mounts.items[i] = *mount;
			return;
		}
	}
	vec_push(&into->mounts, *mount);
}

void cdi_edits_add(struct cdi_edits *into, const struct cdi_edits *from)
{
	for (size_t i = 0; i < from->env.len; i++)
		vec_push(&into->env, from->env.items[i]);
	for (size_t i = 0; i < from->nodes.len; i++)
		add_node(into, &from->nodes.items[i]);
	for (size_t i = 0; i < from->mounts.len; i++)
		add_mount(into, &from->mounts.items[i]);
	for (size_t i = 0; i < from->hooks.len; i++)
		vec_push(&into->hooks, from->hooks.items[i]);
	for (size_t i = 0; i < from->net_devices.len; i++)
		vec_push(&into->net_devices, from->net_devices.items[i]);
	for (size_t i = 0; i < from->gids.len; i++)
		vec_push(&into->gids, from->gids.items[i]);
	into->intel_rdt |= from->intel_rdt;
}

static size_t depth_of(const char *path)
{
	size_t depth = 0;

	for (; *path; path++)
		depth += path[0] == '/' && path[1] && path[1] != '/';
	return depth;
}

static int by_depth(const void *pa, const void *pb)
{
	const struct cdi_mount *a = pa, *b = pb;
	size_t da = depth_of(a->container_path), db = depth_of(b->container_path);

	if (da != db)
		return da < db ? -1 : 1;
	return strcmp(a->container_path, b->container_path);
}

void cdi_edits_sort(struct cdi_edits *edits)
{
	vec_sort(&edits->mounts, by_depth);
}

bool cdi_device_split(const char *text, char **out_kind, char **out_name)
{
	const char *equals = strchr(text, '=');
	cleanup_free char *kind = xstrndup(text, equals ? (size_t)(equals - text) : 0);

	if (!equals || !is_kind(kind, VERSION_0_6) ||
	    !is_name(equals + 1, strlen(equals + 1), "_-.:", false))
		return false;
	*out_kind = steal_ptr(&kind);
	*out_name = xstrdup(equals + 1);
	return true;
}

const char *cdi_hook_flag(const struct cdi_texts *args, size_t *at, const char *name)
{
	const char *arg = args->items[*at];
	size_t n = strlen(name);

	if (str_starts(arg, "--"))
		arg++;
	if (arg[0] != '-' || strncmp(arg + 1, name, n) != 0)
		return NULL;
	if (arg[1 + n] == '=')
		return arg + n + 2;
	if (arg[1 + n] || *at + 1 >= args->count)
		return NULL;
	return args->items[++*at];
}

const char *cdi_hook_name(const struct cdi_hook *h)
{
	size_t at = h->args.count > 2 && str_equal(h->args.items[1], "hook") ? 2 : 1;
	const char *slash = strrchr(h->path, '/'), *program = slash ? slash + 1 : h->path;

	if (!str_starts(program, "nvidia-") || h->args.count <= at)
		return "";
	return h->args.items[at];
}

bool cdi_mount_is_read_only(const struct cdi_mount *m)
{
	for (size_t i = 0; i < m->options.count; i++) {
		if (str_equal(m->options.items[i], "ro"))
			return true;
	}
	return false;
}

bool cdi_path_is_fresh(const char *path)
{
	return str_starts(path, "/dev/") || str_starts(path, "/proc/") ||
	       str_starts(path, "/sys/") || str_starts(path, "/tmp/");
}
