#include "base/error.h"

#include "base/alloc.h"

/* strerror_r of the GNU kind returns the text without depending on the locale being set. */
static void store_text(struct error *err, const char *text)
{
	size_t len = strlen(text), room = sizeof(err->text) - 1;

	if (len > room)
		memcpy(err->text, text + len - room, room + 1);
	else
		memcpy(err->text, text, len + 1);
	if (len > room)
		memcpy(err->text, "...", 3);
}

int error_set(struct error *err, enum error_code code, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	err->code = code;
	err->sys_errno = 0;
	store_text(err, text);
	return -1;
}

int error_set_errno(struct error *err, int sys_errno, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	cleanup_free char *full = NULL;
	char buffer[128];
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	full = xasprintf("%s: %s", text, strerror_r(sys_errno, buffer, sizeof(buffer)));
	err->code = ERROR_SYSTEM;
	err->sys_errno = sys_errno;
	store_text(err, full);
	return -1;
}

int error_wrap(struct error *err, const char *fmt, ...)
{
	cleanup_free char *text = NULL;
	cleanup_free char *full = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	full = xasprintf("%s: %s", text, err->text);
	store_text(err, full);
	return -1;
}

int error_exit_status(enum error_code code)
{
	switch (code) {
	case ERROR_NONE:
		return 0;
	case ERROR_VERDICT:
		return 1;
	case ERROR_USAGE:
		return 2;
	default:
		return 3;
	}
}
