#include "base/alloc.h"

void out_of_memory(void)
{
	static const char text[] = "gpuimg: out of memory\n";
	ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)ignored;
	_exit(3);
}

void *xmalloc(size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *xcalloc(size_t count, size_t bytes)
{
	void *p = calloc(count ? count : 1, bytes ? bytes : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *xreallocarray(void *old, size_t count, size_t bytes)
{
	void *p = reallocarray(old, count ? count : 1, bytes ? bytes : 1);

	if (!p)
		out_of_memory();
	return p;
}

char *xstrndup(const char *s, size_t len)
{
	size_t n = len ? strnlen(s, len) : 0;
	char *p = xmalloc(n + 1);

	if (n)
		memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

char *xstrdup(const char *s)
{
	return xmemdup(s, strlen(s) + 1);
}

void *xmemdup(const void *data, size_t bytes)
{
	void *p = xmalloc(bytes);

	if (bytes)
		memcpy(p, data, bytes);
	return p;
}

char *xvasprintf(const char *fmt, va_list ap)
{
	char *p = NULL;

	if (vasprintf(&p, fmt, ap) < 0)
		out_of_memory();
	return p;
}

char *xasprintf(const char *fmt, ...)
{
	va_list ap;
	char *p;

	va_start(ap, fmt);
	p = xvasprintf(fmt, ap);
	va_end(ap);
	return p;
}
