#include "base/fs.h"
#include "cli/key_arg.h"
#include "cli/sign_arg.h"
#include "formats/intoto.h"

static const struct option options[] = {
	{ .name = "key", .letter = 'k', .value = "FILE", .help = "private key (or env://NAME)" },
	PASSWORD_OPTION,
	FORMAT_OPTION,
	{ .name = "type",
	  .value = "TYPE",
	  .help = "of the predicate: spdx, cyclonedx, provenance, openvex, vuln, or a URI" },
	{ .name = "predicate",
	  .value = "FILE",
	  .help = "the predicate, JSON; without it: what the build left in the store" },
	{ .name = "renew", .help = "sign again what this key has signed" },
	REGISTRY_OPTIONS,
	{ 0 },
};

static int attest_file(const struct invocation *in, const struct signature_request *request,
		       struct sign_outcome *outcome, struct error *err)
{
	const char *file = option_text(in, "predicate", NULL);
	const char *name = option_text(in, "type", NULL);
	const char *type = name ? intoto_predicate_type(name) : NULL;
	cleanup_strbuf struct strbuf text = { 0 };
	struct signature_put put;
	struct slice predicate;

	if (!type)
		return error_set(err, ERROR_USAGE,
				 "--type TYPE is wanted with --predicate: spdx, cyclonedx, "
				 "provenance, openvex, vuln, or a URI");
	if (fs_read(AT_FDCWD, file, ARTIFACT_BYTES_MAX, &text, err) < 0)
		return error_wrap(err, "--predicate");
	if (sign_arg_predicate(strbuf_slice(&text), type, &predicate, err) < 0)
		return error_wrap(err, "%s", file);
	if (signature_attest(request, type, predicate, &put, err) < 0)
		return -1;
	outcome->made = put.made;
	outcome->there = put.there;
	return 0;
}

static int attest_stored(const struct invocation *in, struct artifact_arg *to,
			 const struct signature_request *request, struct sign_outcome *outcome,
			 struct error *err)
{
	cleanup_store struct store *store = store_open(option_text(in, "store", NULL), err);

	if (!store || sign_arg_attach(to, request, store, outcome, err) < 0)
		return -1;
	if (outcome->made + outcome->there)
		return 0;
	return error_set(err, ERROR_NOT_FOUND,
			 "%s: the store knows nothing of a build of it; name a file with "
			 "--predicate and its --type",
			 in->args[0]);
}

static int attest(const struct invocation *in, struct registry_arg *registry, const struct key *key,
		  struct error *err)
{
	cleanup_artifact_arg struct artifact_arg to = { 0 };
	struct signature_request request;
	struct sign_outcome outcome = { 0 };
	bool file = option_given(in, "predicate");

	if (!file && option_given(in, "type"))
		return error_set(err, ERROR_USAGE, "--type is that of a --predicate FILE");
	if (artifact_arg_open(in->args[0], CLIENT_PUSH, &registry->client, &to, err) < 0)
		return -1;
	request = sign_arg_request(in, &to, key);
	if ((file ? attest_file(in, &request, &outcome, err)
		  : attest_stored(in, &to, &request, &outcome, err)) < 0)
		return -1;
	out_note(in->out, "%u attestations made, %u were there", outcome.made, outcome.there);
	out_print(in->out, "%s\n", to.name);
	return 0;
}

static int run(const struct invocation *in, struct error *err)
{
	cleanup_registry_arg struct registry_arg registry = { 0 };
	cleanup_key struct key *key = NULL;

	if (!(key = key_arg_wanted(in, err)) || registry_arg_take(in, "attest", &registry, err) < 0)
		return -1;
	return attest(in, &registry, key, err);
}

const struct command command_attest = {
	.name = "attest",
	.usage = "--key FILE IMAGE",
	.summary = "sign an SBOM, a provenance or another statement about an image",
	.description =
		"Puts a signed statement (in-toto, DSSE) beside the image: with --predicate that\n"
		"of a file about the image or index that IMAGE names; without it, of each image\n"
		"that was built here, its SBOMs (SPDX, CycloneDX) and its provenance (SLSA v1),\n"
		"which `build` left in the store. They lie where signatures lie: under cosign's\n"
		"tag (sha256-….att), and as bundles that refer to the image.\n"
		"\n"
		"Verifying: gpuimg verify --key FILE.pub --attestation spdx IMAGE, or\n"
		"cosign verify-attestation --key FILE.pub --insecure-ignore-tlog=true --type "
		"spdxjson REFERENCE@DIGEST.",
	.examples = "gpuimg attest --key cosign.key docker://registry.example.org/app:1\n"
		    "gpuimg attest --key cosign.key --type openvex --predicate app.vex.json "
		    "docker://registry.example.org/app:1\n",
	.options = options,
	.args_min = 1,
	.args_max = 1,
	.run = run,
};
