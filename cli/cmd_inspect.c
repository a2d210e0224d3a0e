#include "cli/command.h"
#include "cli/image_arg.h"
#include "cli/report_output.h"
#include "formats/json.h"

static const struct option options[] = {
	PLATFORM_OPTION,
	REPORT_OUTPUT_OPTION("text or json"),
	{ 0 },
};

static uint64_t total_size(const struct image *image)
{
	uint64_t total = 0;

	for (size_t i = 0; i < image->manifest.layer_count; i++)
		total += image->manifest.layers[i].size;
	return total;
}

/* What made layer `i`: its history entry, counting only those that have a layer. */
static const char *layer_origin(const struct image *image, size_t i)
{
	size_t n = 0;

	for (size_t k = 0; k < image->config.history_count; k++) {
		const struct config_history *h = &image->config.history[k];

		if (h->empty_layer)
			continue;
		if (n++ == i)
			return h->created_by ? h->created_by : "";
	}
	return "";
}

static void add_list(struct strbuf *text, const char *title, const struct string_list *list)
{
	if (!list->count)
		return;
	strbuf_addf(text, "%-12s", title);
	for (size_t i = 0; i < list->count; i++)
		strbuf_addf(text, "%s%s", i ? " " : "", list->items[i]);
	strbuf_addc(text, '\n');
}

/* Labels that gpuimg wrote: the stack the image was built for. */
static void add_stack(struct strbuf *text, const struct image *image)
{
	static const char prefix[] = "io.gpuimg.";

	for (size_t i = 0; i < image->config.label_keys.count; i++) {
		const char *key = image->config.label_keys.items[i];

		if (str_starts(key, prefix))
			strbuf_addf(text, "%-12s%s\n", key + sizeof(prefix) - 1,
				    image->config.label_values.items[i]);
	}
}

static void report_text(const struct image *image, struct strbuf *text)
{
	const struct image_config *c = &image->config;
	char digest[DIGEST_TEXT_MAX], size[32];

	strbuf_addf(text, "%-12s%s\n", "image", image->name);
	if (image->rootfs) {
		strbuf_addf(text, "%-12san unpacked root: no manifest, configuration or layers\n",
			    "kind");
		return;
	}
	strbuf_addf(text, "%-12s%s\n", "digest", digest_text(&image->root.digest, digest));
	strbuf_addf(text, "%-12s%s\n", "manifest", digest_text(&image->descriptor.digest, digest));
	strbuf_addf(text, "%-12s%s/%s\n", "platform", c->platform.os, c->platform.architecture);
	strbuf_addf(text, "%-12s%s in %zu layers\n", "size", out_size(total_size(image), size),
		    image->manifest.layer_count);
	if (c->created)
		strbuf_addf(text, "%-12s%s\n", "created", c->created);
	add_stack(text, image);
	if (c->user && *c->user)
		strbuf_addf(text, "%-12s%s\n", "user", c->user);
	if (c->workdir && *c->workdir)
		strbuf_addf(text, "%-12s%s\n", "workdir", c->workdir);
	add_list(text, "entrypoint", &c->entrypoint);
	add_list(text, "command", &c->cmd);
	for (size_t i = 0; i < c->env.count; i++)
		strbuf_addf(text, "%-12s%s\n", i ? "" : "environment", c->env.items[i]);
	for (size_t i = 0; i < image->manifest.layer_count; i++) {
		const struct descriptor *d = &image->manifest.layers[i];

		strbuf_addf(text, "layer %-6zu%10s  %.19s  %.80s\n", i, out_size(d->size, size),
			    digest_text(&d->digest, digest), layer_origin(image, i));
	}
}

static json_t *json_list(const struct string_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_push(array, json_text(list->items[i]));
	return array;
}

static json_t *json_layers(const struct image *image)
{
	json_t *array = json_array();
	char digest[DIGEST_TEXT_MAX];

	for (size_t i = 0; i < image->manifest.layer_count; i++) {
		const struct descriptor *d = &image->manifest.layers[i];
		json_t *o = json_object();

		json_put(o, "digest", json_text(digest_text(&d->digest, digest)));
		if (i < image->config.diff_id_count)
			json_put(o, "diff_id",
				 json_text(digest_text(&image->config.diff_ids[i], digest)));
		json_put(o, "size", json_integer((json_int_t)d->size));
		json_put(o, "mediaType", json_text(d->media_type));
		json_put(o, "created_by", json_text(layer_origin(image, i)));
		json_push(array, o);
	}
	return array;
}

static void report_json(const struct image *image, struct strbuf *text)
{
	const struct image_config *c = &image->config;
	cleanup_json json_t *o = json_object();
	json_t *labels = json_object();
	char digest[DIGEST_TEXT_MAX];

	json_put(o, "schema", json_text("gpuimg-inspect/1"));
	json_put(o, "reference", json_text(image->name));
	if (!image->rootfs) {
		cleanup_free char *platform =
			xasprintf("%s/%s", c->platform.os, c->platform.architecture);

		for (size_t i = 0; i < c->label_keys.count; i++)
			json_put(labels, c->label_keys.items[i],
				 json_text(c->label_values.items[i]));
		json_put(o, "digest", json_text(digest_text(&image->root.digest, digest)));
		json_put(o, "manifest", json_text(digest_text(&image->descriptor.digest, digest)));
		json_put(o, "platform", json_text(platform));
		json_put(o, "size", json_integer((json_int_t)total_size(image)));
		json_put(o, "layers", json_layers(image));
		json_put(o, "user", json_text(c->user ? c->user : ""));
		json_put(o, "entrypoint", json_list(&c->entrypoint));
		json_put(o, "cmd", json_list(&c->cmd));
		json_put(o, "env", json_list(&c->env));
	}
	json_put(o, "labels", labels);
	json_pretty(o, text);
}

static int run(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "text", "json", NULL };
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	cleanup_image struct image image = { 0 };

	if (report_outputs_parse(in, formats, &outputs, err) < 0 ||
	    image_arg_open(in, in->args[0], &image, err) < 0)
		return -1;
	for (size_t i = 0; i < outputs.len; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		if (str_equal(outputs.items[i].format, "json"))
			report_json(&image, &text);
		else
			report_text(&image, &text);
		if (report_output_write(&outputs.items[i], strbuf_slice(&text), in->out, err) < 0)
			return -1;
	}
	return 0;
}

const struct command command_inspect = {
	.name = "inspect",
	.usage = "IMAGE",
	.summary = "what is in an image: digest, size, layers, stack, configuration",
	.description =
		"Shows what an image is: its digests, platform, layers with sizes and origin, the\n"
		"stack it was built for, and how it starts.",
	.examples = "gpuimg inspect oci:out/app:1.0\n"
		    "docker save app | gpuimg inspect -\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
