/*
 * What goes to a registry beside an image: signatures, statements about it, what is attached to it
 * where it comes from.
 */
#ifndef CLI_PUSH_EXTRAS_H
#define CLI_PUSH_EXTRAS_H

#include "base/key.h"
#include "cli/image_copy.h"
#include "cli/key_arg.h"
#include "cli/sign_arg.h"

#define PUSH_EXTRAS_OPTIONS                                                                    \
	{ .name = "sign",                                                                      \
	  .value = "KEY",                                                                      \
	  .help = "sign the image with this private key (or env://NAME), and what the build "  \
		  "said of it" },                                                              \
		PASSWORD_OPTION, FORMAT_OPTION,                                                \
		{ .name = "recursive", .letter = 'r', .help = "sign an index's images, too" }, \
	{                                                                                      \
		.name = "no-attach",                                                           \
		.help = "leave the SBOMs and the provenance of images that were built here"    \
			" where they are"                                                      \
	}

#define REFERRERS_OPTION                                                               \
	{                                                                              \
		.name = "with-referrers",                                              \
		.help = "also what is attached to it: signatures, attestations, SBOMs" \
	}

/*
 * After `root` was pushed to these destinations: attach, sign. Without a key what cannot be
 * attached is a warning. `key` NULL: --sign was not given. `out` (may be NULL) counts.
 */
int push_extras_put(const struct invocation *in, struct registry_arg *registry,
		    struct image_source *source, const struct reference *destinations, size_t count,
		    const struct digest *root, const struct key *key, struct sign_outcome *out,
		    struct error *err) MUST_USE;
/* The key that --sign names, or NULL when there is none and *err is not set. */
struct key *push_extras_key(const struct invocation *in, struct error *err) MUST_USE;

/*
 * Copy what is attached to the image `root` and to its images. `to` is a registry's reference, or
 * NULL, and then `layout` a folder. ERROR_USAGE: `from` is an archive.
 */
int push_extras_copy(const struct invocation *in, struct registry_arg *registry,
		     const struct image_name *from, const struct reference *to, const char *layout,
		     const struct digest *root, struct error *err) MUST_USE;

#endif
