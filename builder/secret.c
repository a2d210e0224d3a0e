#include "builder/secret.h"

#include "base/fs.h"

void secrets_release(struct secrets *secrets)
{
	if (!secrets)
		return;
	for (size_t i = 0; i < secrets->len; i++) {
		struct strbuf *b = &secrets->items[i].bytes;

		if (b->data)
			explicit_bzero(b->data, b->cap);
		strbuf_release(b);
	}
	vec_release(secrets);
	arena_release(&secrets->arena);
}

struct given {
	struct slice id, src, env;
};

static bool parse_given(const char *text, struct given *out)
{
	struct slice rest = slice_str(text), part, key;

	*out = (struct given){ 0 };
	while (slice_cut(&rest, ',', &part)) {
		if (!slice_cut(&part, '=', &key) || !part.len)
			return false;
		if (slice_is(key, "id"))
			out->id = part;
		else if (slice_is(key, "src"))
			out->src = part;
		else if (slice_is(key, "env"))
			out->env = part;
		else
			return false;
	}
	return out->id.len && !out->src.len != !out->env.len;
}

int secrets_check_given(const struct stack *stack, const char *text, struct error *err)
{
	struct given given;

	if (!parse_given(text, &given))
		return error_set(err, ERROR_USAGE,
				 "--secret: write id=NAME,src=FILE or id=NAME,env=VARIABLE");
	for (size_t i = 0; i < stack->stage_count; i++) {
		for (size_t k = 0; k < stack->stages[i].secret_count; k++) {
			if (slice_is(given.id, stack->stages[i].secrets[k].id))
				return 0;
		}
	}
	return error_set(err, ERROR_USAGE,
			 "--secret: no stage of %s has a secret '%.*s'; name it under "
			 "stages.NAME.secrets",
			 stack->file, (int)given.id.len, (const char *)given.id.data);
}

static int take_env(const char *name, struct secret *out, struct error *err)
{
	const char *value = getenv(name);

	if (!value)
		return error_set(err, ERROR_USAGE, "the variable %s is not set", name);
	strbuf_adds(&out->bytes, value);
	return 0;
}

static int take_file(const char *path, struct secret *out, struct error *err)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	cleanup_stream struct stream *s = NULL;

	if (fd < 0)
		return error_set(err, ERROR_USAGE, "%s: %s", path, strerror(errno));
	s = stream_fd(steal_fd(&fd), path);
	return stream_read_all(s, SECRET_BYTES_MAX, &out->bytes, err);
}

/* From the command line, else as the manifest says. */
static int take(const struct stack *stack, const struct stack_secret *wanted,
		const char *const *given, size_t count, struct secret *out, struct arena *arena,
		struct error *err)
{
	for (size_t i = count; i-- > 0;) {
		struct given g;

		if (!parse_given(given[i], &g) || !slice_is(g.id, wanted->id))
			continue;
		return g.env.len ? take_env(arena_slice(arena, g.env), out, err)
				 : take_file(arena_slice(arena, g.src), out, err);
	}
	if (wanted->env)
		return take_env(wanted->env, out, err);
	if (wanted->src)
		return take_file(stack_path(stack, wanted->src, arena), out, err);
	return error_set(
		err, ERROR_USAGE,
		"it is not given; add --secret id=%s,src=FILE or --secret id=%s,env=VARIABLE",
		wanted->id, wanted->id);
}

int secrets_read(const struct stack *stack, const struct stack_stage *stage,
		 const char *const *given, size_t given_count, struct secrets *out,
		 struct error *err)
{
	for (size_t i = 0; i < stage->secret_count; i++) {
		const struct stack_secret *wanted = &stage->secrets[i];
		struct secret *s = vec_add(out);
		struct error cause = { 0 };

		s->id = arena_strdup(&out->arena, wanted->id);
		s->to = arena_printf(&out->arena, SECRETS_FOLDER "/%s", wanted->id);
		if (take(stack, wanted, given, given_count, s, &out->arena, &cause) == 0) {
			s->core = slice_trim(strbuf_slice(&s->bytes));
			if (s->core.len >= SECRET_BYTES_SEEN)
				continue;
			error_set(&cause, ERROR_USAGE,
				  "it has fewer than %d characters, too few to find it in what the "
				  "stage gives",
				  SECRET_BYTES_SEEN);
		}
		return stack_error(stack, wanted->place, err, "secret '%s': %s", wanted->id,
				   cause.text);
	}
	return 0;
}

const struct secret *secrets_in(const struct secrets *secrets, struct slice text)
{
	for (size_t i = 0; secrets && i < secrets->len; i++) {
		const struct secret *s = &secrets->items[i];

		if (text.len >= s->core.len &&
		    memmem(text.data, text.len, s->core.data, s->core.len))
			return s;
	}
	return NULL;
}

void secrets_mask(const struct secrets *secrets, struct slice text, struct strbuf *out)
{
	size_t at = 0;

	while (at < text.len) {
		size_t len = 0;

		for (size_t i = 0; secrets && i < secrets->len && !len; i++) {
			struct slice core = secrets->items[i].core;

			if (text.len - at >= core.len &&
			    memcmp(text.data + at, core.data, core.len) == 0)
				len = core.len;
		}
		if (len)
			strbuf_adds(out, "***");
		else
			strbuf_addc(out, (char)text.data[at]);
		at += MAX(len, (size_t)1);
	}
}

/* Keeps the end of what went by, since a secret may lie across two reads. */
struct watching {
	struct stream base;
	const struct secrets *secrets;
	struct stream *inner;
	struct strbuf window;
	size_t kept; /* bytes */
};

static ssize_t watch_read(struct stream *base, void *buf, size_t len, struct error *err)
{
	struct watching *w = (struct watching *)base;
	ssize_t n = stream_read(w->inner, buf, len, err);
	const struct secret *found;

	if (n <= 0)
		return n;
	strbuf_add(&w->window, buf, (size_t)n);
	found = secrets_in(w->secrets, strbuf_slice(&w->window));
	if (found) {
		error_set(err, ERROR_INTEGRITY,
			  "holds the secret '%s'; what a stage gives must not", found->id);
		return -1;
	}
	if (w->window.len > w->kept) {
		memmove(w->window.data, w->window.data + w->window.len - w->kept, w->kept);
		strbuf_truncate(&w->window, w->kept);
	}
	return n;
}

static void watch_close(struct stream *base)
{
	struct watching *w = (struct watching *)base;

	if (w->window.data)
		explicit_bzero(w->window.data, w->window.cap);
	strbuf_release(&w->window);
}

struct stream *secrets_watch(const struct secrets *secrets, struct stream *inner)
{
	static const struct stream_ops ops = { .read = watch_read, .close = watch_close };
	struct watching *w = xcalloc(1, sizeof(*w));

	w->base.ops = &ops;
	w->secrets = secrets;
	w->inner = inner;
	for (size_t i = 0; i < secrets->len; i++)
		w->kept = MAX(w->kept, secrets->items[i].core.len);
	return &w->base;
}
