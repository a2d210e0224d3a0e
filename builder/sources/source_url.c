#include "builder/sources/source_url.h"

static const struct {
	const char *architecture, *debian, *machine, *sbsa;
} archs[] = {
	{ "amd64", "amd64", "x86_64", "x86_64" },
	{ "arm64", "arm64", "aarch64", "sbsa" },
	{ "ppc64le", "ppc64el", "ppc64le", "ppc64le" },
	{ "riscv64", "riscv64", "riscv64", "riscv64" },
};

static size_t arch_row(const struct platform *platform)
{
	size_t i = 0;

	while (i < ARRAY_LEN(archs) && !str_equal(archs[i].architecture, platform->architecture))
		i++;
	return i;
}

char *source_url_fill(const char *url, const struct platform *platform)
{
	size_t row = arch_row(platform);
	struct strbuf out = { 0 };

	while (*url) {
		const char *value = NULL;
		size_t n = 0;

		if (*url != '{') {
			strbuf_addc(&out, *url++);
			continue;
		}
		if (row < ARRAY_LEN(archs)) {
			if (str_starts(url, "{arch}"))
				n = strlen("{arch}"), value = archs[row].machine;
			else if (str_starts(url, "{debarch}"))
				n = strlen("{debarch}"), value = archs[row].debian;
			else if (str_starts(url, "{sbsa}"))
				n = strlen("{sbsa}"), value = archs[row].sbsa;
		}
		if (!value) {
			strbuf_release(&out);
			return NULL;
		}
		strbuf_adds(&out, value);
		url += n;
	}
	strbuf_adds(&out, "");
	return strbuf_steal(&out);
}

char *source_url(const struct source_context *context, const struct stack_source *source,
		 struct error *err)
{
	char *url = source_url_fill(source->url, &context->platform);

	if (!url)
		stack_error(context->stack, source->place, err,
			    "source '%s': url: only {arch}, {debarch} and {sbsa} can be filled in, "
			    "for amd64 and arm64",
			    source->id);
	return url;
}
