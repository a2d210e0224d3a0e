#include "base/clock.h"
#include "builder/workdir.h"
#include "cli/lint_check.h"
#include "cli/push_extras.h"
#include "cli/report_output.h"
#include "cli/stack_arg.h"
#include "cli/test_summary.h"
#include "formats/json.h"

/*
 * Each step is a command of its own, called with a command line, so that what ship does is what the
 * same commands do one after the other. Their JSON reports become part of the one report.
 */

static const struct option options[] = {
	{ .name = "to",
	  .letter = 't',
	  .value = "docker://NAME",
	  .repeatable = true,
	  .help = "where to push; {name}, {tag}, {variant} are filled in (default: the manifest's "
		  "publish)" },
	{ .name = "sign", .value = "KEY", .help = "sign it with this private key (or env://NAME)" },
	PASSWORD_OPTION,
	{ .name = "no-test", .help = "do not run test kernels" },
	{ .name = "no-lint", .help = "do not check the image" },
	{ .name = "offline",
	  .help = "the build opens no socket: everything must lie in the store" },
	{ .name = "cache-from",
	  .value = "docker://NAME",
	  .repeatable = true,
	  .help = "of the build: repository to take from what was built elsewhere" },
	{ .name = "cache-to",
	  .value = "docker://NAME",
	  .repeatable = true,
	  .help = "of the build: repository to put what it made" },
	{ .name = "cache-key",
	  .value = "FILE",
	  .repeatable = true,
	  .help = "of the build: public key whose entries are believed" },
	{ .name = "cache-sign", .value = "KEY", .help = "of the build: key that signs entries" },
	STACK_SECRET_OPTION,
	STACK_CDI_OPTION,
	STACK_SET_OPTION,
	STACK_VARIANT_OPTION,
	REPORT_OUTPUT_OPTION("text or json"),
	REGISTRY_OPTIONS,
	{ 0 },
};

enum step_status { STEP_DONE, STEP_AGAINST, STEP_WRONG, STEP_SKIPPED };

struct step {
	const char *name;
	enum step_status status;
	int exit;
	uint64_t ms;
	char *message; /* why not, or NULL */
	json_t *report;
};

struct texts {
	const char **items;
	size_t len, cap;
};

struct shipping {
	const struct invocation *in;
	const struct stack *stack;
	struct arena arena;
	char *image;     /* "oci:DIR:TAG" */
	struct texts to; /* "docker://…" */
	VEC(struct step) steps;
	int exit; /* of the first step that did not go well */
};

static void release(struct shipping *s)
{
	for (size_t i = 0; i < s->steps.len; i++) {
		free(s->steps.items[i].message);
		json_decref(s->steps.items[i].report);
	}
	vec_release(&s->steps);
	vec_release(&s->to);
	free(s->image);
	arena_release(&s->arena);
}

/* Steps. */

static struct step *begin(struct shipping *s, const char *name)
{
	struct step *step = vec_add(&s->steps);

	step->name = name;
	step->ms = clock_ms(CLOCK_MONOTONIC);
	out_note(s->in->out, "%s", name);
	return step;
}

/* `status` as commands have it: 0, 1, or -1 with *err. */
static void end(struct shipping *s, struct step *step, int status, const struct error *err)
{
	step->ms = clock_ms(CLOCK_MONOTONIC) - step->ms;
	step->exit = status < 0 ? error_exit_status(err->code) : status;
	step->status = step->exit == 0 ? STEP_DONE : step->exit == 1 ? STEP_AGAINST : STEP_WRONG;
	if (status < 0)
		step->message = xstrdup(err->text);
	if (step->exit && !s->exit)
		s->exit = step->exit;
}

static void skip(struct shipping *s, const char *name, const char *why)
{
	struct step *step = vec_add(&s->steps);

	step->name = name;
	step->status = STEP_SKIPPED;
	step->message = xstrdup(why);
}

/* Commands. */

static void pass_on(const struct shipping *s, const char *const *names, struct texts *argv)
{
	const char *value;

	for (; *names; names++) {
		for (size_t n = 0; n < s->in->values.len; n++) {
			const struct option_value *v = &s->in->values.items[n];

			if (!str_equal(v->option->name, *names))
				continue;
			value = v->option->value
					? arena_printf((struct arena *)(uintptr_t)&s->arena,
						       "--%s=%s", *names, v->value)
					: arena_printf((struct arena *)(uintptr_t)&s->arena, "--%s",
						       *names);
			vec_push(argv, value);
		}
	}
}

static const char *const common[] = { "store", "progress", "quiet", NULL };
static const char *const of_registries[] = { "authfile",  "username",    "password-stdin",
					     "anonymous", "allow-realm", "tls-ca",
					     NULL };

/* What the command says on standard output goes to *out_text, what it notes to the user. */
static int run_command(const struct shipping *s, const char *name, const struct texts *argv,
		       char **out_text, struct error *err)
{
	cleanup_invocation struct invocation call = { 0 };
	struct out out = *s->in->out;
	size_t len = 0;
	int status = -1;

	out.out = open_memstream(out_text, &len);
	if (!out.out)
		return error_set_errno(err, errno, "memory for the report");
	out.colour = false;
	if (options_parse(command_find(name), (int)argv->len, argv->items, &call, err) == 0) {
		call.out = &out;
		status = command_find(name)->run(&call, err);
	}
	fclose(out.out);
	return status;
}

/* One step that is a command; `json` when it prints a report of that kind. */
static bool run_step(struct shipping *s, const char *step_name, const char *command,
		     struct texts *argv, bool json)
{
	struct step *step = begin(s, step_name);
	cleanup_free char *text = NULL;
	struct error err = { 0 }, ignored = { 0 };
	int status;

	pass_on(s, common, argv);
	status = run_command(s, command, argv, &text, &err);
	if (json && text && *text)
		ignore_result(json_parse(slice_str(text), &step->report, &ignored));
	end(s, step, status, &err);
	vec_release(argv);
	return step->exit == 0;
}

static bool has_variant(const struct stack *stack)
{
	return stack->variant && *stack->variant;
}

static bool build(struct shipping *s)
{
	static const char *const passed[] = { "offline",    "secret",        "set",
					      "cache-from", "cache-to",      "cache-key",
					      "cache-sign", "password-file", "cdi-dir",
					      NULL };
	struct texts argv = { 0 };

	vec_push(&argv, s->in->args[0]);
	vec_push(&argv, "--no-lint");
	vec_push(&argv, "--output=json");
	vec_push(&argv, arena_printf(&s->arena, "--to=%s", s->image));
	if (has_variant(s->stack))
		vec_push(&argv, arena_printf(&s->arena, "--variant=%s", s->stack->variant));
	for (size_t i = 0; !option_given(s->in, "offline") && i < s->to.len; i++)
		vec_push(&argv, arena_printf(&s->arena, "--send-ahead=%s", s->to.items[i]));
	pass_on(s, passed, &argv);
	pass_on(s, of_registries, &argv);
	return run_step(s, "build", "build", &argv, true);
}

static bool lint(struct shipping *s)
{
	struct lint_check check = { .in = s->in, .stack = s->stack };
	struct step *step;
	struct error err = { 0 };
	int status;

	if (option_given(s->in, "no-lint")) {
		skip(s, "lint", "--no-lint");
		return true;
	}
	step = begin(s, "lint");
	check.out_json = &step->report;
	status = lint_check_image(&check, s->image, &err);
	end(s, step, status, &err);
	return step->exit == 0;
}

/* With the commands of the manifest's test.run. */
static bool test(struct shipping *s)
{
	static const char *const passed[] = { "set", NULL };
	struct texts argv = { 0 };

	if (option_given(s->in, "no-test")) {
		skip(s, "test", "--no-test");
		return true;
	}
	vec_push(&argv, s->image);
	vec_push(&argv, "--output=json");
	vec_push(&argv, arena_printf(&s->arena, "--stack=%s", s->in->args[0]));
	if (has_variant(s->stack))
		vec_push(&argv, arena_printf(&s->arena, "--variant=%s", s->stack->variant));
	pass_on(s, passed, &argv);
	return run_step(s, "test", "test", &argv, true);
}

static bool push(struct shipping *s)
{
	struct texts argv = { 0 };

	vec_push(&argv, s->image);
	for (size_t i = 0; i < s->to.len; i++)
		vec_push(&argv, s->to.items[i]);
	if (option_given(s->in, "sign"))
		vec_push(&argv, "--no-attach");
	pass_on(s, of_registries, &argv);
	return run_step(s, "push", "push", &argv, false);
}

/* The push once more, which finds all there, with the key: signatures and statements. */
static bool sign(struct shipping *s)
{
	static const char *const passed[] = { "sign", "password-file", NULL };
	struct texts argv = { 0 };

	if (!option_given(s->in, "sign")) {
		skip(s, "sign", "no --sign KEY");
		return true;
	}
	vec_push(&argv, s->image);
	for (size_t i = 0; i < s->to.len; i++)
		vec_push(&argv, s->to.items[i]);
	pass_on(s, passed, &argv);
	pass_on(s, of_registries, &argv);
	return run_step(s, "sign", "push", &argv, false);
}

/* Destinations. */

static const char *fill_in(struct shipping *s, const char *text)
{
	const struct {
		const char *word, *value;
	} words[] = { { "{name}", s->stack->name },
		      { "{tag}", s->stack->tag },
		      { "{variant}", s->stack->variant } };
	cleanup_strbuf struct strbuf out = { 0 };

	while (*text) {
		size_t i = 0;

		while (i < ARRAY_LEN(words) && !(words[i].value && str_starts(text, words[i].word)))
			i++;
		if (i < ARRAY_LEN(words)) {
			strbuf_adds(&out, words[i].value);
			text += strlen(words[i].word);
		} else {
			strbuf_addc(&out, *text++);
		}
	}
	return arena_strdup(&s->arena, strbuf_text(&out));
}

static int add_destination(struct shipping *s, const char *text, struct error *err)
{
	struct reference ref;

	text = fill_in(s, text);
	if (registry_arg_reference(text, &s->arena, &ref, err) < 0)
		return -1;
	vec_push(&s->to, arena_printf(&s->arena, "docker://%s", reference_text(&ref, &s->arena)));
	return 0;
}

static int take_destinations(struct shipping *s, struct error *err)
{
	const char *text;

	for (size_t n = 0; (text = option_nth(s->in, "to", n)); n++) {
		if (add_destination(s, text, err) < 0)
			return error_wrap(err, "--to");
	}
	for (size_t i = 0; !option_given(s->in, "to") && i < s->stack->publish.count; i++) {
		if (add_destination(s, s->stack->publish.items[i], err) < 0)
			return error_wrap(err, "publish");
	}
	if (s->to.len)
		return 0;
	return error_set(err, ERROR_USAGE,
			 "%s: names no place to publish to; add publish: to it, or --to "
			 "docker://HOST/NAME:TAG",
			 s->in->args[0]);
}

/* Reports. */

static const char *const words[] = { [STEP_DONE] = "done",
				     [STEP_AGAINST] = "against",
				     [STEP_WRONG] = "stopped",
				     [STEP_SKIPPED] = "skipped" };

/* Whether the test step ran the image of a platform, which can only be this machine's. */
static bool is_tested(const struct shipping *s, const char *platform)
{
	const struct platform host = platform_host();
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < s->steps.len; i++) {
		const struct step *step = &s->steps.items[i];

		if (str_equal(step->name, "test") && step->report)
			return str_equal(platform, platform_text(&host, &arena));
	}
	return false;
}

static json_t *untested(const struct shipping *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->stack->platforms.count; i++) {
		if (!is_tested(s, s->stack->platforms.items[i]))
			json_push(list, json_text(s->stack->platforms.items[i]));
	}
	return list;
}

/* What the test step that ran has not seen. */
static void write_untested(const struct shipping *s, struct strbuf *out)
{
	cleanup_json json_t *list = untested(s);

	for (size_t i = 0; i < json_array_size(list); i++)
		strbuf_addf(out,
			    "  not tested: the image for %s, which only a machine of that kind "
			    "can run; there, use gpuimg test\n",
			    json_string_value(json_array_get(list, i)));
}

static void write_text(const struct shipping *s, struct strbuf *out)
{
	for (size_t i = 0; i < s->steps.len; i++) {
		const struct step *step = &s->steps.items[i];

		strbuf_addf(out, "%-6s %-8s", step->name, words[step->status]);
		if (step->status != STEP_SKIPPED)
			strbuf_addf(out, " %6.1f s", (double)step->ms / 1000);
		if (step->message)
			strbuf_addf(out, "  %s", step->message);
		strbuf_adds(out, "\n");
		if (str_equal(step->name, "test")) {
			test_summary_add(step->report, s->stack, out);
			if (step->report)
				write_untested(s, out);
		}
	}
	for (size_t i = 0; !s->exit && i < s->to.len; i++)
		strbuf_addf(out, "%s\n", s->to.items[i]);
}

static json_t *ship_json(const struct shipping *s)
{
	json_t *root = json_object(), *steps = json_array(), *to = json_array();

	for (size_t i = 0; i < s->steps.len; i++) {
		const struct step *step = &s->steps.items[i];
		json_t *o = json_object();

		json_put(o, "step", json_text(step->name));
		json_put(o, "status", json_text(words[step->status]));
		json_put(o, "exit", json_integer(step->exit));
		json_put(o, "ms", json_integer((json_int_t)step->ms));
		json_put(o, "message", step->message ? json_text(step->message) : json_null());
		json_put(o, "report", step->report ? json_incref(step->report) : json_null());
		json_push(steps, o);
	}
	for (size_t i = 0; i < s->to.len; i++)
		json_push(to, json_text(s->to.items[i]));
	json_put(root, "schema", json_text("gpuimg-ship/1"));
	json_put(root, "name", json_text(s->stack->name));
	json_put(root, "tag", json_text(s->stack->tag));
	json_put(root, "variant",
		 has_variant(s->stack) ? json_text(s->stack->variant) : json_null());
	json_put(root, "destinations", to);
	json_put(root, "untested", untested(s));
	json_put(root, "exit", json_integer(s->exit));
	json_put(root, "steps", steps);
	return root;
}

/* The whole. */

static int ship_one(const struct invocation *in, const struct stack *stack, struct store *store,
		    struct strbuf *text, json_t *json, int *out_exit, struct error *err)
{
	cleanup(release) struct shipping s = { .in = in, .stack = stack };
	cleanup_workdir char *dir = workdir_new(store, err);

	if (!dir || take_destinations(&s, err) < 0)
		return -1;
	s.image = xasprintf("oci:%s/image:%s", dir, stack->tag);
	ignore_result(build(&s) && lint(&s) && test(&s) && push(&s) && sign(&s)); /* s.exit */
	write_text(&s, text);
	json_push(json, ship_json(&s));
	*out_exit = s.exit;
	return 0;
}

static int report(const struct invocation *in, const struct report_outputs *outputs,
		  struct slice text, const json_t *json, struct error *err)
{
	const json_t *value = json_array_size(json) == 1 ? json_array_get(json, 0) : json;

	for (size_t i = 0; i < outputs->len; i++) {
		cleanup_strbuf struct strbuf pretty = { 0 };
		bool wanted = str_equal(outputs->items[i].format, "json");

		if (wanted)
			json_pretty(value, &pretty);
		if (report_output_write(&outputs->items[i], wanted ? strbuf_slice(&pretty) : text,
					in->out, err) < 0)
			return -1;
	}
	return 0;
}

static int run(const struct invocation *in, struct error *err)
{
	static const char *const formats[] = { "text", "json", NULL };
	cleanup_report_outputs struct report_outputs outputs = { 0 };
	cleanup_stacks struct stacks stacks = { 0 };
	cleanup_store struct store *store = NULL;
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_json json_t *json = json_array();
	int status = 0;

	if (option_given(in, "password-stdin"))
		return error_set(
			err, ERROR_USAGE,
			"--password-stdin: several steps want it; `gpuimg login` first, or "
			"--authfile");
	if (report_outputs_parse(in, formats, &outputs, err) < 0 ||
	    stack_arg_read(in, in->args[0], &stacks, err) < 0)
		return -1;
	store = store_open(option_text(in, "store", NULL), err);
	if (!store)
		return -1;
	for (size_t i = 0; status == 0 && i < stacks.count; i++) {
		if (ship_one(in, &stacks.items[i], store, &text, json, &status, err) < 0)
			return -1;
	}
	if (report(in, &outputs, strbuf_slice(&text), json, err) < 0)
		return -1;
	return status;
}

const struct command command_ship = {
	.name = "ship",
	.usage = "STACK",
	.summary = "build, lint, test, push and sign the image of a stack manifest",
	.description =
		"Does what `build`, `lint`, `test`, `push` and `sign` do, one after the other, and "
		"stops at\n"
		"the first that is against the image or cannot be completed; its exit status is "
		"that of ship.\n"
		"Layers are sent while the next are made; no tag shows an image that was not "
		"linted and\n"
		"tested, but that of several platforms only the image of this machine's is run: "
		"the "
		"report\n"
		"names the others. The test step also runs the commands of the manifest's test.run "
		"in the image; where\n"
		"no sandbox works they are skipped, and its test.require turns that into exit 3. "
		"With\n"
		"--sign KEY the image is signed, and its SBOMs and provenance are put beside it as "
		"signed\n"
		"statements. One report tells of all steps and of each command, as text or JSON.",
	.examples = "gpuimg ship --sign env://SIGNING_KEY stack.yaml\n"
		    "gpuimg ship --to docker://registry.example.org/ml/app:{tag} -o json=ship.json "
		    "stack.yaml\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
