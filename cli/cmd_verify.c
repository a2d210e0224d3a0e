#include "builder/build.h"
#include "builder/fetch.h"
#include "builder/rebuild.h"
#include "builder/workdir.h"
#include "cli/base_arg.h"
#include "cli/image_arg.h"
#include "cli/registry_arg.h"
#include "cli/report_output.h"
#include "cli/stack_arg.h"
#include "cli/verify_signature.h"

static const struct option options[] = {
	{ .name = "key",
	  .letter = 'k',
	  .value = "FILE",
	  .repeatable = true,
	  .help = "public key that signed the image (or env://NAME); one of several does" },
	{ .name = "attestation",
	  .value = "TYPE",
	  .repeatable = true,
	  .help = "a signed statement it has to have: spdx, cyclonedx, provenance, openvex, vuln, "
		  "or a URI" },
	{ .name = "predicate",
	  .value = "FILE",
	  .help = "write what the verified attestation says" },
	{ .name = "annotation",
	  .letter = 'a',
	  .value = "KEY=VALUE",
	  .repeatable = true,
	  .help = "that has to have been signed with it" },
	{ .name = "max-age", .value = "DAYS", .help = "signatures that are older do not count" },
	{ .name = "recursive", .letter = 'r', .help = "of an index its images, too" },
	{ .name = "platform",
	  .value = "OS/ARCH",
	  .help = "attestations of this image of an index" },
	REPORT_OUTPUT_OPTION("text or json, of --key"),
	{ .name = "rebuild", .help = "build the image once more from its lock, and compare" },
	{ .name = "offline", .help = "open no socket: every input must lie in the store" },
	{ .name = "jobs",
	  .letter = 'j',
	  .value = "N",
	  .help = "threads (default: as many as there are processors)" },
	STACK_SECRET_OPTION,
	STACK_CDI_OPTION,
	STACK_SET_OPTION,
	STACK_VARIANT_OPTION,
	REGISTRY_OPTIONS,
	{ 0 },
};

struct verification {
	const struct invocation *in;
	struct stack *stack;
	struct lockfile lock;
	struct store *store; /* of the rebuilding */
	bool different;
};

/* "dir/stack.lock.json" → the manifest beside it; anything else is the manifest. Heap. */
static char *manifest_of(const char *text)
{
	static const char *const ends[] = { ".yaml", ".yml", ".json" };
	static const char lock[] = ".lock.json";
	size_t len = strlen(text);

	if (!str_ends(text, lock))
		return xstrdup(text);
	len -= strlen(lock);
	for (;;) {
		for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
			char *path = xasprintf("%.*s%s", (int)len, text, ends[i]);

			if (fs_exists(AT_FDCWD, path))
				return path;
			free(path);
		}
		/* of a matrix: "stack.VARIANT" */
		while (len && text[len - 1] != '.' && text[len - 1] != '/')
			len--;
		if (!len || text[len - 1] == '/')
			return xasprintf("%.*s.yaml", (int)(strlen(text) - strlen(lock)), text);
		len--;
	}
}

/* Of several images the one whose lock was named. */
static struct stack *stack_of(struct stacks *stacks, const char *text, struct error *err)
{
	if (stacks->count == 1)
		return &stacks->items[0];
	for (size_t i = 0; i < stacks->count; i++) {
		cleanup_free char *path = stack_arg_lock(&stacks->items[i]);

		if (str_equal(path, text))
			return &stacks->items[i];
	}
	error_set(err, ERROR_USAGE,
		  "%s: describes %zu images; name the lock of one, or choose with --variant", text,
		  stacks->count);
	return NULL;
}

/* A platform's image as it was given, against the one just built. */
static int compare_platform(struct verification *v, struct image_source *built,
			    const char *platform, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_image struct image given = { 0 }, made = { 0 };
	struct image_source *source = image_arg_source(v->in->args[0], err);
	struct platform p;
	char digest[DIGEST_TEXT_MAX];

	if (!source)
		return -1;
	if (platform_parse(platform, &arena, &p, err) < 0) {
		image_source_close(source);
		return -1;
	}
	if (image_open_source(source, v->in->args[0], &p, &given, err) < 0 ||
	    image_open_source(source_borrow(built), "the image built again", &p, &made, err) < 0 ||
	    rebuild_compare(&given, &made, v->store, &text, err) < 0)
		return -1;
	v->different |= text.len > 0;
	if (text.len)
		out_print(v->in->out, "%s  different: %s", platform, strbuf_text(&text));
	else
		out_print(v->in->out, "%s  identical  %s\n", platform,
			  digest_text(&given.descriptor.digest, digest));
	return 0;
}

static int compare(void *user, struct image_source *image, struct error *err)
{
	struct verification *v = user;

	for (size_t i = 0; i < v->stack->platforms.count; i++) {
		if (compare_platform(v, image, v->stack->platforms.items[i], err) < 0)
			return error_wrap(err, "%s", v->stack->platforms.items[i]);
	}
	return 0;
}

/* The time the image says it was made: SOURCE_DATE_EPOCH of its build. */
static int take_time(const struct verification *v, struct build_request *request, struct error *err)
{
	struct image_source *source = image_arg_source(v->in->args[0], err);
	cleanup_arena struct arena arena = { 0 };
	cleanup_image struct image image = { 0 };
	struct platform p;

	if (!source)
		return -1;
	if (platform_parse(v->stack->platforms.items[0], &arena, &p, err) < 0) {
		image_source_close(source);
		return -1;
	}
	if (image_open_source(source, v->in->args[0], &p, &image, err) < 0)
		return -1;
	request->has_created =
		image.config.created && rebuild_time(image.config.created, &request->created);
	return 0;
}

static int bring_missing(const struct verification *v, struct store *store, const char *path,
			 struct error *err)
{
	const struct base_opener opener = base_arg_opener();
	struct fetch_result result;
	struct fetch_request request = { .lock = &v->lock,
					 .store = store,
					 .directory = v->stack->directory,
					 .opener = &opener };
	const struct lock_input *missing = fetch_missing(&v->lock, store);

	if (!missing)
		return 0;
	if (option_given(v->in, "offline"))
		return error_set(err, ERROR_NOT_FOUND,
				 "%s %s is not in the store; run `gpuimg fetch %s`", missing->name,
				 missing->version, path);
	return fetch_lock(&request, &result, err);
}

static int build(struct verification *v, struct error *err)
{
	cleanup_build_result struct build_result result = { 0 };
	struct build_request request = { .stack = v->stack,
					 .lock = &v->lock,
					 .store = v->store,
					 .check = compare,
					 .check_user = v,
					 .out = v->in->out };
	cleanup_free const char **secrets = stack_arg_secrets(v->in, &request.secret_count);
	cleanup_free const char **cdi_dirs = stack_arg_cdi_dirs(v->in);
	uint64_t jobs;

	request.secrets = secrets;
	request.cdi_dirs = cdi_dirs;
	if (option_number(v->in, "jobs", 1, 64, 0, &jobs, err) < 0 ||
	    take_time(v, &request, err) < 0)
		return -1;
	request.threads = (unsigned)jobs;
	return build_run(&request, &result, err);
}

/* In a store that knows the locked inputs and nothing else. */
static int rebuild(struct verification *v, struct store *store, struct error *err)
{
	cleanup_workdir char *dir = workdir_new(store, err);
	int rc;

	if (!dir)
		return -1;
	v->store = store_open(dir, err);
	rc = v->store ? rebuild_bring_inputs(&v->lock, store, v->store, err) : -1;
	if (rc == 0)
		rc = build(v, err);
	store_close(v->store);
	v->store = NULL;
	return rc;
}

static int run_on(struct verification *v, struct error *err)
{
	cleanup_store struct store *store = store_open(option_text(v->in, "store", NULL), err);
	cleanup_free char *path = stack_arg_lock(v->stack);

	if (!store)
		return -1;
	if (!fs_exists(AT_FDCWD, path))
		return error_set(err, ERROR_USAGE,
				 "%s: there is no such lock; `gpuimg lock` writes one", path);
	if (lockfile_read(path, &v->lock, err) < 0 || bring_missing(v, store, path, err) < 0 ||
	    rebuild(v, store, err) < 0)
		return -1;
	return v->different ? 1 : 0;
}

static int run(const struct invocation *in, struct error *err)
{
	cleanup_stacks struct stacks stacks = { 0 };
	struct verification v = { .in = in };
	cleanup_free char *manifest = NULL;
	int rc;

	if (option_given(in, "key") && !option_given(in, "rebuild"))
		return verify_signature_run(in, err);
	if (!option_given(in, "rebuild") || option_given(in, "key") || in->arg_count < 2)
		return error_set(err, ERROR_USAGE,
				 "say what to verify: --key FILE IMAGE its signatures; --rebuild "
				 "IMAGE LOCK builds the image once more and compares");
	manifest = manifest_of(in->args[1]);
	if (stack_arg_read(in, manifest, &stacks, err) < 0)
		return -1;
	v.stack = stack_of(&stacks, in->args[1], err);
	if (!v.stack)
		return -1;
	rc = run_on(&v, err);
	lockfile_release(&v.lock);
	return rc < 0 ? error_wrap(err, "verify %s", in->args[0]) : rc;
}

const struct command command_verify = {
	.name = "verify",
	.usage = "--key FILE IMAGE | --rebuild IMAGE LOCK",
	.summary =
		"check an image's signatures and attestations, or build it once more and compare",
	.description =
		"With --key: looks at all signatures that lie beside IMAGE "
		"(docker://HOST/NAME:TAG, "
		"oci:DIR:TAG),\n"
		"cosign's and bundles, and demands one over the digest of its exact bytes by one "
		"of "
		"the keys;\n"
		"with --attestation also a statement of that type, about the image or the index, "
		"or "
		"of an index\n"
		"about each of its images. What lies there is believed once a signature says so.\n"
		"\n"
		"With --rebuild: builds the image of LOCK (or of the manifest beside it) from its "
		"inputs in a store\n"
		"that knows nothing of earlier builds, and compares it with IMAGE: contents of "
		"layers,\n"
		"configuration, manifest, compressed bytes. Says identical, or names the first "
		"path "
		"that differs\n"
		"and the package that owns it.\n\n"
		"Exit status: 0 verified, identical; 1 not verified, different; 2 usage; 3 it "
		"could "
		"not be built\n"
		"or read.",
	.examples = "gpuimg verify --key cosign.pub docker://registry.example.org/app:1.0\n"
		    "gpuimg verify --key cosign.pub --attestation provenance --max-age 90 "
		    "docker://registry.example.org/app:1.0\n"
		    "gpuimg verify --key cosign.pub --attestation spdx --platform linux/amd64 "
		    "--predicate app.spdx.json oci:app:1.0\n"
		    "gpuimg verify --rebuild oci:out/app:1.0 stack.lock.json\n"
		    "gpuimg verify --rebuild docker://registry.example.org/app:1.0 stack.yaml\n",
	.options = options,
	.args_min = 1,
	.args_max = 2,
	.run = run,
};
