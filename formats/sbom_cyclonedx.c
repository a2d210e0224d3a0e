#include "base/program.h"
#include "formats/json.h"
#include "formats/sbom.h"

static const char *const kind_words[] = { "deb",   "rpm",   "wheel", "redist", "files",
					  "stage", "image", "base",  "package" };

static void put_property(json_t *list, const char *name, const char *value)
{
	json_t *o;

	if (!value || !*value)
		return;
	o = json_object();
	json_put(o, "name", json_text(name));
	json_put(o, "value", json_text(value));
	json_push(list, o);
}

static json_t *hashes(const struct digest *d)
{
	json_t *list = json_array(), *o = json_object();
	char hex[DIGEST_HEX_MAX];

	json_put(o, "alg", json_text(d->algorithm == DIGEST_SHA256 ? "SHA-256" : "SHA-512"));
	json_put(o, "content", json_text(digest_hex(d, hex)));
	json_push(list, o);
	return list;
}

static json_t *licenses(const char *expression)
{
	json_t *list = json_array(), *o = json_object();

	json_put(o, "expression", json_text(expression));
	json_put(o, "acknowledgement", json_text("declared"));
	json_push(list, o);
	return list;
}

static json_t *new_component(const char *type, const char *ref, const char *name,
			     const char *version)
{
	json_t *o = json_object();

	json_put(o, "type", json_text(type));
	json_put(o, "bom-ref", json_text(ref));
	json_put(o, "name", json_text(name));
	if (*version)
		json_put(o, "version", json_text(version));
	return o;
}

static json_t *library(const char *owner, const struct sbom_library *l)
{
	const char *name = strrchr(l->path, '/') ? strrchr(l->path, '/') + 1 : l->path;
	cleanup_free char *ref = xasprintf("%s#%s", owner, l->path);
	json_t *o = new_component("file", ref, name, ""), *properties = json_array();
	json_t *evidence = json_object(), *occurrences = json_array(), *at = json_object();

	if (l->has_digest)
		json_put(o, "hashes", hashes(&l->digest));
	json_put(at, "location", json_text(l->path));
	json_push(occurrences, at);
	json_put(evidence, "occurrences", occurrences);
	json_put(o, "evidence", evidence);
	put_property(properties, "gpuimg:redistribution", l->redistribution);
	json_put(o, "properties", properties);
	return o;
}

static const char *type_of(const struct sbom_component *c)
{
	switch (c->kind) {
	case SBOM_TREE:
	case SBOM_STAGE:
		return "application";
	case SBOM_OWN:
		return "data";
	case SBOM_BASE:
		return "container";
	default:
		return "library";
	}
}

static json_t *component(const struct sbom_component *c)
{
	cleanup_free char *ref = xasprintf("%s:%s@%s%s%s", kind_words[c->kind], c->name, c->version,
					   *c->arch ? ":" : "", c->arch);
	cleanup_free char *files = xasprintf("%zu", c->files);
	json_t *o = new_component(type_of(c), ref, c->name, c->version);
	json_t *properties = json_array(), *inside = json_array();

	if (c->purl)
		json_put(o, "purl", json_text(c->purl));
	if (c->has_digest)
		json_put(o, "hashes", hashes(&c->digest));
	if (c->license)
		json_put(o, "licenses", licenses(c->license));
	put_property(properties, "gpuimg:files", c->files ? files : NULL);
	put_property(properties, "gpuimg:kind", kind_words[c->kind]);
	put_property(properties, "gpuimg:license-text", c->license_path);
	put_property(properties, "gpuimg:note", c->note);
	put_property(properties, "gpuimg:redistribution", c->redistribution);
	put_property(properties, "gpuimg:source-package",
		     str_equal(c->source, c->name) ? NULL : c->source);
	json_put(o, "properties", properties);
	for (size_t i = 0; i < c->libraries.len; i++)
		json_push(inside, library(ref, &c->libraries.items[i]));
	if (c->libraries.len)
		json_put(o, "components", inside);
	else
		json_decref(inside);
	return o;
}

static json_t *metadata(const struct sbom *sbom)
{
	json_t *o = json_object(), *tools = json_object(), *list = json_array();
	json_t *tool = json_object();
	json_t *image = new_component("container", "image", sbom->name, sbom->tag);
	json_t *properties = json_array();

	json_put(tool, "type", json_text("application"));
	json_put(tool, "name", json_text("gpuimg"));
	json_put(tool, "version", json_text(GPUIMG_VERSION));
	json_push(list, tool);
	json_put(tools, "components", list);
	if (sbom->has_manifest)
		json_put(image, "hashes", hashes(&sbom->manifest));
	put_property(properties, "gpuimg:platform", sbom->platform);
	json_put(image, "properties", properties);
	json_put(o, "timestamp", json_text(sbom->created));
	json_put(o, "tools", tools);
	json_put(o, "component", image);
	return o;
}

void sbom_write_cyclonedx(const struct sbom *sbom, struct strbuf *out)
{
	cleanup_json json_t *o = json_object();
	json_t *components = json_array();
	char uuid[37];
	cleanup_free char *serial = xasprintf("urn:uuid:%s", sbom_uuid(sbom, "cyclonedx", uuid));

	for (size_t i = 0; i < sbom->components.len; i++)
		json_push(components, component(&sbom->components.items[i]));
	json_put(o, "bomFormat", json_text("CycloneDX"));
	json_put(o, "specVersion", json_text("1.6"));
	json_put(o, "serialNumber", json_text(serial));
	json_put(o, "version", json_integer(1));
	json_put(o, "metadata", metadata(sbom));
	json_put(o, "components", components);
	json_canonical(o, out);
	strbuf_addc(out, '\n');
}
