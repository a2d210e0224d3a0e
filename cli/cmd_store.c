#include "builder/store_audit.h"

#include "cli/command.h"
#include "cli/report_output.h"
#include "formats/json.h"

static const struct option options[] = {
	{ .name = "older-than",
	  .value = "DAYS",
	  .help = "gc: remove what was not used for so many days (default 30)" },
	{ .name = "max-size",
	  .value = "MIB",
	  .help = "gc: then the least recently used, until so many MiB are left" },
	{ .name = "dry-run", .help = "gc: only say what would go" },
	REPORT_OUTPUT_OPTION("text or json"),
	{ 0 },
};

enum { DAYS_DEFAULT = 30, DAYS_MAX = 36500 };
#define MIB_MAX (UINT64_C(1) << 40)

/* One call: what it reports goes to text or to a document. */
struct store_call {
	const struct invocation *in;
	const struct report_outputs *outputs;
	struct store *store;
	json_t *json;
	struct strbuf text;
};

static int list(struct store_call *call, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	struct store_places places = { 0 };
	json_t *array = json_array();
	uint64_t bytes = 0;
	char size[32];

	if (store_audit_list(call->store, &arena, &places, err) < 0) {
		json_decref(array);
		return -1;
	}
	for (size_t i = 0; i < places.len; i++) {
		const struct store_place *p = &places.items[i];
		json_t *o = json_object();

		strbuf_addf(&call->text, "%-12s %8" PRIu64 " %10s  %s\n", p->name, p->files,
			    out_size(p->bytes, size), p->what);
		json_put(o, "name", json_text(p->name));
		json_put(o, "files", json_integer((json_int_t)p->files));
		json_put(o, "bytes", json_integer((json_int_t)p->bytes));
		json_push(array, o);
		bytes += p->bytes;
	}
	strbuf_addf(&call->text, "%s in %s\n", out_size(bytes, size), store_path(call->store));
	json_put(call->json, "places", array);
	json_put(call->json, "bytes", json_integer((json_int_t)bytes));
	vec_release(&places);
	return 0;
}

static int verify(struct store_call *call, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_pool struct pool *pool = pool_new(0);
	struct store_faults faults = { 0 };
	json_t *array = json_array();
	int status, rc = store_audit_verify(call->store, pool, &arena, &faults, err);
	char size[32];

	for (size_t i = 0; i < faults.len; i++) {
		strbuf_addf(&call->text, "damaged, removed: %s\n", faults.items[i]);
		json_push(array, json_text(faults.items[i]));
	}
	strbuf_addf(&call->text, "%" PRIu64 " files read, %s: %zu damaged\n", faults.files,
		    out_size(faults.bytes, size), faults.len);
	json_put(call->json, "damaged", array);
	json_put(call->json, "files", json_integer((json_int_t)faults.files));
	json_put(call->json, "bytes", json_integer((json_int_t)faults.bytes));
	status = faults.len > 0;
	vec_release(&faults);
	return rc < 0 ? -1 : status;
}

static int gc(struct store_call *call, struct error *err)
{
	struct store_gc_request request = { .dry = option_given(call->in, "dry-run") };
	struct store_gc_result result;
	char size[32], left[32];
	uint64_t mib;

	if (option_number(call->in, "older-than", 0, DAYS_MAX, DAYS_DEFAULT, &request.days, err) <
		    0 ||
	    option_number(call->in, "max-size", 0, MIB_MAX, MIB_MAX, &mib, err) < 0)
		return -1;
	request.max_bytes = mib * MIB;
	if (store_audit_gc(call->store, &request, &result, err) < 0)
		return -1;
	strbuf_addf(&call->text, "%s %" PRIu64 " files, %s; %" PRIu64 " files, %s are left\n",
		    request.dry ? "would remove" : "removed", result.files,
		    out_size(result.bytes, size), result.files_left,
		    out_size(result.bytes_left, left));
	json_put(call->json, "dry_run", json_boolean(request.dry));
	json_put(call->json, "files", json_integer((json_int_t)result.files));
	json_put(call->json, "bytes", json_integer((json_int_t)result.bytes));
	json_put(call->json, "files_left", json_integer((json_int_t)result.files_left));
	json_put(call->json, "bytes_left", json_integer((json_int_t)result.bytes_left));
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct store_call *call, struct error *err);
} actions[] = { { "ls", list }, { "gc", gc }, { "verify", verify } };

static int report(struct store_call *call, struct error *err)
{
	for (size_t i = 0; i < call->outputs->len; i++) {
		cleanup_strbuf struct strbuf text = { 0 };

		if (str_equal(call->outputs->items[i].format, "json"))
			json_pretty(call->json, &text);
		else
			strbuf_adds(&text, strbuf_text(&call->text));
		if (report_output_write(&call->outputs->items[i], strbuf_slice(&text),
					call->in->out, err) < 0)
			return -1;
	}
	return 0;
}

static int run_action(struct store_call *call, struct error *err)
{
	const char *wanted = call->in->args[0];

	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		int status;

		if (!str_equal(actions[i].name, wanted))
			continue;
		json_put(call->json, "schema", json_text("gpuimg-store/1"));
		json_put(call->json, "action", json_text(wanted));
		json_put(call->json, "store", json_text(store_path(call->store)));
		status = actions[i].run(call, err);
		return status < 0 || report(call, err) < 0 ? -1 : status;
	}
	return error_set(err, ERROR_USAGE, "store: '%s' is none of ls, gc, verify", wanted);
}

static int run(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "text", "json", NULL };
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	cleanup_store struct store *store = NULL;
	cleanup_json json_t *json = json_object();
	struct store_call call = { .in = in, .outputs = &outputs, .json = json };
	int status;

	if (report_outputs_parse(in, formats, &outputs, err) < 0)
		return -1;
	store = store_open(option_text(in, "store", NULL), err);
	if (!store)
		return -1;
	call.store = store;
	status = run_action(&call, err);
	strbuf_release(&call.text);
	return status;
}

const struct command command_store = {
	.name = "store",
	.usage = "ls|gc|verify",
	.summary = "look after the store of inputs, layers and records",
	.description =
		"ls shows what lies in the store. verify reads all of it; what is damaged is "
		"removed and named,\n"
		"and the exit status is then 1: the next fetch or build makes it anew. gc removes "
		"what no command\n"
		"has used for --older-than days and, with --max-size, the least recently used "
		"beyond that size.\n"
		"Nothing that was used today goes unless 0 days or a size is asked for.",
	.examples = "gpuimg store ls\n"
		    "gpuimg store gc --older-than 7 --max-size 20000\n"
		    "gpuimg store verify --output json\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
