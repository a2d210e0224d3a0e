#include "builder/image_record.h"

#include "builder/fragment.h"
#include "formats/json.h"
#include "oci/mediatype.h"

void image_record_release(struct image_record *r)
{
	if (!r)
		return;
	vec_release(&r->image.layers);
	vec_release(&r->actions);
	strbuf_release(&r->config);
}

static void key_digest(struct digest_state *state, const struct digest *d)
{
	digest_update(state, d->bytes, digest_size(d->algorithm));
}

void image_record_key_input(struct digest_state *state, const struct lock_input *in)
{
	layer_key_u64(state, in->kind);
	layer_key_text(state, in->stage);
	layer_key_text(state, in->source);
	layer_key_text(state, in->name);
	layer_key_text(state, in->version);
	layer_key_u64(state, in->requested);
	layer_key_u64(state, in->toolkit);
	if (lock_input_is_hosts(in)) /* else keys stay as they were */
		layer_key_text(state, "host");
	key_digest(state, &in->digest);
}

struct digest image_record_key(const struct stack *stack, const struct lockfile *lock,
			       const struct lock_platform *inputs, const struct digest *files,
			       const char *created)
{
	cleanup_digest struct digest_state state = { 0 };
	struct layer_options options = { .compression = stack->layers.compression,
					 .level = stack->layers.level };
	cleanup_free char *coder = fragment_coder(&options);

	digest_init(&state, DIGEST_SHA256);
	layer_key_text(&state, "gpuimg image");
	layer_key_u64(&state, ASSEMBLY_VERSION);
	layer_key_text(&state, coder);
	layer_key_text(&state, created);
	layer_key_text(&state, inputs->platform);
	key_digest(&state, &stack->digest);
	layer_key_text(&state, lock->stack.cuda);
	layer_key_text(&state, lock->stack.cudnn);
	layer_key_text(&state, lock->stack.nccl);
	layer_key_text(&state, lock->stack.python);
	layer_key_text(&state, lock->stack.driver);
	layer_key_text(&state, lock->stack.require_cuda);
	for (size_t i = 0; i < inputs->inputs.len; i++)
		image_record_key_input(&state, &inputs->inputs.items[i]);
	for (size_t i = 0; i < stack->stage_count; i++)
		key_digest(&state, &files[i]);
	return digest_finish(&state);
}

static int read_text(const json_t *j, const char *where, const char *key, struct arena *arena,
		     const char **out, struct error *err)
{
	if (json_get_str(j, where, key, out, err) < 0)
		return -1;
	*out = arena_strdup(arena, *out);
	return 0;
}

static int read_digest(const json_t *j, const char *where, const char *key, struct digest *out,
		       struct error *err)
{
	const char *text;

	if (json_get_str(j, where, key, &text, err) < 0)
		return -1;
	return digest_parse(slice_str(text), out, err);
}

static int read_layer(const json_t *j, struct arena *arena, struct build_layer *out,
		      struct error *err)
{
	const char *type;

	if (read_text(j, "layers", "title", arena, &out->title, err) < 0 ||
	    read_text(j, "layers", "components", arena, &out->components, err) < 0 ||
	    json_get_str(j, "layers", "media_type", &type, err) < 0 ||
	    read_digest(j, "layers", "digest", &out->digest, err) < 0 ||
	    read_digest(j, "layers", "diff_id", &out->diff_id, err) < 0 ||
	    json_get_u64(j, "layers", "size", &out->size, err) < 0 ||
	    json_get_u64(j, "layers", "raw_size", &out->raw_size, err) < 0)
		return -1;
	if (!mediatype_find(type))
		return error_set(err, ERROR_FORMAT, "layers: \"%s\" is no media type", type);
	out->media_type = mediatype_find(type)->name;
	out->base = json_is_true(json_object_get(j, "base"));
	out->cached = true;
	return 0;
}

static int read_action(const json_t *j, struct arena *arena, struct build_action *out,
		       struct error *err)
{
	uint64_t fate, line;

	if (json_get_u64(j, "actions", "fate", &fate, err) < 0 ||
	    json_get_u64(j, "actions", "line", &line, err) < 0 ||
	    read_text(j, "actions", "package", arena, &out->package, err) < 0 ||
	    read_text(j, "actions", "script", arena, &out->script, err) < 0 ||
	    read_text(j, "actions", "text", arena, &out->text, err) < 0 ||
	    read_digest(j, "actions", "digest", &out->digest, err) < 0)
		return -1;
	if (fate > SCRIPT_ACCEPTED)
		return error_set(err, ERROR_FORMAT, "actions: fate %" PRIu64, fate);
	out->fate = (enum script_fate)fate;
	out->line = (size_t)line;
	return 0;
}

static int read_record(const json_t *j, struct arena *arena, struct image_record *out,
		       struct error *err)
{
	json_t *layers, *actions;
	const char *config;

	if (json_get_str(j, "", "config", &config, err) < 0 ||
	    json_get_array(j, "", "layers", &layers, err) < 0 ||
	    json_get_array(j, "", "actions", &actions, err) < 0)
		return -1;
	strbuf_adds(&out->config, config);
	for (size_t i = 0; i < json_array_size(layers); i++) {
		if (read_layer(json_array_get(layers, i), arena, vec_add(&out->image.layers), err) <
		    0)
			return -1;
	}
	for (size_t i = 0; i < json_array_size(actions); i++) {
		if (read_action(json_array_get(actions, i), arena, vec_add(&out->actions), err) < 0)
			return -1;
	}
	return 0;
}

bool image_record_recall(struct store *store, const struct digest *key, struct arena *arena,
			 struct image_record *out)
{
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *j = NULL;
	struct error ignored = { 0 }; /* a record that cannot be used is made again */

	if (store_get_record(store, "images", key, &text, &ignored) < 0 ||
	    json_parse(strbuf_slice(&text), &j, &ignored) < 0 ||
	    read_record(j, arena, out, &ignored) < 0)
		goto unusable;
	for (size_t i = 0; i < out->image.layers.len; i++) {
		const struct build_layer *l = &out->image.layers.items[i];

		if (!store_intact(store, &l->digest, l->size))
			goto unusable;
	}
	return true;
unusable:
	image_record_release(out);
	*out = (struct image_record){ 0 };
	return false;
}

static json_t *layer_json(const struct build_layer *l)
{
	json_t *j = json_object();
	char buf[DIGEST_TEXT_MAX];

	json_put(j, "title", json_text(l->title));
	json_put(j, "components", json_text(l->components));
	json_put(j, "media_type", json_text(l->media_type));
	json_put(j, "digest", json_text(digest_text(&l->digest, buf)));
	json_put(j, "diff_id", json_text(digest_text(&l->diff_id, buf)));
	json_put(j, "size", json_integer((json_int_t)l->size));
	json_put(j, "raw_size", json_integer((json_int_t)l->raw_size));
	if (l->base)
		json_put(j, "base", json_true());
	return j;
}

static json_t *action_json(const struct build_action *a)
{
	json_t *j = json_object();
	char buf[DIGEST_TEXT_MAX];

	json_put(j, "fate", json_integer(a->fate));
	json_put(j, "line", json_integer((json_int_t)a->line));
	json_put(j, "package", json_text(a->package));
	json_put(j, "script", json_text(a->script));
	json_put(j, "text", json_text(a->text));
	json_put(j, "digest", json_text(digest_text(&a->digest, buf)));
	return j;
}

int image_record_keep(struct store *store, const struct digest *key,
		      const struct image_record *record, struct error *err)
{
	cleanup_json json_t *j = json_object();
	cleanup_strbuf struct strbuf text = { 0 };
	json_t *layers = json_array(), *actions = json_array();

	for (size_t i = 0; i < record->image.layers.len; i++)
		json_push(layers, layer_json(&record->image.layers.items[i]));
	for (size_t i = 0; i < record->actions.len; i++)
		json_push(actions, action_json(&record->actions.items[i]));
	json_put(j, "config", json_text(strbuf_text(&record->config)));
	json_put(j, "layers", layers);
	json_put(j, "actions", actions);
	json_canonical(j, &text);
	return store_put_record(store, "images", key, strbuf_slice(&text), err);
}
