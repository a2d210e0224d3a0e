#include "builder/sources/deb_state.h"

#include "builder/sources/driver_package.h"

void deb_state_init(struct deb_state *s, struct deb_universe *u)
{
	size_t packages = u->packages.len, names = u->names.len;

	*s = (struct deb_state){ .u = u };
	s->present = xcalloc(packages + 1, 1);
	s->discarded = xcalloc(packages + 1, sizeof(*s->discarded));
	s->failures = xcalloc(packages + 1, sizeof(*s->failures));
	s->conflicts_of = xcalloc(names + 1, sizeof(*s->conflicts_of));
	for (size_t i = 0; i < names; i++)
		s->conflicts_of[i] = DEB_NONE;
}

void deb_state_release(struct deb_state *s)
{
	for (size_t i = 0; s->failures && i < s->u->packages.len; i++) {
		if (s->failures[i])
			vec_release(&s->failures[i]->refusals);
	}
	free(s->present);
	free(s->discarded);
	free(s->failures);
	free(s->conflicts_of);
	vec_release(&s->chosen);
	vec_release(&s->conflicts);
	arena_release(&s->arena);
}

static const struct deb_package *package_at(const struct deb_state *s, uint32_t at)
{
	return &s->u->packages.items[at];
}

static uint32_t name_index(const struct deb_state *s, const struct deb_name *name)
{
	return (uint32_t)(name - s->u->names.items);
}

const char *deb_state_name(struct deb_state *s, uint32_t package)
{
	const struct deb_package *p = package_at(s, package);

	return arena_printf(&s->arena, "%.*s %.*s", (int)p->name.len, (const char *)p->name.data,
			    (int)p->version.len, (const char *)p->version.data);
}

static void register_field(struct deb_state *s, uint32_t owner, struct slice field, bool breaks)
{
	struct slice group;

	while (deb_relation_group(&field, &group)) {
		struct deb_conflict c = { .owner = owner, .breaks = breaks };
		struct deb_name *name;

		if (deb_relation_next(&group, &c.relation) != 1)
			continue;
		name = deb_universe_name(s->u, c.relation.name);
		if (!name)
			continue; /* nobody has or provides it */
		c.name = name_index(s, name);
		c.next = s->conflicts_of[c.name];
		s->conflicts_of[c.name] = (uint32_t)s->conflicts.len;
		vec_push(&s->conflicts, c);
	}
}

/* The installed version of the same package, which is replaced by `package`. */
static uint32_t installed_version(const struct deb_state *s, uint32_t package)
{
	const struct deb_package *p = package_at(s, package);
	const struct deb_name *name = deb_universe_name(s->u, p->name);

	for (uint32_t at = name->first; at != DEB_NONE; at = package_at(s, at)->next) {
		const struct deb_package *q = package_at(s, at);

		if (at != package && s->present[at] && s->u->indexes.items[q->index].installed &&
		    slice_equal(deb_package_arch(s->u, q), deb_package_arch(s->u, p)))
			return at;
	}
	return DEB_NONE;
}

void deb_state_choose(struct deb_state *s, uint32_t package, uint32_t wanted_by)
{
	const struct deb_package *p = package_at(s, package);
	struct deb_chosen c = { .package = package,
				.wanted_by = wanted_by,
				.conflicts_mark = (uint32_t)s->conflicts.len,
				.replaced = installed_version(s, package) };

	if (c.replaced != DEB_NONE)
		s->present[c.replaced] = 0;
	s->present[package] = 1;
	vec_push(&s->chosen, c);
	register_field(s, package, p->conflicts, false);
	register_field(s, package, p->breaks, true);
}

void deb_state_undo(struct deb_state *s, size_t mark)
{
	while (s->chosen.len > mark) {
		struct deb_chosen c = s->chosen.items[--s->chosen.len];

		s->present[c.package] = 0;
		if (c.replaced != DEB_NONE)
			s->present[c.replaced] = 1;
		while (s->conflicts.len > c.conflicts_mark) {
			const struct deb_conflict *x = &s->conflicts.items[--s->conflicts.len];

			s->conflicts_of[x->name] = x->next;
		}
	}
}

static struct slice arch_of(const struct deb_state *s, uint32_t package)
{
	return deb_package_arch(s->u, package_at(s, package));
}

static uint32_t relation_holds(const struct deb_state *s, const struct deb_relation *r,
			       struct slice owner_arch)
{
	const struct deb_name *name = deb_universe_name(s->u, r->name);

	if (!name)
		return DEB_NONE;
	for (uint32_t at = name->first; at != DEB_NONE; at = package_at(s, at)->next) {
		if (s->present[at] && deb_meets(s->u, package_at(s, at), r, owner_arch))
			return at;
	}
	for (uint32_t i = name->provider; i != DEB_NONE; i = s->u->provides.items[i].next) {
		const struct deb_provide *v = &s->u->provides.items[i];

		if (s->present[v->package] &&
		    deb_provides_meets(s->u, package_at(s, v->package), v->version, r, owner_arch))
			return v->package;
	}
	return DEB_NONE;
}

uint32_t deb_state_holds(const struct deb_state *s, uint32_t owner, struct slice group)
{
	struct deb_relation r;
	uint32_t at;
	int rc;

	while ((rc = deb_relation_next(&group, &r))) {
		at = rc > 0 ? relation_holds(s, &r, arch_of(s, owner)) : DEB_NONE;
		if (at != DEB_NONE)
			return at;
	}
	return DEB_NONE;
}

static bool same_package(const struct deb_state *s, uint32_t a, uint32_t b)
{
	return slice_equal(package_at(s, a)->name, package_at(s, b)->name);
}

/* Conflicts hit every architecture unless they name one. */
static bool conflict_arch(const struct deb_state *s, const struct deb_relation *r, uint32_t other)
{
	return !r->arch.len || slice_is(r->arch, "any") || slice_equal(r->arch, arch_of(s, other));
}

/* Whether a relation of Conflicts or Breaks speaks of `other`, by its name or what it provides. */
static bool conflict_hits(const struct deb_state *s, const struct deb_relation *r, uint32_t other)
{
	const struct deb_package *q = package_at(s, other);
	struct slice rest = q->provides, group;
	struct deb_relation given;

	if (!conflict_arch(s, r, other))
		return false;
	if (slice_equal(q->name, r->name))
		return deb_version_satisfies(q->version, r->op, r->version);
	while (deb_relation_group(&rest, &group)) {
		if (deb_relation_next(&group, &given) == 1 && slice_equal(given.name, r->name) &&
		    (r->op == DEB_ANY || (given.version.len &&
					  deb_version_satisfies(given.version, r->op, r->version))))
			return true;
	}
	return false;
}

/* What the new one says of those present. */
static uint32_t hits_present(const struct deb_state *s, uint32_t package, struct slice field,
			     uint32_t replaced)
{
	struct slice group;
	struct deb_relation r;

	while (deb_relation_group(&field, &group)) {
		const struct deb_name *name;

		if (deb_relation_next(&group, &r) != 1)
			continue;
		name = deb_universe_name(s->u, r.name);
		if (!name)
			continue;
		for (uint32_t at = name->first; at != DEB_NONE; at = package_at(s, at)->next) {
			if (s->present[at] && at != replaced && !same_package(s, at, package) &&
			    conflict_hits(s, &r, at))
				return at;
		}
		for (uint32_t i = name->provider; i != DEB_NONE; i = s->u->provides.items[i].next) {
			uint32_t at = s->u->provides.items[i].package;

			if (s->present[at] && at != replaced && !same_package(s, at, package) &&
			    conflict_hits(s, &r, at))
				return at;
		}
	}
	return DEB_NONE;
}

static uint32_t hit_by_name(const struct deb_state *s, uint32_t package, struct slice text,
			    uint32_t replaced)
{
	const struct deb_name *name = deb_universe_name(s->u, text);
	uint32_t at = name ? s->conflicts_of[name_index(s, name)] : DEB_NONE;

	for (; at != DEB_NONE; at = s->conflicts.items[at].next) {
		const struct deb_conflict *c = &s->conflicts.items[at];

		if (s->present[c->owner] && c->owner != replaced &&
		    !same_package(s, c->owner, package) && conflict_hits(s, &c->relation, package))
			return c->owner;
	}
	return DEB_NONE;
}

/* What those present say of the new one. */
static uint32_t hit_by_present(const struct deb_state *s, uint32_t package, uint32_t replaced)
{
	const struct deb_package *p = package_at(s, package);
	struct slice rest = p->provides, group;
	struct deb_relation given;
	uint32_t at = hit_by_name(s, package, p->name, replaced);

	while (at == DEB_NONE && deb_relation_group(&rest, &group)) {
		if (deb_relation_next(&group, &given) == 1)
			at = hit_by_name(s, package, given.name, replaced);
	}
	return at;
}

/* Another version or architecture of the same package that it cannot stand beside. */
static uint32_t rival(const struct deb_state *s, uint32_t package, uint32_t replaced)
{
	const struct deb_package *p = package_at(s, package);
	const struct deb_name *name = deb_universe_name(s->u, p->name);

	for (uint32_t at = name->first; at != DEB_NONE; at = package_at(s, at)->next) {
		const struct deb_package *q = package_at(s, at);

		if (!s->present[at] || at == package || at == replaced)
			continue;
		if (slice_equal(arch_of(s, at), arch_of(s, package)) ||
		    p->multi_arch != DEB_MULTI_SAME || q->multi_arch != DEB_MULTI_SAME ||
		    deb_version_compare(p->version, q->version) != 0)
			return at;
	}
	return DEB_NONE;
}

void deb_state_needs(const struct deb_state *s, uint32_t package, struct slice out[DEB_NEEDS])
{
	const struct deb_package *p = package_at(s, package);
	bool hosts = package_is_hosts(p->name);

	out[0] = hosts ? (struct slice){ 0 } : p->pre_depends;
	out[1] = hosts ? (struct slice){ 0 } : p->depends;
}

static const char *objection(struct deb_state *s, const char *what, uint32_t other)
{
	return arena_printf(&s->arena, "%s %s", what, deb_state_name(s, other));
}

const char *deb_state_objection(struct deb_state *s, uint32_t package)
{
	const struct deb_package *p = package_at(s, package);
	uint32_t replaced = installed_version(s, package), other;

	if (!p->sha256.len && !s->u->indexes.items[p->index].installed)
		return "has no Filename, Size and SHA256 in its index";
	other = rival(s, package, replaced);
	if (other != DEB_NONE)
		return objection(s, "cannot be together with", other);
	other = hits_present(s, package, p->conflicts, replaced);
	if (other != DEB_NONE)
		return objection(s, "conflicts with", other);
	other = hits_present(s, package, p->breaks, replaced);
	if (other != DEB_NONE)
		return objection(s, "breaks", other);
	other = hit_by_present(s, package, replaced);
	return other == DEB_NONE ? NULL : objection(s, "is not wanted by", other);
}

static void refuse(struct deb_failure *failure, uint32_t package, const char *text)
{
	struct deb_refusal r = { .package = package, .text = text };

	if (failure)
		vec_push(&failure->refusals, r);
}

static bool has(const struct deb_options *o, uint32_t package)
{
	for (size_t i = 0; i < o->packages.len; i++) {
		if (o->packages.items[i] == package)
			return true;
	}
	return false;
}

static const char *misfit(struct deb_state *s, uint32_t package, const struct deb_relation *r)
{
	const struct deb_package *p = package_at(s, package);

	if (deb_version_satisfies(p->version, r->op, r->version))
		return "is of an architecture that does not count";
	return arena_printf(&s->arena, "is not %s %.*s", deb_operator_text(r->op),
			    (int)r->version.len, (const char *)r->version.data);
}

/* Last, what meets it from any other architecture. */
static void add_others(struct deb_state *s, const struct deb_relation *r, struct slice owner_arch,
		       struct deb_options *out)
{
	const struct deb_name *name = deb_universe_name(s->u, r->name);

	for (uint32_t at = name ? name->first : DEB_NONE; at != DEB_NONE;
	     at = package_at(s, at)->next) {
		const struct deb_package *p = package_at(s, at);

		if (!slice_equal(arch_of(s, at), slice_str(s->u->arch)) &&
		    deb_meets(s->u, p, r, owner_arch) && !has(out, at) &&
		    deb_candidate(s->u, p->name, arch_of(s, at)) == at)
			vec_push(&out->packages, at);
	}
}

/*
 * The package of the name itself: the native one where it meets a foreign owner (Multi-Arch:
 * foreign, or allowed and asked for with ":any"), else that of the owner's architecture.
 */
static void add_real(struct deb_state *s, const struct deb_relation *r, struct slice owner_arch,
		     struct deb_options *out, struct deb_failure *failure)
{
	bool literal = r->arch.len && !slice_is(r->arch, "any") && !slice_is(r->arch, "native");
	struct slice archs[2] = { slice_str(s->u->arch), literal ? r->arch : owner_arch };

	for (size_t i = 0; i < (slice_equal(archs[0], archs[1]) ? 1 : 2); i++) {
		uint32_t at = deb_candidate(s->u, r->name, archs[i]);

		if (at == DEB_NONE || has(out, at))
			continue;
		if (deb_meets(s->u, package_at(s, at), r, owner_arch))
			vec_push(&out->packages, at);
		else
			refuse(failure, at, misfit(s, at, r));
	}
	add_others(s, r, owner_arch, out);
}

static int order_of(const struct deb_state *s, uint32_t a, uint32_t b)
{
	const struct deb_package *p = package_at(s, a), *q = package_at(s, b);
	uint32_t x, y;

	if (p->essential != q->essential)
		return p->essential ? -1 : 1;
	if (p->priority != q->priority)
		return p->priority < q->priority ? -1 : 1;
	x = deb_mention_rank(s->u, a);
	y = deb_mention_rank(s->u, b);
	return x == y ? (a < b ? -1 : 1) : x > y ? -1 : 1;
}

static void add_providers(struct deb_state *s, const struct deb_relation *r,
			  struct slice owner_arch, struct deb_options *out)
{
	const struct deb_name *name = deb_universe_name(s->u, r->name);
	size_t from = out->packages.len;

	for (uint32_t i = name ? name->provider : DEB_NONE; i != DEB_NONE;
	     i = s->u->provides.items[i].next) {
		const struct deb_provide *v = &s->u->provides.items[i];
		const struct deb_package *p = package_at(s, v->package);

		if (deb_provides_meets(s->u, p, v->version, r, owner_arch) &&
		    deb_candidate(s->u, p->name, deb_package_arch(s->u, p)) == v->package &&
		    !has(out, v->package))
			vec_push(&out->packages, v->package);
	}
	/* Few, and mostly in order: insertion keeps it readable. */
	for (size_t i = from + 1; i < out->packages.len; i++) {
		uint32_t x = out->packages.items[i];
		size_t k = i;

		for (; k > from && order_of(s, x, out->packages.items[k - 1]) < 0; k--)
			out->packages.items[k] = out->packages.items[k - 1];
		out->packages.items[k] = x;
	}
}

/* The host's driver last, else as they are. */
static void put_hosts_last(const struct deb_state *s, struct deb_options *out)
{
	size_t count = out->packages.len, kept = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t at = out->packages.items[i];

		if (package_is_hosts(package_at(s, at)->name))
			vec_push(&out->packages, at);
		else
			out->packages.items[kept++] = at;
	}
	for (size_t i = count; i < out->packages.len; i++)
		out->packages.items[kept++] = out->packages.items[i];
	out->packages.len = count;
}

void deb_state_options(struct deb_state *s, uint32_t owner, struct slice group,
		       struct deb_options *out, struct deb_failure *failure)
{
	struct slice owner_arch = arch_of(s, owner);
	struct deb_relation r;
	int rc;

	out->packages.len = 0;
	while ((rc = deb_relation_next(&group, &r))) {
		size_t before = out->packages.len;
		size_t refusals = failure ? failure->refusals.len : 0;

		if (rc < 0) {
			refuse(failure, DEB_NONE, "the relation cannot be read");
			continue;
		}
		add_real(s, &r, owner_arch, out, failure);
		add_providers(s, &r, owner_arch, out);
		if (out->packages.len == before && failure && failure->refusals.len == refusals)
			refuse(failure, DEB_NONE,
			       arena_printf(&s->arena, "no source has %.*s", (int)r.name.len,
					    (const char *)r.name.data));
	}
	put_hosts_last(s, out);
}
