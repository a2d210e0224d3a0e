#include "builder/image_config.h"

#include <time.h>

#include "base/map.h"
#include "base/vec.h"
#include "builder/layer.h"

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

static void make_env(const struct image_config_request *r, struct arena *arena,
		     struct string_list *out)
{
	static const char path[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	struct texts env = { 0 };

	set_env(&env, arena, "PATH",
		r->cuda_programs ? arena_printf(arena, "/usr/local/cuda/bin:%s", path) : path);
	set_env(&env, arena, "LANG", "C.UTF-8");
	if (names_gpu(r->stack, r->solved)) {
		set_env(&env, arena, "NVIDIA_VISIBLE_DEVICES", "all");
		set_env(&env, arena, "NVIDIA_DRIVER_CAPABILITIES", "compute,utility");
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

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct string_list list_of(const struct stack_texts *texts, bool sorted, struct arena *arena)
{
	struct string_list out = { .count = texts->count };

	out.items = arena_array(arena, texts->count + 1, sizeof(*out.items));
	for (size_t i = 0; i < texts->count; i++)
		out.items[i] = texts->items[i];
	if (sorted && out.count > 1)
		qsort(out.items, out.count, sizeof(*out.items), compare_texts);
	return out;
}

static void make_history(const struct image_config_request *r, struct arena *arena,
			 struct image_config *out)
{
	out->diff_ids = arena_array(arena, r->layer_count + 1, sizeof(*out->diff_ids));
	out->history = arena_array(arena, r->layer_count + 1, sizeof(*out->history));
	out->diff_id_count = out->history_count = r->layer_count;
	for (size_t i = 0; i < r->layer_count; i++) {
		out->diff_ids[i] = r->layers[i].diff_id;
		out->history[i] = (struct config_history){
			.created = r->created,
			.created_by = arena_printf(arena, "gpuimg %s", r->layers[i].title),
		};
	}
}

void image_config_make(const struct image_config_request *r, struct arena *arena,
		       struct image_config *out)
{
	const struct stack_image *image = &r->stack->image;

	*out = (struct image_config){ .platform = r->platform, .created = r->created };
	out->workdir = image->workdir;
	out->stop_signal = image->stop_signal;
	if (image->user_name)
		out->user = arena_printf(arena, "%" PRIu64 ":%" PRIu64, image->uid, image->gid);
	out->entrypoint = list_of(&image->entrypoint, false, arena);
	out->cmd = list_of(&image->cmd, false, arena);
	if (!out->entrypoint.count && !out->cmd.count && r->bash) {
		out->cmd.items = arena_array(arena, 1, sizeof(*out->cmd.items));
		out->cmd.items[0] = "/bin/bash";
		out->cmd.count = 1;
	}
	out->ports = list_of(&image->expose, true, arena);
	out->volumes = list_of(&image->volumes, true, arena);
	make_env(r, arena, &out->env);
	make_labels(r, arena, out);
	make_history(r, arena, out);
}

json_t *image_config_annotations(const struct image_config_request *r, const char *compression)
{
	json_t *a = json_object();
	cleanup_free char *assembly = xasprintf("%d", ASSEMBLY_VERSION);

	json_put(a, "org.opencontainers.image.created", json_text(r->created));
	json_put(a, "org.opencontainers.image.title", json_text(r->stack->name));
	json_put(a, "org.opencontainers.image.version", json_text(r->stack->tag));
	json_put(a, "io.gpuimg.assembly", json_text(assembly));
	json_put(a, "io.gpuimg.compression", json_text(compression));
	for (size_t i = 0; i < r->stack->image.annotations.count; i++)
		json_put(a, r->stack->image.annotations.items[i].key,
			 json_text(r->stack->image.annotations.items[i].value));
	return a;
}
