#include "builder/sources/wheel_check.h"

#include <limits.h>

#include "base/map.h"
#include "formats/marker.h"
#include "formats/json.h"

enum { EXTRAS_MAX = 256 };

/* "cp311" with prefix "cp3" → 11; "py3" with "py3" → 0; false for other texts. */
static bool minor_of(struct slice tag, const char *prefix, uint64_t *out)
{
	struct slice rest;

	if (!slice_starts(tag, prefix))
		return false;
	rest = slice_of(tag.data + strlen(prefix), tag.len - strlen(prefix));
	*out = 0;
	return !rest.len || slice_u64(rest, out);
}

enum { NO_FIT = 1 << 20, PLATFORM_RANKS = 200 };

/* Of interpreter and ABI: less is better; NO_FIT: not at all. */
static unsigned interpreter_rank(struct slice python, struct slice abi, unsigned minor)
{
	uint64_t n;

	if (minor_of(python, "cp3", &n) && n) {
		cleanup_free char *own = xasprintf("cp3%u", minor);

		if (slice_is(abi, "abi3") && n <= minor)
			return n == minor ? 1 : 3 + (unsigned)(minor - n);
		if (n == minor && (slice_is(abi, own) || slice_is(abi, "none")))
			return slice_is(abi, own) ? 0 : 2;
		return NO_FIT;
	}
	if (!slice_is(abi, "none") || !minor_of(python, "py3", &n) || n > minor)
		return NO_FIT;
	return 100 + (n == minor ? 0 : n == 0 ? 1 : 1 + (unsigned)(minor - n));
}

/* Of the platform: the newest glibc first, any machine last; NO_FIT: not at all. */
static unsigned platform_rank(struct slice tag, const struct wheel_target *target)
{
	static const struct {
		const char *name;
		unsigned glibc;
	} old[] = { { "manylinux1", 5 }, { "manylinux2010", 12 }, { "manylinux2014", 17 } };
	cleanup_free char *text = xasprintf("%.*s", (int)tag.len, (const char *)tag.data);
	cleanup_free char *plain = xasprintf("linux_%s", target->machine);
	size_t name = strlen(text) - MIN(strlen(text), strlen(target->machine) + 1);
	struct slice rest = slice_of(text, name), number;
	uint64_t minor = UINT64_MAX;

	if (str_equal(text, "any"))
		return PLATFORM_RANKS - 1;
	if (str_equal(text, plain))
		return PLATFORM_RANKS - 2;
	if (text[name] != '_' || !str_equal(text + name + 1, target->machine))
		return NO_FIT;
	for (size_t i = 0; i < ARRAY_LEN(old); i++) {
		if (slice_is(rest, old[i].name))
			minor = old[i].glibc;
	}
	if (slice_starts(rest, "manylinux_2_") &&
	    slice_sub(rest, strlen("manylinux_2_"), rest.len - strlen("manylinux_2_"), &number) &&
	    !slice_u64(number, &minor))
		return NO_FIT;
	return minor <= target->glibc_minor ? target->glibc_minor - (unsigned)minor : NO_FIT;
}

static unsigned best_interpreter(const struct wheel_name *file, unsigned minor)
{
	struct slice pythons = slice_str(file->python), python, abi;
	unsigned best = NO_FIT;

	while (slice_cut(&pythons, '.', &python)) {
		struct slice abis = slice_str(file->abi);

		while (slice_cut(&abis, '.', &abi))
			best = MIN(best, interpreter_rank(python, abi, minor));
	}
	return best;
}

unsigned wheel_rank(const struct wheel_name *file, const struct wheel_target *target)
{
	struct slice platforms = slice_str(file->platform), platform;
	unsigned interpreter = best_interpreter(file, target->python_minor), best = NO_FIT;

	while (slice_cut(&platforms, '.', &platform))
		best = MIN(best, platform_rank(platform, target));
	if (interpreter == NO_FIT || best == NO_FIT)
		return UINT_MAX;
	/* for any machine: behind all that are for this one */
	return (best == PLATFORM_RANKS - 1 ? 1000 * PLATFORM_RANKS : 0) +
	       interpreter * PLATFORM_RANKS + best;
}

bool wheel_fits(const struct wheel_name *file, const struct wheel_target *target)
{
	return wheel_rank(file, target) != UINT_MAX;
}

const char *wheel_tags_taken(const struct wheel_target *target, struct arena *arena)
{
	return arena_printf(arena,
			    "cp3%u-cp3%u, abi3 of cp3%u and older, py3-none; manylinux_2_%u_%s "
			    "and older, linux_%s, any",
			    target->python_minor, target->python_minor, target->python_minor,
			    target->glibc_minor, target->machine, target->machine);
}

/* One wheel of the report, and what of it is wanted. */
struct dist {
	const char *name, *version; /* as its metadata says */
	const json_t *requires;     /* texts; NULL: none */
	const char **extras;        /* wanted ones, normalized; the first is "" */
	size_t extra_count;
	bool reached, pending;
};

struct closure {
	struct arena arena;
	struct marker_environment environment;
	const struct out *out;
	struct dist *dists;
	size_t count;
	struct map by_name; /* normalized */
	bool settled;       /* nothing new is wanted: now tell what is wrong */
	struct strbuf missing;
	size_t missing_count;
};

static void want(struct closure *c, struct dist *d, const char *const *extras, size_t count)
{
	d->pending |= !d->reached;
	d->reached = true;
	for (size_t i = 0; i < count; i++) {
		bool known = false;

		for (size_t k = 0; k < d->extra_count; k++)
			known |= str_equal(d->extras[k], extras[i]);
		if (known || d->extra_count == EXTRAS_MAX)
			continue;
		if (d->extra_count == 1) {
			d->extras = arena_array(&c->arena, EXTRAS_MAX, sizeof(*d->extras));
			d->extras[0] = "";
		}
		d->extras[d->extra_count++] = extras[i];
		d->pending = true;
	}
}

static void note_missing(struct closure *c, const struct dist *d, const char *text)
{
	if (c->missing_count++ < 3)
		strbuf_addf(&c->missing, "%s%s %s requires '%.100s'", c->missing.len ? "; " : "",
			    d->name, d->version, text);
}

/* Whether a Requires-Dist of `d` counts for one of its wanted extras. */
static int applies(struct closure *c, const struct dist *d, const char *text,
		   struct requirement *out, bool *out_applies, struct error *err)
{
	*out_applies = false;
	if (requirement_parse(slice_str(text), &c->arena, out, err) < 0)
		return -1;
	for (size_t i = 0; i < d->extra_count && !*out_applies; i++) {
		if (marker_evaluate(out->marker, &c->environment, d->extras[i], out_applies, err) <
		    0)
			return -1;
	}
	return 0;
}

static void follow(struct closure *c, const struct dist *d, const char *text)
{
	struct requirement r;
	struct error err = { 0 };
	struct dist *needed;
	bool counts;

	if (applies(c, d, text, &r, &counts, &err) < 0) {
		if (c->settled)
			out_warn(c->out, "%s %s: Requires-Dist: %s", d->name, d->version, err.text);
		return;
	}
	needed = map_get(&c->by_name, r.name);
	if (counts && needed)
		want(c, needed, r.extras, r.extra_count);
	else if (counts && c->settled)
		note_missing(c, d, text);
}

static void follow_all(struct closure *c, const struct dist *d)
{
	for (size_t i = 0; i < json_array_size(d->requires); i++) {
		const char *text = json_string_value(json_array_get(d->requires, i));

		if (text)
			follow(c, d, text);
	}
}

/* Until nothing new is wanted; then once more over all, for what is missing. */
static void walk(struct closure *c)
{
	bool again = true;

	while (again) {
		again = false;
		for (size_t i = 0; i < c->count; i++) {
			struct dist *d = &c->dists[i];

			if (!d->pending)
				continue;
			d->pending = false;
			again = true;
			follow_all(c, d);
		}
	}
	c->settled = true;
	for (size_t i = 0; i < c->count; i++) {
		if (c->dists[i].reached)
			follow_all(c, &c->dists[i]);
	}
}

static int read_dist(struct closure *c, const json_t *item, const char *where, struct dist *out,
		     struct error *err)
{
	json_t *metadata, *list;

	if (json_get_object(item, where, "metadata", &metadata, err) < 0 ||
	    json_get_str(metadata, where, "name", &out->name, err) < 0 ||
	    json_get_str(metadata, where, "version", &out->version, err) < 0 ||
	    json_get_array_opt(metadata, where, "requires_dist", &list, err) < 0)
		return -1;
	out->requires = list;
	out->extras = arena_array(&c->arena, 1, sizeof(*out->extras));
	out->extras[0] = "";
	out->extra_count = 1;
	map_put(&c->by_name, wheel_normalize(slice_str(out->name), &c->arena), out);
	return 0;
}

static int want_requested(struct closure *c, const json_t *item, const char *where, struct dist *d,
			  struct error *err)
{
	json_t *list;

	if (json_get_array_opt(item, where, "requested_extras", &list, err) < 0)
		return -1;
	want(c, d, NULL, 0);
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));
		const char *extra = text ? wheel_normalize(slice_str(text), &c->arena) : "";

		want(c, d, &extra, 1);
	}
	return 0;
}

static int read_dists(struct closure *c, const json_t *install, struct error *err)
{
	bool told = false;

	for (size_t i = 0; i < c->count; i++) {
		const json_t *item = json_array_get(install, i);
		cleanup_free char *where = xasprintf("install[%zu]", i);

		if (read_dist(c, item, where, &c->dists[i], err) < 0)
			return -1;
		told |= json_is_true(json_object_get(item, "requested"));
	}
	for (size_t i = 0; i < c->count; i++) {
		const json_t *item = json_array_get(install, i);
		cleanup_free char *where = xasprintf("install[%zu]", i);

		if ((!told || json_is_true(json_object_get(item, "requested"))) &&
		    want_requested(c, item, where, &c->dists[i], err) < 0)
			return -1;
	}
	return 0;
}

static int verdict(const struct closure *c, const json_t *report, struct error *err)
{
	const json_t *environment = json_object_get(report, "environment");
	const char *python = json_string_value(json_object_get(environment, "python_full_version"));

	for (size_t i = 0; i < c->count; i++) {
		if (!c->dists[i].reached)
			out_warn(c->out,
				 "%s %s is locked though nothing requires it on Python %s, %s: pip "
				 "judged markers for its own Python %s",
				 c->dists[i].name, c->dists[i].version,
				 c->environment.python_full_version,
				 c->environment.platform_machine, python ? python : "");
	}
	if (!c->missing_count)
		return 0;
	return error_set(
		err, ERROR_VERDICT,
		"on Python %s, %s, %s, and pip left %s out, since it judged markers for its own "
		"Python %.20s; name %s in the manifest, or lock where python3 is that version",
		c->environment.python_full_version, c->environment.platform_machine,
		strbuf_text(&c->missing), c->missing_count > 1 ? "them" : "it",
		python ? python : "", c->missing_count > 1 ? "them" : "it");
}

int wheel_check_closure(const json_t *report, const struct wheel_target *target,
			const struct out *out, struct error *err)
{
	struct closure c = { .out = out };
	json_t *install;
	int rc;

	if (json_get_array(report, "", "install", &install, err) < 0)
		return -1;
	c.environment.python_version = arena_printf(&c.arena, "3.%u", target->python_minor);
	c.environment.python_full_version =
		strchr(target->python_full + 2, '.')
			? target->python_full
			: arena_printf(&c.arena, "3.%u.0", target->python_minor);
	c.environment.platform_machine = target->machine;
	c.count = json_array_size(install);
	c.dists = arena_array(&c.arena, c.count + 1, sizeof(*c.dists));
	rc = read_dists(&c, install, err);
	if (rc == 0) {
		walk(&c);
		rc = verdict(&c, report, err);
	}
	map_release(&c.by_name);
	strbuf_release(&c.missing);
	arena_release(&c.arena);
	return rc;
}
