/* A root file system of packages made in memory, and what the finish actions make of it. */
#ifndef TESTS_SUPPORT_SITE_H
#define TESTS_SUPPORT_SITE_H

#include "builder/finish/finish.h"

struct site {
	struct rootfs rootfs;
	struct finish finish; /* of the only stage, for linux/amd64 */
	struct stack stack;
	struct lock_stack solved;
	struct arena arena;
};

/* `image`: the section of the manifest, in YAML. */
void site_open(struct site *s, const char *image);
void site_release(struct site *s);
#define cleanup_site cleanup(site_release)
void site_add(struct site *s, struct component *c);
/* Run the actions; as finish_run. */
int site_finish(struct site *s, struct error *err) MUST_USE;
/* The same, which must go well. */
void site_finish_well(struct site *s);
/* What a file holds; heap. It must be there. */
char *site_text(struct site *s, const char *path);
/* Where a link leads, which must be there. */
const char *site_link(struct site *s, const char *path);
/* The first action on a package whose text holds `part`, or NULL. */
const struct build_action *site_action(struct site *s, const char *package, const char *part);

#endif
