#include "builder/sources/deb_search.h"

enum { STEP_LIMIT = 200000, CELL_LIMIT = 4000000 };

/* A need that is still to be met; lists share their tails. */
struct goal {
	uint32_t owner;
	struct slice group;
	const struct goal *next;
};

/* A decision that has other ways left. */
struct choice {
	size_t mark; /* of the state's chosen */
	const struct goal *goal;
	size_t next_option;
	struct deb_options options;
};

struct search {
	struct deb_state *s;
	const struct goal *agenda;
	VEC(struct choice) choices;
	size_t steps, cells;
};

static const struct goal *push_goal(struct search *w, uint32_t owner, struct slice group,
				    const struct goal *next)
{
	struct goal *g = arena_alloc(&w->s->arena, sizeof(*g));

	w->cells++;
	*g = (struct goal){ .owner = owner, .group = group, .next = next };
	return g;
}

/* The groups of a package before what is on the agenda, in the order written. */
static const struct goal *push_needs(struct search *w, uint32_t package, const struct goal *next)
{
	struct slice fields[DEB_NEEDS], group;
	VEC(struct slice) groups = { 0 };

	deb_state_needs(w->s, package, fields);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		while (deb_relation_group(&fields[i], &group))
			vec_push(&groups, group);
	}
	for (size_t i = groups.len; i-- > 0;)
		next = push_goal(w, package, groups.items[i], next);
	vec_release(&groups);
	return next;
}

/* Take the next option of the last choice; gives the choice up when there is none. */
static bool advance(struct search *w)
{
	struct choice *c = &w->choices.items[w->choices.len - 1];

	deb_state_undo(w->s, c->mark);
	while (c->next_option < c->options.packages.len) {
		uint32_t p = c->options.packages.items[c->next_option++];

		if (deb_state_objection(w->s, p))
			continue;
		deb_state_choose(w->s, p, c->goal->owner);
		w->agenda = push_needs(w, p, c->goal->next);
		return true;
	}
	vec_release(&c->options.packages);
	w->choices.len--;
	return false;
}

static bool backtrack(struct search *w)
{
	while (w->choices.len) {
		if (advance(w))
			return true;
	}
	return false;
}

static bool run(struct search *w)
{
	while (w->agenda) {
		const struct goal *goal = w->agenda;
		struct choice c = { .mark = w->s->chosen.len, .goal = goal };

		if (w->steps++ >= STEP_LIMIT || w->cells > CELL_LIMIT)
			return false;
		w->agenda = goal->next;
		if (deb_state_holds(w->s, goal->owner, goal->group) != DEB_NONE)
			continue;
		deb_state_options(w->s, goal->owner, goal->group, &c.options, NULL);
		vec_push(&w->choices, c);
		if (!advance(w) && !backtrack(w))
			return false;
	}
	return true;
}

bool deb_search(struct deb_state *s, size_t from)
{
	struct search w = { .s = s };
	size_t mark = s->chosen.len;
	bool found;

	for (size_t i = mark; i-- > from;)
		w.agenda = push_needs(&w, s->chosen.items[i].package, w.agenda);
	found = run(&w);
	if (!found)
		deb_state_undo(s, mark);
	for (size_t i = 0; i < w.choices.len; i++)
		vec_release(&w.choices.items[i].options.packages);
	vec_release(&w.choices);
	return found;
}
