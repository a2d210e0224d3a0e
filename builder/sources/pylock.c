#include "builder/sources/pylock.h"

#include <limits.h>

#include "formats/marker.h"
#include "builder/sources/wheel_check.h"
#include "formats/wheel_meta.h"
#include "formats/toml.h"

enum { PACKAGES_MAX = 10000, TAGS_SHOWN = 6, SHOWN = 80 };

struct reading {
	const char *file;
	const struct wheel_target *target;
	const struct out *out;
	struct arena *arena;
	struct marker_environment environment;
	const char *python; /* full version, for requires-python */
};

bool pylock_is_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t n = strlen(name);

	if (str_equal(name, "pylock.toml"))
		return true;
	return str_starts(name, "pylock.") && str_ends(name, ".toml") &&
	       n > strlen("pylock..toml") &&
	       !memchr(name + strlen("pylock."), '.', n - strlen("pylock..toml"));
}

/* A member of one type; *out is NULL when it is missing and may be. */
static int member(const struct node *map, const char *key, enum node_type type, bool needed,
		  const struct node **out, struct error *err)
{
	const struct node *n = node_get(map, key);

	*out = n;
	if (!n)
		return needed ? node_error(map, ERROR_FORMAT, err, "'%s' is missing", key) : 0;
	if (n->type != type || (type == NODE_SCALAR && !n->quoted))
		return node_error(n, ERROR_FORMAT, err, "'%s' must be %s", key,
				  type == NODE_MAP    ? "a table"
				  : type == NODE_LIST ? "an array"
						      : "a text in quotes");
	return 0;
}

/* A text; NULL when it is missing and may be. */
static int text_of(const struct node *map, const char *key, bool needed, const char **out,
		   struct error *err)
{
	const struct node *n;

	if (member(map, key, NODE_SCALAR, needed, &n, err) < 0)
		return -1;
	*out = n ? n->text : NULL;
	return 0;
}

static int check_version(const struct node *top, const struct out *out, struct error *err)
{
	const char *version, *by;

	if (text_of(top, "lock-version", true, &version, err) < 0 ||
	    text_of(top, "created-by", true, &by, err) < 0)
		return -1;
	if (!str_equal(version, "1") && !str_starts(version, "1."))
		return node_error(node_get(top, "lock-version"), ERROR_FORMAT, err,
				  "lock-version '%.20s' is not known; 1.x is read here", version);
	if (out && !str_equal(version, "1.0") && !str_equal(version, "1"))
		out_warn(out, "%s: lock-version %.20s is newer than 1.0, which is read here",
			 top->file, version);
	return 0;
}

static int holds(const struct reading *r, const struct node *marker, bool *out, struct error *err)
{
	struct error cause = { 0 };

	*out = true;
	if (!marker ||
	    marker_evaluate(slice_str(marker->text), &r->environment, "", out, &cause) == 0)
		return 0;
	return node_error(marker, ERROR_FORMAT, err, "%s", cause.text);
}

static int check_python(const struct reading *r, const struct node *map, const char *what,
			struct error *err)
{
	const struct node *n;
	bool valid, in;

	if (member(map, "requires-python", NODE_SCALAR, false, &n, err) < 0)
		return -1;
	if (!n)
		return 0;
	in = marker_version_in(slice_str(r->python), slice_str(n->text), &valid);
	if (!valid)
		return node_error(n, ERROR_FORMAT, err, "'%.60s' is no range of versions", n->text);
	if (!in)
		return node_error(n, ERROR_VERDICT, err,
				  "%s is for Python %.60s, and the image has %s", what, n->text,
				  r->python);
	return 0;
}

/* Some of the environments that the file was made for is the image's. */
static int check_environments(const struct reading *r, const struct node *top, struct error *err)
{
	const struct node *list;
	bool any = false, one;

	if (member(top, "environments", NODE_LIST, false, &list, err) < 0)
		return -1;
	for (size_t i = 0; list && i < list->count && !any; i++) {
		if (list->items[i].type != NODE_SCALAR)
			return node_error(&list->items[i], ERROR_FORMAT, err,
					  "'environments' is a list of markers");
		if (holds(r, &list->items[i], &one, err) < 0)
			return -1;
		any |= one;
	}
	if (list && list->count && !any)
		return node_error(list, ERROR_VERDICT, err,
				  "it was made for other environments than Python %s on Linux, %s: "
				  "'%.100s'%s",
				  r->python, r->target->machine, list->items[0].text,
				  list->count > 1 ? ", …" : "");
	return 0;
}

/* The groups that are installed when none is named, each between two blanks. */
static int read_groups(struct reading *r, const struct node *top, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	const struct node *list;

	if (member(top, "default-groups", NODE_LIST, false, &list, err) < 0)
		return -1;
	strbuf_addc(&text, ' ');
	for (size_t i = 0; list && i < list->count; i++)
		strbuf_addf(&text, "%s ",
			    wheel_normalize(slice_str(list->items[i].text), r->arena));
	r->environment.groups = arena_strdup(r->arena, strbuf_text(&text));
	return 0;
}

/* The last part of a path or address. */
static const char *last_part(const char *text, struct arena *arena)
{
	size_t len = strcspn(text, "?#");
	const char *slash = len ? memrchr(text, '/', len) : NULL;
	const char *name = slash ? slash + 1 : text;

	return arena_slice(arena, slice_of(name, len - (size_t)(name - text)));
}

static int read_hashes(const struct node *map, struct digest *out, struct error *err)
{
	const struct node *hashes;
	struct error cause = { 0 };
	const char *hex;

	if (member(map, "hashes", NODE_MAP, true, &hashes, err) < 0 ||
	    text_of(hashes, "sha256", false, &hex, err) < 0)
		return -1;
	if (!hex)
		return node_error(hashes, ERROR_USAGE, err,
				  "there is no sha256 among the hashes; lock again with one");
	if (digest_parse_sha256_hex(slice_str(hex), out, &cause) < 0)
		return node_error(node_get(hashes, "sha256"), ERROR_FORMAT, err, "%s", cause.text);
	return 0;
}

static int read_size(const struct node *map, uint64_t *out, struct error *err)
{
	const struct node *n = node_get(map, "size");

	*out = 0;
	if (!n || node_u64(n, out))
		return 0;
	return node_error(n, ERROR_FORMAT, err, "'size' must be a number of bytes");
}

/* No line break or the like in what becomes an address. */
static bool is_plain(const char *text)
{
	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return false;
	}
	return true;
}

/* Where a wheel is and what it is called. */
static int read_place(const struct reading *r, const struct node *map, struct pylock_wheel *out,
		      struct error *err)
{
	if (text_of(map, "name", false, &out->file, err) < 0 ||
	    text_of(map, "url", false, &out->url, err) < 0 ||
	    text_of(map, "path", false, &out->path, err) < 0)
		return -1;
	if (!out->url && !out->path)
		return node_error(map, ERROR_FORMAT, err, "neither 'url' nor 'path' is given");
	if (out->url && (!is_plain(out->url) ||
			 !(str_starts(out->url, "https://") || str_starts(out->url, "http://") ||
			   str_starts(out->url, "file:///"))))
		return node_error(
			node_get(map, "url"), ERROR_USAGE, err,
			"this is no address that begins with https://, http:// or file:///");
	if (out->path && (!*out->path || !is_plain(out->path)))
		return node_error(node_get(map, "path"), ERROR_USAGE, err,
				  "this is no path of a wheel");
	if (!out->file)
		out->file = last_part(out->url ? out->url : out->path, r->arena);
	out->line = map->line;
	out->column = map->column;
	return 0;
}

static int read_wheel(const struct reading *r, const struct node *map, struct pylock_wheel *out,
		      struct error *err)
{
	if (map->type != NODE_MAP)
		return node_error(map, ERROR_FORMAT, err, "a wheel is a table");
	if (read_place(r, map, out, err) < 0 || read_hashes(map, &out->digest, err) < 0)
		return -1;
	return read_size(map, &out->size, err);
}

/* The version of a wheel's file name is the package's, and so is its name. */
static int check_file(const struct node *at, const struct wheel_name *file,
		      const struct pylock_wheel *wheel, const struct reading *r, struct error *err)
{
	bool valid = true;

	if (!str_equal(wheel_normalize(slice_str(file->distribution), r->arena), wheel->name))
		return node_error(at, ERROR_FORMAT, err, "%.100s is no wheel of %s", wheel->file,
				  wheel->name);
	if (*wheel->version &&
	    !marker_version_meets(slice_str(file->version), slice_str("=="),
				  slice_str(wheel->version), &valid) &&
	    !str_equal(file->version, wheel->version))
		return node_error(at, ERROR_FORMAT, err, "%.100s is no wheel of %s %s", wheel->file,
				  wheel->name, wheel->version);
	return 0;
}

/* The tags of all wheels, each once, at most TAGS_SHOWN. */
static void add_tags(const struct wheel_name *file, size_t shown, struct strbuf *out)
{
	if (shown == TAGS_SHOWN)
		strbuf_adds(out, ", …");
	if (shown < TAGS_SHOWN)
		strbuf_addf(out, "%s%s-%s-%s", out->len ? ", " : "", file->python, file->abi,
			    file->platform);
}

static int no_wheel_fits(const struct reading *r, const struct node *list,
			 const struct pylock_wheel *package, const struct strbuf *tags,
			 struct error *err)
{
	return node_error(
		list, ERROR_VERDICT, err,
		"no wheel of %s %s is for Python 3.%u on %s with glibc 2.%u: offered are %s; "
		"taken are %s",
		package->name, package->version, r->target->python_minor, r->target->machine,
		r->target->glibc_minor, strbuf_text(tags), wheel_tags_taken(r->target, r->arena));
}

static int best_wheel(const struct reading *r, const struct node *list, struct pylock_wheel *out,
		      struct error *err)
{
	struct pylock_wheel best = *out;
	unsigned best_rank = UINT_MAX;
	cleanup_strbuf struct strbuf tags = { 0 };

	for (size_t i = 0; i < list->count; i++) {
		struct pylock_wheel wheel = *out;
		struct wheel_name file;
		struct error cause = { 0 };
		unsigned rank;

		if (read_wheel(r, &list->items[i], &wheel, err) < 0)
			return -1;
		if (wheel_name_parse(wheel.file, r->arena, &file, &cause) < 0)
			return node_error(&list->items[i], ERROR_FORMAT, err, "%s", cause.text);
		if (check_file(&list->items[i], &file, &wheel, r, err) < 0)
			return -1;
		if (!*wheel.version)
			wheel.version = file.version;
		add_tags(&file, i, &tags);
		rank = wheel_rank(&file, r->target);
		if (rank < best_rank) {
			best = wheel;
			best_rank = rank;
		}
	}
	if (best_rank == UINT_MAX)
		return no_wheel_fits(r, list, out, &tags, err);
	*out = best;
	return 0;
}

/* What is no wheel would have to be built. */
static int refuse_source(const struct node *package, const char *name, struct error *err)
{
	static const struct {
		const char *key, *what;
	} kinds[] = {
		{ "vcs", "from version control" },
		{ "directory", "from a folder" },
		{ "archive", "from an archive of its source" },
		{ "sdist", "from its source (sdist)" },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct node *n = node_get(package, kinds[i].key);

		if (n)
			return node_error(n, ERROR_USAGE, err,
					  "%s would have to be built %s, and only wheels are "
					  "installed; build a wheel of it and lock that",
					  name, kinds[i].what);
	}
	return node_error(package, ERROR_FORMAT, err, "%s has no wheels", name);
}

/* An archive may be a wheel after all. */
static bool archive_wheel(const struct reading *r, const struct node *package,
			  const struct node **out)
{
	const struct node *archive = node_get(package, "archive"), *at;

	if (!archive || archive->type != NODE_MAP)
		return false;
	at = node_get(archive, node_get(archive, "url") ? "url" : "path");
	if (!at || !str_ends(last_part(at->text, r->arena), ".whl"))
		return false;
	*out = archive;
	return true;
}

static int read_package(const struct reading *r, const struct node *package, bool *out_in,
			struct pylock_wheel *out, struct error *err)
{
	const struct node *marker, *wheels, *archive;
	const char *name, *version;

	*out_in = false;
	if (package->type != NODE_MAP)
		return node_error(package, ERROR_FORMAT, err, "'packages' is an array of tables");
	if (text_of(package, "name", true, &name, err) < 0 ||
	    text_of(package, "version", false, &version, err) < 0 ||
	    member(package, "marker", NODE_SCALAR, false, &marker, err) < 0 ||
	    member(package, "wheels", NODE_LIST, false, &wheels, err) < 0)
		return -1;
	if (!*name || strlen(name) > SHOWN || !is_plain(name) || (version && !is_plain(version)))
		return node_error(package, ERROR_FORMAT, err,
				  "'%.60s' '%.60s' is no name and version", name,
				  version ? version : "");
	if (holds(r, marker, out_in, err) < 0)
		return -1;
	if (!*out_in)
		return 0;
	out->name = wheel_normalize(slice_str(name), r->arena);
	out->version = version ? version : "";
	if (check_python(r, package, out->name, err) < 0)
		return -1;
	if (archive_wheel(r, package, &archive)) {
		struct node list = { .type = NODE_LIST,
				     .file = archive->file,
				     .line = archive->line,
				     .column = archive->column,
				     .text = "",
				     .items = archive,
				     .count = 1 };

		return best_wheel(r, &list, out, err);
	}
	if (!wheels || !wheels->count)
		return refuse_source(package, out->name, err);
	return best_wheel(r, wheels, out, err);
}

static int take(const struct node *package, const struct pylock_wheel *wheel, struct pylock *found,
		struct error *err)
{
	for (size_t i = 0; i < found->len; i++) {
		if (str_equal(found->items[i].name, wheel->name))
			return node_error(
				package, ERROR_USAGE, err,
				"%s is in it twice for this Python and platform, as %s and "
				"%s: its markers do not tell which",
				wheel->name, found->items[i].version, wheel->version);
	}
	vec_push(found, *wheel);
	return 0;
}

static int read_top(struct slice text, const char *file, struct arena *arena, const struct out *out,
		    struct node *top, const struct node **out_packages, struct error *err)
{
	if (toml_parse(text, file, arena, top, err) < 0 || check_version(top, out, err) < 0 ||
	    member(top, "packages", NODE_LIST, true, out_packages, err) < 0)
		return -1;
	if ((*out_packages)->count > PACKAGES_MAX)
		return error_set(err, ERROR_LIMIT, "%s: %zu packages; the limit is %d", file,
				 (*out_packages)->count, PACKAGES_MAX);
	return 0;
}

int pylock_parse(struct slice text, const char *file, const struct wheel_target *target,
		 const struct out *out, struct arena *arena, struct pylock *found,
		 struct error *err)
{
	struct reading r = { .file = file, .target = target, .out = out, .arena = arena };
	const struct node *packages;
	struct node top;

	if (read_top(text, file, arena, out, &top, &packages, err) < 0)
		return -1;
	r.python = strchr(target->python_full + 2, '.')
			   ? target->python_full
			   : arena_printf(arena, "3.%u.0", target->python_minor);
	r.environment.python_version = arena_printf(arena, "3.%u", target->python_minor);
	r.environment.python_full_version = r.python;
	r.environment.platform_machine = target->machine;
	if (read_groups(&r, &top, err) < 0 || check_environments(&r, &top, err) < 0 ||
	    check_python(&r, &top, "it", err) < 0)
		return -1;
	for (size_t i = 0; i < packages->count; i++) {
		struct pylock_wheel wheel = { 0 };
		bool in;

		if (read_package(&r, &packages->items[i], &in, &wheel, err) < 0 ||
		    (in && take(&packages->items[i], &wheel, found, err) < 0))
			return -1;
	}
	return 0;
}

int pylock_list(struct slice text, const char *file, struct arena *arena, struct pylock_names *out,
		struct error *err)
{
	const struct node *packages;
	struct node top;

	if (read_top(text, file, arena, NULL, &top, &packages, err) < 0)
		return -1;
	for (size_t i = 0; i < packages->count; i++) {
		struct pylock_name one = { 0 };
		const char *name;

		if (packages->items[i].type != NODE_MAP)
			return node_error(&packages->items[i], ERROR_FORMAT, err,
					  "'packages' is an array of tables");
		if (text_of(&packages->items[i], "name", true, &name, err) < 0 ||
		    text_of(&packages->items[i], "version", false, &one.version, err) < 0 ||
		    text_of(&packages->items[i], "marker", false, &one.marker, err) < 0)
			return -1;
		one.name = wheel_normalize(slice_str(name), arena);
		one.version = one.version ? one.version : "";
		one.marker = one.marker ? one.marker : "";
		vec_push(out, one);
	}
	return 0;
}
