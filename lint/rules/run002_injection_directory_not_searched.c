#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/judge.h"
#include "lint/rule.h"
#include "lint/runtime.h"

static bool is_configured(const struct facts *facts, const char *dir)
{
	for (size_t i = 0; i < facts->conf.len; i++) {
		if (str_equal(facts_real(facts, facts->conf.items[i].path), dir))
			return true;
	}
	return false;
}

/* The C library of the machine that the configuration names. */
static bool has_libc(const struct facts *facts)
{
	const struct object_names *libc = facts_named(facts, "libc.so.6");

	for (size_t i = 0; libc && i < libc->len; i++) {
		if (!facts->machine || libc->items[i]->elf->machine == facts->machine)
			return true;
	}
	return false;
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const char *dirs[2], *dir;

	(void)err;
	if (facts->is_musl || !has_libc(facts))
		return 0;
	runtime_driver_dirs(facts, dirs);
	dir = facts_real(facts, dirs[0]);
	if (is_default_dir(facts, dir) || is_configured(facts, dir))
		return 0;
	finding_add(found, rule, dir, -1, "",
		    "The classic runtime puts the driver's libraries into %s, since "
		    "/etc/debian_version is %s, and this loader does not search that directory by "
		    "itself: they are found only through the cache that is rebuilt at start.",
		    dir, facts->has_debian_version ? "there" : "not there");
	return 0;
}

const struct rule rule_run002 = {
	.id = "RUN002",
	.name = "injection-directory-not-searched",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_ALL_LAYERS,
	.what = "The container runtime puts the driver's libraries into a directory that the "
		"image's "
		"loader does not search by default.",
	.why = "It chooses by /etc/debian_version: the directory of the triplet where it exists, "
	       "else "
	       "/usr/lib64. Where that does not fit the loader, all depends on the cache that the "
	       "runtime rebuilds, which a read-only root or a missing ldconfig prevents.",
	.fix = "Create /etc/debian_version on systems with Debian's loader, or name the directory "
	       "in a "
	       "file of /etc/ld.so.conf.d.",
	.sources = "NVIDIA/libnvidia-container src/nvc_container.c",
	.check = check,
};
