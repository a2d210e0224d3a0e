/*
 * Injection without a specification, and as the runtimes before CDI did it.
 * Sources: NVIDIA/nvidia-container-toolkit internal/discover, pkg/nvcdi; NVIDIA/libnvidia-container
 * src/nvc_info.c, nvc_mount.c; NVIDIA/enroot conf/hooks/98-nvidia.sh.
 */
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "manifests/driver_libraries.h"
#include "testkernels/inject_parts.h"
#include "testkernels/rootdir.h"
#include "testkernels/test_report.h"

struct discovery {
	const struct inject_request *q;
	const struct host_driver *driver;
	const char *host;
	struct arena *arena;
	struct injection *in;
	bool legacy;              /* or enroot: by capability, into the image's own directory */
	const char *capabilities; /* "compute,utility"; "all" */
	const char *visible;      /* "all", "0,1", "GPU-…" */
	const char *library_dir;  /* in the container; NULL: where they lie on the host */
	struct driver_libraries table;
};

static void add_mount(struct discovery *d, const char *host_path, const char *container_path)
{
	static const char *const options[] = { "ro", "nosuid", "nodev", "rbind", "rprivate" };
	struct cdi_mount m = { .host_path = host_path, .container_path = container_path };

	m.options.items = arena_array(d->arena, ARRAY_LEN(options), sizeof(*m.options.items));
	m.options.count = ARRAY_LEN(options);
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		m.options.items[i] = options[i];
	vec_push(&d->in->edits.mounts, m);
}

static void add_node(struct discovery *d, const char *path)
{
	struct cdi_node n = { .path = path, .permissions = "rw" };
	cleanup_free char *host = xasprintf("%s%s", d->host, path);

	if (access(host, F_OK) != 0)
		return;
	n.host_path = arena_strdup(d->arena, host);
	vec_push(&d->in->edits.nodes, n);
}

/* "nvidia0" is a GPU, and one that is asked for. Only numbers are told apart here. */
static bool wants_gpu(const struct discovery *d, const char *number)
{
	struct slice rest = slice_str(d->visible), one;

	if (!d->legacy || str_equal(d->visible, "all"))
		return true;
	while (slice_cut(&rest, ',', &one)) {
		if (slice_is(one, number) || slice_starts(one, "GPU-") || slice_starts(one, "MIG-"))
			return true;
	}
	return false;
}

static int add_nodes(struct discovery *d, struct error *err)
{
	static const char *const common[] = { "/dev/nvidiactl", "/dev/nvidia-uvm",
					      "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset" };
	cleanup_free char *dev = xasprintf("%s/dev", d->host);
	cleanup_free char *caps = xasprintf("%s/dev/nvidia-caps", d->host);
	struct fs_names names = { 0 };
	struct error ignored = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(common); i++)
		add_node(d, common[i]);
	if (fs_list(AT_FDCWD, dev, &names, err) < 0)
		return error_wrap(err, "%s", dev);
	for (size_t i = 0; i < names.len; i++) {
		const char *number = names.items[i] + strlen("nvidia");

		if (str_starts(names.items[i], "nvidia") && *number &&
		    strspn(number, "0123456789") == strlen(number) && wants_gpu(d, number))
			add_node(d, arena_printf(d->arena, "/dev/%s", names.items[i]));
	}
	fs_names_release(&names);
	names = (struct fs_names){ 0 };
	if (fs_list(AT_FDCWD, caps, &names, &ignored) == 0) {
		for (size_t i = 0; i < names.len; i++)
			add_node(d, arena_printf(d->arena, "/dev/nvidia-caps/%s", names.items[i]));
		fs_names_release(&names);
	}
	return 0;
}

static bool has_capability(const struct discovery *d, const char *capability)
{
	struct slice rest = slice_str(d->capabilities), one;

	while (slice_cut(&rest, ',', &one)) {
		if (slice_is(slice_trim(one), capability) || slice_is(slice_trim(one), "all"))
			return true;
	}
	return false;
}

/* A library of the driver: its name ends in the driver's version, or is of a fixed few. */
static bool wants_library(const struct discovery *d, const char *name)
{
	const struct driver_entry *entry = driver_library(&d->table, name);
	bool versioned = d->driver->version && strlen(name) > strlen(d->driver->version) + 4 &&
			 str_ends(name, d->driver->version) &&
			 name[strlen(name) - strlen(d->driver->version) - 1] == '.';

	if (!strstr(name, ".so"))
		return false;
	if (!versioned && !str_starts(name, "libnvidia-nvvm") &&
	    !(str_equal(name, "libcuda.so.1") && !d->driver->version))
		return false;
	if (!d->legacy)
		return true;
	return entry && has_capability(d, entry->capability);
}

/* "target::link" for the loader's name of a library, as ldconfig makes it beside the file. */
static void add_hook(struct discovery *d, const char *name, const char *const *args, size_t count)
{
	struct cdi_hook hook = { .name = "createContainer", .path = "nvidia-cdi-hook" };

	hook.args.items = arena_array(d->arena, count + 2, sizeof(*hook.args.items));
	hook.args.items[hook.args.count++] = "nvidia-cdi-hook";
	hook.args.items[hook.args.count++] = name;
	for (size_t i = 0; i < count; i++)
		hook.args.items[hook.args.count++] = args[i];
	vec_push(&d->in->edits.hooks, hook);
}

static int add_libraries(struct discovery *d, struct error *err)
{
	struct fs_names names = { 0 };
	const char *inside = d->driver->dir + strlen(d->host);
	const char *dir = d->library_dir ? d->library_dir : inside;
	const char *folder[] = { "--folder", dir };
	const char *link[] = { "--link",
			       arena_printf(d->arena, "libcuda.so.1::%s/libcuda.so", dir) };
	bool cuda = false;

	if (fs_list(AT_FDCWD, d->driver->dir, &names, err) < 0)
		return error_wrap(err, "%s", d->driver->dir);
	for (size_t i = 0; i < names.len; i++) {
		if (!wants_library(d, names.items[i]))
			continue;
		cuda |= str_starts(names.items[i], "libcuda.so");
		add_mount(d, arena_printf(d->arena, "%s/%s", d->driver->dir, names.items[i]),
			  arena_printf(d->arena, "%s/%s", dir, names.items[i]));
	}
	fs_names_release(&names);
	if (cuda)
		add_hook(d, "create-symlinks", link, 2);
	if (d->driver->version) {
		const char *compat =
			arena_printf(d->arena, "--host-driver-version=%s", d->driver->version);

		add_hook(d, "enable-cuda-compat", &compat, 1);
	}
	add_hook(d, "update-ldcache", folder, 2);
	return 0;
}

static void add_programs(struct discovery *d)
{
	static const char *const programs[] = { "nvidia-smi", "nvidia-debugdump",
						"nvidia-persistenced", "nvidia-cuda-mps-control",
						"nvidia-cuda-mps-server" };

	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		const char *path = arena_printf(d->arena, "/usr/bin/%s", programs[i]);
		const char *host = arena_printf(d->arena, "%s%s", d->host, path);

		if (access(host, X_OK) == 0 && (!d->legacy || has_capability(d, "utility")))
			add_mount(d, host, path);
	}
}

/* The image's own directory, as libnvidia-container chooses it by the family. */
static const char *image_library_dir(struct discovery *d)
{
	bool arm = strstr(d->driver->dir, "aarch64") != NULL;

	/* The tree is not at hand here: Debian's way where the host is of that family. */
	if (strstr(d->driver->dir, "-linux-gnu"))
		return arm ? "/usr/lib/aarch64-linux-gnu" : "/usr/lib/x86_64-linux-gnu";
	return "/usr/lib64";
}

/* What the image's environment asks the old runtimes for. False: nothing is injected. */
static bool read_environment(struct discovery *d)
{
	bool enroot = str_equal(d->q->method, "enroot");
	const char *visible = config_env(d->q->config, "NVIDIA_VISIBLE_DEVICES");
	const char *capabilities = config_env(d->q->config, "NVIDIA_DRIVER_CAPABILITIES");

	if (!visible || !*visible || str_equal(visible, "void")) {
		d->in->skip = SKIP_NOT_REQUESTED;
		d->in->why = "the image does not set NVIDIA_VISIBLE_DEVICES, so this runtime "
			     "gives it no GPU";
		inject_fault(d->in, "not-asked-for", d->in->why);
		return false;
	}
	d->visible = visible;
	d->capabilities = capabilities && *capabilities ? capabilities
			  : enroot                      ? "utility"
							: "compute,utility";
	if (!has_capability(d, "compute"))
		inject_fault(d->in, "no-compute-capability",
			     enroot && !capabilities
				     ? "enroot gives an image that does not set "
				       "NVIDIA_DRIVER_CAPABILITIES \"utility\" alone, so no libcuda"
				     : "NVIDIA_DRIVER_CAPABILITIES lacks \"compute\", so no "
				       "libcuda is given");
	return true;
}

int inject_discover(const struct inject_request *q, const struct host_driver *driver,
		    struct arena *arena, struct injection *out, struct error *err)
{
	struct discovery d = { .q = q,
			       .driver = driver,
			       .host = q->host_root ? q->host_root : "",
			       .arena = arena,
			       .in = out,
			       .capabilities = "all",
			       .visible = "all" };
	int rc;

	d.legacy = q->method && (str_equal(q->method, "legacy") || str_equal(q->method, "enroot"));
	if (driver->module && driver->version && !str_equal(driver->module, driver->version))
		inject_fault(
			out, "version-mismatch",
			arena_printf(arena,
				     "the driver library in %s is of version %s, but the "
				     "kernel module is %s; reboot after an update of the driver",
				     driver->dir, driver->version, driver->module));
	if (d.legacy && !read_environment(&d))
		return 0;
	if (d.legacy)
		d.library_dir = image_library_dir(&d);
	if (driver_libraries_load(&d.table, err) < 0)
		return -1;
	rc = add_nodes(&d, err) < 0 ? -1 : add_libraries(&d, err);
	if (rc == 0)
		add_programs(&d);
	driver_libraries_release(&d.table);
	return rc;
}
