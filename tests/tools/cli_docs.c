/*
 * Prints what is made of the command tables:
 *   cli_docs man [COMMAND]   manual page gpuimg(1) or gpuimg-COMMAND(1), in man(7)
 *   cli_docs bash|zsh|fish   completion script
 *   cli_docs page            docs/commands.md
 *   cli_docs names           the commands, one per line
 */
#include "base/program.h"
#include "base/strbuf.h"
#include "cli/command.h"

/* Text of man(7): backslashes and hyphens escaped, no line that begins with a control character. */
static void add_roff(struct strbuf *s, struct slice text)
{
	bool line_start = true;

	for (size_t i = 0; i < text.len; i++) {
		char c = (char)text.data[i];

		if (line_start && (c == '.' || c == '\''))
			strbuf_adds(s, "\\&");
		if (c == '\\')
			strbuf_adds(s, "\\e");
		else if (c == '-')
			strbuf_adds(s, "\\-");
		else
			strbuf_addc(s, c);
		line_start = c == '\n';
	}
}

static void add_roff_str(struct strbuf *s, const char *text)
{
	add_roff(s, slice_str(text));
}

static void man_options(struct strbuf *s, const struct option *table)
{
	for (const struct option *o = table; o && o->name; o++) {
		strbuf_adds(s, ".TP\n");
		if (o->letter)
			strbuf_addf(s, "\\fB\\-%c\\fR, ", o->letter);
		strbuf_adds(s, "\\fB\\-\\-");
		add_roff_str(s, o->name);
		strbuf_adds(s, "\\fR");
		if (o->value) {
			strbuf_adds(s, " \\fI");
			add_roff_str(s, o->value);
			strbuf_adds(s, "\\fR");
		}
		strbuf_adds(s, "\n");
		add_roff_str(s, o->help);
		strbuf_addf(s, "%s\n", o->repeatable && o->value ? " (may be repeated)" : "");
	}
}

/* Paragraphs are parted by empty lines; indented lines stay as they are. */
static void man_text(struct strbuf *s, const char *text)
{
	struct slice rest = slice_str(text), line;
	bool literal = false;

	while (slice_cut(&rest, '\n', &line)) {
		bool indented = line.len && line.data[0] == ' ';

		if (!line.len && !rest.len)
			break;
		if (indented != literal && line.len) {
			strbuf_adds(s, indented ? ".nf\n" : ".fi\n");
			literal = indented;
		}
		if (!line.len)
			strbuf_adds(s, literal ? ".sp\n" : ".PP\n");
		else
			add_roff(s, line);
		if (line.len)
			strbuf_adds(s, "\n");
	}
	if (literal)
		strbuf_adds(s, ".fi\n");
}

static void man_examples(struct strbuf *s, const char *examples)
{
	struct slice rest = slice_str(examples), line;

	strbuf_adds(s, ".SH EXAMPLES\n.nf\n");
	while (slice_cut(&rest, '\n', &line)) {
		if (!line.len)
			continue;
		add_roff(s, line);
		strbuf_adds(s, "\n");
	}
	strbuf_adds(s, ".fi\n");
}

static const char exit_status[] =
	".SH EXIT STATUS\n"
	".TP\n\\fB0\\fR\nDone, nothing against it.\n"
	".TP\n\\fB1\\fR\nA verdict against: findings, a failed test, a lock that is not up to "
	"date.\n"
	".TP\n\\fB2\\fR\nThe request or the manifest has to be mended.\n"
	".TP\n\\fB3\\fR\nIt could not be completed or judged.\n";

static void man_command(struct strbuf *s, const struct command *c)
{
	strbuf_addf(s, ".TH GPUIMG\\-%s 1 \"\" \"gpuimg %s\" \"gpuimg manual\"\n", c->name,
		    GPUIMG_VERSION);
	strbuf_addf(s, ".SH NAME\ngpuimg\\-%s \\- ", c->name);
	add_roff_str(s, c->summary);
	strbuf_addf(s, "\n.SH SYNOPSIS\n\\fBgpuimg %s\\fR [\\fIOPTIONS\\fR] ", c->name);
	add_roff_str(s, c->usage);
	strbuf_adds(s, "\n.SH DESCRIPTION\n");
	man_text(s, c->description);
	if (c->options && c->options->name) {
		strbuf_adds(s, ".SH OPTIONS\n");
		man_options(s, c->options);
	}
	strbuf_adds(s, ".SH OPTIONS OF EVERY COMMAND\n");
	man_options(s, global_options);
	strbuf_adds(s, exit_status);
	if (c->examples)
		man_examples(s, c->examples);
	strbuf_adds(s, ".SH SEE ALSO\n\\fBgpuimg\\fR(1)\n");
}

static void man_overview(struct strbuf *s)
{
	strbuf_addf(s, ".TH GPUIMG 1 \"\" \"gpuimg %s\" \"gpuimg manual\"\n", GPUIMG_VERSION);
	strbuf_adds(s, ".SH NAME\ngpuimg \\- build, check and publish container images for GPUs\n"
		       ".SH SYNOPSIS\n\\fBgpuimg\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR] "
		       "[\\fIARGUMENTS\\fR]\n"
		       ".SH DESCRIPTION\nReads a stack manifest (driver floor, CUDA, cuDNN, NCCL, "
		       "framework, packages),\nlocks every input to a digest, assembles the OCI "
		       "image as layers without daemon, root or\nnetwork, judges images by rules, "
		       "runs test kernels against their libraries, and sends\nthem to "
		       "registries.\n.SH COMMANDS\n");
	for (const struct command *const *c = commands; *c; c++) {
		strbuf_addf(s, ".TP\n\\fBgpuimg\\-%s\\fR(1)\n", (*c)->name);
		add_roff_str(s, (*c)->summary);
		strbuf_adds(s, "\n");
	}
	strbuf_adds(s, ".SH OPTIONS OF EVERY COMMAND\n");
	man_options(s, global_options);
	strbuf_adds(s, exit_status);
	strbuf_adds(s, ".SH ENVIRONMENT\n"
		       ".TP\n\\fBGPUIMG_STORE\\fR\nThe content store; \\fB\\-\\-store\\fR goes "
		       "before it.\n"
		       ".TP\n\\fBNO_COLOR\\fR\nNo colours, whatever the terminal can.\n"
		       ".TP\n\\fBREGISTRY_AUTH_FILE\\fR\nThe file of registry credentials.\n"
		       ".TP\n\\fBNGC_API_KEY\\fR\nThe key for nvcr.io.\n");
}

/* What the shell offers for a value. */
enum offer { OFFER_NOTHING, OFFER_FILES, OFFER_FOLDERS, OFFER_CHOICES };

static enum offer offer_of(const struct option *o)
{
	if (o->choices)
		return OFFER_CHOICES;
	if (str_equal(o->value, "DIR"))
		return OFFER_FOLDERS;
	if (strstr(o->value, "FILE") || str_equal(o->value, "IMAGE") || strstr(o->value, ".lock"))
		return OFFER_FILES;
	return OFFER_NOTHING;
}

static void add_names(struct strbuf *s, const struct option *table)
{
	for (const struct option *o = table; o && o->name; o++) {
		if (o->letter)
			strbuf_addf(s, " -%c", o->letter);
		strbuf_addf(s, " --%s", o->name);
	}
}

static void bash_values(struct strbuf *s, const struct command *c, const struct option *table)
{
	for (const struct option *o = table; o && o->name; o++) {
		if (!o->value)
			continue;
		strbuf_addf(s, "\t%s%s--%s", c ? c->name : "*", ":", o->name);
		if (o->letter)
			strbuf_addf(s, "|%s:-%c", c ? c->name : "*", o->letter);
		strbuf_adds(s, ") ");
		switch (offer_of(o)) {
		case OFFER_CHOICES:
			strbuf_adds(s, "COMPREPLY=($(compgen -W '");
			for (const char *const *v = o->choices; *v; v++)
				strbuf_addf(s, "%s%s", v == o->choices ? "" : " ", *v);
			strbuf_adds(s, "' -- \"$word\"))");
			break;
		case OFFER_FOLDERS:
			strbuf_adds(s, "COMPREPLY=($(compgen -d -- \"$word\"))");
			break;
		case OFFER_FILES:
			strbuf_adds(s, "COMPREPLY=($(compgen -f -- \"$word\"))");
			break;
		case OFFER_NOTHING:
			strbuf_adds(s, "COMPREPLY=()");
			break;
		}
		strbuf_adds(s, "; return ;;\n");
	}
}

static void bash(struct strbuf *s)
{
	strbuf_adds(s, "# bash completion of gpuimg\n_gpuimg()\n{\n"
		       "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
		       "command=${COMP_WORDS[1]}\n"
		       "\tif [ \"$COMP_CWORD\" -le 1 ]; then\n"
		       "\t\tCOMPREPLY=($(compgen -W '--help --version");
	for (const struct command *const *c = commands; *c; c++)
		strbuf_addf(s, " %s", (*c)->name);
	strbuf_adds(s, "' -- \"$word\"))\n\t\treturn\n\tfi\n\tcase $command:$before in\n");
	for (const struct command *const *c = commands; *c; c++)
		bash_values(s, *c, (*c)->options);
	bash_values(s, NULL, global_options);
	strbuf_adds(s, "\tesac\n\tcase $word in\n\t-*) ;;\n"
		       "\t*) COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n\tesac\n"
		       "\tcase $command in\n");
	for (const struct command *const *c = commands; *c; c++) {
		strbuf_addf(s, "\t%s) COMPREPLY=($(compgen -W '", (*c)->name);
		add_names(s, (*c)->options);
		add_names(s, global_options);
		strbuf_adds(s, "' -- \"$word\")) ;;\n");
	}
	strbuf_adds(s, "\tesac\n}\ncomplete -o filenames -F _gpuimg gpuimg\n");
}

/* Inside single quotes of the shell; `also` are characters that get a backslash. */
static void add_quoted(struct strbuf *s, const char *text, const char *also)
{
	for (; *text; text++) {
		if (*text == '\'')
			strbuf_adds(s, "'\\''");
		else if (strchr(also, *text))
			strbuf_addf(s, "\\%c", *text);
		else
			strbuf_addc(s, *text);
	}
}

static void zsh_option(struct strbuf *s, const struct option *o)
{
	strbuf_adds(s, "\t\t\t");
	if (o->repeatable)
		strbuf_adds(s, "'*'");
	if (o->letter && !o->repeatable)
		strbuf_addf(s, "'(-%c --%s)'", o->letter, o->name);
	if (o->letter)
		strbuf_addf(s, "{-%c,--%s%s}", o->letter, o->name, o->value ? "=" : "");
	else
		strbuf_addf(s, "--%s%s", o->name, o->value ? "=" : "");
	strbuf_adds(s, "'[");
	add_quoted(s, o->help, "[]\\");
	strbuf_adds(s, "]");
	if (o->value) {
		strbuf_adds(s, ":");
		add_quoted(s, o->value, ":\\[]");
		strbuf_adds(s, ":");
		switch (offer_of(o)) {
		case OFFER_CHOICES:
			strbuf_adds(s, "(");
			for (const char *const *v = o->choices; *v; v++)
				strbuf_addf(s, "%s%s", v == o->choices ? "" : " ", *v);
			strbuf_adds(s, ")");
			break;
		case OFFER_FOLDERS:
			strbuf_adds(s, "_files -/");
			break;
		case OFFER_FILES:
			strbuf_adds(s, "_files");
			break;
		case OFFER_NOTHING:
			strbuf_adds(s, " ");
			break;
		}
	}
	strbuf_adds(s, "' \\\n");
}

static void zsh(struct strbuf *s)
{
	strbuf_adds(s, "#compdef gpuimg\n# zsh completion of gpuimg\n"
		       "_gpuimg() {\n\tlocal -a names\n\tnames=(\n");
	for (const struct command *const *c = commands; *c; c++) {
		strbuf_addf(s, "\t\t'%s:", (*c)->name);
		add_quoted(s, (*c)->summary, ":\\");
		strbuf_adds(s, "'\n");
	}
	strbuf_adds(s, "\t)\n\tif (( CURRENT == 2 )); then\n"
		       "\t\t_describe command names\n\t\treturn\n\tfi\n"
		       "\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n"
		       "\tcase $command in\n");
	for (const struct command *const *c = commands; *c; c++) {
		strbuf_addf(s, "\t%s)\n\t\t_arguments \\\n", (*c)->name);
		for (const struct option *o = (*c)->options; o && o->name; o++)
			zsh_option(s, o);
		for (const struct option *o = global_options; o->name; o++)
			zsh_option(s, o);
		strbuf_adds(s, "\t\t\t'*:");
		add_quoted(s, *(*c)->usage ? (*c)->usage : "nothing more", ":\\[]");
		strbuf_adds(s, ":_files' ;;\n");
	}
	strbuf_adds(s, "\tesac\n}\n_gpuimg \"$@\"\n");
}

static void fish_options(struct strbuf *s, const char *when, const struct option *table)
{
	for (const struct option *o = table; o && o->name; o++) {
		strbuf_addf(s, "complete -c gpuimg -n '%s' -l %s", when, o->name);
		if (o->letter)
			strbuf_addf(s, " -s %c", o->letter);
		if (o->value && o->choices) {
			strbuf_adds(s, " -x -a '");
			for (const char *const *v = o->choices; *v; v++)
				strbuf_addf(s, "%s%s", v == o->choices ? "" : " ", *v);
			strbuf_adds(s, "'");
		} else if (o->value) {
			enum offer offer = offer_of(o);

			strbuf_adds(s, offer == OFFER_NOTHING ? " -x" : " -r -F");
		}
		strbuf_adds(s, " -d '");
		for (const char *p = o->help; *p; p++)
			strbuf_addf(s, "%s%c", *p == '\'' || *p == '\\' ? "\\" : "", *p);
		strbuf_adds(s, "'\n");
	}
}

static void fish(struct strbuf *s)
{
	strbuf_adds(s, "# fish completion of gpuimg\n");
	for (const struct command *const *c = commands; *c; c++) {
		strbuf_addf(s, "complete -c gpuimg -f -n __fish_use_subcommand -a %s -d '",
			    (*c)->name);
		for (const char *p = (*c)->summary; *p; p++)
			strbuf_addf(s, "%s%c", *p == '\'' || *p == '\\' ? "\\" : "", *p);
		strbuf_adds(s, "'\n");
	}
	for (const struct command *const *c = commands; *c; c++) {
		cleanup_strbuf struct strbuf when = { 0 };

		strbuf_addf(&when, "__fish_seen_subcommand_from %s", (*c)->name);
		fish_options(s, strbuf_text(&when), (*c)->options);
	}
	fish_options(s, "not __fish_use_subcommand", global_options);
}

static void page_options(struct strbuf *s, const struct option *table)
{
	strbuf_adds(s, "| option | |\n| --- | --- |\n");
	for (const struct option *o = table; o && o->name; o++) {
		strbuf_adds(s, "| `");
		if (o->letter)
			strbuf_addf(s, "-%c`, `", o->letter);
		strbuf_addf(s, "--%s", o->name);
		for (const char *p = o->value ? o->value : ""; *p; p++)
			strbuf_addf(s, "%s%s%c", p == o->value ? " " : "", *p == '|' ? "\\" : "",
				    *p);
		strbuf_adds(s, "` | ");
		for (const char *p = o->help; *p; p++)
			strbuf_addf(s, "%s%c", *p == '|' || *p == '<' || *p == '*' ? "\\" : "", *p);
		strbuf_addf(s, "%s |\n", o->repeatable && o->value ? " (may be repeated)" : "");
	}
	strbuf_adds(s, "\n");
}

static void page(struct strbuf *s)
{
	strbuf_adds(s, "# Commands\n\nWritten by `make docs` from the program's own tables; "
		       "`gpuimg COMMAND --help` and the manual pages say the same.\n\n"
		       "Exit status, everywhere: 0 done, nothing against it; 1 a verdict against; "
		       "2 the request or the\nmanifest has to be mended; 3 it could not be "
		       "completed or judged.\n\n## Options of every command\n\n");
	page_options(s, global_options);
	for (const struct command *const *c = commands; *c; c++) {
		strbuf_addf(s, "## %s\n\n`gpuimg %s [OPTIONS]%s%s`: %s.\n\n```\n%s%s```\n\n",
			    (*c)->name, (*c)->name, *(*c)->usage ? " " : "", (*c)->usage,
			    (*c)->summary, (*c)->description,
			    str_ends((*c)->description, "\n") ? "" : "\n");
		if ((*c)->options && (*c)->options->name)
			page_options(s, (*c)->options);
		if ((*c)->examples)
			strbuf_addf(s, "```console\n%s\n```\n\n", (*c)->examples);
	}
}

static int make(const char *what, const char *name, struct strbuf *s)
{
	const struct command *c = name ? command_find(name) : NULL;

	if (name && !c)
		return -1;
	if (str_equal(what, "man") && c)
		man_command(s, c);
	else if (str_equal(what, "man"))
		man_overview(s);
	else if (str_equal(what, "bash"))
		bash(s);
	else if (str_equal(what, "zsh"))
		zsh(s);
	else if (str_equal(what, "fish"))
		fish(s);
	else if (str_equal(what, "page"))
		page(s);
	else if (str_equal(what, "names"))
		for (const struct command *const *p = commands; *p; p++)
			strbuf_addf(s, "%s\n", (*p)->name);
	else
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	cleanup_strbuf struct strbuf out = { 0 };

	if (argc < 2 || make(argv[1], argc > 2 ? argv[2] : NULL, &out) < 0) {
		fputs("usage: cli_docs man [COMMAND] | bash | zsh | fish | page | names\n", stderr);
		return 2;
	}
	fwrite(strbuf_text(&out), 1, out.len, stdout);
	return fflush(stdout) ? 1 : 0;
}
