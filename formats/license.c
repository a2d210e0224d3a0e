#include "formats/license.h"

#include <ctype.h>

#include "base/strbuf.h"
#include "formats/deb822.h"

enum { NAME_MAX_BYTES = 100, NESTING_MAX = 16, OPERANDS_MAX = 200 };

/* Identifiers of the SPDX license list that packages use; compared without case. */
static const char *const ids[] = {
	"0BSD",
	"AFL-2.1",
	"AFL-3.0",
	"Apache-1.0",
	"Apache-1.1",
	"Apache-2.0",
	"Artistic-1.0",
	"Artistic-1.0-Perl",
	"Artistic-2.0",
	"BlueOak-1.0.0",
	"BSD-1-Clause",
	"BSD-2-Clause",
	"BSD-2-Clause-Patent",
	"BSD-3-Clause",
	"BSD-3-Clause-Clear",
	"BSD-4-Clause",
	"BSD-4-Clause-UC",
	"BSD-Source-Code",
	"BSL-1.0",
	"bzip2-1.0.6",
	"CC0-1.0",
	"CC-BY-3.0",
	"CC-BY-4.0",
	"CC-BY-SA-3.0",
	"CC-BY-SA-4.0",
	"CDDL-1.0",
	"CNRI-Python",
	"CPL-1.0",
	"curl",
	"ECL-2.0",
	"EPL-1.0",
	"EPL-2.0",
	"EUPL-1.2",
	"FSFAP",
	"FSFUL",
	"FSFULLR",
	"FTL",
	"HPND",
	"HPND-sell-variant",
	"ICU",
	"IJG",
	"ISC",
	"Libpng",
	"libpng-2.0",
	"libtiff",
	"MIT",
	"MIT-0",
	"MIT-CMU",
	"MIT-open-group",
	"MPL-1.0",
	"MPL-1.1",
	"MPL-2.0",
	"MS-PL",
	"NCSA",
	"NTP",
	"OFL-1.0",
	"OFL-1.1",
	"OLDAP-2.8",
	"OpenSSL",
	"PHP-3.01",
	"PostgreSQL",
	"PSF-2.0",
	"Python-2.0",
	"Python-2.0.1",
	"QPL-1.0",
	"Ruby",
	"SGI-B-2.0",
	"SMLNJ",
	"TCL",
	"TCP-wrappers",
	"Unicode-3.0",
	"Unicode-DFS-2016",
	"Unlicense",
	"UPL-1.0",
	"Vim",
	"W3C",
	"WTFPL",
	"X11",
	"xpp",
	"ZPL-2.1",
	"Zlib",
	"zlib-acknowledgement",
};

/* Other names that mean exactly one of them. */
static const struct {
	const char *name, *id;
} aliases[] = {
	/* Debian's short names */
	{ "Expat", "MIT" },
	{ "BSD-2-clause", "BSD-2-Clause" },
	{ "BSD-3-clause", "BSD-3-Clause" },
	{ "Artistic", "Artistic-1.0-Perl" },
	{ "CC0", "CC0-1.0" },
	{ "Python-2", "Python-2.0" },
	{ "PSF-2", "PSF-2.0" },
	{ "MPL-2", "MPL-2.0" },
	{ "Boost-1.0", "BSL-1.0" },
	{ "SIL-1.1", "OFL-1.1" },
	/* Fedora's, before it took SPDX's */
	{ "ASL 1.1", "Apache-1.1" },
	{ "ASL 2.0", "Apache-2.0" },
	{ "MPLv1.1", "MPL-1.1" },
	{ "MPLv2.0", "MPL-2.0" },
	{ "Boost", "BSL-1.0" },
	{ "OFL", "OFL-1.1" },
	/* classifiers and free text of Python distributions */
	{ "MIT License", "MIT" },
	{ "The MIT License", "MIT" },
	{ "Apache 2.0", "Apache-2.0" },
	{ "Apache License 2.0", "Apache-2.0" },
	{ "Apache 2.0 License", "Apache-2.0" },
	{ "Apache License, Version 2.0", "Apache-2.0" },
	{ "Apache-2.0 license", "Apache-2.0" },
	{ "BSD 2-Clause", "BSD-2-Clause" },
	{ "BSD 3-Clause", "BSD-3-Clause" },
	{ "BSD 3-Clause License", "BSD-3-Clause" },
	{ "3-Clause BSD License", "BSD-3-Clause" },
	{ "New BSD", "BSD-3-Clause" },
	{ "Modified BSD License", "BSD-3-Clause" },
	{ "ISC License (ISCL)", "ISC" },
	{ "Mozilla Public License 2.0 (MPL 2.0)", "MPL-2.0" },
	{ "Boost Software License 1.0 (BSL-1.0)", "BSL-1.0" },
	{ "The Unlicense (Unlicense)", "Unlicense" },
	{ "CC0 1.0 Universal (CC0 1.0) Public Domain Dedication", "CC0-1.0" },
	{ "GNU General Public License v2 (GPLv2)", "GPL-2.0-only" },
	{ "GNU General Public License v2 or later (GPLv2+)", "GPL-2.0-or-later" },
	{ "GNU General Public License v3 (GPLv3)", "GPL-3.0-only" },
	{ "GNU General Public License v3 or later (GPLv3+)", "GPL-3.0-or-later" },
	{ "GNU Lesser General Public License v2 or later (LGPLv2+)", "LGPL-2.0-or-later" },
	{ "GNU Lesser General Public License v3 (LGPLv3)", "LGPL-3.0-only" },
	{ "GNU Lesser General Public License v3 or later (LGPLv3+)", "LGPL-3.0-or-later" },
};

static const char *const exceptions[] = {
	"Autoconf-exception-2.0",  "Autoconf-exception-3.0",   "Bison-exception-2.2",
	"Classpath-exception-2.0", "GCC-exception-2.0",        "GCC-exception-3.1",
	"Libtool-exception",       "Linux-syscall-note",       "LLVM-exception",
	"OpenSSL-exception",       "x11vnc-openssl-exception",
};

/* The number of a GNU licence as the list writes it, or NULL. */
static const char *gnu_number(struct slice number)
{
	static const char *const numbers[][2] = {
		{ "1", "1.0" },     { "1.0", "1.0" }, { "1.1", "1.1" }, { "1.2", "1.2" },
		{ "1.3", "1.3" },   { "2", "2.0" },   { "2.0", "2.0" }, { "2.1", "2.1" },
		{ "2.1.0", "2.1" }, { "3", "3.0" },   { "3.0", "3.0" }, { "2.0.0", "2.0" },
		{ "3.0.0", "3.0" },
	};

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		if (slice_is(number, numbers[i][0]))
			return numbers[i][1];
	}
	return NULL;
}

/* Which numbers there are of each. */
static bool gnu_exists(const char *family, const char *number)
{
	static const struct {
		const char *family, *numbers;
	} known[] = { { "GPL", " 1.0 2.0 3.0 " },
		      { "LGPL", " 2.0 2.1 3.0 " },
		      { "AGPL", " 3.0 " },
		      { "GFDL", " 1.1 1.2 1.3 " } };
	cleanup_free char *word = xasprintf(" %s ", number);

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (str_equal(known[i].family, family))
			return strstr(known[i].numbers, word) != NULL;
	}
	return false;
}

/* "GPL-2+", "LGPLv2.1", "GFDL-NIV-1.3+", "GPL-2.0-only" …; NULL for anything else. */
static const char *gnu_license(const char *name, struct arena *arena)
{
	static const char *const families[] = { "LGPL", "AGPL", "GFDL", "GPL" };
	const char *family = NULL, *at = name, *number;
	bool free_of_invariants = false, later;
	size_t digits;

	for (size_t i = 0; i < ARRAY_LEN(families) && !family; i++) {
		if (strncasecmp(name, families[i], strlen(families[i])) == 0)
			family = families[i];
	}
	if (!family)
		return NULL;
	at += strlen(family);
	if (str_equal(family, "GFDL") && strncasecmp(at, "-NIV", 4) == 0) {
		free_of_invariants = true;
		at += 4;
	}
	at += *at == '-' || *at == ' ';
	at += *at == 'v' || *at == 'V';
	digits = strspn(at, "0123456789.");
	number = gnu_number(slice_of(at, digits));
	at += digits;
	later = str_equal(at, "+") || strcasecmp(at, "-or-later") == 0;
	if (!number || !gnu_exists(family, number) ||
	    !(later || !*at || strcasecmp(at, "-only") == 0))
		return NULL;
	return arena_printf(arena, "%s-%s%s-%s", family, number,
			    free_of_invariants ? "-no-invariants" : "",
			    later ? "or-later" : "only");
}

static const char *known_license(const char *name, struct arena *arena)
{
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		if (strcasecmp(ids[i], name) == 0)
			return ids[i];
	}
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++) {
		if (strcasecmp(aliases[i].name, name) == 0)
			return aliases[i].id;
	}
	return gnu_license(name, arena);
}

static const char *known_exception(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(exceptions); i++) {
		if (strcasecmp(exceptions[i], name) == 0)
			return exceptions[i];
	}
	return NULL;
}

/* A name of its own for what is not on the list; the same name gives the same id. */
static const char *reference(const char *name, struct arena *arena, struct license_refs *refs)
{
	cleanup_strbuf struct strbuf id = { 0 };

	strbuf_adds(&id, "LicenseRef-");
	if (str_starts(name, "LicenseRef-"))
		name += strlen("LicenseRef-");
	for (const char *at = name; *at && id.len < NAME_MAX_BYTES; at++) {
		bool plain = isalnum((unsigned char)*at) || *at == '.';

		if (plain || (id.data[id.len - 1] != '-'))
			strbuf_addc(&id, plain ? *at : '-');
	}
	while (id.data[id.len - 1] == '-')
		strbuf_truncate(&id, id.len - 1);
	if (str_equal(strbuf_text(&id), "LicenseRef"))
		strbuf_adds(&id, "-other");
	for (size_t i = 0; i < refs->len; i++) {
		if (str_equal(refs->items[i].id, strbuf_text(&id)))
			return refs->items[i].id;
	}
	vec_push(refs, ((struct license_ref){ arena_strdup(arena, strbuf_text(&id)),
					      arena_strdup(arena, name) }));
	return refs->items[refs->len - 1].id;
}

/* One operand: "ID", "ID WITH exception". */
static const char *operand(const char *name, struct arena *arena, struct license_refs *refs)
{
	const char *with = strcasestr(name, " with "), *id = known_license(name, arena);

	if (id)
		return id;
	if (with) {
		const char *exception = known_exception(with + strlen(" with "));

		id = known_license(arena_slice(arena, slice_of(name, (size_t)(with - name))),
				   arena);
		if (id && exception)
			return arena_printf(arena, "%s WITH %s", id, exception);
	}
	return reference(name, arena, refs);
}

/* An expression being read, word by word. */
struct reading {
	struct slice rest;
	struct arena *arena;
	struct license_refs *refs;
	size_t operands, depth;
};

/* The next word, or parenthesis, off the front. */
static bool next_word(struct reading *r, struct slice *out)
{
	const char *at;
	size_t n = 0;

	r->rest = slice_trim(r->rest);
	at = (const char *)r->rest.data;
	if (!r->rest.len)
		return false;
	if (*at == '(' || *at == ')')
		n = 1;
	while (n < r->rest.len && *at != '(' && *at != ')' && !strchr(" \t\n()", at[n]))
		n++;
	*out = slice_of(at, n);
	r->rest = slice_of(at + n, r->rest.len - n);
	return true;
}

static bool is_operator(struct slice word)
{
	return (word.len == 3 && strncasecmp((const char *)word.data, "and", 3) == 0) ||
	       (word.len == 2 && strncasecmp((const char *)word.data, "or", 2) == 0);
}

static bool read_operands(struct reading *r, bool inside, struct strbuf *out);

/* A parenthesis, or the words up to the next operator. */
static bool read_operand(struct reading *r, struct strbuf *out)
{
	cleanup_strbuf struct strbuf name = { 0 };
	struct slice word;

	if (++r->operands > OPERANDS_MAX)
		return false;
	while (next_word(r, &word)) {
		if (slice_is(word, "(") && !name.len) {
			bool read;

			if (r->depth++ >= NESTING_MAX)
				return false;
			strbuf_addc(out, '(');
			read = read_operands(r, true, out);
			strbuf_addc(out, ')');
			r->depth--;
			return read;
		}
		if (is_operator(word) || slice_is(word, "(") || slice_is(word, ")")) {
			r->rest = slice_of(word.data,
					   (size_t)(r->rest.data - word.data) + r->rest.len);
			break;
		}
		strbuf_addf(&name, "%s%.*s", name.len ? " " : "", (int)word.len,
			    (const char *)word.data);
	}
	if (!name.len)
		return false;
	strbuf_adds(out, operand(strbuf_text(&name), r->arena, r->refs));
	return true;
}

static bool read_operands(struct reading *r, bool inside, struct strbuf *out)
{
	struct slice word;

	if (!read_operand(r, out))
		return false;
	while (next_word(r, &word)) {
		if (slice_is(word, ")"))
			return inside;
		if (!is_operator(word))
			return false;
		strbuf_adds(out, word.len == 3 ? " AND " : " OR ");
		if (!read_operand(r, out))
			return false;
	}
	return !inside;
}

const char *license_expression(const char *text, struct arena *arena, struct license_refs *refs)
{
	struct slice trimmed = slice_trim(slice_str(text));
	const char *name = arena_slice(arena, trimmed), *id;
	struct license_refs tried = { 0 };
	struct reading r = { .rest = trimmed, .arena = arena, .refs = &tried };
	cleanup_strbuf struct strbuf out = { 0 };

	if (!trimmed.len || strcasecmp(name, "UNKNOWN") == 0)
		return NULL;
	id = known_license(name, arena);
	if (id)
		return id;
	/* a comma binds differently in each of these languages */
	if (strchr(name, ',') || !read_operands(&r, false, &out)) {
		vec_release(&tried);
		return reference(name, arena, refs);
	}
	for (size_t i = 0; i < tried.len; i++)
		reference(tried.items[i].name, arena, refs);
	vec_release(&tried);
	return arena_strdup(arena, strbuf_text(&out));
}

struct names {
	const char **items;
	size_t len, cap;
};

/* All of them at once: sorted, each once; alternatives keep together. */
static const char *join(struct names *names, struct arena *arena)
{
	cleanup_strbuf struct strbuf out = { 0 };

	vec_sort(names, str_order);
	for (size_t i = 0; i < names->len; i++) {
		bool alone = names->len == 1 || !strstr(names->items[i], " OR ");

		if (i && str_equal(names->items[i], names->items[i - 1]))
			continue;
		strbuf_addf(&out, "%s%s%s%s", out.len ? " AND " : "", alone ? "" : "(",
			    names->items[i], alone ? "" : ")");
	}
	return names->len ? arena_strdup(arena, strbuf_text(&out)) : NULL;
}

/* What is joined by AND alone comes apart, so that each is said once. */
static void push_terms(struct names *names, const char *expression, struct arena *arena)
{
	const char *end;

	while (!strpbrk(expression, "()") && !strstr(expression, " OR ") &&
	       (end = strstr(expression, " AND "))) {
		vec_push(names,
			 arena_slice(arena, slice_of(expression, (size_t)(end - expression))));
		expression = end + strlen(" AND ");
	}
	vec_push(names, expression);
}

static void take_stanza(const struct deb822 *stanza, struct arena *arena, struct license_refs *refs,
			struct names *names)
{
	struct slice value = deb822_get(stanza, "License"), name;
	const char *expression;

	if (!value.data || !deb822_get(stanza, "Files").data)
		return; /* the text of a licence that others name */
	name = value;
	if (memchr(value.data, '\n', value.len))
		slice_cut(&value, '\n', &name);
	expression = license_expression(arena_slice(arena, name), arena, refs);
	if (expression)
		push_terms(names, expression, arena);
}

const char *license_of_copyright(struct slice text, struct arena *arena, struct license_refs *refs)
{
	cleanup_deb822 struct deb822 stanza = { 0 };
	struct names names = { 0 };
	const char *out = NULL;
	struct error ignored = { 0 };
	struct slice rest = text, format;
	size_t line = 1;
	int rc = deb822_next(&rest, "copyright", &line, &stanza, &ignored);

	format = rc == 1 ? deb822_get(&stanza, "Format") : slice_of(NULL, 0);
	if (!format.len || !memmem(format.data, format.len, "copyright-format", 16))
		return NULL;
	while ((rc = deb822_next(&rest, "copyright", &line, &stanza, &ignored)) == 1)
		take_stanza(&stanza, arena, refs, &names);
	if (rc == 0)
		out = join(&names, arena);
	vec_release(&names);
	return out;
}

/* "Key: value" of a header, without case. */
static bool header_value(struct slice line, const char *key, struct slice *out)
{
	size_t n = strlen(key);

	if (line.len <= n || line.data[n] != ':' ||
	    strncasecmp((const char *)line.data, key, n) != 0)
		return false;
	*out = slice_trim(slice_of(line.data + n + 1, line.len - n - 1));
	return true;
}

/* What a classifier says after its groups: "MIT License". */
static void take_classifier(struct slice value, struct arena *arena, struct names *names)
{
	static const char prefix[] = "License :: ";
	const char *text = arena_slice(arena, value), *last;

	if (!str_starts(text, prefix))
		return;
	last = text + strlen(prefix);
	for (const char *at = last; (at = strstr(at, " :: "));)
		last = at += strlen(" :: ");
	if (!str_equal(last, "OSI Approved"))
		vec_push(names, last);
}

const char *license_of_metadata(struct slice text, struct arena *arena)
{
	struct slice rest = text, line, value, plain = { 0 };
	struct names names = { 0 };
	const char *out = NULL;
	bool in_plain = false, more = true;

	while (more && !out) {
		more = slice_cut(&rest, '\n', &line);
		if (!more)
			line = rest;
		if (line.len && line.data[line.len - 1] == '\r')
			line.len--;
		if (!line.len)
			break; /* the description follows */
		if (line.data[0] == ' ' || line.data[0] == '\t') {
			if (in_plain)
				plain = slice_of(NULL, 0); /* a whole text, and no name */
			continue;
		}
		in_plain = header_value(line, "License", &plain);
		if (header_value(line, "License-Expression", &value) && value.len)
			out = arena_slice(arena, value);
		else if (header_value(line, "Classifier", &value))
			take_classifier(value, arena, &names);
	}
	if (!out && plain.len && plain.len <= NAME_MAX_BYTES)
		out = arena_slice(arena, plain);
	if (!out)
		out = join(&names, arena);
	vec_release(&names);
	return out;
}
