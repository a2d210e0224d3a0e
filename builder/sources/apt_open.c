#include "builder/sources/apt_open.h"
#include "builder/sources/source_url.h"

#include "base/fs.h"

enum { KEYS_LIMIT = 64 };

void apt_session_release(struct apt_session *s)
{
	deb_universe_release(&s->universe);
	vec_release(&s->foreign);
	for (size_t i = 0; i < s->repositories.len; i++) {
		apt_repository_release(s->repositories.items[i]);
		free(s->repositories.items[i]);
	}
	vec_release(&s->repositories);
	for (size_t i = 0; i < s->texts.len; i++) {
		strbuf_release(s->texts.items[i]);
		free(s->texts.items[i]);
	}
	vec_release(&s->texts);
	apt_config_release(&s->host);
	apt_config_release(&s->own);
}

/* The same source and suite twice (two stages) is one record. */
static void record(const struct apt_session *s, const char *id, const struct apt_repository *r,
		   const char *component)
{
	struct lockfile *lock = s->context->lock;
	struct lock_source *found = NULL;
	char *suite = component
			      ? arena_printf(&lock->arena, "%s/%s %s", r->suite, component, s->arch)
			      : arena_printf(&lock->arena, "%s %s", r->suite, s->arch);
	char date[32];

	for (size_t i = 0; i < lock->sources.len; i++) {
		struct lock_source *it = &lock->sources.items[i];

		if (str_equal(it->id, id) && str_equal(it->suite, suite) &&
		    digest_equal(&it->digest, &r->release.digest))
			found = it;
	}
	if (!found)
		found = vec_add(&lock->sources);
	found->id = arena_strdup(&lock->arena, id);
	found->type = "apt";
	found->suite = suite;
	found->date = arena_strdup(&lock->arena, apt_date_text(r->release.date, date));
	found->digest = r->release.digest;
}

/* `arch`: of the index; `archs`: the packages of it that count. */
static int add_index(struct apt_session *s, const struct stack_source *source,
		     struct apt_repository *r, const char *component, const char *arch,
		     const char *archs, struct error *err)
{
	struct strbuf *text = xcalloc(1, sizeof(*text));
	struct deb_index index = {
		.id = source->id,
		.base = r->base,
		.host = r->host,
		.component = component ? component : "",
		.suite = r->release.suite,
		.codename = r->release.codename,
		.origin = r->release.origin,
		.label = r->release.label,
		.release_version = r->release.version,
		.not_automatic = r->release.not_automatic,
		.but_automatic_upgrades = r->release.but_automatic_upgrades,
	};
	int rc;

	vec_push(&s->texts, text);
	index.label_text = component ? arena_printf(&r->arena, "%s%s/binary-%s/Packages",
						    r->display, component, arch)
				     : arena_printf(&r->arena, "%sPackages", r->display);
	rc = apt_repository_packages(&s->access, r, component, arch, text, err);
	if (rc <= 0)
		return rc;
	if (deb_universe_add(&s->universe, &index, strbuf_slice(text), archs, err) < 0)
		return -1;
	out_verbose(s->context->out, "%s: %zu packages after %s", source->id,
		    s->universe.packages.len, index.label_text);
	return 1;
}

static bool has_word(const char *words, const char *word)
{
	struct slice rest = slice_str(words), one;

	while (slice_cut(&rest, ' ', &one)) {
		if (slice_is(one, word))
			return true;
	}
	return false;
}

/* "amd64 all i386": what counts of a flat repository, which has one index for all. */
static const char *all_archs(struct apt_session *s)
{
	cleanup_strbuf struct strbuf words = { 0 };

	strbuf_addf(&words, "%s all", s->arch);
	for (size_t i = 0; i < s->foreign.len; i++)
		strbuf_addf(&words, " %s", s->foreign.items[i]);
	return arena_strdup(&s->own.arena, strbuf_text(&words));
}

/* The index of each foreign architecture; what is for "all" stands in the native one as well. */
static int add_foreign(struct apt_session *s, const struct stack_source *source,
		       const struct apt_source *entry, struct apt_repository *r,
		       const char *component, struct error *err)
{
	for (size_t i = 0; component && i < s->foreign.len; i++) {
		const char *arch = s->foreign.items[i];

		if (apt_source_has_arch(entry, arch) &&
		    add_index(s, source, r, component, arch, arch, err) < 0)
			return -1;
	}
	return 0;
}

/* One component (NULL: flat): the native index, and that of "all" where it is kept apart. */
static int add_component(struct apt_session *s, const struct stack_source *source,
			 const struct apt_source *entry, struct apt_repository *r,
			 const char *component, struct error *err)
{
	int rc = add_index(s, source, r, component, s->arch, all_archs(s), err), all = 0;

	if (rc >= 0 && component && !r->release.no_all_packages &&
	    has_word(r->release.architectures, "all"))
		all = add_index(s, source, r, component, "all", "all", err);
	if (rc < 0 || all < 0 || add_foreign(s, source, entry, r, component, err) < 0)
		return -1;
	if (rc || all) {
		record(s, source->id, r, component);
		return 0;
	}
	if (source->from_host) {
		out_verbose(s->context->out, "%s: %s offers nothing for %s%s%s", source->id,
			    r->display, s->arch, component ? " in " : "",
			    component ? component : "");
		return 0;
	}
	return stack_error(s->context->stack, source->place, err,
			   "source '%s': %s has no Packages for %s%s%s; it offers: %.80s%s%.80s",
			   source->id, r->display, s->arch, component ? " in component " : "",
			   component ? component : "", r->release.architectures,
			   *r->release.components ? "; components: " : "", r->release.components);
}

static int add_repository(struct apt_session *s, const struct stack_source *source,
			  const struct apt_source *entry, const struct apt_keys *keys,
			  const char *authorization, const char *proxy, struct error *err)
{
	struct apt_repository *r = xcalloc(1, sizeof(*r));

	vec_push(&s->repositories, r);
	r->proxy = proxy;
	if (apt_repository_open(&s->access, entry, authorization, keys, r, err) < 0)
		return -1;
	if (!entry->component_count)
		return add_component(s, source, entry, r, NULL, err);
	for (size_t i = 0; i < entry->component_count; i++) {
		if (add_component(s, source, entry, r, entry->components[i], err) < 0)
			return -1;
	}
	return 0;
}

/* What "signed-by" of a host source says: paths and fingerprints. */
struct host_keys {
	const char *paths[KEYS_LIMIT];
	const char *fingerprints[KEYS_LIMIT];
	struct apt_keys keys;
};

static bool is_fingerprint(struct slice s)
{
	if (s.len < 16 || s.len > 64)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (!s.data[i] || !strchr("0123456789abcdefABCDEF", s.data[i]))
			return false;
	}
	return true;
}

static int host_keys(struct apt_session *s, const struct apt_source *entry, struct host_keys *out,
		     struct error *err)
{
	struct slice rest = slice_str(entry->signed_by ? entry->signed_by : "");
	struct arena *a = &s->own.arena;
	size_t n = 0;

	out->keys = (struct apt_keys){ .key_text = entry->key_text };
	while (rest.len) {
		struct slice word;

		while (n < rest.len && rest.data[n] && !strchr(" ,\t\n", rest.data[n]))
			n++;
		word = slice_of(rest.data, n);
		rest = slice_of(rest.data + n, rest.len - n);
		rest = rest.len ? slice_of(rest.data + 1, rest.len - 1) : rest;
		n = 0;
		if (word.len && word.data[word.len - 1] == '!')
			word.len--;
		if (!word.len)
			continue;
		if (out->keys.keyring_count == KEYS_LIMIT ||
		    out->keys.fingerprint_count == KEYS_LIMIT)
			return error_set(err, ERROR_LIMIT, "%s: more than %d keys", entry->place,
					 KEYS_LIMIT);
		if (word.data[0] == '/')
			out->paths[out->keys.keyring_count++] =
				fs_join(s->machine.root, arena_slice(a, word) + 1);
		else if (is_fingerprint(word))
			out->fingerprints[out->keys.fingerprint_count++] = arena_slice(a, word);
		else
			return error_set(
				err, ERROR_USAGE,
				"%s: signed-by is neither a path nor a fingerprint: '%.*s'",
				entry->place, (int)word.len, (const char *)word.data);
	}
	out->keys.fingerprints = out->fingerprints;
	out->keys.keyrings = out->paths;
	return 0;
}

static int add_host_entry(struct apt_session *s, const struct stack_source *source,
			  const struct apt_source *entry, struct error *err)
{
	cleanup_free char *authorization = apt_config_authorization(&s->host, entry->uri);
	cleanup_free struct host_keys *named = xcalloc(1, sizeof(*named));
	struct apt_source filled = *entry;
	struct error local = { 0 };
	size_t owned;
	int rc;

	if (host_keys(s, entry, named, err) < 0)
		return -1;
	owned = named->keys.keyring_count;
	if (!owned && !entry->key_text) {
		named->keys.keyrings = s->host.keyrings.items;
		named->keys.keyring_count = s->host.keyrings.len;
	}
	filled.ignore_validity |= s->host.ignore_validity;
	rc = add_repository(s, source, &filled, &named->keys, authorization,
			    apt_config_proxy(&s->host, entry->uri), &local);
	for (size_t i = 0; i < owned; i++)
		free((char *)named->paths[i]);
	if (rc == 0)
		return 0;
	/* apt goes on without what it cannot reach, and so do we; never without what is wrong. */
	if (local.code == ERROR_NETWORK || local.code == ERROR_NOT_FOUND ||
	    local.code == ERROR_USAGE) {
		out_warn(s->context->out, "%s: left out: %s", entry->place, local.text);
		s->skipped = arena_strdup(&s->own.arena, local.text);
		return 0;
	}
	*err = local;
	return error_wrap(err, "%s", entry->place);
}

static const char *fill_arch(struct apt_session *s, const char *text)
{
	const char *mark = strstr(text, "$(ARCH)");

	return mark ? arena_printf(&s->own.arena, "%.*s%s%s", (int)(mark - text), text, s->arch,
				   mark + strlen("$(ARCH)"))
		    : text;
}

static int add_host(struct apt_session *s, const struct stack_source *source, struct error *err)
{
	size_t used = 0;

	if (!s->host_read) {
		if (apt_config_read(s->machine.root, s->machine.config, &s->host, err) < 0)
			return error_wrap(err, "source '%s'", source->id);
		s->host_read = true;
	}
	s->universe.pins = s->host.pins.items;
	s->universe.pin_count = s->host.pins.len;
	s->universe.default_release = s->host.default_release;
	for (size_t i = 0; i < s->host.sources.len; i++) {
		struct apt_source entry = s->host.sources.items[i];

		if (!apt_source_has_arch(&entry, s->arch))
			continue;
		used++;
		entry.uri = fill_arch(s, entry.uri);
		entry.suite = fill_arch(s, entry.suite);
		if (add_host_entry(s, source, &entry, err) < 0)
			return error_wrap(err, "source '%s'", source->id);
	}
	if (!used)
		return stack_error(
			s->context->stack, source->place, err,
			"source '%s': the machine's apt configuration has no source for %s",
			source->id, s->arch);
	return 0;
}

static int add_explicit(struct apt_session *s, const struct stack_source *source, struct error *err)
{
	const struct stack *stack = s->context->stack;
	const char *suite = source->suite ? source->suite : "./";
	struct apt_source entry = { .suite = suite,
				    .components = source->components.items,
				    .component_count = source->components.count };
	cleanup_free char *url = NULL;
	const char *path;
	struct apt_keys keys = { .keyrings = &path, .keyring_count = 1 };

	if (!source->url || !source->signed_by)
		return stack_error(stack, source->place, err,
				   "source '%s': an apt source that is not the host's needs %s",
				   source->id,
				   source->url ? "signed-by: the file with the key of "
						 "the repository"
					       : "url");
	if (str_ends(suite, "/") != (source->components.count == 0))
		return stack_error(
			stack, source->place, err,
			"source '%s': a suite that ends in \"/\" (a flat repository) takes "
			"no components, any other needs them",
			source->id);
	url = source_url(s->context, source, err);
	if (!url)
		return -1;
	entry.uri = arena_printf(&s->own.arena, "%s%s", url, str_ends(url, "/") ? "" : "/");
	path = stack_path(stack, source->signed_by, &s->own.arena);
	if (add_repository(s, source, &entry, &keys, NULL, NULL, err) < 0)
		return err->code == ERROR_USAGE ? -1 : error_wrap(err, "source '%s'", source->id);
	return 0;
}

/* What the base image has, as an index of its own. */
static int add_installed(struct apt_session *s, struct error *err)
{
	static const struct deb_index index = { .id = "base",
						.label_text = "the base image's package database",
						.base = "",
						.host = "",
						.suite = "",
						.codename = "",
						.origin = "",
						.label = "",
						.release_version = "",
						.component = "",
						.installed = true };

	if (!s->context->base)
		return 0;
	return deb_universe_add(&s->universe, &index, strbuf_slice(&s->context->base->packages),
				NULL, err);
}

int apt_session_open(struct apt_session *s, struct error *err)
{
	const struct stack *stack = s->context->stack;

	s->universe.arch = s->arch;
	if (add_installed(s, err) < 0)
		return -1;
	for (size_t i = 0; i < stack->source_count; i++) {
		const struct stack_source *source = &stack->sources[i];
		int rc = 0;

		if (source->type == SOURCE_APT)
			rc = source->from_host ? add_host(s, source, err)
					       : add_explicit(s, source, err);
		if (rc < 0)
			return -1;
	}
	if (s->universe.indexes.len == (s->context->base ? 1 : 0))
		return error_set(err, s->skipped ? ERROR_NETWORK : ERROR_NOT_FOUND,
				 "no apt source could be read%s%s", s->skipped ? ": " : "",
				 s->skipped ? s->skipped : "");
	return 0;
}
