#include "base/out.h"

void out_print(const struct out *o, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(o->out, fmt, ap);
	va_end(ap);
}

PRINTF_LIKE(3, 0)
static void line(const struct out *o, const char *prefix, const char *fmt, va_list ap)
{
	fputs(prefix, o->err);
	vfprintf(o->err, fmt, ap);
	fputc('\n', o->err);
}

void out_note(const struct out *o, const char *fmt, ...)
{
	va_list ap;

	if (!o || o->verbosity < 0)
		return;
	va_start(ap, fmt);
	line(o, "", fmt, ap);
	va_end(ap);
}

void out_verbose(const struct out *o, const char *fmt, ...)
{
	va_list ap;

	if (!o || o->verbosity < 1)
		return;
	va_start(ap, fmt);
	line(o, "", fmt, ap);
	va_end(ap);
}

void out_warn(const struct out *o, const char *fmt, ...)
{
	va_list ap;

	if (!o)
		return;
	va_start(ap, fmt);
	line(o, o->err_colour ? "\033[33mwarning:\033[0m " : "warning: ", fmt, ap);
	va_end(ap);
}

const char *out_size(uint64_t bytes, char buf[32])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double v = (double)bytes;
	size_t u = 0;

	while (v >= 1024 && u + 1 < ARRAY_LEN(units)) {
		v /= 1024;
		u++;
	}
	snprintf(buf, 32, u ? "%.1f %s" : "%.0f %s", v, units[u]);
	return buf;
}

void out_put_clean(FILE *file, const char *text)
{
	for (const uint8_t *p = (const uint8_t *)text; *p; p++) {
		if (*p == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)
			fprintf(file, "\\x%02x", *++p);
		else if ((*p < ' ' && *p != '\n' && *p != '\t') || *p == 0x7f)
			fprintf(file, "\\x%02x", *p);
		else
			putc(*p, file);
	}
}
