#include "builder/sources/deb_universe.h"

#include "formats/deb822.h"

enum { PACKAGES_LIMIT = 1000000, FILENAME_LIMIT = 1024 };

void deb_universe_release(struct deb_universe *u)
{
	vec_release(&u->indexes);
	vec_release(&u->packages);
	vec_release(&u->names);
	vec_release(&u->provides);
	vec_release(&u->forced_foreign);
	free(u->slots);
	u->slots = NULL;
	u->slot_count = 0;
}

/* FNV-1a: the order of nothing depends on it. */
static size_t hash(struct slice s)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < s.len; i++)
		h = (h ^ s.data[i]) * UINT64_C(0x100000001b3);
	return (size_t)(h ^ h >> 32);
}

static size_t slot_of(const struct deb_universe *u, struct slice name)
{
	size_t at = hash(name) & (u->slot_count - 1);

	while (u->slots[at] && !slice_equal(u->names.items[u->slots[at] - 1].text, name))
		at = (at + 1) & (u->slot_count - 1);
	return at;
}

static void grow(struct deb_universe *u)
{
	u->slot_count = u->slot_count ? u->slot_count * 2 : 1024;
	free(u->slots);
	u->slots = xcalloc(u->slot_count, sizeof(*u->slots));
	for (size_t i = 0; i < u->names.len; i++)
		u->slots[slot_of(u, u->names.items[i].text)] = (uint32_t)i + 1;
}

struct deb_name *deb_universe_name(const struct deb_universe *u, struct slice name)
{
	uint32_t slot = u->slot_count ? u->slots[slot_of(u, name)] : 0;

	return slot ? &u->names.items[slot - 1] : NULL;
}

static struct deb_name *add_name(struct deb_universe *u, struct slice name)
{
	size_t at;

	if (u->names.len * 2 >= u->slot_count)
		grow(u);
	at = slot_of(u, name);
	if (!u->slots[at]) {
		struct deb_name n = { .text = name,
				      .first = DEB_NONE,
				      .last = DEB_NONE,
				      .provider = DEB_NONE,
				      .last_provider = DEB_NONE,
				      .candidate = DEB_NONE,
				      .mention = DEB_NONE };

		vec_push(&u->names, n);
		u->slots[at] = (uint32_t)u->names.len;
	}
	return &u->names.items[u->slots[at] - 1];
}

enum field {
	F_PACKAGE,
	F_VERSION,
	F_ARCH,
	F_SOURCE,
	F_PRE_DEPENDS,
	F_DEPENDS,
	F_CONFLICTS,
	F_BREAKS,
	F_PROVIDES,
	F_RECOMMENDS,
	F_SUGGESTS,
	F_REPLACES,
	F_ENHANCES,
	F_FILENAME,
	F_SIZE,
	F_SHA256,
	F_PRIORITY,
	F_MULTI_ARCH,
	F_ESSENTIAL,
	F_STATUS,
	F_COUNT,
};

static const char *const field_names[F_COUNT] = {
	[F_PACKAGE] = "package",
	[F_VERSION] = "version",
	[F_ARCH] = "architecture",
	[F_SOURCE] = "source",
	[F_PRE_DEPENDS] = "pre-depends",
	[F_DEPENDS] = "depends",
	[F_CONFLICTS] = "conflicts",
	[F_BREAKS] = "breaks",
	[F_PROVIDES] = "provides",
	[F_RECOMMENDS] = "recommends",
	[F_SUGGESTS] = "suggests",
	[F_REPLACES] = "replaces",
	[F_ENHANCES] = "enhances",
	[F_FILENAME] = "filename",
	[F_SIZE] = "size",
	[F_SHA256] = "sha256",
	[F_PRIORITY] = "priority",
	[F_MULTI_ARCH] = "multi-arch",
	[F_ESSENTIAL] = "essential",
	[F_STATUS] = "status",
};

static bool same_word(struct slice s, const char *lower)
{
	size_t i = 0;

	for (; i < s.len && lower[i]; i++) {
		uint8_t c = s.data[i];

		if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != lower[i])
			return false;
	}
	return i == s.len && !lower[i];
}

/* One pass over the stanza's fields: there are as many names to look for as fields. */
static void pick_fields(const struct deb822 *stanza, struct slice out[F_COUNT])
{
	memset(out, 0, F_COUNT * sizeof(*out));
	for (size_t i = 0; i < stanza->len; i++) {
		struct slice name = stanza->items[i].name;

		for (size_t f = 0; f < F_COUNT; f++) {
			if (same_word(name, field_names[f])) {
				out[f] = stanza->items[i].value;
				break;
			}
		}
	}
}

static uint8_t parse_priority(struct slice s)
{
	static const char *const words[] = { "required", "important", "standard", "optional" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (same_word(s, words[i]))
			return (uint8_t)(i + 1);
	}
	return DEB_EXTRA;
}

static uint8_t parse_multi_arch(struct slice s)
{
	if (same_word(s, "same"))
		return DEB_MULTI_SAME;
	if (same_word(s, "foreign"))
		return DEB_MULTI_FOREIGN;
	return same_word(s, "allowed") ? DEB_MULTI_ALLOWED : DEB_MULTI_NO;
}

/* Relative, of printable ASCII, without empty parts, ".." and backslashes; "./" may begin it. */
static bool filename_valid(struct slice s)
{
	struct slice rest = s, part;
	bool first = true;

	if (!s.len || s.len > FILENAME_LIMIT)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.data[i] <= 0x20 || s.data[i] >= 0x7f || s.data[i] == '\\')
			return false;
	}
	for (; slice_cut(&rest, '/', &part); first = false) {
		if (!part.len || slice_is(part, "..") || (slice_is(part, ".") && !first))
			return false;
	}
	return true;
}

static bool hex64(struct slice s)
{
	if (s.len != 64)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.data[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
			return false;
	}
	return true;
}

static int bad_field(const char *index, size_t line, struct slice package, const char *what,
		     struct slice value, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };

	strbuf_add_quoted(&text, package, 60);
	strbuf_addf(&text, ": %s ", what);
	strbuf_add_quoted(&text, value, 60);
	return error_set(err, ERROR_FORMAT, "%s: stanza before line %zu: package %s", index, line,
			 strbuf_text(&text));
}

static int read_file_fields(struct slice f[F_COUNT], const char *index, size_t line,
			    struct deb_package *p, struct error *err)
{
	if (!f[F_FILENAME].len || !f[F_SHA256].len || !f[F_SIZE].len)
		return 0; /* may be listed, but cannot be had */
	if (!filename_valid(f[F_FILENAME]))
		return bad_field(index, line, p->name,
				 "Filename is no path below the repository:", f[F_FILENAME], err);
	if (!hex64(f[F_SHA256]))
		return bad_field(index, line, p->name, "SHA256 is no digest:", f[F_SHA256], err);
	if (!slice_u64(f[F_SIZE], &p->size) || !p->size || p->size > UINT64_C(1) << 40)
		return bad_field(index, line, p->name, "Size is no size:", f[F_SIZE], err);
	p->filename = f[F_FILENAME];
	p->sha256 = f[F_SHA256];
	return 0;
}

static int read_package(struct slice f[F_COUNT], const char *index, size_t line,
			struct deb_package *p, struct error *err)
{
	*p = (struct deb_package){
		.name = f[F_PACKAGE],
		.version = f[F_VERSION],
		.arch = f[F_ARCH],
		.source = f[F_SOURCE],
		.pre_depends = f[F_PRE_DEPENDS],
		.depends = f[F_DEPENDS],
		.conflicts = f[F_CONFLICTS],
		.breaks = f[F_BREAKS],
		.provides = f[F_PROVIDES],
		.recommends = f[F_RECOMMENDS],
		.suggests = f[F_SUGGESTS],
		.replaces = f[F_REPLACES],
		.enhances = f[F_ENHANCES],
		.priority = parse_priority(f[F_PRIORITY]),
		.multi_arch = parse_multi_arch(f[F_MULTI_ARCH]),
		.essential = same_word(f[F_ESSENTIAL], "yes"),
		.next = DEB_NONE,
	};
	if (!deb_name_valid(p->name))
		return bad_field(index, line, p->name, "the name is none;", p->name, err);
	if (!deb_version_valid(p->version))
		return bad_field(index, line, p->name, "the version is none:", p->version, err);
	if (!deb_name_valid(p->arch))
		return bad_field(index, line, p->name, "the architecture is none:", p->arch, err);
	return read_file_fields(f, index, line, p, err);
}

/* Provides that cannot be read are provided to nobody. */
static void add_provides(struct deb_universe *u, uint32_t package)
{
	struct slice rest = u->packages.items[package].provides, group;

	while (deb_relation_group(&rest, &group)) {
		struct deb_provide entry = { .package = package, .next = DEB_NONE };
		struct deb_relation r;
		struct deb_name *name;
		uint32_t at = (uint32_t)u->provides.len;

		if (deb_relation_next(&group, &r) != 1 || group.data ||
		    (r.op != DEB_ANY && r.op != DEB_EQUAL))
			continue;
		entry.version = r.version;
		vec_push(&u->provides, entry);
		name = add_name(u, r.name);
		if (name->last_provider == DEB_NONE)
			name->provider = at;
		else
			u->provides.items[name->last_provider].next = at;
		name->last_provider = at;
	}
}

static void add_package(struct deb_universe *u, const struct deb_package *p)
{
	uint32_t at = (uint32_t)u->packages.len;
	struct deb_name *name = add_name(u, p->name);

	vec_push(&u->packages, *p);
	if (name->last == DEB_NONE)
		name->first = at;
	else
		u->packages.items[name->last].next = at;
	name->last = at;
	name->looked_up = name->forced;
	if (p->provides.len)
		add_provides(u, at);
}

static bool wanted_arch(const struct deb_universe *u, struct slice arch, const char *archs)
{
	struct slice rest = slice_str(archs ? archs : ""), word;

	if (!archs)
		return slice_is(arch, u->arch) || slice_is(arch, "all");
	while (slice_cut(&rest, ' ', &word)) {
		if (slice_equal(arch, word))
			return true;
	}
	return false;
}

int deb_universe_add(struct deb_universe *u, const struct deb_index *index, struct slice text,
		     const char *archs, struct error *err)
{
	cleanup_deb822 struct deb822 stanza = { 0 };
	struct slice f[F_COUNT];
	uint32_t at = (uint32_t)u->indexes.len;
	size_t line = 1;
	int rc;

	vec_push(&u->indexes, *index);
	while ((rc = deb822_next(&text, index->label_text, &line, &stanza, err)) > 0) {
		struct deb_package p;

		pick_fields(&stanza, f);
		if (index->installed && !slice_is(f[F_STATUS], "install ok installed") &&
		    !slice_is(f[F_STATUS], "hold ok installed"))
			continue;
		if (read_package(f, index->label_text, line, &p, err) < 0)
			return -1;
		if (!wanted_arch(u, p.arch, archs))
			continue;
		if (u->packages.len == PACKAGES_LIMIT)
			return error_set(err, ERROR_LIMIT, "%s: more than %d packages",
					 index->label_text, PACKAGES_LIMIT);
		p.index = at;
		add_package(u, &p);
	}
	return rc;
}

static void mention(struct deb_universe *u, struct slice name)
{
	struct deb_name *n = deb_universe_name(u, name);

	if (n && n->mention == DEB_NONE)
		n->mention = u->mentions++;
}

static void mention_field(struct deb_universe *u, struct slice field)
{
	struct slice group;

	while (deb_relation_group(&field, &group)) {
		struct deb_relation r;
		int rc;

		while ((rc = deb_relation_next(&group, &r))) {
			/* "name:any" is a thing of its own to apt. */
			if (rc > 0 && !slice_is(r.arch, "any"))
				mention(u, r.name);
		}
	}
}

/* In the order in which apt reads the fields. */
static void mention_package(struct deb_universe *u, uint32_t at)
{
	const struct deb_package *p = &u->packages.items[at];
	struct slice fields[] = { p->pre_depends, p->depends,    p->conflicts,
				  p->breaks,      p->recommends, p->suggests,
				  p->replaces,    p->enhances,   p->provides };

	mention(u, p->name);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		mention_field(u, fields[i]);
}

uint32_t deb_mention_rank(struct deb_universe *u, uint32_t package)
{
	const struct deb_name *name = deb_universe_name(u, u->packages.items[package].name);

	/* Read no further than to this package: ties are rare, and mostly early. */
	while (name->mention == DEB_NONE && u->mentions_read < u->packages.len)
		mention_package(u, u->mentions_read++);
	return name->mention;
}

struct slice deb_package_arch(const struct deb_universe *u, const struct deb_package *p)
{
	return slice_is(p->arch, "all") ? slice_str(u->arch) : p->arch;
}
