#include "cli/sbom_arg.h"
#include "cli/fact_store.h"
#include "cli/image_arg.h"
#include "cli/report_output.h"
#include "lint/inventory.h"
#include "lint/report_parts.h"

static const char *const fact_formats[] = { "json", NULL };
static const char *const sbom_formats[] = { "spdx", "cyclonedx", NULL };

static const struct option options[] = {
	PLATFORM_OPTION,
	REPORT_OUTPUT_OPTION("text or json"),
	{ .name = "stack", .help = "the versions of CUDA, cuDNN, NCCL and the framework" },
	{ .name = "components", .help = "what the bytes belong to" },
	{ .name = "gpu-code", .help = "the GPU architectures each library has code for" },
	{ .name = "packages", .help = "the installed packages" },
	{ .name = "tree", .help = "every file of the merged tree" },
	{ .name = "all", .help = "all of these but the tree" },
	{ .name = "facts",
	  .value = "FORMAT",
	  .choices = fact_formats,
	  .help = "everything the lint rules decide from, and nothing else" },
	{ .name = "sbom",
	  .value = "FORMAT",
	  .choices = sbom_formats,
	  .help = "an SBOM from its package databases, and nothing else" },
	{ 0 },
};

/* The parts for which the layers have to be read. */
static const struct {
	const char *option, *key;
	void (*text)(const struct facts *facts, struct strbuf *out);
	json_t *(*json)(const struct facts *facts);
} contents[] = {
	{ "stack", "stack", inventory_stack_text, inventory_stack },
	{ "components", "components", inventory_components_text, inventory_components },
	{ "gpu-code", "gpu_code", inventory_gpu_text, inventory_gpu },
	{ "packages", "packages", inventory_packages_text, inventory_packages },
	{ "tree", "tree", inventory_tree_text, inventory_tree },
};

static bool wants(const struct invocation *in, const char *part)
{
	return option_given(in, part) || (option_given(in, "all") && !str_equal(part, "tree"));
}

static bool wants_contents(const struct invocation *in)
{
	bool wanted = option_given(in, "facts");

	for (size_t i = 0; i < ARRAY_LEN(contents); i++)
		wanted |= wants(in, contents[i].option);
	return wanted;
}

/* What an image says reaches a terminal: no control characters, and no secrets. */
static void put_masked(struct strbuf *text, const char *value)
{
	cleanup_arena struct arena arena = { 0 };

	put_clean(text, secrets_masked(value, &arena));
}

static json_t *json_masked(const char *value)
{
	cleanup_arena struct arena arena = { 0 };

	return json_text(secrets_masked(value, &arena));
}

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

static void put_row(struct strbuf *text, const char *name, const char *value)
{
	cleanup_strbuf struct strbuf clean = { 0 };

	put_clean(&clean, name);
	strbuf_addf(text, "%-12s", strbuf_text(&clean));
	put_masked(text, value);
	strbuf_addc(text, '\n');
}

static void add_list(struct strbuf *text, const char *title, const struct string_list *list)
{
	if (!list->count)
		return;
	strbuf_addf(text, "%-12s", title);
	for (size_t i = 0; i < list->count; i++) {
		strbuf_adds(text, i ? " " : "");
		put_masked(text, list->items[i]);
	}
	strbuf_addc(text, '\n');
}

/* Labels that gpuimg wrote: the stack the image was built for. */
static void add_stack(struct strbuf *text, const struct image *image)
{
	static const char prefix[] = "io.gpuimg.";

	for (size_t i = 0; i < image->config.label_keys.count; i++) {
		const char *key = image->config.label_keys.items[i];

		if (str_starts(key, prefix))
			put_row(text, key + sizeof(prefix) - 1,
				image->config.label_values.items[i]);
	}
}

static void put_layer(struct strbuf *text, const struct image *image, size_t i)
{
	const struct descriptor *d = &image->manifest.layers[i];
	char digest[DIGEST_TEXT_MAX], size[32];
	cleanup_strbuf struct strbuf origin = { 0 };

	put_masked(&origin, layer_origin(image, i));
	strbuf_addf(text, "layer %-6zu%10s  %.19s  %.80s\n", i, out_size(d->size, size),
		    digest_text(&d->digest, digest), strbuf_text(&origin));
}

static void print_manifest(const struct image *image, struct strbuf *text)
{
	const struct image_config *c = &image->config;
	char digest[DIGEST_TEXT_MAX], size[32];

	put_row(text, "image", image->name);
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
		put_row(text, "created", c->created);
	add_stack(text, image);
	if (c->user && *c->user)
		put_row(text, "user", c->user);
	if (c->workdir && *c->workdir)
		put_row(text, "workdir", c->workdir);
	add_list(text, "entrypoint", &c->entrypoint);
	add_list(text, "command", &c->cmd);
	for (size_t i = 0; i < c->env.count; i++)
		put_row(text, i ? "" : "environment", c->env.items[i]);
	for (size_t i = 0; i < image->manifest.layer_count; i++)
		put_layer(text, image, i);
}

static json_t *json_list(const struct string_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_push(array, json_masked(list->items[i]));
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
		json_put(o, "created_by", json_masked(layer_origin(image, i)));
		json_push(array, o);
	}
	return array;
}

static json_t *manifest_json(const struct image *image)
{
	const struct image_config *c = &image->config;
	json_t *o = json_object();
	json_t *labels = json_object();
	char digest[DIGEST_TEXT_MAX];

	json_put(o, "schema", json_text("gpuimg-inspect/1"));
	json_put(o, "reference", json_text(image->name));
	if (!image->rootfs) {
		cleanup_free char *platform =
			xasprintf("%s/%s", c->platform.os, c->platform.architecture);

		for (size_t i = 0; i < c->label_keys.count; i++)
			json_put(labels, c->label_keys.items[i],
				 json_masked(c->label_values.items[i]));
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
	return o;
}

/* `facts` NULL: the layers were not read. */
static void print_json(const struct invocation *in, const struct image *image,
		       const struct facts *facts, struct strbuf *text)
{
	cleanup_json json_t *o =
		option_given(in, "facts") ? inventory_facts(facts) : manifest_json(image);

	for (size_t i = 0; facts && i < ARRAY_LEN(contents); i++) {
		if (wants(in, contents[i].option) && !option_given(in, "facts"))
			json_put(o, contents[i].key, contents[i].json(facts));
	}
	json_pretty(o, text);
}

static void print_text(const struct invocation *in, const struct image *image,
		       const struct facts *facts, struct strbuf *text)
{
	print_manifest(image, text);
	for (size_t i = 0; facts && i < ARRAY_LEN(contents); i++) {
		if (!wants(in, contents[i].option))
			continue;
		strbuf_addf(text, "\n%s:\n", contents[i].option);
		contents[i].text(facts, text);
	}
}

static int write_reports(const struct invocation *in, const struct report_outputs *outputs,
			 const struct image *image, const struct facts *facts, struct error *err)
{
	for (size_t i = 0; i < outputs->len; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		if (str_equal(outputs->items[i].format, "json") || option_given(in, "facts"))
			print_json(in, image, facts, &text);
		else
			print_text(in, image, facts, &text);
		if (report_output_write(&outputs->items[i], strbuf_slice(&text), in->out, err) < 0)
			return -1;
	}
	return 0;
}

/* Instead of everything else. */
static int write_sbom(const struct invocation *in, const struct report_outputs *outputs,
		      struct image *image, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	enum attachment kind;

	if (sbom_arg_kind("sbom", option_text(in, "sbom", NULL), &kind, err) < 0 ||
	    sbom_arg_scan(image, kind, &text, err) < 0)
		return -1;
	return report_output_write(&outputs->items[0], strbuf_slice(&text), in->out, err);
}

static int run(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "text", "json", NULL };
	static const struct target nowhere = { 0 };
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	cleanup_image struct image image = { 0 };
	cleanup_fact_store struct fact_store kept = { 0 };
	cleanup_facts struct facts facts = { 0 };
	bool contained = wants_contents(in);

	if (report_outputs_parse(in, formats, &outputs, err) < 0 ||
	    image_arg_open(in, in->args[0], &image, err) < 0)
		return -1;
	if (option_given(in, "sbom"))
		return write_sbom(in, &outputs, &image, err);
	facts.known = contained ? fact_store_open(in, &kept) : NULL;
	if (contained && facts_read(&facts, &image, &nowhere, err) < 0)
		return -1;
	if (write_reports(in, &outputs, &image, contained ? &facts : NULL, err) < 0)
		return -1;
	if (facts.unreadable)
		return error_set(err, ERROR_INTEGRITY, "%s could not be read completely: %s",
				 in->args[0], facts.unreadable_text);
	return 0;
}

const struct command command_inspect = {
	.name = "inspect",
	.usage = "IMAGE",
	.summary = "what is in an image: digest, size, layers, stack, configuration",
	.description =
		"Shows what an image is: its digests, platform, layers with sizes and origin, the "
		"stack it was built for, and how it starts. For that no layer is read; --stack, "
		"--components, --gpu-code, --packages, --tree and --facts read them all.",
	.examples =
		"gpuimg inspect oci:out/app:1.0\n"
		"gpuimg inspect app.tar --gpu-code      # which GPUs its libraries have code for\n"
		"gpuimg inspect app.tar --facts json\n"
		"docker save app | gpuimg inspect -\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
