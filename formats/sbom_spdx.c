#include <ctype.h>

#include "base/map.h"
#include "base/program.h"
#include "formats/json.h"
#include "formats/sbom.h"

/* A document being written: ids are unique in it. */
struct writing {
	const struct sbom *sbom;
	json_t *packages, *relationships;
	struct map ids;
};

static const char *const kind_words[] = { "deb",   "rpm",   "wheel", "redist", "files",
					  "stage", "image", "base",  "package" };

/* "SPDXRef-deb-libc6-2.36-9", with a number when that is taken; heap. */
static char *make_id(struct writing *w, const char *kind, const char *name, const char *version)
{
	cleanup_strbuf struct strbuf id = { 0 };
	size_t len, n = 1;

	strbuf_addf(&id, "SPDXRef-%s-%s%s%s", kind, name, *version ? "-" : "", version);
	for (size_t i = 0; i < id.len; i++) {
		if (!isalnum((unsigned char)id.data[i]) && id.data[i] != '.')
			id.data[i] = '-';
	}
	len = id.len;
	while (map_has(&w->ids, strbuf_text(&id))) {
		strbuf_truncate(&id, len);
		strbuf_addf(&id, "-%zu", ++n);
	}
	map_put(&w->ids, strbuf_text(&id), w);
	return strbuf_steal(&id);
}

static void relate(struct writing *w, const char *from, const char *type, const char *to)
{
	json_t *o = json_object();

	json_put(o, "spdxElementId", json_text(from));
	json_put(o, "relationshipType", json_text(type));
	json_put(o, "relatedSpdxElement", json_text(to));
	json_push(w->relationships, o);
}

/* A place that a reader can be expected to find: a name with a domain, by http. */
static bool is_public(const char *url)
{
	const char *host = str_starts(url, "https://")  ? url + 8
			   : str_starts(url, "http://") ? url + 7
							: NULL;
	size_t len = host ? strcspn(host, "/:") : 0, label = 0;

	if (!len || strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789.-") < len)
		return false;
	while (label < len && isalpha((unsigned char)host[len - 1 - label]))
		label++;
	return label >= 2 && label <= 5 && len > label + 1 && host[len - 1 - label] == '.';
}

static json_t *checksum(const struct digest *d)
{
	json_t *list = json_array(), *o = json_object();
	char hex[DIGEST_HEX_MAX];

	json_put(o, "algorithm", json_text(d->algorithm == DIGEST_SHA256 ? "SHA256" : "SHA512"));
	json_put(o, "checksumValue", json_text(digest_hex(d, hex)));
	json_push(list, o);
	return list;
}

/* What every package has to say, and nothing was looked into. */
static json_t *new_package(const char *id, const char *name, const char *license)
{
	json_t *o = json_object();

	json_put(o, "SPDXID", json_text(id));
	json_put(o, "name", json_text(name));
	json_put(o, "downloadLocation", json_text("NOASSERTION"));
	json_put(o, "filesAnalyzed", json_false());
	json_put(o, "licenseConcluded", json_text("NOASSERTION"));
	json_put(o, "licenseDeclared", json_text(license ? license : "NOASSERTION"));
	json_put(o, "copyrightText", json_text("NOASSERTION"));
	json_put(o, "supplier", json_text("NOASSERTION"));
	return o;
}

static void put_purl(json_t *package, const char *purl)
{
	json_t *refs = json_array(), *ref = json_object();

	json_put(ref, "referenceCategory", json_text("PACKAGE-MANAGER"));
	json_put(ref, "referenceType", json_text("purl"));
	json_put(ref, "referenceLocator", json_text(purl));
	json_push(refs, ref);
	json_put(package, "externalRefs", refs);
}

static void put_comment(json_t *package, const struct sbom_component *c)
{
	cleanup_strbuf struct strbuf text = { 0 };

	if (c->redistribution)
		strbuf_addf(&text, "Redistribution: %s.", c->redistribution);
	if (c->license_path)
		strbuf_addf(&text, "%sLicence text in the image: %s", text.len ? " " : "",
			    c->license_path);
	if (text.len)
		json_put(package, "licenseComments", json_text(strbuf_text(&text)));
}

static void add_library(struct writing *w, const char *owner, const struct sbom_component *c,
			const struct sbom_library *l)
{
	const char *name = strrchr(l->path, '/') ? strrchr(l->path, '/') + 1 : l->path;
	cleanup_free char *id = make_id(w, "library", name, "");
	json_t *o = new_package(id, name, c->license);

	json_put(o, "packageFileName", json_text(l->path));
	json_put(o, "primaryPackagePurpose", json_text("LIBRARY"));
	if (*c->version)
		json_put(o, "versionInfo", json_text(c->version));
	if (l->has_digest)
		json_put(o, "checksums", checksum(&l->digest));
	if (l->redistribution) {
		cleanup_free char *text = xasprintf("Redistribution: %s.", l->redistribution);

		json_put(o, "licenseComments", json_text(text));
	}
	json_push(w->packages, o);
	relate(w, owner, "CONTAINS", id);
}

static void add_component(struct writing *w, const char *root, const struct sbom_component *c)
{
	cleanup_free char *id = make_id(w, kind_words[c->kind], c->name, c->version);
	json_t *o = new_package(id, c->name, c->license);

	if (*c->version)
		json_put(o, "versionInfo", json_text(c->version));
	if (c->purl)
		put_purl(o, c->purl);
	if (is_public(c->url))
		json_put(o, "downloadLocation", json_text(c->url));
	if (c->has_digest)
		json_put(o, "checksums", checksum(&c->digest));
	if (*c->source && !str_equal(c->source, c->name)) {
		cleanup_free char *text = xasprintf("built package from: %s", c->source);

		json_put(o, "sourceInfo", json_text(text));
	}
	put_comment(o, c);
	if (c->note)
		json_put(o, "comment", json_text(c->note));
	json_push(w->packages, o);
	relate(w, root, "CONTAINS", id);
	for (size_t i = 0; i < c->libraries.len; i++)
		add_library(w, id, c, &c->libraries.items[i]);
}

static void add_image(struct writing *w, const char *id)
{
	const struct sbom *s = w->sbom;
	json_t *o = new_package(id, s->name, NULL);

	if (*s->tag)
		json_put(o, "versionInfo", json_text(s->tag));
	json_put(o, "primaryPackagePurpose", json_text("CONTAINER"));
	if (s->has_manifest)
		json_put(o, "checksums", checksum(&s->manifest));
	json_push(w->packages, o);
	relate(w, "SPDXRef-DOCUMENT", "DESCRIBES", id);
}

static json_t *creation(const struct sbom *sbom)
{
	json_t *o = json_object(), *creators = json_array();

	json_push(creators, json_text("Tool: gpuimg-" GPUIMG_VERSION));
	json_put(o, "created", json_text(sbom->created));
	json_put(o, "creators", creators);
	return o;
}

static json_t *extracted(const struct sbom *sbom)
{
	json_t *list = json_array();

	for (size_t i = 0; i < sbom->refs.len; i++) {
		const struct license_ref *ref = &sbom->refs.items[i];
		cleanup_free char *text = xasprintf(
			"The package names its licence \"%s\"; its text comes with the package.",
			ref->name);
		json_t *o = json_object();

		json_put(o, "licenseId", json_text(ref->id));
		json_put(o, "name", json_text(ref->name));
		json_put(o, "extractedText", json_text(text));
		json_push(list, o);
	}
	return list;
}

void sbom_write_spdx(const struct sbom *sbom, struct strbuf *out)
{
	struct writing w = { .sbom = sbom,
			     .packages = json_array(),
			     .relationships = json_array() };
	cleanup_json json_t *o = json_object();
	cleanup_free char *id = NULL, *namespace = NULL, *name = NULL;
	char uuid[37];

	id = make_id(&w, "container", sbom->name, sbom->tag);
	add_image(&w, id);
	for (size_t i = 0; i < sbom->components.len; i++)
		add_component(&w, id, &sbom->components.items[i]);
	namespace = xasprintf("urn:uuid:%s", sbom_uuid(sbom, "spdx", uuid));
	name = xasprintf("%s%s%s %s", sbom->name, *sbom->tag ? ":" : "", sbom->tag, sbom->platform);
	json_put(o, "spdxVersion", json_text("SPDX-2.3"));
	json_put(o, "dataLicense", json_text("CC0-1.0"));
	json_put(o, "SPDXID", json_text("SPDXRef-DOCUMENT"));
	json_put(o, "name", json_text(name));
	json_put(o, "documentNamespace", json_text(namespace));
	json_put(o, "creationInfo", creation(sbom));
	json_put(o, "packages", w.packages);
	json_put(o, "relationships", w.relationships);
	if (sbom->refs.len)
		json_put(o, "hasExtractedLicensingInfos", extracted(sbom));
	json_canonical(o, out);
	strbuf_addc(out, '\n');
	map_release(&w.ids);
}
