/*
 * What maintainer scripts would have done, one action per file. No script runs: each action looks
 * at the assembled tree and adds what it lacks, from the packages' own templates where they have
 * them. An action adds nothing where a package or the manifest already put something.
 */
#ifndef BUILDER_FINISH_FINISH_H
#define BUILDER_FINISH_FINISH_H

#include "builder/base_image.h"
#include "builder/build.h"
#include "builder/rootfs.h"
#include "manifests/lockfile.h"
#include "manifests/stack.h"
#include "oci/descriptor.h"

struct finish {
	struct rootfs *rootfs;
	const struct stack *stack;
	const struct stack_stage *stage;
	const struct lock_stack *solved;
	struct platform platform;
	const struct base_image *base; /* what the tree sits on; NULL: nothing */
	struct component *metadata;    /* attached to rootfs; owned by it */
	struct component *cuda;        /* the same */
	bool final;                    /* of the image; false: of a build stage */
	struct arena *arena;           /* of the report's texts */
	struct {
		struct build_action *items;
		size_t len, cap;
	} actions;
	struct {
		const char **items; /* "root crontab 2755 /usr/bin/crontab": dpkg-statoverride's */
		size_t len, cap;
	} overrides;
	/* while the actions run: what finish_was_applied and finish_note_lines know */
	struct map *applied;
};

/* All actions in their order. ERROR_USAGE for what the manifest asks that cannot be. */
int finish_run(struct finish *f, struct error *err) MUST_USE;

/*
 * The component that goes before all packages: merged /usr links (`merged`) and the skeleton. Where
 * a package `filesystem` of the RPM world brings both itself, there is no such component.
 */
struct component *finish_filesystem(const struct platform *platform, bool merged);

/* Before anything is added: what the package's scripts divert (dpkg-divert --add). */
void finish_diversions(const struct component *c, struct rootfs *r);

/* Whether a path of a script is absolute, and every part of it a name. */
bool finish_is_clean(const char *path);
/* Helpers of the actions: nothing is added where something is. Paths without a leading "/". */
void finish_text(struct finish *f, const char *path, uint32_t mode, struct slice text);
void finish_link(struct finish *f, const char *path, const char *target);
/* With or without a "/" at its end. */
void finish_dir(struct finish *f, const char *path, uint32_t mode, uint64_t uid, uint64_t gid);
/* The same in place of a file that a package brings. */
void finish_replace(struct finish *f, const char *path, uint32_t mode, struct slice text);
/* The entry, for those who set an owner; NULL when something is there. */
struct component_entry *finish_file(struct finish *f, const char *path, uint32_t mode,
				    struct slice text);
/*
 * As finish_text, but what the base image has there is replaced, with its owner and mode kept;
 * nothing is added when it has the very content. For files that describe the whole set.
 */
int finish_update(struct finish *f, const char *path, uint32_t mode, struct slice text,
		  struct error *err) MUST_USE;
/* As finish_link, but a symlink of the base image is led elsewhere. */
void finish_relink(struct finish *f, const char *path, const char *target);
/* The content of a file of the base image; false when it has none there. -1 on error, 1, 0. */
int finish_base_read(struct finish *f, const char *path, struct strbuf *out,
		     struct error *err) MUST_USE;
/* Place what was added since the last call. */
int finish_flush(struct finish *f, struct error *err) MUST_USE;
/* The multiarch triplet of the platform: "x86_64-linux-gnu". */
const char *finish_triplet(const struct platform *platform);
/* Whether any package is an .rpm. */
bool finish_has_rpms(const struct finish *f);
/* "x86_64-linux" or "sbsa-linux": NVIDIA's name under targets/. */
const char *finish_cuda_target(const struct platform *platform);
/* "usr/local/cuda-12.6": where the stack's toolkit lies. Heap, or NULL when it has no CUDA. */
char *finish_toolkit(const struct finish *f);

/*
 * Walk the commands that preinst and postinst of all packages reach at a first installation, in
 * the order of configuration, each with its package. `all`: of scripts that other actions reproduce
 * as a whole too. The function returns 1 where the image is now as the command would have left it,
 * which the report calls done; 0 where it did nothing, or only a part; -1.
 */
struct script_command;
typedef int finish_command_fn(void *user, const struct component *c,
			      const struct script_command *command, struct error *err);
int finish_commands(struct finish *f, bool all, finish_command_fn *fn, void *user,
		    struct error *err) MUST_USE;
/* Whether one of those functions returned 1 for the command of the script. */
bool finish_was_applied(struct finish *f, const struct component *c,
			const struct component_script *script,
			const struct script_command *command);
/* The same of all commands of these lines, which an action took as a whole. */
void finish_note_lines(struct finish *f, const struct component *c,
		       const struct component_script *script, size_t first, size_t last);
/* What an action makes of a whole script, in words; NULL: nothing but its single commands. */
const char *finish_whole_script(const struct component *c, const char *script);
/* Those of one script. */
struct script_commands;
void finish_script(struct finish *f, const struct component *c,
		   const struct component_script *script, struct arena *arena,
		   struct script_commands *out);

/*
 * The files (by the end of their name) that scripts hand to `program` (systemd-sysusers,
 * systemd-tmpfiles); "" when one names none and so means all; a path that begins with "/" for each
 * --prefix of one that means the lines about that path and what is below, of all files.
 */
int finish_named_files(struct finish *f, const char *program, struct map *out,
		       struct error *err) MUST_USE;
/* Whether one of a package was named; true of what no Debian package brought. */
bool finish_is_named(const struct rootfs_node *file, const struct map *named);
/* Whether an absolute path lies at or below one of the paths among them. */
bool finish_is_below_named(const char *path, struct map *named);

/* Whether there is a certificate to trust that the base image does not have. */
bool finish_has_new_certificates(struct finish *f);

/* The number of an account of the image, by name or number. False when there is none. */
bool finish_user(struct finish *f, const char *name, uint64_t *uid, uint64_t *gid);
bool finish_group(struct finish *f, const char *name, uint64_t *gid);
/* Owner and mode of what is at a path; of folders that nobody brought too. UINT64_MAX: as it is. */
void finish_owner(struct finish *f, struct rootfs_node *n, uint64_t uid, uint64_t gid);
void finish_mode(struct finish *f, struct rootfs_node *n, uint32_t mode);

/*
 * The actions. ERROR_USAGE what the manifest asks for and the tree cannot give; ERROR_FORMAT,
 * ERROR_LIMIT, ERROR_NOT_FOUND files of packages that they read.
 */
int finish_shells(struct finish *f, struct error *err) MUST_USE;
int finish_accounts(struct finish *f, struct error *err) MUST_USE;
int finish_system_files(struct finish *f, struct error *err) MUST_USE;
int finish_certificates(struct finish *f, struct error *err) MUST_USE;
int finish_alternatives(struct finish *f, struct error *err) MUST_USE;
int finish_java_certificates(struct finish *f, struct error *err) MUST_USE;
int finish_effects(struct finish *f, struct error *err) MUST_USE;
int finish_pam(struct finish *f, struct error *err) MUST_USE;
int finish_tmpfiles(struct finish *f, struct error *err) MUST_USE;
int finish_cuda(struct finish *f, struct error *err) MUST_USE;
int finish_loader(struct finish *f, struct error *err) MUST_USE;
int finish_dpkg(struct finish *f, struct error *err) MUST_USE;
int finish_rpm_system(struct finish *f, struct error *err) MUST_USE;
int finish_rpm_certificates(struct finish *f, struct error *err) MUST_USE;
int finish_rpm_database(struct finish *f, struct error *err) MUST_USE;
int finish_scripts(struct finish *f, struct error *err) MUST_USE;
int finish_wheels(struct finish *f, struct error *err) MUST_USE;

#endif
