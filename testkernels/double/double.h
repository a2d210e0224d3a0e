/*
 * What the stand-ins for tests share: how the environment tells them what to do.
 */
#ifndef TESTKERNELS_DOUBLE_DOUBLE_H
#define TESTKERNELS_DOUBLE_DOUBLE_H

#include <stdlib.h>
#include <string.h>

/* The number in a variable, or `fallback`. */
static inline int double_number(const char *variable, int fallback)
{
	const char *text = getenv(variable);
	int n = 0;

	if (!text || !*text)
		return fallback;
	for (; *text >= '0' && *text <= '9' && n < 100000; text++)
		n = n * 10 + (*text - '0');
	return n;
}

/* The code of "NAME=CODE" in GPUIMG_DOUBLE_FAIL when that is the function's name, else 0. */
static inline int double_fails(const char *function)
{
	const char *text = getenv("GPUIMG_DOUBLE_FAIL");
	size_t n = strlen(function);
	int code = 0;

	if (!text || strncmp(text, function, n) != 0 || text[n] != '=')
		return 0;
	for (text += n + 1; *text >= '0' && *text <= '9' && code < 100000; text++)
		code = code * 10 + (*text - '0');
	return code;
}

/* Is it the one that is to do its work wrongly? */
static inline int double_wrong(const char *function)
{
	const char *text = getenv("GPUIMG_DOUBLE_WRONG");

	return text && strcmp(text, function) == 0;
}

#endif
