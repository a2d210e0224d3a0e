#include "cli/command.h"

#include "base/strbuf.h"

#include "base/nearest.h"

static const char *const color_choices[] = { "auto", "always", "never", NULL };
static const char *const progress_choices[] = { "auto", "plain", "none", "json", NULL };

const struct option global_options[] = {
	{ .name = "help", .letter = 'h', .help = "show this help" },
	{ .name = "quiet", .letter = 'q', .help = "only results, warnings and errors" },
	{ .name = "verbose", .letter = 'v', .help = "say more", .repeatable = true },
	{ .name = "color",
	  .value = "WHEN",
	  .help = "auto, always or never",
	  .choices = color_choices },
	{ .name = "progress",
	  .value = "HOW",
	  .help = "auto, plain, none or json",
	  .choices = progress_choices },
	{ .name = "store",
	  .value = "DIR",
	  .help = "the content store (default $GPUIMG_STORE, else ~/.cache/gpuimg)" },
	{ 0 },
};

static const struct option *find_in(const struct option *table, const char *name, size_t len,
				    char letter)
{
	for (; table && table->name; table++) {
		if (letter ? table->letter == letter
			   : strlen(table->name) == len && !memcmp(table->name, name, len))
			return table;
	}
	return NULL;
}

static const struct option *find(const struct command *command, const char *name, size_t len,
				 char letter)
{
	const struct option *o = find_in(command->options, name, len, letter);

	return o ? o : find_in(global_options, name, len, letter);
}

static int unknown(const struct command *command, const char *arg, size_t name_len,
		   struct error *err)
{
	cleanup_free char *name = xstrndup(arg + 2, name_len);
	struct nearest near = nearest_start(name);

	for (const struct option *o = command->options; o && o->name; o++)
		nearest_try(&near, o->name);
	for (const struct option *o = global_options; o->name; o++)
		nearest_try(&near, o->name);
	if (near.best)
		return error_set(err, ERROR_USAGE,
				 "gpuimg %s has no option --%s; did you mean --%s?", command->name,
				 name, near.best);
	return error_set(err, ERROR_USAGE, "gpuimg %s has no option --%s (see gpuimg %s --help)",
			 command->name, name, command->name);
}

static int check_choice(const struct option *o, const char *value, struct error *err)
{
	cleanup_strbuf struct strbuf list = { 0 };

	if (!o->choices)
		return 0;
	for (const char *const *c = o->choices; *c; c++) {
		if (str_equal(*c, value))
			return 0;
		strbuf_addf(&list, "%s%s", c == o->choices ? "" : ", ", *c);
	}
	return error_set(err, ERROR_USAGE, "--%s: '%s' is not one of %s", o->name, value,
			 strbuf_text(&list));
}

static int store_value(struct invocation *in, const struct option *o, const char *value,
		       struct error *err)
{
	for (size_t i = 0; i < in->values.len; i++) {
		if (in->values.items[i].option == o && !o->repeatable)
			return error_set(err, ERROR_USAGE, "--%s is given twice", o->name);
	}
	if (check_choice(o, value, err) < 0)
		return -1;
	vec_push(&in->values, ((struct option_value){ o, value }));
	return 0;
}

/* One "--name[=value]" at argv[*at]. */
static int parse_long(struct invocation *in, int argc, const char *const *argv, int *at,
		      struct error *err)
{
	const char *arg = argv[*at], *equal = strchr(arg, '=');
	size_t len = equal ? (size_t)(equal - arg) - 2 : strlen(arg) - 2;
	const struct option *o = find(in->command, arg + 2, len, 0);

	if (!o)
		return unknown(in->command, arg, len, err);
	if (!o->value) {
		if (equal)
			return error_set(err, ERROR_USAGE, "--%s takes no value", o->name);
		return store_value(in, o, "", err);
	}
	if (equal)
		return store_value(in, o, equal + 1, err);
	if (*at + 1 >= argc)
		return error_set(err, ERROR_USAGE, "--%s needs a value (%s)", o->name, o->value);
	return store_value(in, o, argv[++*at], err);
}

/* One "-abc" at argv[*at]. */
static int parse_short(struct invocation *in, int argc, const char *const *argv, int *at,
		       struct error *err)
{
	for (const char *p = argv[*at] + 1; *p; p++) {
		const struct option *o = find(in->command, NULL, 0, *p);

		if (!o)
			return error_set(err, ERROR_USAGE,
					 "gpuimg %s has no option -%c (see gpuimg %s --help)",
					 in->command->name, *p, in->command->name);
		if (!o->value) {
			if (store_value(in, o, "", err) < 0)
				return -1;
			continue;
		}
		if (p[1])
			return store_value(in, o, p + 1, err);
		if (*at + 1 >= argc)
			return error_set(err, ERROR_USAGE, "-%c needs a value (%s)", *p, o->value);
		return store_value(in, o, argv[++*at], err);
	}
	return 0;
}

int options_command_at(int argc, const char *const *argv)
{
	int i;

	for (i = 1; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
		const char *arg = argv[i];
		const struct option *o =
			arg[1] == '-' ? find_in(global_options, arg + 2, strcspn(arg + 2, "="), 0)
				      : find_in(global_options, NULL, 0, arg[1]);

		if (!o)
			return i;
		if (o->value && !strchr(arg, '='))
			i++;
	}
	return i;
}

static int check_count(const struct invocation *in, struct error *err)
{
	const struct command *c = in->command;

	if (in->arg_count < c->args_min)
		return error_set(err, ERROR_USAGE, "gpuimg %s needs %s (usage: gpuimg %s %s)",
				 c->name, in->arg_count ? "more arguments" : "an argument", c->name,
				 c->usage);
	if (in->arg_count > c->args_max)
		return error_set(err, ERROR_USAGE,
				 "gpuimg %s: unexpected argument '%s' (usage: gpuimg %s %s)",
				 c->name, in->args[c->args_max], c->name, c->usage);
	return 0;
}

int options_parse(const struct command *command, int argc, const char *const *argv,
		  struct invocation *out, struct error *err)
{
	const char **args = xcalloc((size_t)argc + 1, sizeof(*args));
	bool only_args = false;

	*out = (struct invocation){ .command = command, .args = args };
	for (int i = 0; i < argc; i++) {
		const char *a = argv[i];
		int rc = 0;

		if (only_args || a[0] != '-' || !a[1])
			args[out->arg_count++] = a;
		else if (str_equal(a, "--"))
			only_args = true;
		else if (a[1] == '-')
			rc = parse_long(out, argc, argv, &i, err);
		else
			rc = parse_short(out, argc, argv, &i, err);
		if (rc < 0)
			return -1;
	}
	return option_given(out, "help") ? 0 : check_count(out, err);
}

void invocation_release(struct invocation *in)
{
	if (!in)
		return;
	free((void *)in->args);
	vec_release(&in->values);
	*in = (struct invocation){ 0 };
}

const char *option_nth(const struct invocation *in, const char *name, size_t n)
{
	assert(find(in->command, name, strlen(name), 0));
	for (size_t i = 0; i < in->values.len; i++) {
		if (str_equal(in->values.items[i].option->name, name) && n-- == 0)
			return in->values.items[i].value;
	}
	return NULL;
}

bool option_given(const struct invocation *in, const char *name)
{
	return option_nth(in, name, 0) != NULL;
}

const char *option_text(const struct invocation *in, const char *name, const char *fallback)
{
	const char *last = fallback, *v;

	for (size_t n = 0; (v = option_nth(in, name, n)); n++)
		last = v;
	return last;
}

int option_number(const struct invocation *in, const char *name, uint64_t min, uint64_t max,
		  uint64_t fallback, uint64_t *out, struct error *err)
{
	const char *text = option_text(in, name, NULL);
	uint64_t v = fallback;

	if (text && (!slice_u64(slice_str(text), &v) || v < min || v > max))
		return error_set(err, ERROR_USAGE,
				 "--%s: '%s' is not a number from %" PRIu64 " to %" PRIu64, name,
				 text, min, max);
	*out = v;
	return 0;
}
