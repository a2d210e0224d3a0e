/*
 * Licences as packages name them, into SPDX license expressions.
 *
 * What is known becomes an identifier of the SPDX license list; anything else a "LicenseRef-…" made
 * of its name, so that nothing a package says is lost and nothing is guessed. An expression is
 * read as "A and B or C" (in any case) with parentheses and WITH; one that cannot be read is a
 * reference as a whole.
 * Sources: SPDX specification 2.3, annexes A and D; Debian's machine-readable copyright files 1.0;
 * Fedora's and Python's (trove classifiers) names for the same licences.
 */
#ifndef FORMATS_LICENSE_H
#define FORMATS_LICENSE_H

#include "base/arena.h"
#include "base/slice.h"
#include "base/vec.h"

/* A name that is not of the SPDX list. */
struct license_ref {
	const char *id;   /* "LicenseRef-NVIDIA-Proprietary-Software" */
	const char *name; /* as the package writes it */
};

struct license_refs {
	struct license_ref *items; /* released with vec_release; texts live in the arena */
	size_t len, cap;
};

/*
 * The expression for what a package calls its licence, in `arena`; references that it needs are
 * added to `refs`, each id once. NULL for a text that says nothing ("", "UNKNOWN").
 */
const char *license_expression(const char *text, struct arena *arena, struct license_refs *refs);

/*
 * Of a Debian copyright file: all licences of its stanzas, joined by AND. NULL when it is not
 * machine-readable (its first stanza has no Format of copyright-format) or cannot be read.
 */
const char *license_of_copyright(struct slice text, struct arena *arena, struct license_refs *refs);

/*
 * The licence of a Python distribution's METADATA as it names it: License-Expression, else a
 * License of one line, else what its classifiers say ("A AND B"). NULL when it says nothing.
 * Source: packaging.python.org, "Core metadata specifications".
 */
const char *license_of_metadata(struct slice text, struct arena *arena);

#endif
