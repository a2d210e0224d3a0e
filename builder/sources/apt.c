#include "builder/sources/apt.h"

#include <time.h>

#include "base/nearest.h"
#include "builder/sources/apt_open.h"
#include "builder/sources/deb_resolve.h"
#include "builder/sources/driver_package.h"
#include "builder/sources/source_url.h"

/* A root, and how it came to be one. */
struct request_root {
	struct deb_root root;
	bool toolkit;
};

struct roots {
	VEC(struct request_root) items;
};

static void add_root(struct roots *roots, uint32_t package, bool requested, bool toolkit)
{
	struct request_root r = { .root = { .package = package, .requested = requested },
				  .toolkit = toolkit };

	vec_push(&roots->items, r);
}

static const char *nearest_name(struct apt_session *s, struct slice wanted)
{
	struct nearest n = nearest_start(arena_slice(&s->own.arena, wanted));
	const struct deb_universe *u = &s->universe;

	for (size_t i = 0; i < u->names.len; i++) {
		struct slice name = u->names.items[i].text;

		/* Names of another length, or another first letter, are no slips of the finger. */
		if (name.len + 3 < wanted.len || name.len > wanted.len + 3 || !wanted.len ||
		    name.data[0] != wanted.data[0])
			continue;
		nearest_try(&n, arena_slice(&s->own.arena, name));
	}
	return n.best;
}

/* The text of what a name offers: other versions, other sources, providers. */
static void describe_name(const struct apt_session *s, const struct deb_name *name,
			  const struct deb_spec *spec, struct strbuf *out)
{
	const struct deb_universe *u = &s->universe;
	size_t shown = 0;

	for (uint32_t at = name->first; at != DEB_NONE && shown < 6;
	     at = u->packages.items[at].next) {
		const struct deb_package *p = &u->packages.items[at];

		strbuf_addf(out, "%s%.*s (%s%s%.*s)", shown++ ? ", " : "", (int)p->version.len,
			    (const char *)p->version.data, u->indexes.items[p->index].id,
			    spec->arch.len ? ", " : "", spec->arch.len ? (int)p->arch.len : 0,
			    (const char *)p->arch.data);
	}
	for (uint32_t i = name->provider; i != DEB_NONE && name->first == DEB_NONE && shown < 6;
	     i = u->provides.items[i].next) {
		const struct deb_package *p = &u->packages.items[u->provides.items[i].package];

		strbuf_addf(out, "%s%.*s", shown++ ? ", " : "", (int)p->name.len,
			    (const char *)p->name.data);
	}
}

static int unknown(struct apt_session *s, const struct stack_package *package,
		   const struct deb_spec *spec, const struct stack_source *source,
		   struct error *err)
{
	const struct deb_name *name = deb_universe_name(&s->universe, spec->name);
	cleanup_strbuf struct strbuf text = { 0 };
	const char *near = name ? NULL : nearest_name(s, spec->name);

	if (name && name->first != DEB_NONE) {
		describe_name(s, name, spec, &text);
		return stack_error(s->context->stack, package->place, err,
				   "source '%s' has no package '%s'%s%s; there is: %s", source->id,
				   package->spec, spec->arch.len ? "" : " for ",
				   spec->arch.len ? "" : s->arch, strbuf_text(&text));
	}
	if (name) {
		describe_name(s, name, spec, &text);
		return stack_error(s->context->stack, package->place, err,
				   "'%s' is provided by several packages, name one: %s",
				   package->spec, strbuf_text(&text));
	}
	return stack_error(s->context->stack, package->place, err,
			   "source '%s' has no package '%s'%s%s%s", source->id, package->spec,
			   near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* Whether an input is of the architecture a request is of; what is for all, of any. */
static bool is_of_arch(const struct apt_session *s, const struct lock_input *in, struct slice arch)
{
	return str_equal(in->arch, "all") ||
	       (arch.len ? slice_is(arch, in->arch) : str_equal(s->arch, in->arch));
}

/* The version that a package keeps, or nothing. */
static struct slice kept_version(const struct apt_session *s, const struct source_request *request,
				 const struct deb_spec *spec)
{
	const struct source_keep *keep = &s->context->keep;

	for (size_t i = 0; keep->inputs && i < keep->inputs->inputs.len; i++) {
		const struct lock_input *in = &keep->inputs->inputs.items[i];

		if (slice_is(spec->name, in->name) && is_of_arch(s, in, spec->arch) &&
		    str_equal(in->source, request->source->id) &&
		    source_keeps(keep, in, LOCK_DEB, request->stage->name))
			return slice_str(in->version);
	}
	return (struct slice){ 0 };
}

/* Every package of the lock before is its name's candidate, where it is still to be had. */
static void keep_versions(struct apt_session *s, const char *stage)
{
	const struct source_keep *keep = &s->context->keep;

	for (size_t i = 0; keep->inputs && i < keep->inputs->inputs.len; i++) {
		const struct lock_input *in = &keep->inputs->inputs.items[i];
		struct deb_spec spec = { .name = slice_str(in->name),
					 .version = slice_str(in->version) };
		uint32_t at;

		if (!str_equal(in->arch, "all") && !str_equal(in->arch, s->arch))
			spec.arch = slice_str(in->arch);

		if (!source_keeps(keep, in, LOCK_DEB, stage))
			continue;
		at = deb_find(&s->universe, &spec, in->source);
		if (at != DEB_NONE)
			deb_universe_force(&s->universe, at);
	}
}

/* The base image has it, in a version that is asked for: apt leaves it at that. */
static bool is_installed(struct apt_session *s, const struct deb_spec *spec)
{
	uint32_t at = s->context->base ? deb_find(&s->universe, spec, "base") : DEB_NONE;
	const struct deb_package *p;

	if (at == DEB_NONE)
		return false;
	p = &s->universe.packages.items[at];
	out_verbose(s->context->out, "%.*s %.*s is in the base image", (int)p->name.len,
		    (const char *)p->name.data, (int)p->version.len, (const char *)p->version.data);
	return true;
}

static int find_root(struct apt_session *s, const struct source_request *request,
		     const struct stack_package *package, struct roots *roots, struct error *err)
{
	struct deb_spec spec;
	uint32_t at;

	if (!package->spec || !deb_spec_parse(slice_str(package->spec), &spec))
		return stack_error(s->context->stack, package->place, err,
				   "'%s' is no request for a Debian package; it is NAME, "
				   "NAME=VERSION, NAME=1.2.* or NAME:ARCH",
				   package->spec ? package->spec : "requirements");
	if (package_is_driver(spec.name))
		return stack_error(
			s->context->stack, package->place, err,
			"'%s' brings the driver into the image, which belongs to the host: "
			"name the libraries you need (cuda-toolkit-…, cuda-libraries-…), or "
			"leave them to the stack section",
			package->spec);
	if (slice_is(spec.arch, "all") || slice_is(spec.arch, "native"))
		spec.arch = (struct slice){ 0 };
	if (is_installed(s, &spec))
		return 0;
	at = DEB_NONE;
	if (!spec.version.len) {
		spec.version = kept_version(s, request, &spec);
		if (spec.version.len)
			at = deb_find(&s->universe, &spec, request->source->id);
		spec.version = (struct slice){ 0 };
	}
	if (at == DEB_NONE)
		at = deb_find(&s->universe, &spec, request->source->id);
	if (at == DEB_NONE)
		at = deb_find_provider(&s->universe, &spec, request->source->id);
	if (at == DEB_NONE)
		return unknown(s, package, &spec, request->source, err);
	/* The named source and version count, also for what depends on it. */
	deb_universe_force(&s->universe, at);
	add_root(roots, at, !request->toolkit, request->toolkit);
	return 0;
}

static void add_essential(struct apt_session *s, struct roots *roots)
{
	struct deb_universe *u = &s->universe;

	for (uint32_t i = 0; i < u->packages.len; i++) {
		const struct deb_package *p = &u->packages.items[i];

		if (p->essential && deb_candidate(u, p->name, slice_str(u->arch)) == i)
			add_root(roots, i, false, false);
	}
}

/* Whether a choice came in through a root of the toolkit, and from the same source. */
static bool from_toolkit(const struct deb_universe *u, const struct roots *roots,
			 const struct deb_answer *answer, uint32_t package)
{
	const char *id = u->indexes.items[u->packages.items[package].index].id;

	for (size_t hops = 0; package != DEB_NONE && hops <= answer->choices.len; hops++) {
		uint32_t wanted_by = DEB_NONE;

		for (size_t i = 0; i < answer->choices.len; i++) {
			if (answer->choices.items[i].package == package)
				wanted_by = answer->choices.items[i].wanted_by;
		}
		if (wanted_by == DEB_NONE)
			break;
		package = wanted_by;
	}
	for (size_t i = 0; i < roots->items.len; i++) {
		if (roots->items.items[i].root.package == package &&
		    roots->items.items[i].toolkit &&
		    str_equal(u->indexes.items[u->packages.items[package].index].id, id))
			return true;
	}
	return false;
}

/* What a relation demands of the base image's packages costs their bytes twice. */
static void tell_upgrade(struct apt_session *s, const struct deb_package *p)
{
	struct deb_spec spec = { .name = p->name };
	uint32_t at = s->context->base ? deb_find(&s->universe, &spec, "base") : DEB_NONE;
	const struct deb_package *old = at == DEB_NONE ? NULL : &s->universe.packages.items[at];

	if (old)
		out_note(s->context->out,
			 "%.*s %.*s of the base image is replaced by %.*s, which is needed; the "
			 "base's files stay in its layers",
			 (int)p->name.len, (const char *)p->name.data, (int)old->version.len,
			 (const char *)old->version.data, (int)p->version.len,
			 (const char *)p->version.data);
}

static int append(struct apt_session *s, const struct roots *roots, const char *stage,
		  const struct deb_answer *answer, struct error *err)
{
	struct arena *a = &s->context->lock->arena;

	for (size_t i = 0; i < answer->choices.len; i++) {
		const struct deb_choice *c = &answer->choices.items[i];
		const struct deb_package *p = &s->universe.packages.items[c->package];
		const struct deb_index *index = &s->universe.indexes.items[p->index];
		cleanup_free char *url = apt_repository_url(index->base, p->filename);
		bool hosts = package_is_hosts(p->name) && c->wanted_by != DEB_NONE;
		struct lock_input input = {
			.kind = LOCK_DEB,
			.stage = arena_strdup(a, stage),
			.source = arena_strdup(a, index->id),
			.name = arena_slice(a, p->name),
			.version = arena_slice(a, p->version),
			.arch = arena_slice(a, p->arch),
			.url = arena_strdup(a, url),
			.size = p->size,
			.requested = c->requested,
			.toolkit = from_toolkit(&s->universe, roots, answer, c->package),
			.host_for =
				hosts ? arena_slice(a,
						    s->universe.packages.items[c->wanted_by].name)
				      : "",
		};

		if (index->installed)
			continue;
		tell_upgrade(s, p);
		if (digest_parse_sha256_hex(p->sha256, &input.digest, err) < 0)
			return error_wrap(err, "%s", input.name);
		vec_push(&s->context->inputs->inputs, input);
	}
	return 0;
}

/* "13.0" of the solved stack: which builds of NCCL and cuDNN fit. */
static void set_cuda(struct apt_session *s)
{
	const char *cuda = s->context->cuda;
	struct slice rest = slice_str(cuda ? cuda : ""), part;
	uint64_t major, minor;

	if (!slice_cut(&rest, '.', &part) || !slice_u64(part, &major) || major > 1000 ||
	    !slice_cut(&rest, '.', &part) || !slice_u64(part, &minor) || minor > 1000)
		return;
	s->universe.cuda_major = (unsigned)major;
	s->universe.cuda_minor = (unsigned)minor;
}

static int resolve(struct apt_session *s, const struct source_request *requests, size_t count,
		   bool whole_os, struct roots *roots, struct error *err)
{
	cleanup_deb_answer struct deb_answer answer = { 0 };
	cleanup_strbuf struct strbuf why = { 0 };
	VEC(struct deb_root) plain = { 0 };
	const char *stage = count && requests[0].stage ? requests[0].stage->name : "";
	int rc;

	deb_universe_unforce(&s->universe);
	keep_versions(s, stage);
	if (whole_os)
		add_essential(s, roots);
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < requests[i].package_count; k++) {
			if (find_root(s, &requests[i], &requests[i].packages[k], roots, err) < 0)
				return -1;
		}
	}
	for (size_t i = 0; i < roots->items.len; i++)
		vec_push(&plain, roots->items.items[i].root);
	rc = deb_resolve(&s->universe, plain.items, plain.len, &answer, &why, err);
	vec_release(&plain);
	if (rc < 0) {
		if (why.len)
			out_note(s->context->out, "%s", strbuf_text(&why));
		return error_wrap(err, "stage '%s'", stage);
	}
	if (answer.searched)
		out_warn(
			s->context->out,
			"stage '%s': the packages fit only after a search; apt might choose others",
			stage);
	return append(s, roots, stage, &answer, err);
}

static void session_free(struct apt_session *s)
{
	apt_session_release(s);
	free(s);
}

void apt_sessions_release(struct apt_sessions *sessions)
{
	for (size_t i = 0; i < sessions->len; i++)
		session_free(sessions->items[i]);
	vec_release(sessions);
}

static void add_arch(struct apt_session *s, const struct stack_package *package)
{
	struct deb_spec spec;
	const char *arch;

	if (!package->spec || !deb_spec_parse(slice_str(package->spec), &spec) || !spec.arch.len ||
	    slice_is(spec.arch, s->arch) || slice_is(spec.arch, "all") ||
	    slice_is(spec.arch, "native") || slice_is(spec.arch, "any"))
		return;
	for (size_t i = 0; i < s->foreign.len; i++) {
		if (slice_is(spec.arch, s->foreign.items[i]))
			return;
	}
	arch = arena_slice(&s->own.arena, spec.arch);
	vec_push(&s->foreign, arch);
}

/* The foreign architectures that requests name: of all stages, since a session serves them all. */
static void find_foreign(struct apt_session *s, const struct source_request *requests, size_t count)
{
	const struct stack *stack = s->context->stack;

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < requests[i].package_count; k++)
			add_arch(s, &requests[i].packages[k]);
	}
	for (size_t i = 0; i < stack->stage_count; i++) {
		const struct stack_stage *stage = &stack->stages[i];

		for (size_t k = 0; k < stage->package_count; k++) {
			const struct stack_packages *named = &stage->packages[k];
			const struct stack_source *source = stack_source(stack, named->source);

			for (size_t n = 0; source && source->type == SOURCE_APT && n < named->count;
			     n++)
				add_arch(s, &named->items[n]);
		}
	}
}

/* The session of the platform: kept where the context has a place for it, else the caller's. */
static struct apt_session *open_session(const struct apt_machine *machine,
					const struct source_context *context,
					const struct source_request *requests, size_t count,
					struct error *err)
{
	cleanup_free char *arch = source_url_fill("{debarch}", &context->platform);
	struct apt_session *s;

	if (!arch) {
		error_set(err, ERROR_USAGE, "Debian has no architecture for %s/%s",
			  context->platform.os, context->platform.architecture);
		return NULL;
	}
	for (size_t i = 0; context->apt && i < context->apt->len; i++) {
		s = context->apt->items[i];
		if (str_equal(s->arch, arch)) {
			s->context = context;
			return s;
		}
	}
	s = xcalloc(1, sizeof(*s));
	s->machine = *machine;
	s->context = context;
	s->arch = arena_strdup(&s->own.arena, arch);
	s->access = (struct apt_access){ .store = context->store,
					 .http = context->http,
					 .now = machine->now };
	find_foreign(s, requests, count);
	if (apt_session_open(s, err) < 0) {
		session_free(s);
		return NULL;
	}
	set_cuda(s);
	if (context->apt)
		vec_push(context->apt, s);
	return s;
}

int apt_resolve_on(const struct apt_machine *machine, const struct source_context *context,
		   const struct source_request *requests, size_t count, bool whole_os,
		   struct error *err)
{
	struct apt_session *s = open_session(machine, context, requests, count, err);
	struct roots roots = { 0 };
	int rc;

	if (!s)
		return -1;
	rc = resolve(s, requests, count, whole_os, &roots, err);
	vec_release(&roots.items);
	if (!context->apt)
		session_free(s);
	return rc;
}

static struct apt_machine this_machine(void)
{
	return (struct apt_machine){ .root = "/",
				     .config = getenv("APT_CONFIG"),
				     .now = (int64_t)time(NULL) };
}

int apt_resolve(const struct source_context *context, const struct source_request *requests,
		size_t count, bool whole_os, struct error *err)
{
	struct apt_machine machine = this_machine();

	return apt_resolve_on(&machine, context, requests, count, whole_os, err);
}

/* Better first by the wish, then by the CUDA it was built for, then by version. */
static uint32_t best_offer(struct apt_session *s, const char *id, struct slice name,
			   const struct version_wish *wish)
{
	const struct deb_universe *u = &s->universe;
	const struct deb_name *n = deb_universe_name(u, name);
	uint32_t best = DEB_NONE;
	unsigned best_rank = 0;

	for (uint32_t at = n ? n->first : DEB_NONE; at != DEB_NONE;
	     at = u->packages.items[at].next) {
		const struct deb_package *p = &u->packages.items[at];
		unsigned cuda = deb_cuda_rank(u, p->version);
		unsigned rank = (unsigned)version_meets(p->version, wish) << 16 | cuda;

		if (!str_equal(u->indexes.items[p->index].id, id) || rank < 1 << 16 ||
		    cuda < (wish->marked ? 2 : 1) ||
		    !slice_equal(deb_package_arch(u, p), slice_str(u->arch)) ||
		    deb_pin_priority(u, p) < 0)
			continue;
		if (rank > best_rank ||
		    (rank == best_rank &&
		     deb_version_compare(p->version, u->packages.items[best].version) > 0)) {
			best = at;
			best_rank = rank;
		}
	}
	return best;
}

int apt_offers(const struct source_context *context, const struct stack_source *source,
	       const char *name, const struct version_wish *wish, const char **out,
	       struct error *err)
{
	struct apt_machine machine = this_machine();
	struct apt_session *s = open_session(&machine, context, NULL, 0, err);
	uint32_t at;

	*out = NULL;
	if (!s)
		return -1;
	at = best_offer(s, source->id, slice_str(name), wish);
	if (at != DEB_NONE)
		*out = arena_slice(&context->lock->arena, s->universe.packages.items[at].version);
	if (!context->apt)
		session_free(s);
	return 0;
}
