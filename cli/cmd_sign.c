#include "cli/key_arg.h"
#include "cli/sign_arg.h"

static const struct option options[] = {
	{ .name = "key", .letter = 'k', .value = "FILE", .help = "private key (or env://NAME)" },
	PASSWORD_OPTION,
	FORMAT_OPTION,
	{ .name = "recursive", .letter = 'r', .help = "of an index its images, too" },
	{ .name = "annotation",
	  .letter = 'a',
	  .value = "KEY=VALUE",
	  .repeatable = true,
	  .help = "sign this with it" },
	{ .name = "as",
	  .value = "REFERENCE",
	  .help = "the name it is signed as (HOST/NAME:TAG), for images of layouts" },
	{ .name = "renew", .help = "sign again what this key has signed" },
	REGISTRY_OPTIONS,
	{ 0 },
};

static int take_reference(const struct invocation *in, struct artifact_arg *to,
			  struct signature_request *request, struct error *err)
{
	const char *as = option_text(in, "as", NULL);
	struct reference ref;

	if (as && registry_arg_reference(as, &to->arena, &ref, err) < 0)
		return error_wrap(err, "--as");
	if (as)
		request->reference =
			arena_printf(&to->arena, "%s/%s%s%s", ref.registry, ref.repository,
				     ref.tag ? ":" : "", ref.tag ? ref.tag : "");
	if (!*request->reference && (request->forms & SIGNATURE_LEGACY))
		return error_set(err, ERROR_USAGE,
				 "%s: say with --as under which name (HOST/NAME:TAG) a layout's "
				 "image is signed, or --format bundle",
				 in->args[0]);
	return 0;
}

static int sign(const struct invocation *in, struct registry_arg *registry, const struct key *key,
		struct error *err)
{
	cleanup_artifact_arg struct artifact_arg to = { 0 };
	cleanup_json json_t *annotations = NULL;
	struct signature_request request;
	struct sign_outcome outcome = { 0 };

	if (artifact_arg_annotations(in, &annotations, err) < 0 ||
	    artifact_arg_open(in->args[0], CLIENT_PUSH, &registry->client, &to, err) < 0)
		return -1;
	request = sign_arg_request(in, &to, key);
	request.annotations = annotations;
	if (take_reference(in, &to, &request, err) < 0 ||
	    sign_arg_sign(&to, &request, option_given(in, "recursive"), &outcome, err) < 0)
		return -1;
	out_note(in->out, "%u signatures made, %u were there", outcome.made, outcome.there);
	out_print(in->out, "%s\n", to.name);
	return 0;
}

static int run(const struct invocation *in, struct error *err)
{
	cleanup_registry_arg struct registry_arg registry = { 0 };
	cleanup_key struct key *key = NULL;

	if (!(key = key_arg_wanted(in, err)) || registry_arg_take(in, "sign", &registry, err) < 0)
		return -1;
	return sign(in, &registry, key, err);
}

const struct command command_sign = {
	.name = "sign",
	.usage = "--key FILE IMAGE",
	.summary = "sign an image of a registry or a layout",
	.description =
		"Signs the digest of the image, or of the index, that IMAGE names\n"
		"(docker://HOST/NAME:TAG, oci:DIR:TAG), and puts the signature beside it, in the\n"
		"two forms that verifiers know: under cosign's tag (sha256-….sig), and as a\n"
		"Sigstore bundle that refers to the image. Where a registry keeps no list of\n"
		"referrers, the list is kept under the tag sha256-…. Keys are PEM: plain,\n"
		"encrypted (PKCS #8), or cosign's (gpuimg keygen, cosign generate-key-pair).\n"
		"\n"
		"Verifying: gpuimg verify --key FILE.pub IMAGE, or\n"
		"cosign verify --key FILE.pub --insecure-ignore-tlog=true REFERENCE.",
	.examples = "gpuimg sign --key cosign.key docker://registry.example.org/ml/trainer:2.3\n"
		    "gpuimg sign --key env://SIGNING_KEY -a commit=1f2e3d "
		    "docker://registry.example.org/app:1\n"
		    "gpuimg sign --key cosign.key --as registry.example.org/app:1 oci:out/app:1    "
		    "# before it is pushed\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
