#include "testkernels/inject.h"

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "base/process.h"
#include "oci/cdi_devices.h"
#include "testkernels/host_driver.h"
#include "testkernels/inject_parts.h"
#include "testkernels/test_report.h"

#define NVIDIA_KIND "nvidia.com/gpu"
static const char all_gpus[] = NVIDIA_KIND "=all";

void inject_fault(struct injection *in, const char *code, const char *text)
{
	vec_push(&in->faults, ((struct inject_note){ code, text }));
}

void inject_note(struct injection *in, const char *code, const char *text)
{
	vec_push(&in->notes, ((struct inject_note){ code, text }));
}

void injection_release(struct injection *in)
{
	cdi_edits_release(&in->edits);
	vec_release(&in->faults);
	vec_release(&in->notes);
}

static bool is_method(const struct inject_request *q, const char *method)
{
	return q->method && str_equal(q->method, method);
}

static bool exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

/* "580.95.05" of "/usr/lib/libcuda.so.580.95.05", or NULL. */
static const char *driver_version_in(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (!str_starts(name, "libcuda.so."))
		return NULL;
	name += strlen("libcuda.so.");
	return strchr(name, '.') ? name : NULL;
}

/*
 * Every file that a specification names must be there: engines refuse to start a container else,
 * with words that do not say which. An update of the driver is why one is not.
 */
static void verify(struct injection *in, const struct host_driver *driver, struct arena *arena)
{
	const char *version = driver->version ? driver->version : driver->module;

	for (size_t i = 0; i < in->edits.mounts.len; i++) {
		const char *path = in->edits.mounts.items[i].host_path;
		const char *named = driver_version_in(path);

		if (named)
			in->driver = arena_strdup(arena, named);
		if (exists(path))
			continue;
		inject_fault(in, "stale-spec",
			     arena_printf(arena,
					  "%s names %s, which does not exist%s%s; make it anew "
					  "(nvidia-ctk cdi generate --output=%s)",
					  in->spec, path,
					  version ? "; this machine has driver " : "",
					  version ? version : "", in->spec));
	}
	for (size_t i = 0; i < in->edits.nodes.len; i++) {
		const struct cdi_node *n = &in->edits.nodes.items[i];

		if (!exists(n->host_path) && !n->has_number)
			inject_fault(in, "missing-node",
				     arena_printf(arena,
						  "%s names the device node %s, which does not "
						  "exist; load the driver's module or make the "
						  "specification anew",
						  in->spec, n->host_path));
	}
	if (in->driver && driver->module && !str_equal(in->driver, driver->module))
		inject_fault(in, "version-mismatch",
			     arena_printf(arena,
					  "%s names the driver library of version %s, but the "
					  "kernel module is %s; make it anew, or reboot after an "
					  "update of the driver",
					  in->spec, in->driver, driver->module));
}

/* Paths of the host as seen from here. */
static void apply_host_root(struct injection *in, const char *host, struct arena *arena)
{
	if (!host || !*host)
		return;
	for (size_t i = 0; i < in->edits.mounts.len; i++)
		in->edits.mounts.items[i].host_path =
			arena_printf(arena, "%s%s", host, in->edits.mounts.items[i].host_path);
	for (size_t i = 0; i < in->edits.nodes.len; i++)
		in->edits.nodes.items[i].host_path =
			arena_printf(arena, "%s%s", host, in->edits.nodes.items[i].host_path);
}

/* A copy of the edits, so that the specifications can be let go. */
static int from_devices(const struct inject_request *q, struct cdi_devices *d, struct arena *arena,
			struct injection *in, struct error *err)
{
	struct cdi_used used = { 0 };
	cleanup_strbuf struct strbuf files = { 0 };
	size_t count = q->device_count ? q->device_count : 1;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = cdi_devices_add(d, q->device_count ? q->devices[i] : all_gpus, &used,
				     &in->edits, err);
	for (size_t i = 0; i < used.len; i++)
		strbuf_addf(&files, "%s%s", i ? " " : "", used.items[i]->file);
	in->method = "cdi";
	in->spec = arena_strdup(arena, strbuf_text(&files));
	vec_release(&used);
	return rc;
}

/* What nvidia-ctk says this machine needs; it looks below `host` (NULL: "/"), as it is told. */
static bool from_nvidia_ctk(const char *host, struct arena *arena, struct injection *in)
{
	const char *const argv[] = { "nvidia-ctk",
				     "cdi",
				     "generate",
				     "--format=json",
				     host ? arena_printf(arena, "--driver-root=%s", host) : NULL,
				     host ? arena_printf(arena, "--dev-root=%s", host) : NULL,
				     NULL };
	const struct process p = { .argv = argv, .timeout_ms = 30000 };
	cleanup_process struct process_result result = { 0 };
	cleanup_cdi_spec struct cdi_spec spec = { 0 };
	struct error err = { 0 };
	const struct cdi_device *all;

	if (!process_available(argv[0]))
		return false;
	if (process_run(&p, &result, &err) < 0 || result.exit_status != 0 ||
	    cdi_parse(strbuf_slice(&result.out_stdout), "nvidia-ctk cdi generate (.json)", arena,
		      &spec, &err) < 0) {
		inject_note(in, "nvidia-ctk",
			    arena_printf(arena, "nvidia-ctk cdi generate was of no use: %s",
					 err.text[0] ? err.text : strbuf_text(&result.out_stderr)));
		return false;
	}
	all = cdi_device_find(&spec, "all");
	cdi_edits_add(&in->edits, &spec.edits);
	for (size_t i = 0; i < spec.devices.len; i++) {
		if (!all || all == &spec.devices.items[i])
			cdi_edits_add(&in->edits, &spec.devices.items[i].edits);
	}
	in->method = "nvidia-ctk";
	in->spec = "nvidia-ctk cdi generate";
	return true;
}

static bool wants_nvidia(const struct inject_request *q)
{
	for (size_t i = 0; i < q->device_count; i++) {
		if (str_starts(q->devices[i], NVIDIA_KIND "="))
			return true;
	}
	return !q->device_count;
}

static void skip_without(const struct host_driver *driver, struct arena *arena,
			 struct injection *in)
{
	in->skip = driver->has_nodes ? SKIP_NO_DRIVER : SKIP_NO_GPU;
	in->why = driver->has_nodes ? "no libcuda.so.1 on this machine, and no CDI specification"
				    : "no /dev/nvidiactl on this machine, and no CDI specification";
	in->why = arena_strdup(arena, in->why);
}

/* Without a specification that serves. */
static int without_spec(const struct inject_request *q, const struct host_driver *driver,
			struct arena *arena, struct injection *in, struct error *err)
{
	if (driver->has_nodes && from_nvidia_ctk(q->host_root, arena, in)) {
		verify(in, driver, arena);
		return 0;
	}
	if (!driver->has_nodes || !driver->dir) {
		skip_without(driver, arena, in);
		return 0;
	}
	in->method = "host-driver";
	return inject_discover(q, driver, arena, in, err);
}

static int by_specification(const struct inject_request *q, struct cdi_devices *d,
			    const struct host_driver *driver, struct arena *arena,
			    struct injection *in, struct error *err)
{
	struct injection found = { .module = in->module, .driver = in->driver };
	struct error why = { 0 };

	if (from_devices(q, d, arena, &found, &why) < 0) {
		injection_release(&found);
		if (q->device_count || is_method(q, "cdi")) {
			*err = why;
			return -1;
		}
		inject_fault(in, "unresolvable-device", arena_strdup(arena, why.text));
		return without_spec(q, driver, arena, in, err);
	}
	apply_host_root(&found, q->host_root, arena);
	verify(&found, driver, arena);
	cdi_edits_sort(&found.edits);
	/* What a stale specification gives would not start: judge the image with what is there. */
	if (found.faults.len && wants_nvidia(q) && driver->dir && !is_method(q, "cdi")) {
		for (size_t i = 0; i < found.faults.len; i++)
			vec_push(&in->faults, found.faults.items[i]);
		injection_release(&found);
		return without_spec(q, driver, arena, in, err);
	}
	injection_release(in);
	*in = found;
	if (found.faults.len) {
		in->skip = SKIP_NO_DRIVER;
		in->why = found.faults.items[0].text;
	}
	return 0;
}

static bool has_any(const struct inject_request *q, const struct cdi_devices *d)
{
	return q->device_count || is_method(q, "cdi") || cdi_devices_have(d, NVIDIA_KIND);
}

static int find(const struct inject_request *q, const struct host_driver *driver,
		struct arena *arena, struct injection *out, struct error *err)
{
	cleanup_cdi_devices struct cdi_devices d = { 0 };

	if (is_method(q, "legacy") || is_method(q, "enroot")) {
		out->method = q->method;
		if (!driver->has_nodes || !driver->dir) {
			skip_without(driver, arena, out);
			return 0;
		}
		return inject_discover(q, driver, arena, out, err);
	}
	cdi_devices_read(q->cdi_dirs, &d);
	for (size_t i = 0; i < d.damaged.len; i++)
		inject_fault(out, "unreadable-spec", arena_strdup(arena, d.damaged.items[i]));
	/* the texts of specifications live as long as what is made of them */
	if (has_any(q, &d)) {
		int rc = by_specification(q, &d, driver, arena, out, err);

		arena_adopt(arena, &d.arena);
		return rc;
	}
	return without_spec(q, driver, arena, out, err);
}

int inject_find(const struct inject_request *q, struct arena *arena, struct injection *out,
		struct error *err)
{
	struct host_driver driver;

	*out = (struct injection){ 0 };
	if (is_method(q, "none")) {
		out->skip = SKIP_NOT_REQUESTED;
		out->why = "nothing is to be injected";
		return 0;
	}
	host_driver_find(q->host_root ? q->host_root : "", arena, &driver);
	out->module = driver.module;
	out->driver = driver.version;
	if (find(q, &driver, arena, out, err) < 0) {
		injection_release(out);
		*out = (struct injection){ 0 };
		return -1;
	}
	if (!out->driver)
		out->driver = driver.version ? driver.version : driver.module;
	cdi_edits_sort(&out->edits);
	return 0;
}

bool inject_owns(const struct injection *in, const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < in->edits.mounts.len; i++) {
		const char *mounted = in->edits.mounts.items[i].container_path;
		const char *end = strrchr(mounted, '/');

		if (str_equal(mounted, path))
			return true;
		/* a link beside it: "libcuda.so.1" of "libcuda.so.580.95.05" */
		if (slash && end && slash - path == end - mounted &&
		    strncmp(mounted, path, (size_t)(slash - path)) == 0) {
			const char *so = strstr(slash, ".so");

			if (so && strncmp(slash, end, (size_t)(so - slash) + 3) == 0)
				return true;
		}
	}
	return false;
}
