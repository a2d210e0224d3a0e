/*
 * The parts facts.c is made of; private to lint/facts*.c and its tests.
 */
#ifndef LINT_FACTS_PARTS_H
#define LINT_FACTS_PARTS_H

#include "base/stream.h"
#include "lint/facts.h"

/* Files up to this many bytes are looked at whole; larger ones through windows. */
enum { CONTENT_WHOLE_MAX = 16 * 1024 * 1024 };

/*
 * facts_elf.c: the facts of an ELF file, in `arena`; NULL when it is too damaged to tell. `code` is
 * what was found in its bytes.
 */
struct elf_facts *elf_facts_of(struct slice file, const struct fatbin *code, struct arena *arena);
/* facts_code.c: GPU code by section, `elf` NULL for a file that is not ELF; NULL: none. */
const struct gpu_code *gpu_code_of(const struct fatbin *code, const struct elf *elf,
				   struct arena *arena);
/* facts_symbols.c: versions and the symbols of the GPU libraries and PyTorch. */
void symbol_facts_of(const struct elf *elf, struct elf_facts *facts, struct arena *arena);

/*
 * facts_content.c: what is to be known of a regular file. Reads as much of `content` as that
 * needs. `buffer` is scratch space that is reused. *out NULL: nothing of interest.
 */
int content_facts_read(const struct tar_entry *entry, struct stream *content, struct strbuf *buffer,
		       struct arena *arena, struct file_facts **out, struct error *err) MUST_USE;

/*
 * facts_credentials.c: what a file holds whose name says that it is for credentials (.netrc,
 * .docker/config.json, …). Added to *list.
 */
void credentials_find(const char *path, struct slice bytes, struct arena *arena,
		      struct secret_facts **list);
/* Add one secret, masked, to the end of *list. */
void secret_add(const char *kind, bool service, bool likely, struct slice text, size_t at,
		size_t len, size_t line, struct arena *arena, struct secret_facts **list);
/* facts_secrets.c: secrets in the bytes of a file. `first_line` is the number of its first line. */
void secrets_find(const char *path, struct slice bytes, bool binary, struct arena *arena,
		  struct secret_facts **list);
/* True for what stands in documentation in place of a secret. */
bool secret_is_placeholder(struct slice value);

/*
 * facts_tree.c: all layers of an image, or an unpacked root. A layer that cannot be read to its
 * end, or a file or directory that may not be opened, leaves what was read, and facts->unreadable.
 * What a live root has in /proc, /sys and /dev is not looked at.
 */
void tree_facts_read(struct facts *facts, struct image *image);
int rootfs_facts_read(struct facts *facts, const char *dir, struct error *err) MUST_USE;

/* facts_config.c: search paths of the loader and the shell. */
void config_facts_derive(struct facts *facts);
/* facts_config_secrets.c: secrets in Env, Labels, Cmd and history. */
void config_secrets_derive(struct facts *facts);
/* The order of package_facts.files, for vec_sort: by path, then by package. */
int package_file_order(const void *a, const void *b);
/*
 * facts_pkgdb.c: databases of packages. Whether a path is that of one, and what its bytes say;
 * NULL: nothing. Larger than the limit: a problem.
 */
bool package_database_is(const char *path);
enum { PACKAGE_DATABASE_MAX = 512 * 1024 * 1024 };
const struct package_facts *package_database_read(const char *path, struct slice bytes,
						  bool complete, struct arena *arena);
/* facts_packages.c: packages of all databases, Python records, and what owns which file. */
void package_facts_derive(struct facts *facts);
/* facts_python.c: installed Python distributions. */
void python_facts_derive(struct facts *facts);
/* The lines of a RECORD that are kept: those of shared libraries. Appended. */
void python_record_filter(struct slice record, struct strbuf *out);
/* facts_gpu.c: whether this is a GPU image, and why. */
void gpu_facts_derive(struct facts *facts);

#endif
