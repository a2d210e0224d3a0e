#include "manifests/stack_check.h"

#include "base/strbuf.h"
#include "formats/cdi.h"

static const char lower[] = "abcdefghijklmnopqrstuvwxyz";
static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char digits[] = "0123456789";

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

static bool is_lower_or_digit(char c)
{
	return is_one_of(c, lower) || is_one_of(c, digits);
}

static bool is_alphanumeric(char c)
{
	return is_lower_or_digit(c) || is_one_of(c, upper);
}

const char *stack_check_version(const char *text, struct arena *arena)
{
	(void)arena;
	return str_equal(text, "1") ? NULL
				    : "is not a format this program knows; it reads gpuimg: 1";
}

/*
 * One path component of a repository name: [a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*
 */
static bool is_name_component(struct slice s)
{
	size_t i = 0;

	for (;;) {
		size_t start = i, gap;

		while (i < s.len && is_lower_or_digit((char)s.data[i]))
			i++;
		if (i == start)
			return false;
		if (i == s.len)
			return true;
		for (gap = i;
		     i < s.len && s.data[i] == s.data[gap] && !is_lower_or_digit((char)s.data[i]);)
			i++;
		if (s.data[gap] != '-' && !(s.data[gap] == '_' && i - gap <= 2) &&
		    !(s.data[gap] == '.' && i - gap == 1))
			return false;
	}
}

const char *stack_check_name(const char *text, struct arena *arena)
{
	struct slice rest = slice_str(text), part;

	(void)arena;
	if (rest.len > 255)
		return "is longer than the 255 characters a name may have";
	while (slice_cut(&rest, '/', &part)) {
		if (!is_name_component(part))
			return "is not a name: lower-case letters and digits, with single '.', "
			       "'_', '__' or "
			       "'-' between them, in parts joined by '/'; the registry goes into "
			       "publish, "
			       "the tag into tag";
	}
	return NULL;
}

const char *stack_check_tag(const char *text, struct arena *arena)
{
	size_t len = strlen(text);

	(void)arena;
	if (len > 128)
		return "is longer than the 128 characters a tag may have";
	for (size_t i = 0; i < len; i++) {
		if (!is_alphanumeric(text[i]) && text[i] != '_' && !(i && is_one_of(text[i], ".-")))
			return "is not a tag: letters, digits, '_', and after the first also '.' "
			       "and '-'";
	}
	return NULL;
}

const char *stack_check_platform(const char *text, struct arena *arena)
{
	static const char *const known[] = { "linux/amd64", "linux/arm64" };
	const char *near = stack_nearest(text, known, ARRAY_LEN(known));

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (str_equal(text, known[i]))
			return NULL;
	}
	if (str_equal(text, "amd64") || str_equal(text, "x86_64"))
		near = known[0];
	if (str_equal(text, "arm64") || str_equal(text, "aarch64") || str_equal(text, "sbsa"))
		near = known[1];
	return near ? arena_printf(arena,
				   "is not one of linux/amd64, linux/arm64; did you mean '%s'?",
				   near)
		    : "is not one of linux/amd64, linux/arm64";
}

/* One clause: an optional operator, then a version. */
static bool is_clause(struct slice s)
{
	static const char *const operators[] = { ">=", "<=", "==", "!=", "~=", ">", "<", "=" };

	s = slice_trim(s);
	for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
		size_t len = strlen(operators[i]);

		if (slice_starts(s, operators[i])) {
			s = slice_trim(slice_of(s.data + len, s.len - len));
			break;
		}
	}
	if (!s.len || !is_alphanumeric((char)s.data[0]))
		return false;
	for (size_t i = 1; i < s.len; i++) {
		if (!is_alphanumeric((char)s.data[i]) && !is_one_of((char)s.data[i], ".*+-_~!"))
			return false;
	}
	return true;
}

const char *stack_check_constraint(const char *text, struct arena *arena)
{
	struct slice rest = slice_str(text), clause;

	(void)arena;
	while (slice_cut(&rest, ',', &clause)) {
		if (!is_clause(clause))
			return "is not a version or a range of them, such as \"12.6\", \"2.7.*\" "
			       "or "
			       "\">=12.4,<13\"";
	}
	return NULL;
}

const char *stack_check_id(const char *text, struct arena *arena)
{
	size_t len = strlen(text);

	(void)arena;
	if (len > 64)
		return "is longer than the 64 characters a name may have here";
	for (size_t i = 0; i < len; i++) {
		if (!is_alphanumeric(text[i]) && !(i && is_one_of(text[i], "._-")))
			return "is not a name: letters and digits, and after the first also '.', "
			       "'_' and "
			       "'-'";
	}
	return len ? NULL : "is not a name: it is empty";
}

static bool has_control(const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return true;
	}
	return false;
}

/* Each "{word}" must be one of `known`. */
static const char *check_placeholders(const char *text, const char *const *known, size_t count,
				      struct arena *arena)
{
	for (const char *at = strchr(text, '{'); at; at = strchr(at + 1, '{')) {
		const char *end = strchr(at, '}'), *near;
		const char *word =
			end ? arena_slice(arena, slice_of(at + 1, (size_t)(end - at - 1))) : "";
		bool found = false;

		for (size_t i = 0; i < count; i++)
			found |= str_equal(word, known[i]);
		if (found)
			continue;
		if (!end)
			return "holds '{' without '}'";
		near = stack_nearest(word, known, count);
		return near ? arena_printf(arena,
					   "holds '{%.40s}', which is not filled in; did you mean "
					   "'{%s}'?",
					   word, near)
			    : arena_printf(arena, "holds '{%.40s}', which is not filled in", word);
	}
	return NULL;
}

const char *stack_check_url(const char *text, struct arena *arena)
{
	static const char *const known[] = { "arch", "debarch", "sbsa" };
	static const char *const schemes[] = { "https://", "http://", "file:///" };

	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f)
			return "is not an address: it holds blanks or characters beyond ASCII";
	}
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		if (str_starts(text, schemes[i]) && text[strlen(schemes[i])])
			return check_placeholders(text, known, ARRAY_LEN(known), arena);
	}
	return "is not an address that begins with https://, http:// or file:///";
}

const char *stack_check_file(const char *text, struct arena *arena)
{
	(void)arena;
	if (has_control(text))
		return "holds a control character";
	if (!*text || text[strlen(text) - 1] == '/')
		return "is not the name of a file";
	return NULL;
}

const char *stack_check_axis(const char *text, struct arena *arena)
{
	size_t len = strlen(text);

	(void)arena;
	if (str_ends(text, ".*"))
		len -= 2;
	for (size_t i = 0; i < len; i++) {
		if (!is_alphanumeric(text[i]) && !(i && is_one_of(text[i], "._+-")))
			len = 0;
	}
	return len && len <= 40
		       ? NULL
		       : "is not a value of a matrix: a version, such as \"12.6\" or \"2.7.*\"";
}

const char *stack_check_relative(const char *text, struct arena *arena)
{
	struct slice rest = slice_str(text), part;
	size_t depth = 0;

	(void)arena;
	if (has_control(text))
		return "holds a control character";
	if (text[0] == '/')
		return "is absolute; paths here start at the manifest's folder: copy it there and "
		       "name it "
		       "from there";
	while (slice_cut(&rest, '/', &part)) {
		if (slice_is(part, "..")) {
			if (!depth)
				return "leaves the manifest's folder; move the manifest up, or "
				       "what is "
				       "needed below its folder";
			depth--;
		} else if (part.len && !slice_is(part, ".")) {
			depth++;
		}
	}
	return NULL;
}

const char *stack_check_absolute(const char *text, struct arena *arena)
{
	if (has_control(text))
		return "holds a control character";
	if (text[0] != '/')
		return arena_printf(arena, "is not absolute; did you mean '/%.200s'?", text);
	if (slice_has_part(slice_str(text), ".."))
		return "has '..' in it; write the path without";
	return NULL;
}

const char *stack_check_mode(const char *text, struct arena *arena)
{
	size_t len = strlen(text);

	(void)arena;
	if (len < 3 || len > 5 || strspn(text, "01234567") != len || (len == 5 && text[0] != '0'))
		return "is not a mode; write permissions in octal, such as \"0755\"";
	return NULL;
}

const char *stack_check_device(const char *text, struct arena *arena)
{
	cleanup_free char *kind = NULL, *name = NULL;

	(void)arena;
	return cdi_device_split(text, &kind, &name)
		       ? NULL
		       : "is no CDI device; write VENDOR/CLASS=NAME, such as "
			 "\"nvidia.com/gpu=all\"";
}

const char *stack_check_duration(const char *text, struct arena *arena)
{
	(void)arena;
	return stack_duration_ms(text) ? NULL
				       : "is no time; write a number with s, m or h, such as "
					 "\"30m\", of at most a week";
}

uint64_t stack_duration_ms(const char *text)
{
	static const struct {
		const char *unit;
		uint64_t ms;
	} units[] = { { "s", 1000 }, { "m", 60 * 1000 }, { "h", 3600 * 1000 } };
	size_t len = strspn(text, digits);
	uint64_t number;

	if (len > 9 || !slice_u64(slice_of(text, len), &number))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (str_equal(text + len, units[i].unit))
			return number * units[i].ms <= UINT64_C(7) * 24 * 3600 * 1000
				       ? number * units[i].ms
				       : 0;
	}
	return 0;
}

const char *stack_check_user(const char *text, struct arena *arena)
{
	size_t len = strlen(text);

	(void)arena;
	for (size_t i = 0; i < len; i++) {
		if (!is_one_of(text[i], lower) && text[i] != '_' &&
		    !(i && (is_one_of(text[i], digits) || text[i] == '-')))
			return "is not an account's name: lower-case letters and '_', and after "
			       "the first "
			       "also digits and '-'";
	}
	return len > 32 ? "is longer than the 32 characters an account's name may have" : NULL;
}

const char *stack_check_env_name(const char *text, struct arena *arena)
{
	(void)arena;
	if (!*text || is_one_of(text[0], digits))
		return "is not the name of an environment variable: letters, digits and '_', not a "
		       "digit "
		       "first";
	for (; *text; text++) {
		if (!is_alphanumeric(*text) && *text != '_')
			return "is not the name of an environment variable: letters, digits and "
			       "'_', not a "
			       "digit first";
	}
	return NULL;
}

const char *stack_check_expose(const char *text, struct arena *arena)
{
	struct slice rest = slice_str(text), port, protocol = slice_str("tcp");
	uint64_t number;

	(void)arena;
	if (!slice_cut(&rest, '/', &port) || !slice_u64(port, &number) || !number || number > 65535)
		return "is not a port from 1 to 65535, such as 8080 or \"53/udp\"";
	if (rest.data)
		protocol = rest;
	if (!slice_is(protocol, "tcp") && !slice_is(protocol, "udp") && !slice_is(protocol, "sctp"))
		return "names a protocol other than tcp, udp and sctp";
	return NULL;
}

const char *stack_check_signal(const char *text, struct arena *arena)
{
	uint64_t number;

	(void)arena;
	if (slice_u64(slice_str(text), &number))
		return number >= 1 && number <= 64 ? NULL : "is not a signal: they go from 1 to 64";
	if (!str_starts(text, "SIG") || !is_one_of(text[3], upper))
		return "is not a signal, such as SIGTERM";
	for (size_t i = 3; text[i]; i++) {
		if (!is_one_of(text[i], upper) && !is_one_of(text[i], digits) &&
		    !is_one_of(text[i], "+-"))
			return "is not a signal, such as SIGTERM";
	}
	return NULL;
}

const char *stack_check_digest(const char *text, struct arena *arena)
{
	struct digest parsed;
	struct error err;

	(void)arena;
	return digest_parse(slice_str(text), &parsed, &err) < 0
		       ? "is not a digest: sha256: and 64 lower-case hexadecimal digits"
		       : NULL;
}

const char *stack_check_rule(const char *text, struct arena *arena)
{
	(void)arena;
	return strlen(text) == 6 && strspn(text, upper) == 3 && strspn(text + 3, digits) == 3
		       ? NULL
		       : "is not the id of a rule, such as SIZ003";
}

const char *stack_check_date(const char *text, struct arena *arena)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	struct slice rest = slice_str(text), year, month;
	uint64_t y, m, d;
	bool leap;

	(void)arena;
	if (strlen(text) != 10 || !slice_cut(&rest, '-', &year) || !slice_cut(&rest, '-', &month) ||
	    year.len != 4 || month.len != 2 || !slice_u64(year, &y) || !slice_u64(month, &m) ||
	    !slice_u64(rest, &d))
		return "is not a day, written as 2027-01-31";
	leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
	if (m < 1 || m > 12 || d < 1 || d > days[m - 1] + (uint64_t)(m == 2 && leap))
		return "is not a day of the calendar";
	return NULL;
}

const char *stack_check_reference(const char *text, struct arena *arena)
{
	static const char *const known[] = { "name", "tag" };

	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f)
			return "is not a reference: it holds blanks or characters beyond ASCII";
	}
	return check_placeholders(text, known, ARRAY_LEN(known), arena);
}

static int check_apt(const struct stack *stack, const struct stack_source *s, struct error *err)
{
	size_t len = s->suite ? strlen(s->suite) : 0;

	if (s->from_host)
		return 0;
	if (!s->url || !s->suite)
		return stack_error(
			stack, s->place, err,
			"source '%s' of type apt needs 'from: host', or 'url' and 'suite'", s->id);
	if (s->suite[len - 1] == '/' && s->components.count)
		return stack_error(
			stack, s->place, err,
			"source '%s' is flat (its suite ends in '/') and so has no components",
			s->id);
	if (s->suite[len - 1] != '/' && !s->components.count)
		return stack_error(
			stack, s->place, err,
			"source '%s' needs 'components', such as [main]; the suite of a flat "
			"repository ends in '/'",
			s->id);
	return 0;
}

/* What each type of source needs, and which keys mean nothing to it. */
static int check_source(const struct stack *stack, const struct stack_source *s, struct error *err)
{
	const char *type = stack_source_type_name(s->type), *needs = NULL, *vain = NULL;
	bool is_apt = s->type == SOURCE_APT, is_rpm = s->type == SOURCE_RPM_MD;
	bool is_dir = s->type == SOURCE_DIR, is_wheels = s->type == SOURCE_WHEELS;

	if (!is_apt && s->suite && s->type != SOURCE_REDIST)
		vain = "suite";
	else if (!is_apt && (s->signed_by || s->components.count))
		vain = s->signed_by ? "signed-by" : "components";
	else if (!is_rpm && s->gpgkey)
		vain = "gpgkey";
	else if (!is_dir && !is_wheels && s->path)
		vain = "path";
	else if (is_dir && s->url)
		vain = "url";
	else if (!is_apt && !is_wheels && s->from_host)
		vain = "from";
	if (vain)
		return stack_error(stack, s->place, err,
				   "source '%s' has '%s', which means nothing to type %s", s->id,
				   vain, type);
	if (s->from_host && (s->url || s->path))
		return stack_error(stack, s->place, err,
				   "source '%s' has both 'from: host' and '%s'; keep one", s->id,
				   s->url ? "url" : "path");
	if (s->url && s->path)
		return stack_error(stack, s->place, err,
				   "source '%s' has both 'url' and 'path'; keep one", s->id);
	if (is_apt)
		return check_apt(stack, s, err);
	if (is_dir && !s->path)
		needs = "'path'";
	if ((is_rpm || s->type == SOURCE_REDIST) && !s->url)
		needs = "'url'";
	if (is_wheels && !s->url && !s->path && !s->from_host)
		needs = "'from: host', 'url' or 'path'";
	if (needs)
		return stack_error(stack, s->place, err, "source '%s' of type %s needs %s", s->id,
				   type, needs);
	return 0;
}

static int check_sources(const struct stack *stack, struct error *err)
{
	for (size_t i = 0; i < stack->source_count; i++) {
		const struct stack_source *s = &stack->sources[i];
		const struct stack_source *first = stack_source(stack, s->id);

		if (first != s)
			return stack_error(stack, s->place, err,
					   "a second source '%s'; the first is in line %zu", s->id,
					   first->place.line);
		if (check_source(stack, s, err) < 0)
			return -1;
	}
	return 0;
}

/* "; did you mean 'x'?", or all there are, or what to do when there is none. In the arena. */
static const char *advice(struct stack *stack, const char *word, const char *const *names,
			  size_t count, const char *none)
{
	cleanup_strbuf struct strbuf all = { 0 };
	const char *near = stack_nearest(word, names, count);

	if (!count)
		return none;
	if (near)
		return arena_printf(&stack->arena, "; did you mean '%s'?", near);
	for (size_t i = 0; i < count; i++)
		strbuf_addf(&all, "%s%.64s", i ? ", " : "", names[i]);
	return arena_printf(&stack->arena, "; there are: %.200s", strbuf_text(&all));
}

static int check_packages(struct stack *stack, const struct stack_stage *stage, struct error *err)
{
	const char **ids = arena_array(&stack->arena, stack->source_count, sizeof(*ids));

	for (size_t i = 0; i < stack->source_count; i++)
		ids[i] = stack->sources[i].id;
	for (size_t i = 0; i < stage->package_count; i++) {
		const struct stack_packages *p = &stage->packages[i];
		const struct stack_source *source = stack_source(stack, p->source);

		if (!source)
			return stack_error(
				stack, p->place, err,
				"stages.%s.packages: '%.64s' is not the id of a source%s",
				stage->name, p->source,
				advice(stack, p->source, ids, stack->source_count,
				       "; declare it in sources"));
		for (size_t j = 0; j < p->count; j++) {
			if (p->items[j].requirements && source->type != SOURCE_WHEELS)
				return stack_error(
					stack, p->items[j].place, err,
					"stages.%s.packages: 'requirements' is for sources of type "
					"wheels; '%s' is %s",
					stage->name, p->source,
					stack_source_type_name(source->type));
		}
	}
	return 0;
}

static int check_copies(struct stack *stack, size_t index, struct error *err)
{
	const struct stack_stage *stage = &stack->stages[index];
	const char **names = arena_array(&stack->arena, index, sizeof(*names));

	for (size_t i = 0; i < index; i++)
		names[i] = stack->stages[i].name;
	for (size_t i = 0; i < stage->copy_count; i++) {
		const struct stack_copy *c = &stage->copies[i];
		const struct stack_stage *from = stack_stage(stack, c->from);

		if (from && from < stage)
			continue;
		if (from)
			return stack_error(
				stack, c->place, err,
				"stages.%s.copy[%zu]: stage '%s' is %s; a stage copies from those "
				"before it",
				stage->name, i, c->from,
				from == stage ? "this one" : "a later one");
		return stack_error(stack, c->place, err,
				   "stages.%s.copy[%zu]: '%.64s' is not a stage before this one%s",
				   stage->name, i, c->from,
				   advice(stack, c->from, names, index, "; there is none"));
	}
	return 0;
}

static int check_user(const struct stack *stack, struct error *err)
{
	const struct stack_image *image = &stack->image;
	bool root;

	if (!image->user_name)
		return 0;
	root = str_equal(image->user_name, "root");
	if (root && image->uid)
		return stack_error(stack, image->user_place, err,
				   "image.user: the uid of root is 0");
	if (!root && !image->uid)
		return stack_error(stack, image->user_place, err,
				   "image.user: uid 0 is root's; give '%s' another",
				   image->user_name);
	return 0;
}

int stack_check_whole(struct stack *stack, struct error *err)
{
	if (check_sources(stack, err) < 0 || check_user(stack, err) < 0)
		return -1;
	for (size_t i = 0; i < stack->stage_count; i++) {
		if (check_packages(stack, &stack->stages[i], err) < 0 ||
		    check_copies(stack, i, err) < 0)
			return -1;
	}
	return 0;
}
