#include "base/alloc.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cli/image_copy.h"
#include "cli/interrupt.h"
#include "cli/push_extras.h"
#include "registry/transfer.h"

static const struct option options[] = {
	REGISTRY_OPTIONS,
	{ .name = "mount-from",
	  .value = "REPOSITORY",
	  .repeatable = true,
	  .help = "repository of the same registry to take blobs over from" },
	{ .name = "persona",
	  .value = "KIND",
	  .help = "upload as this kind of registry wants it, whatever its name says" },
	{ .name = "parallel", .letter = 'j', .value = "N", .help = "blobs to send at once (4)" },
	{ .name = "if-unchanged",
	  .help = "stop when somebody else moves the tag during the push, as far as that shows" },
	PUSH_EXTRAS_OPTIONS,
	REFERRERS_OPTION,
	{ 0 },
};

/* Everything the request points at. */
struct push_arguments {
	struct registry_arg registry;
	struct arena arena;
	VEC(const char *) mounts;
	VEC(struct reference) destinations;
	struct push_request request;
};

static void push_arguments_release(struct push_arguments *a)
{
	registry_arg_release(&a->registry);
	vec_release(&a->mounts);
	vec_release(&a->destinations);
	arena_release(&a->arena);
}

static int take_persona(const struct invocation *in, struct push_arguments *a, struct error *err)
{
	const char *name = option_text(in, "persona", NULL);
	cleanup_strbuf struct strbuf names = { 0 };

	if (!name)
		return 0;
	a->request.persona = persona_named(name);
	if (a->request.persona)
		return 0;
	for (size_t i = 0; i < persona_count; i++)
		strbuf_addf(&names, "%s%s", i ? ", " : "", personas[i].name);
	return error_set(err, ERROR_USAGE, "--persona '%s': known are %s", name,
			 strbuf_text(&names));
}

static int take_options(const struct invocation *in, struct push_arguments *a, struct error *err)
{
	const char *repository;
	uint64_t parallel;

	if (registry_arg_take(in, "push", &a->registry, err) < 0 || take_persona(in, a, err) < 0 ||
	    option_number(in, "parallel", 1, 64, 4, &parallel, err) < 0)
		return -1;
	a->request.client = a->registry.client;
	for (size_t n = 0; (repository = option_nth(in, "mount-from", n)); n++)
		vec_push(&a->mounts, repository);
	vec_push(&a->mounts, NULL);
	a->request.mount_from = a->mounts.items;
	a->request.parallel = (unsigned)parallel;
	a->request.if_unchanged = option_given(in, "if-unchanged");
	return 0;
}

static int take_destinations(const struct invocation *in, struct push_arguments *a,
			     struct error *err)
{
	for (size_t i = 1; i < in->arg_count; i++) {
		const char *text = in->args[i];
		struct reference ref;

		if (str_starts(text, "docker://"))
			text += strlen("docker://");
		else if (strchr(text, ':') && strchr(text, '/') && strstr(text, "oci:") == text)
			return error_set(err, ERROR_USAGE,
					 "'%s': a push goes to registries (docker://HOST/NAME:TAG)",
					 text);
		if (reference_parse(text, &a->arena, &ref, err) < 0)
			return -1;
		vec_push(&a->destinations, ref);
	}
	a->request.destinations = a->destinations.items;
	a->request.destination_count = a->destinations.len;
	return 0;
}

/* The bytes as they move, and with -v a line per blob as it is done. */
static void show_progress(void *user, const struct push_progress *p)
{
	static const char *const words[] = {
		[PUSH_PRESENT] = "is there", [PUSH_SENT] = "sent", [PUSH_MOUNTED] = "taken over"
	};
	struct registry_arg *w = user;
	char digest[DIGEST_TEXT_MAX], size[32], resumed[32];
	const struct push_blob *blob = p->blob;
	cleanup_free char *name = NULL;

	pthread_mutex_lock(&w->lock);
	digest_text(&blob->digest, digest);
	digest[19] = 0;
	name = xasprintf("%s %" PRIu64 "%%", digest,
			 blob->size ? p->blob_bytes * 100 / blob->size : 100);
	if (blob->state == PUSH_PRESENT || blob->state == PUSH_MOUNTED)
		w->progress.present_bytes += blob->size;
	if (blob->state == PUSH_SENDING && blob->bytes_sent == 0 && p->blob_bytes) {
		w->progress.present_bytes += p->blob_bytes;
		progress_end(&w->progress);
		out_note(w->out, "%s resumed at %s of %s", digest, out_size(p->blob_bytes, resumed),
			 out_size(blob->size, size));
	}
	if (blob->state < ARRAY_LEN(words) && words[blob->state])
		out_verbose(w->out, "%s %s (%s)", digest, words[blob->state],
			    out_size(blob->size, size));
	progress_bytes(&w->progress, name, p->done_bytes, p->total_bytes);
	pthread_mutex_unlock(&w->lock);
}

static void report(const struct invocation *in, const struct push_arguments *a,
		   const struct push_result *r)
{
	size_t sent = 0, present = 0, mounted = 0;
	char digest[DIGEST_TEXT_MAX], size[32], text[32];
	uint64_t resumed = 0;

	for (size_t i = 0; i < r->blob_count; i++) {
		sent += r->blobs[i].state == PUSH_SENT;
		present += r->blobs[i].state == PUSH_PRESENT;
		mounted += r->blobs[i].state == PUSH_MOUNTED;
		resumed += r->blobs[i].bytes_resumed;
		if (r->blobs[i].restarts)
			out_note(in->out, "%.19s: sent again from its start, %u time(s)",
				 digest_text(&r->blobs[i].digest, digest), r->blobs[i].restarts);
	}
	if (mounted)
		out_note(in->out, "%zu blobs taken over from other repositories", mounted);
	if (resumed)
		out_note(in->out, "%s had been sent by an earlier push", out_size(resumed, text));
	out_note(in->out, "%zu blobs sent (%s), %zu were there, in %.1f s", sent,
		 out_size(r->bytes_sent, size), present, (double)r->elapsed_ms / 1000);
	digest_text(&r->root.digest, digest);
	for (size_t i = 0; i < a->destinations.len; i++) {
		const struct reference *ref = &a->destinations.items[i];

		out_print(in->out, "%s/%s%s%s@%s\n", ref->registry, ref->repository,
			  ref->tag ? ":" : "", ref->tag ? ref->tag : "", digest);
	}
}

/* What belongs beside the image, once it is there. */
static int put_extras(const struct invocation *in, struct push_arguments *a,
		      const struct image_name *from, const struct digest *root,
		      const struct key *key, struct error *err)
{
	for (size_t i = 0; option_given(in, "with-referrers") && i < a->destinations.len; i++)
		if (push_extras_copy(in, &a->registry, from, &a->destinations.items[i], NULL, root,
				     err) < 0)
			return -1;
	return push_extras_put(in, &a->registry, a->request.source, a->destinations.items,
			       a->destinations.len, root, key, NULL, err);
}

static int push(const struct invocation *in, struct push_arguments *a, const struct key *key,
		struct error *err)
{
	cleanup_push_result struct push_result result = { 0 };
	cleanup_source struct image_source *source = NULL;
	struct interrupt watch;
	struct image_name name;
	int rc;

	if (image_name_parse(in->args[0], &a->arena, &name, err) < 0)
		return -1;
	source = image_copy_source(&name, &a->registry.client, err);
	if (!source)
		return -1;
	a->request.source = source;
	interrupt_begin(&watch, &a->registry, "what arrived is kept; the same call goes on there");
	rc = transfer_push(&a->request, &result, err);
	interrupt_end(&watch);
	progress_end(&a->registry.progress);
	if (rc == 0)
		rc = put_extras(in, a, &name, &result.root.digest, key, err);
	if (rc == 0)
		report(in, a, &result);
	return rc;
}

static int run(const struct invocation *in, struct error *err)
{
	cleanup(push_arguments_release) struct push_arguments a = { 0 };

	cleanup_key struct key *key = NULL;

	a.request.progress = show_progress;
	a.request.progress_user = &a.registry;
	if (take_options(in, &a, err) < 0 || take_destinations(in, &a, err) < 0)
		return -1;
	key = push_extras_key(in, err);
	if (!key && option_given(in, "sign"))
		return -1;
	return push(in, &a, key, err);
}

const struct command command_push = {
	.name = "push",
	.usage = "IMAGE DESTINATION...",
	.summary = "send an image to registries",
	.description =
		"Sends what a layout (oci:DIR:TAG) or an archive holds, an index with all its\n"
		"images, to each destination (docker://HOST/NAME:TAG). Blobs that are there are\n"
		"not sent again; tags appear last. A push that was broken off goes on where it\n"
		"stopped, as far as the registry keeps what it got. What is found out about a\n"
		"registry, and uploads under way, lie in $XDG_STATE_HOME/gpuimg.\n"
		"\n"
		"Of images that were built with this store, their SBOMs and provenance are\n"
		"attached; with --sign KEY as signed statements, and the image is signed.\n"
		"\n"
		"Credentials are those of docker and podman: --authfile, $REGISTRY_AUTH_FILE,\n"
		"~/.docker/config.json, containers/auth.json and their helpers; for nvcr.io also\n"
		"$NGC_API_KEY. Plain http is spoken to loopback hosts only.",
	.examples = "gpuimg push oci:out/trainer:2.3 docker://registry.example.org/ml/trainer:2.3"
		    "    # one tag\n"
		    "gpuimg push oci:out/app:1 docker://127.0.0.1:5000/app:1 "
		    "docker://127.0.0.1:5000/app:latest    # two\n"
		    "gpuimg push --sign cosign.key oci:out/app:1 "
		    "docker://registry.example.org/app:1    # signed, with its SBOMs",
	.options = options,
	.args_min = 2,
	.args_max = 64,
	.run = run,
};
