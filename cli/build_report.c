#include "cli/build_report.h"

#include "cli/host_report.h"
#include "formats/json.h"

static size_t count_fate(const struct build_result *result, enum script_fate fate)
{
	size_t n = 0;

	for (size_t i = 0; i < result->actions.len; i++)
		n += result->actions.items[i].fate == fate;
	return n;
}

/* What the manifest takes to accept scripts whose actions were not done; actions are sorted. */
static void text_acknowledge(const struct build_result *result, struct strbuf *text)
{
	const struct build_action *last = NULL;
	char digest[DIGEST_TEXT_MAX];

	for (size_t i = 0; i < result->actions.len; i++) {
		const struct build_action *a = &result->actions.items[i];

		if (a->fate != SCRIPT_NOT_DONE || (last && str_equal(a->package, last->package) &&
						   digest_equal(&a->digest, &last->digest)))
			continue;
		if (!last)
			strbuf_adds(text, "once looked at, they are accepted by the manifest's\n"
					  "  scripts:\n    acknowledge:\n");
		strbuf_addf(text, "      - \"%s\" # %s %s\n", digest_text(&a->digest, digest),
			    a->package, a->script);
		last = a;
	}
}

static void text_actions(const struct out *out, const struct build_result *result,
			 struct strbuf *text)
{
	size_t not_done = count_fate(result, SCRIPT_NOT_DONE);

	if (!result->actions.len)
		return;
	strbuf_addf(text,
		    "maintainer scripts: %zu actions done, %zu harmless, %zu accepted, %zu not "
		    "done%s\n",
		    count_fate(result, SCRIPT_DONE), count_fate(result, SCRIPT_HARMLESS),
		    count_fate(result, SCRIPT_ACCEPTED), not_done,
		    not_done && out->verbosity < 1 ? " (-v lists them)" : "");
	for (size_t i = 0; out->verbosity > 0 && i < result->actions.len; i++) {
		const struct build_action *a = &result->actions.items[i];

		strbuf_addf(text, "  %-9s %-20s %-9s %s\n", build_fate_name(a->fate), a->package,
			    a->script, a->text);
	}
	if (out->verbosity > 0)
		text_acknowledge(result, text);
}

static void text_image(const struct build_image *image, struct strbuf *text)
{
	char digest[DIGEST_TEXT_MAX], size[32], raw[32];
	uint64_t total = 0;

	strbuf_addf(text, "%s/%s  %s\n", image->platform.os, image->platform.architecture,
		    digest_text(&image->manifest.digest, digest));
	for (size_t i = 0; i < image->layers.len; i++) {
		const struct build_layer *l = &image->layers.items[i];

		total += l->size;
		strbuf_addf(text, "  layer %-2zu %10s  %10s unpacked  %s%s\n", i,
			    out_size(l->size, size), out_size(l->raw_size, raw), l->title,
			    l->cached ? "  (from the store)" : "");
	}
	strbuf_addf(text, "  total    %10s in %zu layers\n", out_size(total, size),
		    image->layers.len);
}

void build_report_text(const struct out *out, const struct stack *stack,
		       const struct build_result *result, const char *const *to, size_t to_count,
		       struct strbuf *text)
{
	char digest[DIGEST_TEXT_MAX];

	for (size_t i = 0; i < result->images.len; i++)
		text_image(&result->images.items[i], text);
	text_actions(out, result, text);
	strbuf_addf(text, "%s:%s  %s\n", stack->name, stack->tag,
		    digest_text(&result->index.digest, digest));
	for (size_t i = 0; i < to_count; i++)
		strbuf_addf(text, "written to %s%s\n", to[i],
			    result->unchanged ? " (nothing changed)" : "");
}

static json_t *json_digest(const struct digest *d)
{
	char text[DIGEST_TEXT_MAX];

	return json_text(digest_text(d, text));
}

static json_t *json_layer(const struct build_layer *l)
{
	json_t *o = json_object();

	json_put(o, "title", json_text(l->title));
	json_put(o, "components", json_text(l->components));
	json_put(o, "mediaType", json_text(l->media_type));
	json_put(o, "digest", json_digest(&l->digest));
	json_put(o, "diff_id", json_digest(&l->diff_id));
	json_put(o, "size", json_integer((json_int_t)l->size));
	json_put(o, "raw_size", json_integer((json_int_t)l->raw_size));
	json_put(o, "cached", json_boolean(l->cached));
	return o;
}

static json_t *json_image(const struct build_image *image, const struct lockfile *lock)
{
	cleanup_free char *platform =
		xasprintf("%s/%s", image->platform.os, image->platform.architecture);
	json_t *o = json_object(), *layers = json_array();

	for (size_t i = 0; i < image->layers.len; i++)
		json_push(layers, json_layer(&image->layers.items[i]));
	json_put(o, "platform", json_text(platform));
	json_put(o, "digest", json_digest(&image->manifest.digest));
	json_put(o, "layers", layers);
	json_put(o, "left_to_host", host_report_json(lock, platform));
	return o;
}

static json_t *json_actions(const struct build_result *result)
{
	json_t *list = json_array();

	for (size_t i = 0; i < result->actions.len; i++) {
		const struct build_action *a = &result->actions.items[i];
		json_t *o = json_object();

		json_put(o, "fate", json_text(build_fate_name(a->fate)));
		json_put(o, "package", json_text(a->package));
		json_put(o, "script", json_text(a->script));
		json_put(o, "line", json_integer((json_int_t)a->line));
		json_put(o, "text", json_text(a->text));
		json_put(o, "script_digest", json_digest(&a->digest));
		json_push(list, o);
	}
	return list;
}

void build_report_json(const struct stack *stack, const struct lockfile *lock,
		       const struct build_result *result, const char *const *to, size_t to_count,
		       struct strbuf *text)
{
	cleanup_json json_t *o = json_object();
	json_t *images = json_array(), *destinations = json_array(), *warnings = json_array();
	json_t *solved = json_object();

	for (size_t i = 0; i < result->images.len; i++)
		json_push(images, json_image(&result->images.items[i], lock));
	for (size_t i = 0; i < to_count; i++)
		json_push(destinations, json_text(to[i]));
	for (size_t i = 0; i < result->warnings.len; i++)
		json_push(warnings, json_text(result->warnings.items[i]));
	json_put(solved, "cuda", json_text(lock->stack.cuda));
	json_put(solved, "cuda_release", json_text(lock->stack.cuda_release));
	json_put(solved, "cudnn", json_text(lock->stack.cudnn));
	json_put(solved, "nccl", json_text(lock->stack.nccl));
	json_put(solved, "driver", json_text(lock->stack.driver));
	for (size_t i = 0; i < lock->stack.framework_count; i++)
		json_put(solved, lock->stack.frameworks[i].key,
			 json_text(lock->stack.frameworks[i].version));
	json_put(o, "schema", json_text("gpuimg-build/1"));
	json_put(o, "name", json_text(stack->name));
	json_put(o, "tag", json_text(stack->tag));
	json_put(o, "stack", solved);
	json_put(o, "digest", json_digest(&result->index.digest));
	json_put(o, "images", images);
	json_put(o, "destinations", destinations);
	json_put(o, "actions", json_actions(result));
	json_put(o, "warnings", warnings);
	json_put(o, "unchanged", json_boolean(result->unchanged));
	json_pretty(o, text);
}
