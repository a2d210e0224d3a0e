/* Which version of a package is considered: pins, requests, CUDA builds. */
#include "builder/sources/deb_universe.h"

static bool is_any_of(struct slice value, const char *a, const char *b)
{
	return (a && slice_is(value, a)) || (b && slice_is(value, b));
}

static bool pattern_fits(const char *text, struct slice pattern)
{
	return text && deb_version_matches(slice_str(text), pattern);
}

/* "a=stable,o=Debian"; a bare word is a suite or codename, a bare number a version. */
static bool release_fits(const struct deb_index *index, struct slice value)
{
	struct slice term;

	while (slice_cut(&value, ',', &term)) {
		struct slice v;
		bool fits;

		term = slice_trim(term);
		v = term.len > 2 ? slice_of(term.data + 2, term.len - 2) : (struct slice){ 0 };
		if (slice_starts(term, "a="))
			fits = pattern_fits(index->suite, v);
		else if (slice_starts(term, "n="))
			fits = pattern_fits(index->codename, v);
		else if (slice_starts(term, "o="))
			fits = pattern_fits(index->origin, v);
		else if (slice_starts(term, "l="))
			fits = pattern_fits(index->label, v);
		else if (slice_starts(term, "c="))
			fits = pattern_fits(index->component, v);
		else if (slice_starts(term, "v="))
			fits = pattern_fits(index->release_version, v);
		else if (term.len && term.data[0] >= '0' && term.data[0] <= '9')
			fits = pattern_fits(index->release_version, term);
		else
			fits = is_any_of(term, index->suite, index->codename);
		if (!fits)
			return false;
	}
	return true;
}

static bool origin_fits(const struct deb_index *index, struct slice value)
{
	if (value.len >= 2 && value.data[0] == '"' && value.data[value.len - 1] == '"')
		value = slice_of(value.data + 1, value.len - 2);
	return pattern_fits(index->host ? index->host : "", value);
}

static bool pin_fits(const struct deb_universe *u, const struct deb_pin *pin,
		     const struct deb_package *p)
{
	const struct deb_index *index = &u->indexes.items[p->index];

	switch (pin->kind) {
	case DEB_PIN_RELEASE:
		return release_fits(index, pin->value);
	case DEB_PIN_ORIGIN:
		return origin_fits(index, pin->value);
	case DEB_PIN_VERSION:
		return deb_version_matches(p->version, pin->value);
	}
	return false;
}

static struct slice source_name(const struct deb_package *p)
{
	struct slice s = p->source.len ? p->source : p->name, word;

	return slice_cut(&s, ' ', &word) ? word : s;
}

/* Whether a record's "Package:" names the package itself. */
static bool pin_names(const struct deb_pin *pin, const struct deb_package *p)
{
	struct slice rest = pin->packages, word;

	while (slice_cut(&rest, ' ', &word)) {
		word = slice_trim(word);
		if (!word.len)
			continue;
		if (slice_starts(word, "src:") &&
		    deb_version_matches(source_name(p), slice_of(word.data + 4, word.len - 4)))
			return true;
		if (deb_version_matches(p->name, word))
			return true;
	}
	return false;
}

static int default_priority(const struct deb_universe *u, const struct deb_index *index)
{
	if (index->installed)
		return 100;
	if (u->default_release &&
	    is_any_of(slice_str(u->default_release), index->suite, index->codename))
		return 990;
	if (index->not_automatic)
		return index->but_automatic_upgrades ? 100 : 1;
	return 500;
}

int deb_pin_priority(const struct deb_universe *u, const struct deb_package *p)
{
	/* The first record that names the package wins, then the first general one. */
	for (int general = 0; general < 2; general++) {
		for (size_t i = 0; i < u->pin_count; i++) {
			const struct deb_pin *pin = &u->pins[i];

			if (slice_is(pin->packages, "*") == (general == 1) &&
			    (general || pin_names(pin, p)) && pin_fits(u, pin, p))
				return pin->priority;
		}
	}
	return default_priority(u, &u->indexes.items[p->index]);
}

/* The highest minor that is not above the stack's is the best; another major never fits. */
unsigned deb_cuda_rank(const struct deb_universe *u, struct slice version)
{
	const uint8_t *mark = version.len ? memmem(version.data, version.len, "+cuda", 5) : NULL;
	struct slice rest, major_text, minor_text;
	uint64_t major, minor;
	size_t n = 0;

	if (!mark || !u->cuda_major)
		return 1;
	rest = slice_of(mark + 5, version.len - (size_t)(mark + 5 - version.data));
	if (!slice_cut(&rest, '.', &major_text) || !slice_u64(major_text, &major) || !rest.data)
		return 1;
	while (n < rest.len && rest.data[n] >= '0' && rest.data[n] <= '9')
		n++;
	minor_text = slice_of(rest.data, n);
	if (!slice_u64(minor_text, &minor))
		return 1;
	return major == u->cuda_major && minor <= u->cuda_minor ? 2 + (unsigned)minor : 0;
}

struct best {
	uint32_t package;
	int priority;
	unsigned cuda;
};

static bool is_better(const struct deb_universe *u, const struct best *a, const struct best *b)
{
	if (b->package == DEB_NONE || a->cuda != b->cuda)
		return b->package == DEB_NONE || a->cuda > b->cuda;
	if (a->priority != b->priority)
		return a->priority > b->priority;
	return deb_version_compare(u->packages.items[a->package].version,
				   u->packages.items[b->package].version) > 0;
}

static uint32_t best_of(struct deb_universe *u, const struct deb_name *name, struct slice arch,
			struct slice pattern, const char *id)
{
	struct best best = { .package = DEB_NONE };

	for (uint32_t at = name->first; at != DEB_NONE; at = u->packages.items[at].next) {
		const struct deb_package *p = &u->packages.items[at];
		struct best it = { .package = at };

		if (!slice_equal(deb_package_arch(u, p), arch) ||
		    (id && !str_equal(u->indexes.items[p->index].id, id)) ||
		    (pattern.len && !deb_version_matches(p->version, pattern)))
			continue;
		it.priority = deb_pin_priority(u, p);
		it.cuda = deb_cuda_rank(u, p->version);
		/* A version that was asked for by name is not subject to pins. */
		if ((it.priority < 0 && !pattern.len) || !it.cuda)
			continue;
		if (pattern.len)
			it.priority = 0;
		if (is_better(u, &it, &best))
			best = it;
	}
	return best.package;
}

uint32_t deb_candidate(struct deb_universe *u, struct slice name, struct slice arch)
{
	struct deb_name *n = deb_universe_name(u, name);

	if (!n)
		return DEB_NONE;
	if (!slice_is(arch, u->arch)) {
		for (size_t i = 0; i < u->forced_foreign.len; i++) {
			const struct deb_package *p =
				&u->packages.items[u->forced_foreign.items[i]];

			if (slice_equal(p->name, name) && slice_equal(p->arch, arch))
				return u->forced_foreign.items[i];
		}
		return best_of(u, n, arch, (struct slice){ 0 }, NULL);
	}
	if (!n->looked_up) {
		n->candidate = best_of(u, n, arch, (struct slice){ 0 }, NULL);
		n->looked_up = true;
	}
	return n->candidate;
}

void deb_universe_force(struct deb_universe *u, uint32_t package)
{
	const struct deb_package *p = &u->packages.items[package];
	struct deb_name *n = deb_universe_name(u, p->name);

	if (!slice_equal(deb_package_arch(u, p), slice_str(u->arch))) {
		vec_push(&u->forced_foreign, package);
	} else if (n) {
		n->candidate = package;
		n->looked_up = n->forced = true;
	}
}

void deb_universe_unforce(struct deb_universe *u)
{
	u->forced_foreign.len = 0;
	for (size_t i = 0; i < u->names.len; i++) {
		if (u->names.items[i].forced)
			u->names.items[i].looked_up = u->names.items[i].forced = false;
	}
}

static bool version_fits(struct slice version, const struct deb_relation *r)
{
	return deb_version_satisfies(version, r->op, r->version);
}

static bool arch_fits(const struct deb_universe *u, const struct deb_package *p,
		      const struct deb_relation *r, struct slice owner_arch)
{
	struct slice arch = deb_package_arch(u, p);

	if (!r->arch.len)
		return p->multi_arch == DEB_MULTI_FOREIGN || slice_equal(arch, owner_arch);
	if (slice_is(r->arch, "any"))
		return p->multi_arch == DEB_MULTI_ALLOWED || p->multi_arch == DEB_MULTI_FOREIGN;
	if (slice_is(r->arch, "native"))
		return slice_is(arch, u->arch);
	return slice_equal(arch, r->arch);
}

bool deb_meets(const struct deb_universe *u, const struct deb_package *p,
	       const struct deb_relation *r, struct slice owner_arch)
{
	return slice_equal(p->name, r->name) && version_fits(p->version, r) &&
	       arch_fits(u, p, r, owner_arch);
}

bool deb_provides_meets(const struct deb_universe *u, const struct deb_package *p,
			struct slice version, const struct deb_relation *r, struct slice owner_arch)
{
	if (r->op != DEB_ANY && (!version.len || !version_fits(version, r)))
		return false;
	return arch_fits(u, p, r, owner_arch);
}

bool deb_spec_parse(struct slice spec, struct deb_spec *out)
{
	struct slice rest = spec, name;

	*out = (struct deb_spec){ 0 };
	if (!slice_cut(&rest, '=', &name))
		return false;
	out->version = rest;
	if (rest.data && !rest.len)
		return false;
	for (size_t i = 0; i < rest.len; i++) {
		if (rest.data[i] <= 0x20 || rest.data[i] >= 0x7f)
			return false;
	}
	if (!slice_cut(&name, ':', &out->name) || !deb_name_valid(out->name))
		return false;
	out->arch = name;
	return !name.data || deb_name_valid(name);
}

uint32_t deb_find(struct deb_universe *u, const struct deb_spec *spec, const char *id)
{
	struct deb_name *n = deb_universe_name(u, spec->name);
	struct slice arch = spec->arch.len ? spec->arch : slice_str(u->arch);

	return n ? best_of(u, n, arch, spec->version, id) : DEB_NONE;
}

uint32_t deb_find_provider(struct deb_universe *u, const struct deb_spec *spec, const char *id)
{
	const struct deb_name *name = deb_universe_name(u, spec->name);
	uint32_t found = DEB_NONE;

	if (!name || name->first != DEB_NONE || spec->version.len || spec->arch.len)
		return DEB_NONE;
	for (uint32_t i = name->provider; i != DEB_NONE; i = u->provides.items[i].next) {
		uint32_t at = u->provides.items[i].package;
		const struct deb_package *p = &u->packages.items[at];

		if ((id && !str_equal(u->indexes.items[p->index].id, id)) ||
		    deb_candidate(u, p->name, deb_package_arch(u, p)) != at || at == found)
			continue;
		if (found != DEB_NONE)
			return DEB_NONE;
		found = at;
	}
	return found;
}
