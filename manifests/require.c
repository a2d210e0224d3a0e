#include "manifests/require.h"

#include <strings.h>

#include "manifests/dotted.h"

struct term {
	struct slice property, op, value;
};

static bool is_operator(uint8_t c)
{
	return c && strchr("<>=!", c);
}

/* The operator is the longest run of its characters. */
static int read_term(struct slice text, struct term *out, struct error *err)
{
	size_t at = 0, end;

	while (at < text.len && !is_operator(text.data[at]))
		at++;
	for (end = at; end < text.len && is_operator(text.data[end]);)
		end++;
	*out = (struct term){ .property = slice_of(text.data, at),
			      .op = slice_of(text.data + at, end - at),
			      .value = slice_of(text.data + end, text.len - end) };
	if (!at || end == at || end == text.len)
		return error_set(err, ERROR_FORMAT,
				 "requirement '%.*s' is not a property, an operator and a value",
				 (int)MIN(text.len, (size_t)60), (const char *)text.data);
	return 0;
}

static int compare_term(const struct term *t, const char *has, bool *out, struct error *err)
{
	int order;

	if (!dotted_is(t->value))
		return error_set(err, ERROR_FORMAT, "requirement value '%.*s' is not a version",
				 (int)MIN(t->value.len, (size_t)60), (const char *)t->value.data);
	order = dotted_compare(slice_str(has), t->value);
	if (slice_is(t->op, "="))
		*out = order == 0;
	else if (slice_is(t->op, "!=") || slice_is(t->op, "!"))
		*out = order != 0;
	else if (slice_is(t->op, "<"))
		*out = order < 0;
	else if (slice_is(t->op, "<="))
		*out = order <= 0;
	else if (slice_is(t->op, ">"))
		*out = order > 0;
	else if (slice_is(t->op, ">="))
		*out = order >= 0;
	else
		return error_set(err, ERROR_FORMAT,
				 "requirement operator '%.*s' is none of = != < <= > >=",
				 (int)MIN(t->op.len, (size_t)10), (const char *)t->op.data);
	return 0;
}

static int compare_brand(const struct term *t, const char *brand, bool *out, struct error *err)
{
	bool same = brand && slice_is_word(t->value, brand);

	if (slice_is(t->op, "="))
		*out = !brand || same;
	else if (slice_is(t->op, "!=") || slice_is(t->op, "!"))
		*out = !brand || !same;
	else
		return error_set(err, ERROR_FORMAT, "a requirement on brand takes = and != only");
	return 0;
}

static int term_holds(struct slice text, const struct require_host *host, bool *out,
		      struct error *err)
{
	const char *has;
	struct term t;

	if (read_term(text, &t, err) < 0)
		return -1;
	if (slice_is_word(t.property, "brand"))
		return compare_brand(&t, host->brand, out, err);
	if (slice_is_word(t.property, "cuda"))
		has = host->cuda;
	else if (slice_is_word(t.property, "driver"))
		has = host->driver;
	else if (slice_is_word(t.property, "arch"))
		has = host->arch;
	else
		return error_set(err, ERROR_FORMAT, "requirement property '%.*s' is not known",
				 (int)MIN(t.property.len, (size_t)40),
				 (const char *)t.property.data);
	*out = true;
	return has ? compare_term(&t, has, out, err) : 0;
}

int require_holds(const char *expression, const struct require_host *host, bool *out,
		  struct error *err)
{
	struct slice rest = slice_str(expression), alternative;
	bool any = false;

	*out = false;
	while (!*out && slice_cut(&rest, ' ', &alternative)) {
		struct slice term;

		if (!alternative.len)
			continue;
		any = true;
		*out = true;
		while (*out && slice_cut(&alternative, ',', &term)) {
			if (term_holds(term, host, out, err) < 0)
				return -1;
		}
	}
	*out |= !any;
	return 0;
}

/* Brands of boards that forward compatibility is for, as NVIDIA's own images name them. */
static const char *const compat_brands[] = { "unknown", "grid",      "tesla",     "nvidia",
					     "quadro",  "quadrortx", "nvidiartx", "vapps",
					     "vpc",     "vcs",       "vws",       "cloudgaming" };

/* One host branch of a compatibility package, from the floor on. */
static void add_hosts(struct strbuf *value, unsigned branch, const char *floor)
{
	bool within = floor && dotted_number(floor, 0) == branch;
	cleanup_free char *from = within ? xstrdup(floor) : xasprintf("%u", branch);

	for (size_t i = 0; i < ARRAY_LEN(compat_brands); i++)
		strbuf_addf(value, " brand=%s,driver>=%s,driver<%u", compat_brands[i], from,
			    branch + 1);
}

int require_value(const struct tables *tables, const char *cuda, const char *floor, bool compat,
		  struct arena *arena, const char **out, struct error *err)
{
	cleanup_strbuf struct strbuf value = { 0 };
	struct driver_verdict v = driver_verdict(tables, floor ? floor : "0", cuda);
	bool below = floor && v.service < SERVICE_MINOR;
	const struct compat_package *package = compat_for(&tables->compat, cuda);

	if (below && !(compat && v.service == SERVICE_FORWARD))
		return error_set(err, ERROR_VERDICT,
				 "stack: CUDA %s needs driver %s or newer, the floor is %s; raise "
				 "stack.driver or take an older CUDA",
				 cuda,
				 v.floor && v.floor->min_driver       ? v.floor->min_driver
				 : v.toolkit && v.toolkit->own_driver ? v.toolkit->own_driver
								      : "(not known)",
				 floor);
	strbuf_addf(&value, "cuda>=%s", cuda);
	if (below && v.floor && v.floor->minor_compat)
		strbuf_addf(&value, " driver>=%s", v.floor->min_driver);
	else if (floor && v.service == SERVICE_MINOR)
		strbuf_addf(&value, " driver>=%s", floor);
	for (size_t i = 0; compat && package && i < package->hosts.count; i++) {
		unsigned branch = package->hosts.items[i];

		if (!floor || branch >= dotted_number(floor, 0))
			add_hosts(&value, branch, floor);
	}
	*out = arena_slice(arena, strbuf_slice(&value));
	return 0;
}
