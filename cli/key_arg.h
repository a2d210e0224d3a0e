/*
 * Keys that commands sign and verify with, and the passwords of encrypted ones: read from files,
 * environment or terminal, never from an argument, and shown to nobody.
 */
#ifndef CLI_KEY_ARG_H
#define CLI_KEY_ARG_H

#include "base/key.h"
#include "cli/command.h"

#define PASSWORD_OPTION                                                                           \
	{                                                                                         \
		.name = "password-file", .value = "FILE",                                         \
		.help = "password of the key; else $GPUIMG_PASSWORD, $COSIGN_PASSWORD, or it is " \
			"asked for"                                                               \
	}

/*
 * The private key in a file, or in the environment variable NAME of "env://NAME". From then on this
 * process writes no core file. NULL on error: ERROR_USAGE also for a wrong password.
 */
struct key *key_arg_private(const struct invocation *in, const char *text,
			    struct error *err) MUST_USE;
/* The key of the option --key, which the command cannot do without. */
struct key *key_arg_wanted(const struct invocation *in, struct error *err) MUST_USE;
/* A public key, from the same. */
struct key *key_arg_public(const char *text, struct error *err) MUST_USE;
/*
 * A password, appended: `twice` for a new one, which is asked for twice at a terminal. *out_given
 * false: there is none, and nobody to ask.
 */
int key_arg_password(const struct invocation *in, const char *what, bool twice, struct strbuf *out,
		     bool *out_given, struct error *err) MUST_USE;

#endif
