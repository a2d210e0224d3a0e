#include "oci/config.h"

#include "base/alloc.h"

static const char *copy_opt(struct arena *arena, const char *s)
{
	return s ? arena_strdup(arena, s) : NULL;
}

/* An optional text member, copied. */
static int get_text(const json_t *object, const char *where, const char *key, struct arena *arena,
		    const char **out, struct error *err)
{
	const char *s;

	if (json_get_str_opt(object, where, key, &s, err) < 0)
		return -1;
	*out = copy_opt(arena, s);
	return 0;
}

/* An optional array of texts. */
static int get_texts(const json_t *object, const char *where, const char *key, struct arena *arena,
		     struct string_list *out, struct error *err)
{
	json_t *list;
	size_t count;

	if (json_get_array_opt(object, where, key, &list, err) < 0)
		return -1;
	count = json_array_size(list);
	out->items = arena_array(arena, count, sizeof(*out->items));
	for (size_t i = 0; i < count; i++) {
		const char *s = json_string_value(json_array_get(list, i));

		if (!s)
			return error_set(err, ERROR_FORMAT, "%s.%s[%zu]: is not text", where, key,
					 i);
		out->items[i] = arena_strdup(arena, s);
	}
	out->count = count;
	return 0;
}

/* The keys of an optional object, sorted. *out_object (may be NULL) gets the object. */
static int get_keys(const json_t *object, const char *where, const char *key, struct arena *arena,
		    struct string_list *out, json_t **out_object, struct error *err)
{
	json_t *member, *value;
	const char *name;
	size_t n = 0;

	if (json_get_object_opt(object, where, key, &member, err) < 0)
		return -1;
	out->count = json_object_size(member);
	out->items = arena_array(arena, out->count, sizeof(*out->items));
	json_object_foreach(member, name, value) out->items[n++] = arena_strdup(arena, name);
	if (n > 1)
		qsort(out->items, n, sizeof(*out->items), str_order);
	if (out_object)
		*out_object = member;
	return 0;
}

static int get_labels(const json_t *object, const char *where, struct arena *arena,
		      struct image_config *out, struct error *err)
{
	json_t *labels;

	if (get_keys(object, where, "Labels", arena, &out->label_keys, &labels, err) < 0)
		return -1;
	out->label_values.count = out->label_keys.count;
	out->label_values.items =
		arena_array(arena, out->label_keys.count, sizeof(*out->label_values.items));
	for (size_t i = 0; i < out->label_keys.count; i++) {
		const char *key = out->label_keys.items[i];
		const char *s = json_string_value(json_object_get(labels, key));

		if (!s)
			return error_set(err, ERROR_FORMAT, "%s.Labels.%s: is not text", where,
					 key);
		out->label_values.items[i] = arena_strdup(arena, s);
	}
	return 0;
}

static int parse_execution(const json_t *json, struct arena *arena, struct image_config *out,
			   struct error *err)
{
	json_t *config;

	if (json_get_object_opt(json, "", "config", &config, err) < 0)
		return -1;
	if (!config)
		return 0;
	if (get_text(config, "config", "User", arena, &out->user, err) < 0 ||
	    get_text(config, "config", "WorkingDir", arena, &out->workdir, err) < 0 ||
	    get_text(config, "config", "StopSignal", arena, &out->stop_signal, err) < 0 ||
	    get_texts(config, "config", "Env", arena, &out->env, err) < 0 ||
	    get_texts(config, "config", "Entrypoint", arena, &out->entrypoint, err) < 0 ||
	    get_texts(config, "config", "Cmd", arena, &out->cmd, err) < 0 ||
	    get_keys(config, "config", "ExposedPorts", arena, &out->ports, NULL, err) < 0 ||
	    get_keys(config, "config", "Volumes", arena, &out->volumes, NULL, err) < 0)
		return -1;
	return get_labels(config, "config", arena, out, err);
}

static int parse_rootfs(const json_t *json, struct arena *arena, struct image_config *out,
			struct error *err)
{
	json_t *rootfs, *list;
	size_t count;

	if (json_get_object(json, "", "rootfs", &rootfs, err) < 0 ||
	    json_get_array_opt(rootfs, "rootfs", "diff_ids", &list, err) < 0)
		return -1;
	count = json_array_size(list);
	out->diff_ids = arena_array(arena, count, sizeof(*out->diff_ids));
	for (size_t i = 0; i < count; i++) {
		const char *s = json_string_value(json_array_get(list, i));

		if (!s)
			return error_set(err, ERROR_FORMAT, "rootfs.diff_ids[%zu]: is not text", i);
		if (digest_parse(slice_str(s), &out->diff_ids[i], err) < 0)
			return error_wrap(err, "rootfs.diff_ids[%zu]", i);
	}
	out->diff_id_count = count;
	return 0;
}

static int parse_history(const json_t *json, struct arena *arena, struct image_config *out,
			 struct error *err)
{
	json_t *list;
	size_t count;

	if (json_get_array_opt(json, "", "history", &list, err) < 0)
		return -1;
	count = json_array_size(list);
	out->history = arena_array(arena, count, sizeof(*out->history));
	for (size_t i = 0; i < count; i++) {
		struct config_history *h = &out->history[i];
		const json_t *entry = json_array_get(list, i), *empty;
		char where[64];

		snprintf(where, sizeof(where), "history[%zu]", i);
		if (!json_is_object(entry))
			return error_set(err, ERROR_FORMAT, "%s: is not an object", where);
		if (get_text(entry, where, "created", arena, &h->created, err) < 0 ||
		    get_text(entry, where, "created_by", arena, &h->created_by, err) < 0 ||
		    get_text(entry, where, "comment", arena, &h->comment, err) < 0)
			return -1;
		empty = json_object_get(entry, "empty_layer");
		if (empty && !json_is_boolean(empty) && !json_is_null(empty))
			return error_set(err, ERROR_FORMAT, "%s.empty_layer: is not true or false",
					 where);
		h->empty_layer = json_is_true(empty);
	}
	out->history_count = count;
	return 0;
}

int config_parse(struct slice text, struct arena *arena, struct image_config *out,
		 struct error *err)
{
	cleanup_json json_t *json = NULL;
	struct image_config c = { 0 };

	if (json_parse(text, &json, err) < 0)
		return -1;
	if (!json_is_object(json))
		return error_set(err, ERROR_FORMAT, "is not an object");
	if (get_text(json, "", "os", arena, &c.platform.os, err) < 0 ||
	    get_text(json, "", "architecture", arena, &c.platform.architecture, err) < 0 ||
	    get_text(json, "", "variant", arena, &c.platform.variant, err) < 0 ||
	    get_text(json, "", "created", arena, &c.created, err) < 0 ||
	    get_text(json, "", "author", arena, &c.author, err) < 0 ||
	    parse_execution(json, arena, &c, err) < 0 || parse_rootfs(json, arena, &c, err) < 0 ||
	    parse_history(json, arena, &c, err) < 0)
		return -1;
	*out = c;
	return 0;
}

static void put_text(json_t *object, const char *key, const char *value)
{
	if (value)
		json_put(object, key, json_text(value));
}

static void put_texts(json_t *object, const char *key, const struct string_list *list)
{
	json_t *array;

	if (!list->count)
		return;
	array = json_array();
	for (size_t i = 0; i < list->count; i++)
		json_push(array, json_text(list->items[i]));
	json_put(object, key, array);
}

static void put_keys(json_t *object, const char *key, const struct string_list *keys,
		     const struct string_list *values)
{
	json_t *member;

	if (!keys->count)
		return;
	member = json_object();
	for (size_t i = 0; i < keys->count; i++)
		json_put(member, keys->items[i],
			 values ? json_text(values->items[i]) : json_object());
	json_put(object, key, member);
}

static json_t *execution_json(const struct image_config *c)
{
	json_t *config = json_object();

	put_text(config, "User", c->user);
	put_text(config, "WorkingDir", c->workdir);
	put_text(config, "StopSignal", c->stop_signal);
	put_texts(config, "Env", &c->env);
	put_texts(config, "Entrypoint", &c->entrypoint);
	put_texts(config, "Cmd", &c->cmd);
	put_keys(config, "ExposedPorts", &c->ports, NULL);
	put_keys(config, "Volumes", &c->volumes, NULL);
	put_keys(config, "Labels", &c->label_keys, &c->label_values);
	return config;
}

static json_t *rootfs_json(const struct image_config *c)
{
	json_t *rootfs = json_object(), *ids = json_array();
	char text[DIGEST_TEXT_MAX];

	for (size_t i = 0; i < c->diff_id_count; i++)
		json_push(ids, json_text(digest_text(&c->diff_ids[i], text)));
	json_put(rootfs, "type", json_text("layers"));
	json_put(rootfs, "diff_ids", ids);
	return rootfs;
}

static json_t *history_json(const struct image_config *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < c->history_count; i++) {
		json_t *entry = json_object();

		put_text(entry, "created", c->history[i].created);
		put_text(entry, "created_by", c->history[i].created_by);
		put_text(entry, "comment", c->history[i].comment);
		if (c->history[i].empty_layer)
			json_put(entry, "empty_layer", json_true());
		json_push(list, entry);
	}
	return list;
}

void config_write(const struct image_config *config, struct strbuf *out)
{
	cleanup_json json_t *json = json_object();

	put_text(json, "os", config->platform.os);
	put_text(json, "architecture", config->platform.architecture);
	put_text(json, "variant", config->platform.variant);
	put_text(json, "created", config->created);
	put_text(json, "author", config->author);
	json_put(json, "config", execution_json(config));
	json_put(json, "rootfs", rootfs_json(config));
	if (config->history_count)
		json_put(json, "history", history_json(config));
	json_canonical(json, out);
}

const char *config_env(const struct image_config *config, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = config->env.count; i-- > 0;) {
		const char *entry = config->env.items[i];

		if (strncmp(entry, name, n) == 0 && entry[n] == '=')
			return entry + n + 1;
	}
	return NULL;
}

const char *config_label(const struct image_config *config, const char *key)
{
	for (size_t i = 0; i < config->label_keys.count; i++) {
		if (str_equal(config->label_keys.items[i], key))
			return config->label_values.items[i];
	}
	return NULL;
}
