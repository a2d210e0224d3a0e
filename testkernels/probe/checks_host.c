/*
 * What was injected, as the image's processes find it.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/*
 * args: device nodes. Which of them cannot be opened says who is at fault: ENOENT, it is not there;
 * EPERM, the device control group; EACCES, its mode; ENXIO, there is no driver behind it.
 */
static void check_nodes(const struct check *check)
{
	struct say s;
	char text[512];

	for (size_t i = 0; i < check->count; i++) {
		int fd = open(check->args[i], O_RDWR | O_NONBLOCK);

		if (fd >= 0) {
			close(fd);
			continue;
		}
		put_text(text, sizeof(text), "%s: %s", check->args[i], strerror(errno));
		result_begin(&s, check, "fail");
		say_str(&s, "kind", "node");
		say_str(&s, "domain", "errno");
		say_str(&s, "call", "open");
		say_int(&s, "code", errno);
		say_str(&s, "message", text);
		say_end(&s);
		return;
	}
	result_begin(&s, check, "pass");
	say_int(&s, "nodes", (long)check->count);
	say_end(&s);
}

static const struct check_entry host_checks[] = {
	{ "nodes", check_nodes },
};

check_fn *check_host_find(const char *name)
{
	for (size_t i = 0; i < sizeof(host_checks) / sizeof(host_checks[0]); i++) {
		if (strcmp(host_checks[i].name, name) == 0)
			return host_checks[i].run;
	}
	return NULL;
}
