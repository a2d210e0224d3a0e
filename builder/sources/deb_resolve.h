/*
 * The set of packages that some packages need, as apt chooses it: from left to right, a package of
 * the name before those that provide it, the candidate of each name alone. Recommends never.
 *
 * The host's driver (package_is_hosts) is no root. Where a package needs it, it is taken when no
 * other alternative can be, and what it needs itself is not.
 *
 *   take(p): choose p; for each group of Pre-Depends, then Depends: if an alternative holds, go
 *   on; else take the first that can be taken, of each alternative first the package of that name,
 *   then its providers by Essential, Priority, and of equals the one whose name the indexes mention
 *   last (what apt 2.6 does). What conflicts with the chosen set is skipped; what cannot be
 *   completed is taken back and not tried again.
 *
 * Where that finds no set, the walk is made once more without the options that conflict with what
 * no set can do without: the roots, and what alone meets a need of those. Then a bounded search
 * with back-tracking over all choices follows, the last choice first. Conflicts and Breaks count
 * alike, both ways; nothing installed is removed.
 */
#ifndef BUILDER_SOURCES_DEB_RESOLVE_H
#define BUILDER_SOURCES_DEB_RESOLVE_H

#include "builder/sources/deb_universe.h"

struct deb_root {
	uint32_t package;
	bool requested; /* named in the manifest; else Essential */
};

struct deb_choice {
	uint32_t package;
	uint32_t wanted_by; /* package, or DEB_NONE for a root */
	bool requested;
};

struct deb_answer {
	VEC(struct deb_choice) choices; /* dependencies before dependants, else as chosen */
	bool searched; /* the plain walk found none: apt might answer differently */
};

void deb_answer_release(struct deb_answer *answer);
#define cleanup_deb_answer cleanup(deb_answer_release)

/*
 * ERROR_VERDICT when no set fits: the innermost unmet relation with who wanted it, up to the
 * manifest. *out_why (may be NULL) then holds the whole story, one line per alternative.
 */
int deb_resolve(struct deb_universe *u, const struct deb_root *roots, size_t count,
		struct deb_answer *out, struct strbuf *out_why, struct error *err) MUST_USE;

#endif
