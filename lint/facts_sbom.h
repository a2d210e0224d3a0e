/*
 * The SBOM of an image of any origin, from what its package databases say and from
 * the libraries that no database names.
 */
#ifndef LINT_FACTS_SBOM_H
#define LINT_FACTS_SBOM_H

#include "formats/sbom.h"
#include "lint/facts.h"

/*
 * All but what names the image. Digests of libraries are there when facts->hash_files was set.
 * ERROR_FORMAT when a table of the program is not what it reads. Release *out with sbom_release.
 */
int facts_sbom(const struct facts *facts, struct sbom *out, struct error *err) MUST_USE;

#endif
