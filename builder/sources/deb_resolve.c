#include "builder/sources/deb_resolve.h"

#include "builder/sources/deb_search.h"
#include "builder/sources/deb_state.h"
#include "builder/sources/driver_package.h"

enum { DEPTH_LIMIT = 3000, CHAIN_SHOWN = 12, GROUP_SHOWN = 100, STORY_LIMIT = 64 * 1024 };

void deb_answer_release(struct deb_answer *answer)
{
	if (answer)
		vec_release(&answer->choices);
}

static struct deb_failure *new_failure(struct deb_state *s, uint32_t owner, struct slice group)
{
	struct deb_failure *f = s->failures[owner];

	if (f) {
		f->refusals.len = 0;
	} else {
		f = arena_alloc(&s->arena, sizeof(*f));
		s->failures[owner] = f;
	}
	f->owner = owner;
	f->group = group;
	return f;
}

static void refuse(struct deb_failure *f, uint32_t package, const char *text)
{
	struct deb_refusal r = { .package = package, .text = text };

	vec_push(&f->refusals, r);
}

static bool take(struct deb_state *s, uint32_t package, uint32_t wanted_by, size_t depth);

/* Why an option cannot be taken beside what is chosen, and what will have to be. */
static const char *objection_to(struct deb_state *s, uint32_t package)
{
	const char *text = deb_state_objection(s, package);

	if (!text && s->required && !s->required->present[package])
		text = deb_state_objection(s->required, package);
	return text;
}

/* Meet one group; on failure the owner's failure says why. */
static bool meet(struct deb_state *s, uint32_t owner, struct slice group, size_t depth)
{
	struct deb_options options = { 0 };
	struct deb_failure *f;
	bool met = false;

	if (deb_state_holds(s, owner, group) != DEB_NONE)
		return true;
	f = new_failure(s, owner, group);
	deb_state_options(s, owner, group, &options, f);
	for (size_t i = 0; i < options.packages.len && !met; i++) {
		uint32_t p = options.packages.items[i];
		const char *objection = s->discarded[p] ? NULL : objection_to(s, p);

		if (objection)
			refuse(f, p, objection);
		else if (!s->discarded[p] && take(s, p, owner, depth + 1))
			met = true;
		else
			refuse(f, p, NULL);
	}
	vec_release(&options.packages);
	if (met) {
		vec_release(&f->refusals);
		s->failures[owner] = NULL;
	}
	return met;
}

static bool meet_needs(struct deb_state *s, uint32_t package, size_t depth)
{
	struct slice fields[DEB_NEEDS], group;

	deb_state_needs(s, package, fields);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		while (deb_relation_group(&fields[i], &group)) {
			if (!meet(s, package, group, depth))
				return false;
		}
	}
	return true;
}

static bool take(struct deb_state *s, uint32_t package, uint32_t wanted_by, size_t depth)
{
	size_t mark = s->chosen.len;

	if (depth > DEPTH_LIMIT)
		return false;
	deb_state_choose(s, package, wanted_by);
	if (meet_needs(s, package, depth))
		return true;
	deb_state_undo(s, mark);
	s->discarded[package] = true;
	return false;
}

static void add_name(struct strbuf *out, const struct deb_universe *u, uint32_t package)
{
	const struct deb_package *p = &u->packages.items[package];

	strbuf_add(out, p->name.data, p->name.len);
}

/* A group as the index has it, on one line and without control characters. */
static void add_group(struct strbuf *out, struct slice group)
{
	bool blank = false;

	for (size_t i = 0; i < group.len && i < GROUP_SHOWN; i++) {
		bool space = group.data[i] <= ' ' || group.data[i] == 0x7f;

		if (!space || !blank)
			strbuf_addc(out, space ? ' ' : (char)group.data[i]);
		blank = space;
	}
}

/* The failure below which nothing else failed for want of a package: where the story ends. */
static const struct deb_failure *innermost(const struct deb_state *s, uint32_t root,
					   uint32_t chain[CHAIN_SHOWN], size_t *out_len)
{
	const struct deb_failure *f = s->failures[root];

	*out_len = 0;
	for (;;) {
		const struct deb_failure *deeper = NULL;

		for (size_t i = 0; i < f->refusals.len && !deeper; i++) {
			const struct deb_refusal *r = &f->refusals.items[i];

			if (!r->text && r->package != DEB_NONE)
				deeper = s->failures[r->package];
		}
		if (!deeper || *out_len + 1 >= CHAIN_SHOWN)
			return f;
		chain[(*out_len)++] = f->owner;
		f = deeper;
	}
}

static void add_refusals(struct strbuf *out, struct deb_state *s, const struct deb_failure *f)
{
	for (size_t i = 0; i < f->refusals.len; i++) {
		const struct deb_refusal *r = &f->refusals.items[i];

		strbuf_adds(out, i ? "; " : "");
		if (r->package != DEB_NONE)
			strbuf_addf(out, "%s ", deb_state_name(s, r->package));
		strbuf_adds(out, r->text ? r->text : "cannot be completed");
	}
}

static void add_story(struct strbuf *out, struct deb_state *s, const struct deb_failure *f,
		      size_t depth)
{
	strbuf_addf(out, "%*s%s needs ", (int)(depth * 2), "", deb_state_name(s, f->owner));
	add_group(out, f->group);
	strbuf_addc(out, '\n');
	for (size_t i = 0; i < f->refusals.len && out->len < STORY_LIMIT; i++) {
		const struct deb_refusal *r = &f->refusals.items[i];
		const struct deb_failure *deeper =
			r->text || r->package == DEB_NONE ? NULL : s->failures[r->package];

		if (deeper && depth < CHAIN_SHOWN) {
			add_story(out, s, deeper, depth + 1);
			continue;
		}
		strbuf_addf(out, "%*s%s%s%s\n", (int)(depth * 2 + 2), "",
			    r->package == DEB_NONE ? "" : deb_state_name(s, r->package),
			    r->package == DEB_NONE ? "" : " ",
			    r->text ? r->text : "cannot be completed");
	}
}

static int unmet(struct deb_state *s, uint32_t root, struct strbuf *out_why, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	uint32_t chain[CHAIN_SHOWN];
	size_t len;
	const struct deb_failure *f = innermost(s, root, chain, &len);

	add_group(&text, f->group);
	strbuf_adds(&text, " wanted by ");
	add_name(&text, s->u, f->owner);
	for (size_t i = len; i-- > 0;) {
		strbuf_adds(&text, " wanted by ");
		add_name(&text, s->u, chain[i]);
	}
	strbuf_adds(&text, " wanted by the manifest cannot be had: ");
	add_refusals(&text, s, f);
	if (out_why)
		add_story(out_why, s, s->failures[root], 0);
	return error_set(err, ERROR_VERDICT, "%.*s", 440, strbuf_text(&text));
}

static void install_base(struct deb_state *s)
{
	for (size_t i = 0; i < s->u->packages.len; i++) {
		if (s->u->indexes.items[s->u->packages.items[i].index].installed)
			deb_state_choose(s, (uint32_t)i, DEB_NONE);
	}
}

/* All roots before any of their needs, as `apt-get install a b` does. */
static int choose_roots(struct deb_state *s, const struct deb_root *roots, size_t count,
			struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t p = roots[i].package;
		const char *objection;

		if (s->present[p])
			continue;
		objection = package_is_driver(s->u->packages.items[p].name)
				    ? "belongs to the driver, which the host brings"
				    : deb_state_objection(s, p);
		if (objection)
			return error_set(err, ERROR_VERDICT, "%s wanted by the manifest %s",
					 deb_state_name(s, p), objection);
		deb_state_choose(s, p, DEB_NONE);
	}
	return 0;
}

static bool walk(struct deb_state *s, size_t from, size_t to, uint32_t *out_failed)
{
	for (size_t i = from; i < to; i++) {
		*out_failed = s->chosen.items[i].package;
		if (!meet_needs(s, *out_failed, 0))
			return false;
	}
	return true;
}

/* The order of configuration: what a package needs before it, as far as cycles allow. */
struct order {
	struct deb_state *s;
	const uint32_t *position; /* per package: place in chosen + 1 */
	bool *visited;            /* per place */
	struct deb_answer *out;
};

static void visit(struct order *o, uint32_t package, size_t depth)
{
	struct slice fields[DEB_NEEDS], group;
	uint32_t place = o->position[package];
	struct deb_choice choice;

	if (!place || o->visited[place - 1])
		return;
	o->visited[place - 1] = true;
	deb_state_needs(o->s, package, fields);
	for (size_t i = 0; i < ARRAY_LEN(fields) && depth < DEPTH_LIMIT; i++) {
		while (deb_relation_group(&fields[i], &group)) {
			uint32_t q = deb_state_holds(o->s, package, group);

			if (q != DEB_NONE)
				visit(o, q, depth + 1);
		}
	}
	choice = (struct deb_choice){ .package = package,
				      .wanted_by = o->s->chosen.items[place - 1].wanted_by };
	vec_push(&o->out->choices, choice);
}

static void put_in_order(struct deb_state *s, size_t from, const struct deb_root *roots,
			 size_t count, struct deb_answer *out)
{
	cleanup_free uint32_t *position = xcalloc(s->u->packages.len + 1, sizeof(*position));
	cleanup_free bool *visited = xcalloc(s->chosen.len + 1, sizeof(*visited));
	cleanup_free bool *requested = xcalloc(s->u->packages.len + 1, sizeof(*requested));
	struct order o = { .s = s, .position = position, .visited = visited, .out = out };

	for (size_t i = from; i < s->chosen.len; i++)
		position[s->chosen.items[i].package] = (uint32_t)i + 1;
	for (size_t i = from; i < s->chosen.len; i++)
		visit(&o, s->chosen.items[i].package, 0);
	for (size_t i = 0; i < count; i++)
		requested[roots[i].package] |= roots[i].requested;
	for (size_t i = 0; i < out->choices.len; i++)
		out->choices.items[i].requested = requested[out->choices.items[i].package];
}

/* Choose what is chosen without a choice: the needs of the roots that one package alone meets. */
static void choose_required(struct deb_state *s, size_t from)
{
	struct deb_options options = { 0 };

	for (size_t i = from; i < s->chosen.len; i++) {
		uint32_t owner = s->chosen.items[i].package;
		struct slice fields[DEB_NEEDS], group;

		deb_state_needs(s, owner, fields);
		for (size_t k = 0; k < ARRAY_LEN(fields); k++) {
			while (deb_relation_group(&fields[k], &group)) {
				if (deb_state_holds(s, owner, group) != DEB_NONE)
					continue;
				deb_state_options(s, owner, group, &options, NULL);
				if (options.packages.len == 1)
					deb_state_choose(s, options.packages.items[0], owner);
			}
		}
	}
	vec_release(&options.packages);
}

/*
 * The walk once more, without the options that what is required rules out: apt protects what
 * there is no choice about before it chooses anything.
 */
static bool walk_beside_required(struct deb_universe *u, const struct deb_root *roots, size_t count,
				 struct deb_answer *out)
{
	struct deb_state s, required;
	struct error ignored = { 0 };
	uint32_t failed;
	size_t base;
	bool found;

	deb_state_init(&s, u);
	deb_state_init(&required, u);
	install_base(&s);
	install_base(&required);
	base = s.chosen.len;
	found = choose_roots(&s, roots, count, &ignored) == 0 &&
		choose_roots(&required, roots, count, &ignored) == 0;
	if (found) {
		choose_required(&required, base);
		s.required = &required;
		found = walk(&s, base, s.chosen.len, &failed);
	}
	if (found)
		put_in_order(&s, base, roots, count, out);
	deb_state_release(&required);
	deb_state_release(&s);
	return found;
}

static int resolve(struct deb_state *s, const struct deb_root *roots, size_t count,
		   struct deb_answer *out, struct strbuf *out_why, struct error *err)
{
	size_t base, rooted;
	uint32_t failed = DEB_NONE;

	install_base(s);
	base = s->chosen.len;
	if (choose_roots(s, roots, count, err) < 0)
		return -1;
	rooted = s->chosen.len;
	if (!walk(s, base, rooted, &failed)) {
		if (walk_beside_required(s->u, roots, count, out))
			return 0;
		deb_state_undo(s, rooted);
		out->searched = true;
		if (!deb_search(s, base))
			return unmet(s, failed, out_why, err);
	}
	put_in_order(s, base, roots, count, out);
	return 0;
}

int deb_resolve(struct deb_universe *u, const struct deb_root *roots, size_t count,
		struct deb_answer *out, struct strbuf *out_why, struct error *err)
{
	struct deb_state s;
	int rc;

	deb_state_init(&s, u);
	rc = resolve(&s, roots, count, out, out_why, err);
	deb_state_release(&s);
	return rc;
}
