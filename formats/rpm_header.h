/*
 * An RPM header: a table of tagged values, as it stands in packages and in the databases of
 * installed packages. It is checked as a whole when it is opened; queries then cannot fail.
 *
 * Layout, big-endian: uint32 entries, uint32 bytes of values, the entries (tag, type, offset,
 * count; 16 bytes each), the values. In a package eight bytes of magic stand before it.
 * Source: the RPM package file format (rpm's docs/manual/format.md, hregions.md, tags.md).
 */
#ifndef FORMATS_RPM_HEADER_H
#define FORMATS_RPM_HEADER_H

#include "base/error.h"
#include "base/slice.h"

enum {
	RPM_ENTRIES_LIMIT = 65535,
	RPM_HEADER_LIMIT = 128 * 1024 * 1024, /* bytes of one header */
	RPM_ENTRY_BYTES = 16,
};

/* Tags that are used here. */
enum rpm_tag {
	RPMTAG_HEADERIMMUTABLE = 63,
	RPMTAG_SIGSIZE = 257,
	RPMTAG_SIGPGP = 259,
	RPMTAG_SIGMD5 = 261,
	RPMTAG_SIGGPG = 262,
	RPMTAG_DSAHEADER = 267,
	RPMTAG_RSAHEADER = 268,
	RPMTAG_SHA1HEADER = 269,
	RPMTAG_SHA256HEADER = 273,
	RPMTAG_OPENPGP = 278,
	RPMTAG_NAME = 1000,
	RPMTAG_VERSION = 1001,
	RPMTAG_RELEASE = 1002,
	RPMTAG_EPOCH = 1003,
	RPMTAG_INSTALLTIME = 1008,
	RPMTAG_SIZE = 1009,
	RPMTAG_LICENSE = 1014,
	RPMTAG_GROUP = 1016,
	RPMTAG_ARCH = 1022,
	RPMTAG_PREIN = 1023,
	RPMTAG_POSTIN = 1024,
	RPMTAG_PREUN = 1025,
	RPMTAG_POSTUN = 1026,
	RPMTAG_FILESIZES = 1028,
	RPMTAG_FILESTATES = 1029,
	RPMTAG_FILEMODES = 1030,
	RPMTAG_FILERDEVS = 1033,
	RPMTAG_FILEMTIMES = 1034,
	RPMTAG_FILEDIGESTS = 1035,
	RPMTAG_FILELINKTOS = 1036,
	RPMTAG_FILEFLAGS = 1037,
	RPMTAG_FILEUSERNAME = 1039,
	RPMTAG_FILEGROUPNAME = 1040,
	RPMTAG_SOURCERPM = 1044,
	RPMTAG_ARCHIVESIZE = 1046,
	RPMTAG_PROVIDENAME = 1047,
	RPMTAG_REQUIREFLAGS = 1048,
	RPMTAG_REQUIRENAME = 1049,
	RPMTAG_CONFLICTNAME = 1054,
	RPMTAG_TRIGGERNAME = 1066,
	RPMTAG_PREINPROG = 1085,
	RPMTAG_POSTINPROG = 1086,
	RPMTAG_PREUNPROG = 1087,
	RPMTAG_POSTUNPROG = 1088,
	RPMTAG_OBSOLETENAME = 1090,
	RPMTAG_FILEDEVICES = 1095,
	RPMTAG_FILEINODES = 1096,
	RPMTAG_DIRINDEXES = 1116,
	RPMTAG_BASENAMES = 1117,
	RPMTAG_DIRNAMES = 1118,
	RPMTAG_PAYLOADFORMAT = 1124,
	RPMTAG_PAYLOADCOMPRESSOR = 1125,
	RPMTAG_INSTALLCOLOR = 1127,
	RPMTAG_INSTALLTID = 1128,
	RPMTAG_PRETRANS = 1151,
	RPMTAG_POSTTRANS = 1152,
	RPMTAG_PRETRANSPROG = 1153,
	RPMTAG_POSTTRANSPROG = 1154,
	RPMTAG_LONGFILESIZES = 5008,
	RPMTAG_LONGSIZE = 5009,
	RPMTAG_FILECAPS = 5010,
	RPMTAG_FILEDIGESTALGO = 5011,
	RPMTAG_RECOMMENDNAME = 5046,
	RPMTAG_SUGGESTNAME = 5049,
	RPMTAG_SUPPLEMENTNAME = 5052,
	RPMTAG_ENHANCENAME = 5055,
	RPMTAG_FILETRIGGERSCRIPTS = 5066,
	RPMTAG_FILETRIGGERSCRIPTPROG = 5067,
	RPMTAG_FILETRIGGERNAME = 5069,
	RPMTAG_FILETRIGGERINDEX = 5070,
	RPMTAG_FILETRIGGERFLAGS = 5072,
	RPMTAG_TRANSFILETRIGGERSCRIPTS = 5076,
	RPMTAG_TRANSFILETRIGGERSCRIPTPROG = 5077,
	RPMTAG_TRANSFILETRIGGERNAME = 5079,
	RPMTAG_TRANSFILETRIGGERINDEX = 5080,
	RPMTAG_TRANSFILETRIGGERFLAGS = 5082,
	RPMTAG_PAYLOADDIGEST = 5092,
	RPMTAG_PAYLOADDIGESTALGO = 5093,
};

enum rpm_type {
	RPM_TYPE_NULL,
	RPM_TYPE_CHAR,
	RPM_TYPE_INT8,
	RPM_TYPE_INT16,
	RPM_TYPE_INT32,
	RPM_TYPE_INT64,
	RPM_TYPE_STRING,
	RPM_TYPE_BIN,
	RPM_TYPE_STRING_ARRAY,
	RPM_TYPE_I18NSTRING,
};

/* Borrows the bytes it was made from. */
struct rpm_header {
	struct slice index, store;
	uint32_t count; /* of entries */
};

/* One value; `data` begins at its first element and holds all of them. */
struct rpm_value {
	uint32_t tag, type, count;
	struct slice data;
};

/*
 * `blob`: a whole header without its magic. Every entry has been checked: known type, all its
 * elements within the values, texts ended by NUL. Of a tag that stands there twice the first
 * counts. ERROR_FORMAT, ERROR_LIMIT.
 */
int rpm_header_parse(struct slice blob, struct rpm_header *out, struct error *err) MUST_USE;

/* Whether a tag stands there twice, and which. */
bool rpm_header_repeats(const struct rpm_header *h, uint32_t *out_tag);
/* The value of a tag; false when there is none. */
bool rpm_header_find(const struct rpm_header *h, uint32_t tag, struct rpm_value *out);
/* Entry `i` as it stands. */
struct rpm_value rpm_header_entry(const struct rpm_header *h, uint32_t i);
/* The first text of a tag, NUL-terminated in the header's bytes; NULL when there is none. */
const char *rpm_header_text(const struct rpm_header *h, uint32_t tag);
/* Number `i` of a tag of integers; false when there is none. */
bool rpm_header_number(const struct rpm_header *h, uint32_t tag, size_t i, uint64_t *out);
/* The same of a value. */
bool rpm_value_number(const struct rpm_value *v, size_t i, uint64_t *out);
static inline bool rpm_value_is_text(const struct rpm_value *v)
{
	return v->type == RPM_TYPE_STRING || v->type == RPM_TYPE_STRING_ARRAY ||
	       v->type == RPM_TYPE_I18NSTRING;
}
/*
 * Cuts the first text off a value of texts; NULL at the end, or when it holds none. To be called
 * on a copy of what rpm_header_find gave.
 */
const char *rpm_value_next(struct rpm_value *v);
/*
 * Name, [epoch:]version-release and architecture of a package; an epoch of 0 is left out.
 * False when one is missing or not a word of printable ASCII. *out_evr is the caller's to free.
 */
bool rpm_header_identity(const struct rpm_header *h, const char **out_name, char **out_evr,
			 const char **out_arch) MUST_USE;

#endif
