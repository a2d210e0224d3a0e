#include "builder/build_plan.h"

#include "builder/lock.h"
#include "cli/command.h"
#include "cli/host_report.h"
#include "cli/report_output.h"
#include "cli/stack_arg.h"
#include "formats/json.h"

static const struct option options[] = {
	{ .name = "diff",
	  .value = "OLD.lock",
	  .help = "say what a node pulls that has the image of this older lock" },
	{ .name = "bandwidth",
	  .value = "MBIT",
	  .help = "megabits a second for the modelled pull time (default 10000)" },
	{ .name = "budget",
	  .value = "SIZE",
	  .help = "status 1 when an image, or with --diff what a node pulls of it, is larger, such "
		  "as "
		  "4GiB" },
	STACK_SET_OPTION,
	STACK_VARIANT_OPTION,
	REPORT_OUTPUT_OPTION("text or json"),
	{ 0 },
};

enum { BANDWIDTH_MBIT = 10000, BANDWIDTH_MAX = 10000000 };

/* The plan of one manifest, and the one it is compared with. */
struct plan_call {
	const struct stack *stack;
	struct lockfile lock, old_lock;
	struct build_plan plan, old;
	bool has_old;
	uint64_t mbit, budget; /* bytes; 0: none */
};

static void call_release(struct plan_call *call)
{
	build_plan_release(&call->plan);
	build_plan_release(&call->old);
	lockfile_release(&call->lock);
	lockfile_release(&call->old_lock);
}

static int make_plan(struct plan_call *call, const char *lock_path, bool old, struct store *store,
		     struct error *err)
{
	struct lockfile *lock = old ? &call->old_lock : &call->lock;
	struct build_request request = { .stack = call->stack, .lock = lock, .store = store };
	int rc = lockfile_read(lock_path, lock, err);

	if (rc == 0)
		rc = build_plan_make(&request, old, old ? &call->old : &call->plan, err);
	if (rc < 0)
		error_wrap(err, "plan %s", lock_path);
	return rc;
}

static const char *about(const struct build_plan_layer *l)
{
	return l->estimated ? "about " : "";
}

static void text_layer(const struct plan_call *call, const struct build_plan_image *image,
		       size_t at, struct strbuf *text)
{
	const struct build_plan_layer *l = &image->layers.items[at];
	cleanup_free char *size = NULL;
	char buf[32], raw[32];

	size = xasprintf("%s%s", about(l), out_size(l->size, buf));
	strbuf_addf(text, "  layer %-2zu %16s  %10s unpacked  %s%s\n", at, size,
		    out_size(l->raw, raw), l->title, call->has_old && l->pulled ? "  (new)" : "");
	strbuf_addf(text, "           %s\n", l->reason);
	for (size_t i = 0; i < image->parts.len; i++) {
		const struct build_plan_part *p = &image->parts.items[i];

		if (p->layer == at)
			strbuf_addf(text, "             %10s  %s%s%s\n", out_size(p->bytes, buf),
				    p->name, *p->version ? " " : "", p->version);
	}
}

static void text_image(struct plan_call *call, struct build_plan_image *image, struct strbuf *text)
{
	uint64_t pulled = call->has_old ? build_plan_compare(image, &call->old) : 0;
	char size[32];

	strbuf_addf(text, "%s\n", image->platform);
	for (size_t i = 0; i < image->layers.len; i++)
		text_layer(call, image, i, text);
	strbuf_addf(text, "  total    %16s in %zu layers\n", out_size(build_plan_size(image), size),
		    image->layers.len);
	host_report_text(&call->lock, image->platform, text);
	strbuf_addf(text, "  modelled pull at %" PRIu64 " Mbit/s:\n", call->mbit);
	for (const struct pull_engine *e = pull_engines; e->name; e++)
		strbuf_addf(text, "    %-26s %7.1f s\n", e->name,
			    build_plan_seconds(image, e, call->mbit));
	if (call->has_old)
		strbuf_addf(text, "  a node with the old image pulls %s\n", out_size(pulled, size));
}

/* How many bytes of an image count against the budget. */
static uint64_t counted(struct plan_call *call, struct build_plan_image *image)
{
	return call->has_old ? build_plan_compare(image, &call->old) : build_plan_size(image);
}

static bool is_over(struct plan_call *call, struct build_plan_image *image)
{
	return call->budget && counted(call, image) > call->budget;
}

static bool is_any_over(struct plan_call *call)
{
	bool over = false;

	for (size_t i = 0; i < call->plan.images.len; i++)
		over |= is_over(call, &call->plan.images.items[i]);
	return over;
}

static void text_budget(struct plan_call *call, struct build_plan_image *image, struct strbuf *text)
{
	char budget[32], over[32];

	if (is_over(call, image))
		strbuf_addf(text, "  over the budget of %s by %s\n", out_size(call->budget, budget),
			    out_size(counted(call, image) - call->budget, over));
}

static json_t *json_digest(const struct digest *d)
{
	char text[DIGEST_TEXT_MAX];

	return json_text(digest_text(d, text));
}

static json_t *json_layer(const struct plan_call *call, const struct build_plan_image *image,
			  size_t at)
{
	const struct build_plan_layer *l = &image->layers.items[at];
	json_t *o = json_object(), *components = json_array();

	for (size_t i = 0; i < image->parts.len; i++) {
		const struct build_plan_part *p = &image->parts.items[i];
		json_t *c;

		if (p->layer != at)
			continue;
		c = json_object();
		json_put(c, "name", json_text(p->name));
		json_put(c, "version", json_text(p->version));
		json_put(c, "bytes", json_integer((json_int_t)p->bytes));
		json_push(components, c);
	}
	json_put(o, "title", json_text(l->title));
	json_put(o, "class", json_text(l->class));
	json_put(o, "reason", json_text(l->reason));
	json_put(o, "key", json_digest(&l->key));
	json_put(o, "raw_size", json_integer((json_int_t)l->raw));
	json_put(o, "size", json_integer((json_int_t)l->size));
	json_put(o, "estimated", json_boolean(l->estimated));
	json_put(o, "base", json_boolean(l->base));
	if (call->has_old)
		json_put(o, "pulled", json_boolean(l->pulled));
	json_put(o, "components", components);
	return o;
}

static json_t *json_image(struct plan_call *call, struct build_plan_image *image)
{
	json_t *o = json_object(), *layers = json_array(), *pulls = json_array();

	json_put(o, "platform", json_text(image->platform));
	if (call->has_old)
		json_put(o, "pull_bytes",
			 json_integer((json_int_t)build_plan_compare(image, &call->old)));
	for (size_t i = 0; i < image->layers.len; i++)
		json_push(layers, json_layer(call, image, i));
	for (const struct pull_engine *e = pull_engines; e->name; e++) {
		json_t *pull = json_object();
		double ms = build_plan_seconds(image, e, call->mbit) * 1000;

		json_put(pull, "engine", json_text(e->name));
		json_put(pull, "milliseconds", json_integer((json_int_t)ms));
		json_push(pulls, pull);
	}
	json_put(o, "size", json_integer((json_int_t)build_plan_size(image)));
	if (call->budget)
		json_put(o, "over_budget", json_boolean(is_over(call, image)));
	json_put(o, "layers", layers);
	json_put(o, "left_to_host", host_report_json(&call->lock, image->platform));
	json_put(o, "pulls", pulls);
	return o;
}

static void report_json(struct plan_call *call, struct strbuf *text)
{
	cleanup_json json_t *o = json_object();
	json_t *images = json_array();

	for (size_t i = 0; i < call->plan.images.len; i++)
		json_push(images, json_image(call, &call->plan.images.items[i]));
	json_put(o, "schema", json_text("gpuimg-plan/1"));
	json_put(o, "name", json_text(call->stack->name));
	json_put(o, "tag", json_text(call->stack->tag));
	json_put(o, "bandwidth_mbit", json_integer((json_int_t)call->mbit));
	if (call->budget)
		json_put(o, "budget", json_integer((json_int_t)call->budget));
	json_put(o, "images", images);
	json_pretty(o, text);
}

static int report(const struct invocation *in, const struct report_outputs *outputs,
		  struct plan_call *call, struct error *err)
{
	for (size_t i = 0; i < outputs->len; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		if (str_equal(outputs->items[i].format, "json")) {
			report_json(call, &text);
		} else {
			for (size_t k = 0; k < call->plan.images.len; k++) {
				text_image(call, &call->plan.images.items[k], &text);
				text_budget(call, &call->plan.images.items[k], &text);
			}
		}
		if (report_output_write(&outputs->items[i], strbuf_slice(&text), in->out, err) < 0)
			return -1;
	}
	return 0;
}

/* One image at a time: a matrix has as many plans as variants. */
static int choose_one(const struct invocation *in, const struct stacks *stacks, struct error *err)
{
	if (stacks->count == 1)
		return 0;
	return error_set(err, ERROR_USAGE,
			 "%s describes %zu images; choose one with --variant, such as %s",
			 in->args[0], stacks->count, stacks->items[0].variant);
}

static int take_budget(const struct invocation *in, uint64_t *out, struct error *err)
{
	const char *text = option_text(in, "budget", NULL);

	if (!text || stack_size_parse(text, out))
		return 0;
	return error_set(err, ERROR_USAGE,
			 "--budget: '%s' is not a size; write a whole number above 0 and KiB, MiB "
			 "or GiB, such as 4GiB",
			 text);
}

static int run(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "text", "json", NULL };
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	cleanup_stacks struct stacks stacks = { 0 };
	cleanup_store struct store *store = NULL;
	cleanup_free char *lock_path = NULL;
	cleanup(call_release) struct plan_call call = { 0 };
	const char *old = option_text(in, "diff", NULL);

	if (report_outputs_parse(in, formats, &outputs, err) < 0 ||
	    option_number(in, "bandwidth", 1, BANDWIDTH_MAX, BANDWIDTH_MBIT, &call.mbit, err) < 0 ||
	    take_budget(in, &call.budget, err) < 0 ||
	    stack_arg_read(in, in->args[0], &stacks, err) < 0 || choose_one(in, &stacks, err) < 0)
		return -1;
	call.stack = &stacks.items[0];
	lock_path = stack_arg_lock(call.stack);
	store = store_open(option_text(in, "store", NULL), err);
	if (!store || make_plan(&call, lock_path, false, store, err) < 0)
		return -1;
	call.has_old = old != NULL;
	if (old && make_plan(&call, old, true, store, err) < 0)
		return -1;
	if (report(in, &outputs, &call, err) < 0)
		return -1;
	return is_any_over(&call) ? 1 : 0;
}

const struct command command_plan = {
	.name = "plan",
	.usage = "STACK",
	.summary = "show which component goes to which layer and why, before a build",
	.description =
		"Shows the layers that `gpuimg build` would make of the stack manifest STACK and "
		"its lock: the\n"
		"components in each with their bytes, the reason they are together, and how long "
		"container\n"
		"engines would take to pull the image (a model). Layers that were built before "
		"have their true\n"
		"size, others an estimate. With --diff, also the bytes that a node pulls which "
		"has the image of\n"
		"an older lock. The inputs of the locks must be in the store (`gpuimg fetch`). "
		"--budget makes\n"
		"a gate of either for a CI: exit status 1 when an image is over it.",
	.examples =
		"gpuimg plan stack.yaml\n"
		"gpuimg plan --diff stack.lock.json.old stack.yaml     # the cost of an update\n"
		"gpuimg plan --diff main.lock.json --budget 500MiB stack.yaml     # in a CI\n"
		"gpuimg plan --output json --bandwidth 1000 stack.yaml\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
