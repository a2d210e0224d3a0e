/*
 * What is known of an image: the merged tree, the ELF objects in it, packages, configuration and
 * the few texts that decide how things load and start. Gathered in one streaming pass over the
 * layers; rules only query.
 *
 * Paths that facts hand out are absolute in the image ("/usr/lib/libfoo.so.1"). Every string
 * lives as long as the facts.
 */
#ifndef LINT_FACTS_H
#define LINT_FACTS_H

#include "base/map.h"
#include "formats/elf.h"
#include "formats/fatbin.h"
#include "formats/ldcache.h"
#include "lint/hosts.h"
#include "manifests/driver_libraries.h"
#include "oci/image.h"
#include "oci/tree.h"

/* GPU code of one kind in one section of a file, for one architecture. */
struct gpu_row {
	const char *section;           /* ".nv_fatbin"; "" of a file that is not ELF */
	enum fatbin_kind kind;         /* FATBIN_OLD_CUBIN counts as FATBIN_CUBIN */
	unsigned sm;                   /* 90 */
	char suffix;                   /* 'a', 'f', or 0 */
	unsigned ptx_major, ptx_minor; /* of PTX; else 0 */
	size_t count;                  /* entries */
	uint64_t stored, unpacked;     /* bytes of their payloads */
};

/* All GPU code of one file; the link step's empty containers are left out. */
struct gpu_code {
	const struct gpu_row *rows; /* by section, kind, architecture, suffix, PTX version */
	size_t count;
	size_t containers, stubs; /* stubs: entries left out */
	size_t unknown, uncertain, broken;
};

/* A version that an object needs of a library. */
struct version_need {
	const char *file, *version; /* "libc.so.6", "GLIBC_2.38" */
	bool weak;
};

/* An undefined symbol that was kept: a name of the GPU libraries or of PyTorch. */
struct undefined_symbol {
	const char *name;
	bool weak;
};

/* What of the driver an object opens by a name that stands in it. */
enum {
	OPENS_COMPUTE = 1 << 0,
	OPENS_UTILITY = 1 << 1,
	OPENS_VIDEO = 1 << 2,
	OPENS_GRAPHICS = 1 << 3,
	OPENS_NVRTC = 1 << 4,
};

/* What the ELF header and the dynamic section of one file say. */
struct elf_facts {
	bool is64, big_endian, is_dynamic;
	bool gpu_code;   /* holds GPU code */
	bool names_gpu;  /* a string in it names a CUDA or driver library */
	bool incomplete; /* a part that was looked for is not in the file */
	uint16_t type, machine;
	const char *interp;          /* NULL: none */
	const char *soname;          /* NULL: none */
	const char *rpath, *runpath; /* as written; NULL: none */
	const char *const *needed;
	size_t needed_count;
	uint64_t debug_bytes;       /* in .debug_* and .symtab, with its names */
	bool cut_short;             /* a section or segment ends beyond the file */
	const struct gpu_code *gpu; /* NULL: none */
	const struct version_need *version_needs;
	size_t version_need_count;
	const char *const *version_defs; /* names it defines, its own first */
	size_t version_def_count;
	bool python_module; /* it defines PyInit_…: Python imports it, whatever its name */
	bool symbols_known; /* the next two could be read */
	const struct undefined_symbol *undefined;
	size_t undefined_count;
	const uint64_t *exports; /* sorted symbol_hash of what it defines, of the same families */
	size_t export_count;
	unsigned opens;               /* OPENS_*: names of libraries that stand in it as text */
	const char *embedded_version; /* that NCCL or a CUDA tool states itself; NULL: none */
	const char *compat_note;      /* JSON of a compat libcuda; NULL: none */
};

/* A secret that was seen in a file. The value itself is never kept. */
struct secret_facts {
	const char *kind;   /* "Hugging Face token" */
	bool service;       /* of a GPU service (SEC001), else any other credential (SEC002) */
	bool likely;        /* it needs the file's name to be one, or is protected itself */
	size_t at, len;     /* where it stands in the text that was looked at; bytes */
	const char *masked; /* "hf_x…yz (37 characters)" */
	size_t line;        /* from 1; 0 in binary files */
	struct secret_facts *next;
};

/* A secret in the configuration. */
struct config_secret {
	const char *where; /* "Env", "Labels", "Entrypoint", "Cmd", "history" */
	const char *key;   /* of a variable or label; for history the number of the entry */
	const char *kind;  /* as of a file; or "value of a variable named like a secret" */
	const char *masked;
	int layer;    /* that the history entry made, or -1 */
	bool by_name; /* only its name says that it is one */
};

/* What is known of the content of one regular file; tree_node.facts. */
struct file_facts {
	const struct elf_facts *elf; /* NULL: not an ELF file */
	const char *text;            /* kept content of files that matter; NULL: not kept */
	size_t text_len;             /* bytes */
	const struct gpu_code *gpu;  /* of a file that is not ELF; NULL: none */
	const char *shebang;         /* the first line of a script, without "#!"; NULL: none */
	const char *engine; /* the TensorRT that made this engine: "10.3.0.26"; NULL: it is none */
	struct secret_facts *secrets;
	const struct package_facts *packages; /* of a package manager's database; NULL: none */
	bool zero;                            /* no bytes at all */
	uint64_t head_hash;   /* of the first 64 KiB of an ELF file of 1 MiB and more; else 0 */
	bool hashed;          /* the next one is known */
	struct digest digest; /* of the content, when facts.hash_files */
};

/* An effective ELF file, or one hard link to it. */
struct object {
	const char *path;
	const struct tree_node *node;
	const struct elf_facts *elf;
	bool reachable; /* the entrypoint, a program on PATH or a Python module loads it */
};

/* A directory the loader's configuration names. */
struct search_dir {
	const char *path;  /* as configured, absolute */
	const char *where; /* "/etc/ld.so.conf.d/cuda.conf", "LD_LIBRARY_PATH" */
};

struct search_dirs {
	struct search_dir *items;
	size_t len, cap;
};

/* An installed package. */
struct package {
	const char *name, *version;
	const char *kind;    /* "dpkg", "rpm", "apk", "conda", "wheel" */
	const char *path;    /* of the record or of the database */
	const char *arch;    /* as its manager calls it; "" */
	const char *source;  /* the source package, or "" */
	const char *license; /* as its manager calls it, or "" */
	uint64_t bytes;      /* installed, as the database says; 0: it does not */
	size_t file_count;   /* that the database lists; 0 also when it lists none */
	bool record_only;    /* its list is there, and names nothing but documentation */
};

/* What one database file says; those of an image together are facts.packages. */
struct package_facts {
	const struct package *items; /* without path */
	size_t count;
	const struct package_file *files; /* sorted by path */
	size_t file_count;
	const char *problem; /* why it could not be read to its end, or NULL */
};

/* A file that a package says is its own: libraries and programs only, which is what matters. */
struct package_file {
	const char *path; /* absolute, or of conda from its prefix */
	size_t package;   /* of the same facts */
};

/* A shared library in a distribution's RECORD. */
struct python_library {
	const char *path;   /* absolute in the image */
	const char *digest; /* "sha256=…" as the record has it; "" when it has none */
	uint64_t size;      /* bytes; UINT64_MAX: not given */
};

/* An installed Python distribution, from its .dist-info. */
struct python_dist {
	const char *name;             /* normalized: "nvidia-nccl-cu12" */
	const char *version;          /* as written: "2.7.1+cu126" */
	const char *path;             /* of the .dist-info */
	const char *home;             /* the directory it is in */
	int layer;                    /* of its METADATA, or -1 */
	const struct slice *requires; /* values of Requires-Dist */
	size_t require_count;
	const struct python_library *libraries; /* in the order of the record */
	size_t library_count;
};

struct loader;

/* A promise about blobs that a layer broke. */
struct layer_problem {
	size_t layer;
	bool diff_id;     /* the uncompressed digest; else the blob itself */
	bool compressed;  /* diff_id equals the digest of the compressed bytes */
	bool unreadable;  /* missing or cut: the image was not read completely */
	const char *text; /* one sentence */
};

/* An entry whose name no archive should have; those that lead out of the root are in no tree. */
struct odd_entry {
	size_t layer;
	const char *path; /* with a "/" before what the archive has */
	const char *what; /* "has \"..\" in it" */
	bool unsafe;      /* engines refuse it, or it leaves the root */
};

/* What the manifest says of a layer, and what it is. */
struct layer_media {
	const char *type;
	int compression; /* enum compression of the content; -1: not known */
};

struct site_policy;
struct fact_cache;

/* The most that is held of an image, against hostile ones; what is more makes it unreadable. */
struct facts_limits {
	size_t entries; /* of all layers */
	size_t bytes;   /* of what is kept of the contents of files */
};

struct facts {
	struct arena arena;
	struct tree tree;
	const struct target *target;
	const struct site_policy *site; /* what a site asks of images; NULL: nothing */
	const char *today;              /* "2026-11-30"; set before rules run, NULL: not known */
	bool hash_files;                /* set before reading: every file's digest is wanted */
	const struct fact_cache *known; /* set before reading; NULL: every layer is read */
	struct facts_limits limits;     /* set before reading; zero: 10 million, and 1 GiB */
	bool is_rootfs;                 /* unpacked root: no layers, configuration or history */
	size_t layer_count;
	const struct image_config *config;     /* NULL for an unpacked root */
	const struct manifest *manifest;       /* NULL for an unpacked root */
	const struct platform *entry_platform; /* of the index entry; NULL or os NULL: none */

	struct {
		struct object *items;
		size_t len, cap;
	} objects;                      /* sorted by path */
	struct map object_by_path;      /* path → struct object */
	struct map objects_by_name;     /* soname, and file name → struct object_names */
	struct search_dirs environment; /* LD_LIBRARY_PATH, in order */
	struct search_dirs conf;        /* ld.so.conf and what it includes, in order */
	struct search_dirs path;        /* PATH, in order; Docker's default when unset */
	struct ldcache cache;
	bool has_cache, has_conf;
	size_t conf_files;          /* read so far, against files that include each other */
	bool conf_includes_dropins; /* a pattern matches /etc/ld.so.conf.d/00-x.conf */
	struct {
		struct package *items;
		size_t len, cap;
	} packages; /* in the order of the paths of their records */
	struct {
		struct package_file *items;
		size_t len, cap;
	} package_files; /* sorted by path, links followed */
	struct {
		const char **items;
		size_t len, cap;
	} package_problems; /* "/var/lib/rpm/rpmdb.sqlite: …": what could not be read */
	struct {
		struct layer_problem *items;
		size_t len, cap;
	} problems;
	struct {
		struct config_secret *items;
		size_t len, cap;
	} config_secrets;
	struct {
		struct odd_entry *items;
		size_t len, cap;
	} odd_entries; /* by layer, in the order of the archive */
	const char *manifest_type;
	struct {
		struct layer_media *items;
		size_t len, cap;
	} media; /* of each layer of an image */

	struct tables tables;
	struct hosts hosts; /* the GPUs and drivers it is judged for */
	struct {
		struct python_dist *items;
		size_t len, cap;
	} dists; /* sorted by path */

	struct loader *loader;          /* lint/loader.h */
	struct driver_libraries driver; /* what the host provides at start */
	uint16_t machine;               /* ELF_MACHINE_* of the image; 0 when unknown */
	bool is_musl;
	bool is_debian_libc; /* the default directories are those of a triplet */
	bool has_debian_version;
	bool is_gpu_image;
	const char *gpu_reason; /* "ships /usr/lib/libcudart.so.12", or NULL */
	bool driver_container;  /* kernel modules or a driver installer are in it */
	bool unreadable;        /* a layer, or part of a root, could not be read to its end */
	bool lacks_entries;     /* so that it is not known what else is in the image */
	const char *unreadable_text;
	struct {
		struct arena **items;
		size_t len, cap;
	} arenas; /* of the layers' contents */
};

struct object_names {
	const struct object **items;
	size_t len, cap;
};

/*
 * Read a whole image (or unpacked root). Layers are decompressed on several threads; nothing is
 * unpacked. A blob that is missing, cut or has another digest is a problem, not an error; a layer
 * that cannot be read to its end, or with which there is more than the limits allow, leaves what
 * was read, and `unreadable`. Errors: ERROR_SYSTEM of an unpacked root.
 */
int facts_read(struct facts *facts, struct image *image, const struct target *target,
	       struct error *err) MUST_USE;
void facts_release(struct facts *facts);
#define cleanup_facts cleanup(facts_release)

/*
 * The two steps of facts_read, for facts made by hand: add entries in order, then derive the
 * rest. `content` (may be NULL) must live as long as the facts.
 */
void facts_add(struct facts *facts, size_t layer, const struct tar_entry *entry,
	       struct file_facts *content);
int facts_derive(struct facts *facts, struct error *err) MUST_USE;

/* --- queries; all paths absolute */

/*
 * For whoever only reads facts. Both belong to them, and change while they are const: one thread at
 * a time.
 */
/* Where texts live that are made of facts and stay as long as they do. */
static inline struct arena *facts_arena(const struct facts *facts)
{
	return (struct arena *)&facts->arena;
}
/* The effective nodes, sorted by path, *count of them; valid until facts_add. */
static inline struct tree_node **facts_nodes(const struct facts *facts, size_t *count)
{
	return tree_sorted((struct tree *)&facts->tree, count);
}

/* The file facts of a node's content (hard links followed), or NULL. */
const struct file_facts *node_facts(const struct tree_node *node);
/* The entry at exactly `path`, links not followed; NULL: none. */
struct tree_node *facts_lookup(const struct facts *facts, const char *path);
/* Links followed; *out_path (may be NULL) the resolved path, in the facts' arena. */
struct tree_node *facts_resolve(const struct facts *facts, const char *path, const char **out_path);
bool facts_is_dir(const struct facts *facts, const char *path);
/* `path` with its links followed when something is there, else cleaned; for comparing. */
const char *facts_real(const struct facts *facts, const char *path);
/* The kept text of a file, or a slice with data NULL. */
struct slice facts_text(const struct facts *facts, const char *path);
/* "x86_64-linux-gnu" for the machine, or "". */
const char *machine_triplet(uint16_t machine);
/* "x86-64", "AArch64", … */
const char *machine_name(uint16_t machine);
/* The ELF object a path ends in, or NULL. */
const struct object *facts_object(const struct facts *facts, const char *path);
/* Objects with that soname or file name; NULL: none. */
const struct object_names *facts_named(const struct facts *facts, const char *name);
/* The nodes in a directory, sorted. Release with vec_release. */
void facts_list(const struct facts *facts, const char *dir, struct tree_nodes *out);
/*
 * The package that says a file is its own; NULL: none does, or it is neither a library nor a
 * program. `path` may lead through links.
 */
const struct package *facts_owner(const struct facts *facts, const char *path);
/* The absolute path of a node. It stays: in a loop over all nodes facts_path_in() is to be used. */
const char *facts_path(const struct facts *facts, const struct tree_node *node);
/* The same, written over what `buf` holds; valid as long as that. */
const char *facts_path_in(const struct facts *facts, const struct tree_node *node,
			  struct strbuf *buf);
/* The last component of it. */
const char *facts_name(const struct facts *facts, const struct tree_node *node);
/* The value of an environment variable, or NULL. */
const char *facts_env(const struct facts *facts, const char *name);
/* The value of a label of the configuration; NULL: it has none, or an empty one. */
const char *facts_label(const struct facts *facts, const char *key);
/* The environment asks for GPUs: NVIDIA_VISIBLE_DEVICES and its like are set. */
bool facts_requests_gpu(const struct facts *facts);
/* The distribution of that normalized name in `home` (NULL: anywhere, the first); NULL: none. */
const struct python_dist *facts_dist(const struct facts *facts, const char *home, const char *name);
/* A copy of a text of the image for people, with what looks like a secret masked. */
const char *secrets_masked(const char *text, struct arena *arena) __attribute__((returns_nonnull));
bool facts_requests_jetson(const struct facts *facts);
/* "layer 3" for people, or "" of an unpacked root; for evidence. */
int facts_layer(const struct facts *facts, const struct tree_node *node);

/* The hash that elf_facts.exports holds of a symbol's name. */
uint64_t symbol_hash(struct slice name);
/* True when the object defines that symbol (only families that are kept: see facts_symbols.c). */
bool elf_exports(const struct elf_facts *elf, const char *name);

/* --- words about paths */

const char *path_name(const char *path);                           /* the last component */
const char *path_dir(const struct facts *facts, const char *path); /* without it; "/" at least */
bool path_has_part(const char *path, const char *part);            /* a component equal to `part` */
bool path_is_stub(const char *path);                               /* in a directory named stubs */
bool path_is_compat(const char *path); /* in a forward-compatibility directory */
bool path_is_sample(const char *path); /* documentation, samples, test data, foreign platforms */
bool path_is_tegra(const char *path);
/* Shell pattern over the whole path; "*" crosses "/". */
bool path_matches(const char *pattern, const char *path);

#endif
