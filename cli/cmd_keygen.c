#include <sys/stat.h>

#include "base/fs.h"
#include "cli/key_arg.h"
#include "formats/key_file.h"

static const struct option options[] = {
	PASSWORD_OPTION,
	{ .name = "plain", .help = "do not encrypt the private key" },
	{ .name = "force", .help = "replace files that are there" },
	{ 0 },
};

static int private_text(const struct invocation *in, const struct key *key, struct strbuf *out,
			struct error *err)
{
	cleanup_secret struct strbuf password = { 0 };
	bool given;

	if (option_given(in, "plain")) {
		key_file_plain(key, out);
		return 0;
	}
	if (key_arg_password(in, "the new key", true, &password, &given, err) < 0)
		return -1;
	if (!given)
		return error_set(err, ERROR_USAGE,
				 "the key is to be encrypted: give a password with --password-file "
				 "or in $GPUIMG_PASSWORD, or say --plain");
	return key_file_seal(key, strbuf_slice(&password), out, err);
}

static int refuse_there(const struct invocation *in, const char *path, struct error *err)
{
	if (fs_exists(AT_FDCWD, path) && !option_given(in, "force"))
		return error_set(err, ERROR_USAGE,
				 "%s is there; a key that was replaced is lost: --force", path);
	return 0;
}

static int run(const struct invocation *in, struct error *err)
{
	const char *prefix = in->arg_count ? in->args[0] : "cosign";
	cleanup_free char *private_path = xasprintf("%s.key", prefix);
	cleanup_free char *public_path = xasprintf("%s.pub", prefix);
	cleanup_secret struct strbuf secret = { 0 };
	cleanup_strbuf struct strbuf text = { 0 };
	cleanup_key struct key *key = NULL;

	if (refuse_there(in, private_path, err) < 0 || refuse_there(in, public_path, err) < 0)
		return -1;
	key = key_new();
	if (private_text(in, key, &secret, err) < 0)
		return error_wrap(err, "keygen");
	key_file_write_public(key, &text);
	if (fs_write(AT_FDCWD, private_path, strbuf_slice(&secret), 0600, err) < 0 ||
	    fs_write(AT_FDCWD, public_path, strbuf_slice(&text), 0644, err) < 0)
		return -1;
	out_print(in->out, "%s\n%s\n", private_path, public_path);
	return 0;
}

const struct command command_keygen = {
	.name = "keygen",
	.usage = "[PREFIX]",
	.summary = "make a pair of keys to sign images with",
	.description =
		"Writes PREFIX.key and PREFIX.pub (cosign.key and cosign.pub), an ECDSA P-256\n"
		"pair as cosign makes them: the private key encrypted with a password (scrypt,\n"
		"secretbox), for its owner only. The password comes from --password-file, from\n"
		"$GPUIMG_PASSWORD or $COSIGN_PASSWORD, or is asked for.",
	.examples =
		"gpuimg keygen release                      # release.key, release.pub\n"
		"gpuimg keygen --plain /run/secrets/signing    # where a vault keeps the file\n",
	.options = options,
	.args_max = 1,
	.run = run,
};
