#include "cli/registry_arg.h"

#include "cli/no_core.h"
#include "registry/persona.h"

enum { PASSWORD_BYTES_MAX = 64 * 1024 };

/* The first line of standard input, without its end; appended. */
static int read_password(struct strbuf *out, struct error *err)
{
	cleanup_stream struct stream *input = stream_fd(dup(0), "standard input");

	if (stream_read_all(input, PASSWORD_BYTES_MAX, out, err) < 0)
		return error_wrap(err, "password");
	while (out->len && strchr("\r\n", out->data[out->len - 1]))
		strbuf_truncate(out, out->len - 1);
	return 0;
}

static int take_credentials(const struct invocation *in, struct registry_arg *a, struct error *err)
{
	struct credential_options *c = &a->client.credentials;

	c->auth_file = option_text(in, "authfile", NULL);
	c->username = option_text(in, "username", NULL);
	c->anonymous = option_given(in, "anonymous");
	if (!c->username != !option_given(in, "password-stdin"))
		return error_set(err, ERROR_USAGE,
				 "--username and --password-stdin are wanted together");
	if (!c->username)
		return 0;
	if (read_password(&a->password, err) < 0)
		return -1;
	c->password = strbuf_text(&a->password);
	return 0;
}

static void show_note(void *user, enum client_note kind, const char *text)
{
	struct registry_arg *a = user;

	pthread_mutex_lock(&a->lock);
	progress_end(&a->progress);
	if (kind == CLIENT_NOTE_WARNING)
		out_warn(a->out, "%s", text);
	else if (kind == CLIENT_NOTE_EVENT)
		out_note(a->out, "%s", text);
	else
		out_verbose(a->out, "%s", text);
	pthread_mutex_unlock(&a->lock);
}

int registry_arg_take(const struct invocation *in, const char *what, struct registry_arg *out,
		      struct error *err)
{
	struct client_options *c = &out->client;
	const char *realm;

	pthread_mutex_init(&out->lock, NULL);
	no_core();
	out->out = in->out;
	out->progress = progress_start(in, what);
	for (size_t n = 0; (realm = option_nth(in, "allow-realm", n)); n++)
		vec_push(&out->realms, realm);
	vec_push(&out->realms, NULL);
	c->allow_realms = out->realms.items;
	out->state_dir = upload_state_dir();
	c->state_dir = out->state_dir;
	c->ca_file = option_text(in, "tls-ca", NULL);
	c->note = show_note;
	c->note_user = out;
	return take_credentials(in, out, err);
}

void registry_arg_release(struct registry_arg *a)
{
	if (a->password.data)
		explicit_bzero(a->password.data, a->password.len);
	strbuf_release(&a->password);
	vec_release(&a->realms);
	free(a->state_dir);
	pthread_mutex_destroy(&a->lock);
}

int registry_arg_reference(const char *text, struct arena *arena, struct reference *out,
			   struct error *err)
{
	if (str_starts(text, "docker://"))
		text += strlen("docker://");
	return reference_parse(text, arena, out, err);
}

int registry_target_open(const struct registry_arg *a, const char *registry, const char *repository,
			 enum client_access access, struct registry_target *out, struct error *err)
{
	out->repository = client_repository_open(registry, repository, access, &a->client, err);
	if (!out->repository)
		return -1;
	out->client = client_new(out->repository);
	return 0;
}

void registry_target_release(struct registry_target *t)
{
	client_free(t->client); /* goes before its repository */
	client_repository_close(t->repository);
	*t = (struct registry_target){ 0 };
}
