#include "formats/sbom.h"

#include <ctype.h>

void sbom_release(struct sbom *sbom)
{
	if (!sbom)
		return;
	for (size_t i = 0; i < sbom->components.len; i++)
		vec_release(&sbom->components.items[i].libraries);
	vec_release(&sbom->components);
	vec_release(&sbom->refs);
	arena_release(&sbom->arena);
}

static int compare_components(const void *a, const void *b)
{
	const struct sbom_component *x = a, *y = b;
	int order = x->kind - y->kind;

	if (!order)
		order = strcmp(x->name, y->name);
	if (!order)
		order = strcmp(x->version, y->version);
	return order ? order : strcmp(x->arch, y->arch);
}

static int compare_libraries(const void *a, const void *b)
{
	return strcmp(((const struct sbom_library *)a)->path,
		      ((const struct sbom_library *)b)->path);
}

static int compare_refs(const void *a, const void *b)
{
	return strcmp(((const struct license_ref *)a)->id, ((const struct license_ref *)b)->id);
}

/* What is there twice, as two virtual environments have it, is said once. */
static void drop_repeated(struct sbom *sbom)
{
	size_t kept = 0;

	for (size_t i = 0; i < sbom->components.len; i++) {
		struct sbom_component *c = &sbom->components.items[i];

		if (kept && !c->libraries.len &&
		    compare_components(&sbom->components.items[kept - 1], c) == 0)
			continue;
		sbom->components.items[kept++] = *c;
	}
	sbom->components.len = kept;
}

void sbom_sort(struct sbom *sbom)
{
	for (size_t i = 0; i < sbom->components.len; i++)
		vec_sort(&sbom->components.items[i].libraries, compare_libraries);
	vec_sort(&sbom->components, compare_components);
	drop_repeated(sbom);
	vec_sort(&sbom->refs, compare_refs);
}

/* Everything but the characters that purl leaves alone is percent-encoded. */
static void put_encoded(struct strbuf *out, const char *text, bool colon)
{
	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		if (isalnum(*at) || strchr("-._~", *at) || (colon && (*at == ':' || *at == '/')))
			strbuf_addc(out, (char)*at);
		else
			strbuf_addf(out, "%%%02X", *at);
	}
}

const char *sbom_purl(struct arena *arena, const char *type, const char *space, const char *name,
		      const char *version, const struct sbom_qualifier *qualifiers, size_t count)
{
	cleanup_strbuf struct strbuf out = { 0 };
	bool first = true;

	strbuf_addf(&out, "pkg:%s/", type);
	if (space && *space) {
		put_encoded(&out, space, true);
		strbuf_addc(&out, '/');
	}
	put_encoded(&out, name, false);
	if (*version) {
		strbuf_addc(&out, '@');
		put_encoded(&out, version, false);
	}
	for (size_t i = 0; i < count; i++) {
		if (!qualifiers[i].value || !*qualifiers[i].value)
			continue;
		strbuf_addf(&out, "%c%s=", first ? '?' : '&', qualifiers[i].key);
		put_encoded(&out, qualifiers[i].value, true);
		first = false;
	}
	return arena_strdup(arena, strbuf_text(&out));
}

bool sbom_is_library(const char *path)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const char *so = strstr(name, ".so");

	return str_starts(name, "lib") && so &&
	       (!so[3] || (so[3] == '.' && strspn(so + 3, ".0123456789") == strlen(so + 3)));
}

const char *sbom_uuid(const struct sbom *sbom, const char *purpose, char out[37])
{
	char hex[DIGEST_HEX_MAX], manifest[DIGEST_TEXT_MAX];
	cleanup_free char *text =
		xasprintf("gpuimg\n%s\n%s\n%s\n", purpose, sbom->platform ? sbom->platform : "",
			  digest_text(&sbom->manifest, manifest));
	struct digest d = digest_of(slice_str(text));

	d.bytes[6] = (uint8_t)((d.bytes[6] & 0x0f) | 0x80);
	d.bytes[8] = (uint8_t)((d.bytes[8] & 0x3f) | 0x80);
	digest_hex(&d, hex);
	snprintf(out, 37, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
	return out;
}
