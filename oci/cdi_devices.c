#include "oci/cdi_devices.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "formats/elf.h"

enum { SPEC_MAX = 4 * 1024 * 1024, SPECS_MAX = 1024 };

static void read_file(struct cdi_devices *d, const char *dir, size_t at, const char *name)
{
	cleanup_free char *path = fs_join(dir, name);
	cleanup_strbuf struct strbuf text = { 0 };
	struct cdi_spec spec = { 0 };
	struct error err = { 0 };

	if (fs_read(AT_FDCWD, path, SPEC_MAX, &text, &err) < 0 ||
	    cdi_parse(strbuf_slice(&text), path, &d->arena, &spec, &err) < 0) {
		vec_push(&d->damaged, arena_strdup(&d->arena, err.text));
		return;
	}
	vec_push(&d->specs, spec);
	vec_push(&d->directory, at);
}

void cdi_devices_read(const char *const *dirs, struct cdi_devices *out)
{
	static const char *const usual[] = { "/etc/cdi", "/var/run/cdi", NULL };

	*out = (struct cdi_devices){ 0 };
	dirs = dirs ? dirs : usual;
	for (size_t at = 0; dirs[at]; at++) {
		struct fs_names names = { 0 };
		struct error ignored = { 0 };

		if (fs_list(AT_FDCWD, dirs[at], &names, &ignored) < 0)
			continue;
		for (size_t i = 0; i < names.len && out->specs.len < SPECS_MAX; i++) {
			if (str_ends(names.items[i], ".json") || str_ends(names.items[i], ".yaml"))
				read_file(out, dirs[at], at, names.items[i]);
		}
		fs_names_release(&names);
	}
}

void cdi_devices_release(struct cdi_devices *d)
{
	for (size_t i = 0; i < d->specs.len; i++)
		cdi_spec_release(&d->specs.items[i]);
	vec_release(&d->specs);
	vec_release(&d->directory);
	vec_release(&d->damaged);
	arena_release(&d->arena);
}

bool cdi_devices_have(const struct cdi_devices *d, const char *kind)
{
	for (size_t i = 0; i < d->specs.len; i++) {
		if (str_equal(d->specs.items[i].kind, kind))
			return true;
	}
	return false;
}

static void use(const struct cdi_spec *spec, const struct cdi_device *device, struct cdi_used *used,
		struct cdi_edits *edits)
{
	bool known = false;

	for (size_t i = 0; i < used->len; i++)
		known |= used->items[i] == spec;
	if (!known) {
		vec_push(used, spec);
		cdi_edits_add(edits, &spec->edits);
	}
	cdi_edits_add(edits, &device->edits);
}

/* What there is instead, for an error text. */
static void list_devices(const struct cdi_devices *d, struct strbuf *out)
{
	enum { SHOWN = 12 };
	size_t n = 0;

	for (size_t i = 0; i < d->specs.len; i++) {
		const struct cdi_spec *s = &d->specs.items[i];

		for (size_t k = 0; k < s->devices.len && n < SHOWN; k++, n++)
			strbuf_addf(out, "%s%s=%s", n ? ", " : "there is ", s->kind,
				    s->devices.items[k].name);
	}
	if (!n)
		strbuf_adds(out, "no specification offers any");
	for (size_t i = 0; i < d->damaged.len; i++)
		strbuf_addf(out, "; not readable: %s", d->damaged.items[i]);
}

static int not_there(const struct cdi_devices *d, const char *device, struct error *err)
{
	cleanup_strbuf struct strbuf there = { 0 };

	list_devices(d, &there);
	return error_set(err, ERROR_USAGE, "no CDI device '%.80s': %s", device,
			 strbuf_text(&there));
}

/* True when a later directory has a device of that name too. */
static bool is_hidden(const struct cdi_devices *d, size_t at, const char *name)
{
	for (size_t i = at + 1; i < d->specs.len; i++) {
		if (d->directory.items[i] > d->directory.items[at] &&
		    str_equal(d->specs.items[i].kind, d->specs.items[at].kind) &&
		    cdi_device_find(&d->specs.items[i], name))
			return true;
	}
	return false;
}

/* All devices of the kind, each once. 1: there are some; 0; -1. */
static int add_all(const struct cdi_devices *d, const char *kind, struct cdi_used *used,
		   struct cdi_edits *edits, struct error *err)
{
	int any = 0;

	for (size_t i = 0; i < d->specs.len; i++) {
		const struct cdi_spec *s = &d->specs.items[i];

		for (size_t k = 0; str_equal(s->kind, kind) && k < s->devices.len; k++) {
			cleanup_free char *one = xasprintf("%s=%s", kind, s->devices.items[k].name);

			if (is_hidden(d, i, s->devices.items[k].name))
				continue;
			if (cdi_devices_add(d, one, used, edits, err) < 0)
				return -1;
			any = 1;
		}
	}
	return any;
}

int cdi_devices_add(const struct cdi_devices *d, const char *device, struct cdi_used *used,
		    struct cdi_edits *edits, struct error *err)
{
	cleanup_free char *kind = NULL, *name = NULL;
	const struct cdi_spec *spec = NULL, *twin = NULL;
	size_t directory = 0;

	if (!cdi_device_split(device, &kind, &name))
		return error_set(err, ERROR_USAGE,
				 "'%.80s' is not of the form VENDOR/CLASS=NAME, as in "
				 "nvidia.com/gpu=0",
				 device);
	for (size_t i = 0; i < d->specs.len; i++) {
		const struct cdi_spec *s = &d->specs.items[i];

		if (!str_equal(s->kind, kind) || !cdi_device_find(s, name))
			continue;
		twin = spec && d->directory.items[i] == directory ? spec : NULL;
		spec = s;
		directory = d->directory.items[i];
	}
	if (twin)
		return error_set(err, ERROR_USAGE,
				 "CDI device %s is in %s and in %s, so that no engine will take "
				 "either; remove one",
				 device, twin->file, spec->file);
	if (spec) {
		use(spec, cdi_device_find(spec, name), used, edits);
		return 0;
	}
	if (str_equal(name, "all")) {
		int any = add_all(d, kind, used, edits, err);

		if (any)
			return any < 0 ? -1 : 0;
	}
	return not_there(d, device, err);
}

const char *cdi_devices_soname(const char *path, uint16_t machine, struct arena *arena)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup_elf struct elf elf = { 0 };
	struct error ignored = { 0 };
	const char *soname = NULL;
	struct stat st;
	void *map;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 64)
		return NULL;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return NULL;
	if (elf_is(slice_of(map, 4)) &&
	    elf_read(slice_of(map, (size_t)st.st_size), &elf, &ignored) == 0 &&
	    elf.type == ELF_TYPE_DYN && (!machine || elf.machine == machine)) {
		const char *slash = strrchr(path, '/');

		soname = elf.soname.len ? arena_slice(arena, elf.soname)
					: arena_strdup(arena, slash ? slash + 1 : path);
	}
	munmap(map, (size_t)st.st_size);
	return soname;
}
