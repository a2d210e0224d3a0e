/*
 * What was injected, as the image's processes find it.
 */
#include "probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
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

/* "driver_library": the libcuda that is found here; the runtime closes it again when it refuses. */
static void say_driver(struct say *s)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	struct link_map *map = NULL;

	if (driver && dlinfo(driver, RTLD_DI_LINKMAP, &map) == 0 && map)
		say_str(s, "driver_library", map->l_name);
}

/*
 * args: name of libcudart. Does the image's runtime accept the driver that it finds? It is asked
 * for the number of devices, which makes it start the driver.
 */
static void check_runtime(const struct check *check)
{
	void *handle = library_open(check, check->args[0]);
	int (*get_count)(int *), (*get_version)(int *), count = 0, version = 0, rc;
	struct say s;

	if (!handle)
		return;
	get_count = (int (*)(int *))library_symbol(handle, "cudaGetDeviceCount");
	get_version = (int (*)(int *))library_symbol(handle, "cudaDriverGetVersion");
	if (!get_count || !get_version) {
		result_fail(check, "symbol", "it lacks functions that every version has");
		return;
	}
	rc = get_count(&count);
	get_version(&version);
	result_begin(&s, check, rc ? "fail" : "pass");
	if (rc) {
		say_str(&s, "kind", "call");
		say_str(&s, "domain", "libcudart");
		say_str(&s, "call", "cudaGetDeviceCount");
		say_int(&s, "code", rc);
	}
	say_int(&s, "devices", count);
	say_int(&s, "driver_api", version);
	say_driver(&s);
	say_library(&s, check, handle);
	say_end(&s);
}

static const struct check_entry host_checks[] = {
	{ "runtime", check_runtime },
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
