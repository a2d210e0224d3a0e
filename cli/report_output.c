#include "cli/report_output.h"

#include "base/fs.h"

static int parse_one(const char *text, const char *const *formats, struct report_output *out,
		     struct error *err)
{
	cleanup_strbuf struct strbuf list = { 0 };
	const char *equal = strchr(text, '=');
	size_t len = equal ? (size_t)(equal - text) : strlen(text);

	for (const char *const *f = formats; *f; f++) {
		if (strlen(*f) == len && !memcmp(*f, text, len)) {
			const char *file = equal ? equal + 1 : NULL;

			if (file && !*file)
				return error_set(err, ERROR_USAGE, "--output %s: no file after '='",
						 text);
			*out = (struct report_output){ *f,
						       file && str_equal(file, "-") ? NULL : file };
			return 0;
		}
		strbuf_addf(&list, "%s%s", f == formats ? "" : ", ", *f);
	}
	return error_set(err, ERROR_USAGE, "--output: '%.*s' is not one of %s", (int)len, text,
			 strbuf_text(&list));
}

int report_outputs_parse(const struct invocation *in, const char *const *formats,
			 struct report_outputs *out, struct error *err)
{
	size_t on_stdout = 0;
	const char *text;

	for (size_t n = 0; (text = option_nth(in, "output", n)); n++) {
		struct report_output one = { 0 };

		if (parse_one(text, formats, &one, err) < 0)
			return -1;
		on_stdout += !one.file;
		vec_push(out, one);
	}
	if (on_stdout > 1)
		return error_set(err, ERROR_USAGE,
				 "--output: only one report fits on standard output; write the "
				 "others as FORMAT=FILE");
	if (!out->len)
		vec_push(out, ((struct report_output){ formats[0], NULL }));
	return 0;
}

void report_outputs_release(struct report_outputs *outputs)
{
	vec_release(outputs);
}

int report_output_write(const struct report_output *output, struct slice text,
			const struct out *out, struct error *err)
{
	if (output->file)
		return fs_write(AT_FDCWD, output->file, text, 0644, err);
	if (text.len && fwrite(text.data, 1, text.len, out->out) != text.len)
		return error_set_errno(err, errno, "write the report");
	return 0;
}
