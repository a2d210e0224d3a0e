#include "builder/image_config.h"

#include <time.h>

#include "base/map.h"
#include "base/vec.h"
#include "builder/layer.h"
#include "oci/reference.h"

struct texts {
	const char **items;
	size_t len, cap;
};

const char *image_config_time(int64_t seconds, struct arena *arena)
{
	static const int64_t first = INT64_C(-62167219200), last = INT64_C(253402300799);
	time_t t = (time_t)MAX(first, MIN(seconds, last));
	struct tm tm;

	gmtime_r(&t, &tm);
	return arena_printf(arena, "%04d-%02d-%02dT%02d:%02d:%02dZ", tm.tm_year + 1900,
			    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
}

static bool names_gpu(const struct stack *stack, const struct lock_stack *solved)
{
	return *solved->cuda || stack->stack.driver || stack->stack.gpus.count ||
	       stack->stack.framework.count;
}

static void set_env(struct texts *env, struct arena *arena, const char *key, const char *value)
{
	size_t len = strlen(key);
	const char *text = arena_printf(arena, "%s=%s", key, value);

	for (size_t i = 0; i < env->len; i++) {
		if (strncmp(env->items[i], key, len) == 0 && env->items[i][len] == '=') {
			env->items[i] = text;
			return;
		}
	}
	vec_push(env, text);
}

/* Where the base image says nothing of it. */
static void default_env(const struct image_config_request *r, struct texts *env,
			struct arena *arena, const char *key, const char *value)
{
	if (!r->base || !config_env(&r->base->config, key))
		set_env(env, arena, key, value);
}

static void make_path(const struct image_config_request *r, struct texts *env, struct arena *arena)
{
	static const char usual[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	const char *path = r->base ? config_env(&r->base->config, "PATH") : NULL;

	if (!path)
		path = usual;
	if (r->cuda_programs && !strstr(path, "/usr/local/cuda/bin"))
		path = arena_printf(arena, "/usr/local/cuda/bin:%s", path);
	set_env(env, arena, "PATH", path);
}

static void make_env(const struct image_config_request *r, struct arena *arena,
		     struct string_list *out)
{
	struct texts env = { 0 };

	for (size_t i = 0; r->base && i < r->base->config.env.count; i++)
		vec_push(&env, r->base->config.env.items[i]);
	make_path(r, &env, arena);
	default_env(r, &env, arena, "LANG", "C.UTF-8");
	if (names_gpu(r->stack, r->solved)) {
		default_env(r, &env, arena, "NVIDIA_VISIBLE_DEVICES", "all");
		default_env(r, &env, arena, "NVIDIA_DRIVER_CAPABILITIES", "compute,utility");
		if (*r->solved->require_cuda)
			set_env(&env, arena, "NVIDIA_REQUIRE_CUDA", r->solved->require_cuda);
	}
	for (size_t i = 0; i < r->stack->image.env.count; i++)
		set_env(&env, arena, r->stack->image.env.items[i].key,
			r->stack->image.env.items[i].value);
	out->count = env.len;
	out->items = arena_array(arena, env.len, sizeof(*out->items));
	for (size_t i = 0; i < env.len; i++)
		out->items[i] = env.items[i];
	vec_release(&env);
}

static void add_label(struct map *labels, const char *key, const char *value)
{
	if (value && *value)
		map_put(labels, key, (void *)(uintptr_t)value);
}

static const char *join(const struct stack_texts *texts, struct arena *arena)
{
	cleanup_strbuf struct strbuf b = { 0 };

	for (size_t i = 0; i < texts->count; i++)
		strbuf_addf(&b, "%s%s", i ? "," : "", texts->items[i]);
	return arena_strdup(arena, strbuf_text(&b));
}

static void make_labels(const struct image_config_request *r, struct arena *arena,
			struct image_config *out)
{
	cleanup_map struct map labels = { 0 };
	const struct map_entry *sorted;

	for (size_t i = 0; r->base && i < r->base->config.label_keys.count; i++)
		map_put(&labels, r->base->config.label_keys.items[i],
			(void *)(uintptr_t)r->base->config.label_values.items[i]);
	add_label(&labels, "org.opencontainers.image.title", r->stack->name);
	add_label(&labels, "org.opencontainers.image.version", r->stack->tag);
	add_label(&labels, "org.opencontainers.image.created", r->created);
	add_label(&labels, "io.gpuimg.assembly", arena_printf(arena, "%d", ASSEMBLY_VERSION));
	add_label(&labels, "io.gpuimg.driver", r->solved->driver);
	add_label(&labels, "io.gpuimg.gpus", join(&r->stack->stack.gpus, arena));
	add_label(&labels, "io.gpuimg.cuda", r->solved->cuda);
	add_label(&labels, "io.gpuimg.cudnn", r->solved->cudnn);
	add_label(&labels, "io.gpuimg.nccl", r->solved->nccl);
	add_label(&labels, "io.gpuimg.python", r->solved->python);
	add_label(&labels, "io.gpuimg.profile",
		  stack_profile_name(r->stack->stages[r->stack->stage_count - 1].profile));
	for (size_t i = 0; i < r->stack->image.labels.count; i++)
		map_put(&labels, r->stack->image.labels.items[i].key,
			(void *)(uintptr_t)r->stack->image.labels.items[i].value);
	sorted = map_sorted(&labels);
	out->label_keys.count = out->label_values.count = labels.len;
	out->label_keys.items = arena_array(arena, labels.len + 1, sizeof(char *));
	out->label_values.items = arena_array(arena, labels.len + 1, sizeof(char *));
	for (size_t i = 0; i < labels.len; i++) {
		out->label_keys.items[i] = arena_strdup(arena, sorted[i].key);
		out->label_values.items[i] = sorted[i].value;
	}
}

static struct string_list list_of(const struct stack_texts *texts, bool sorted, struct arena *arena)
{
	struct string_list out = { .count = texts->count };

	out.items = arena_array(arena, texts->count + 1, sizeof(*out.items));
	for (size_t i = 0; i < texts->count; i++)
		out.items[i] = texts->items[i];
	if (sorted && out.count > 1)
		qsort(out.items, out.count, sizeof(*out.items), str_order);
	return out;
}

/* The base's entries as they are; where they do not tell of each layer, one for each is made. */
static size_t base_history(const struct image_config_request *r, size_t base_layers,
			   struct config_history *out, struct arena *arena)
{
	const struct image_config *config = &r->base->config;
	size_t told = 0;

	for (size_t i = 0; i < config->history_count; i++)
		told += !config->history[i].empty_layer;
	if (told == base_layers) {
		for (size_t i = 0; i < config->history_count; i++)
			out[i] = config->history[i];
		return config->history_count;
	}
	for (size_t i = 0; i < base_layers; i++)
		out[i] = (struct config_history){
			.created = config->created,
			.created_by = arena_printf(arena, "layer %zu of the base image", i),
		};
	return base_layers;
}

static void make_history(const struct image_config_request *r, struct arena *arena,
			 struct image_config *out)
{
	size_t base_count = 0,
	       most = r->layer_count + (r->base ? r->base->config.history_count : 0);

	while (base_count < r->layer_count && r->layers[base_count].base)
		base_count++;
	out->diff_ids = arena_array(arena, r->layer_count + 1, sizeof(*out->diff_ids));
	out->history = arena_array(arena, most + 1, sizeof(*out->history));
	out->diff_id_count = r->layer_count;
	if (r->base)
		out->history_count = base_history(r, base_count, out->history, arena);
	for (size_t i = 0; i < r->layer_count; i++) {
		out->diff_ids[i] = r->layers[i].diff_id;
		if (r->layers[i].base)
			continue;
		out->history[out->history_count++] = (struct config_history){
			.created = r->created,
			.created_by = arena_printf(arena, "gpuimg %s", r->layers[i].title),
		};
	}
}

/* What both name, each once, sorted. */
static struct string_list join_keys(const struct string_list *a, const struct string_list *b,
				    struct arena *arena)
{
	struct string_list out = { .items = arena_array(arena, a->count + b->count + 1,
							sizeof(*out.items)) };
	size_t n = 0;

	for (size_t i = 0; i < a->count; i++)
		out.items[n++] = a->items[i];
	for (size_t i = 0; i < b->count; i++)
		out.items[n++] = b->items[i];
	if (n > 1)
		qsort(out.items, n, sizeof(*out.items), str_order);
	for (size_t i = 0; i < n; i++) {
		if (!out.count || !str_equal(out.items[out.count - 1], out.items[i]))
			out.items[out.count++] = out.items[i];
	}
	return out;
}

/* What is run, and as whom: the base's where the manifest says nothing. */
static void make_execution(const struct image_config_request *r, struct arena *arena,
			   struct image_config *out)
{
	static const struct image_config nothing = { 0 };
	const struct stack_image *image = &r->stack->image;
	const struct image_config *base = r->base ? &r->base->config : &nothing;

	out->author = base->author;
	out->workdir = image->workdir ? image->workdir : base->workdir;
	out->stop_signal = image->stop_signal ? image->stop_signal : base->stop_signal;
	out->user = base->user;
	if (image->user_name)
		out->user = arena_printf(arena, "%" PRIu64 ":%" PRIu64, image->uid, image->gid);
	out->entrypoint = list_of(&image->entrypoint, false, arena);
	out->cmd = list_of(&image->cmd, false, arena);
	if (!out->entrypoint.count) {
		out->entrypoint = base->entrypoint;
		if (!out->cmd.count)
			out->cmd = base->cmd;
	}
	if (!out->entrypoint.count && !out->cmd.count && r->bash) {
		out->cmd.items = arena_array(arena, 1, sizeof(*out->cmd.items));
		out->cmd.items[0] = "/bin/bash";
		out->cmd.count = 1;
	}
}

void image_config_make(const struct image_config_request *r, struct arena *arena,
		       struct image_config *out)
{
	const struct stack_image *image = &r->stack->image;

	*out = (struct image_config){ .platform = r->platform, .created = r->created };
	make_execution(r, arena, out);
	out->ports = list_of(&image->expose, true, arena);
	out->volumes = list_of(&image->volumes, true, arena);
	if (r->base) {
		out->ports = join_keys(&r->base->config.ports, &out->ports, arena);
		out->volumes = join_keys(&r->base->config.volumes, &out->volumes, arena);
	}
	make_env(r, arena, &out->env);
	make_labels(r, arena, out);
	make_history(r, arena, out);
}

/* "docker://HOST/NAME:TAG@DIGEST" → "HOST/NAME:TAG"; NULL for an image that no registry has. */
static const char *base_name(const char *image, struct arena *arena)
{
	cleanup_arena struct arena scratch = { 0 };
	struct error ignored = { 0 };
	struct image_name name;
	struct reference plain;

	if (!image || (!str_starts(image, "docker://") &&
		       (strstr(image, "oci:") == image || strchr("./", image[0]) ||
			str_starts(image, "oci-archive:") || str_starts(image, "docker-archive:"))))
		return NULL;
	if (image_name_parse(image, &scratch, &name, &ignored) < 0 ||
	    name.transport != TRANSPORT_DOCKER)
		return NULL;
	plain = name.ref;
	plain.has_digest = plain.has_digest && !plain.tag;
	return arena_strdup(arena, reference_text(&plain, &scratch));
}

json_t *image_config_annotations(const struct image_config_request *r, const char *compression)
{
	json_t *a = json_object();
	cleanup_arena struct arena arena = { 0 };
	cleanup_free char *assembly = xasprintf("%d", ASSEMBLY_VERSION);

	json_put(a, "org.opencontainers.image.created", json_text(r->created));
	json_put(a, "org.opencontainers.image.title", json_text(r->stack->name));
	json_put(a, "org.opencontainers.image.version", json_text(r->stack->tag));
	json_put(a, "io.gpuimg.assembly", json_text(assembly));
	json_put(a, "io.gpuimg.compression", json_text(compression));
	if (r->base_digest) {
		char digest[DIGEST_TEXT_MAX];
		const char *name = base_name(r->stack->base_image, &arena);

		json_put(a, "org.opencontainers.image.base.digest",
			 json_text(digest_text(r->base_digest, digest)));
		if (name)
			json_put(a, "org.opencontainers.image.base.name", json_text(name));
	}
	for (size_t i = 0; i < r->stack->image.annotations.count; i++)
		json_put(a, r->stack->image.annotations.items[i].key,
			 json_text(r->stack->image.annotations.items[i].value));
	return a;
}
