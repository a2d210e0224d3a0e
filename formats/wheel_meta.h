/*
 * The small text formats inside and around wheels: file names, RECORD, entry_points.txt.
 * Sources: packaging.python.org specifications "Binary distribution format", "Recording installed
 * projects", "Entry points", "Names and normalization".
 */
#ifndef FORMATS_WHEEL_META_H
#define FORMATS_WHEEL_META_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "base/vec.h"

/* "NVIDIA_cuda.Runtime" → "nvidia-cuda-runtime"; in `arena`. */
const char *wheel_normalize(struct slice name, struct arena *arena);

struct wheel_name {
	const char *distribution; /* as written */
	const char *version;
	const char *python, *abi, *platform; /* tag sets as written: "py2.py3" */
};

/* {distribution}-{version}[-{build}]-{python}-{abi}-{platform}.whl. ERROR_FORMAT. */
int wheel_name_parse(const char *file, struct arena *arena, struct wheel_name *out,
		     struct error *err) MUST_USE;

struct wheel_record_row {
	const char *path; /* clean: relative, no ".." */
	bool has_digest;  /* RECORD itself and its signatures have none */
	struct digest digest;
	uint64_t size; /* bytes; UINT64_MAX: not given */
};

struct wheel_record {
	struct wheel_record_row *items; /* sorted by path */
	size_t len, cap;
};

/*
 * Rows live in `arena`; release the vector with vec_release. sha256 is required (sha384 and
 * sha512 rows are ERROR_FORMAT as md5 and sha1 are: no known tool writes them). ERROR_FORMAT
 * names the line.
 */
int wheel_record_parse(struct slice text, struct arena *arena, struct wheel_record *out,
		       struct error *err) MUST_USE;
const struct wheel_record_row *wheel_record_find(const struct wheel_record *record,
						 const char *path);
/* One line "path,sha256=…,size\n", quoted as CSV where needed; `digest` NULL: "path,,\n". */
void wheel_record_line(struct strbuf *out, const char *path, const struct digest *digest,
		       uint64_t size);

struct wheel_entry_point {
	const char *name;   /* of the script */
	const char *module; /* "pkg.mod" */
	const char *first;  /* what to import: "main" of "main.run" */
	const char *call;   /* "main.run" */
};

struct wheel_entry_points {
	struct wheel_entry_point *items; /* sorted by name */
	size_t len, cap;
};

/* console_scripts and gui_scripts of entry_points.txt. ERROR_FORMAT names the line. */
int wheel_entry_points_parse(struct slice text, struct arena *arena, struct wheel_entry_points *out,
			     struct error *err) MUST_USE;
/* The script that calls an entry point; the same text for ever (assembly version 1). Appended. */
void wheel_script(struct strbuf *out, const char *python, const struct wheel_entry_point *point);

#endif
