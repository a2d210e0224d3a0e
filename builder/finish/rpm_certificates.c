/*
 * The bundles that update-ca-trust extracts: PEM for TLS, mail and code, to which the links of the
 * package ca-certificates lead, and the key store of Java. The form for EDK II, and OpenSSL's with
 * trust in it, are not made.
 * Source: update-ca-trust(8); p11-kit, trust/extract-jks.c.
 */
#include "builder/finish/finish.h"
#include "formats/jks.h"
#include "formats/trust.h"

enum { SOURCE_BYTES_MAX = 32 * 1024 * 1024 };

static int read_dir(struct finish *f, struct trust *t, struct arena *arena, const char *dir,
		    enum trust_default how, struct error *err)
{
	const struct rootfs_node *at = rootfs_resolve(f->rootfs, dir);
	struct rootfs_nodes files = { 0 };
	int rc = 0;

	if (!at || at->tar->type != TAR_DIR)
		return 0;
	rootfs_list(f->rootfs, at->tar->path, &files);
	for (size_t i = 0; i < files.len && rc == 0; i++) {
		cleanup_strbuf struct strbuf text = { 0 };
		const char *path = files.items[i]->tar->path;

		if (files.items[i]->tar->type == TAR_DIR || str_ends(path, "/README"))
			continue;
		rc = rootfs_read(f->rootfs, path, SOURCE_BYTES_MAX, &text, err);
		if (rc == 0)
			rc = trust_read(t, strbuf_slice(&text), how, arena, err);
		if (rc < 0)
			error_wrap(err, "/%s", path);
	}
	vec_release(&files);
	return rc;
}

static int read_sources(struct finish *f, struct trust *t, struct arena *arena, struct error *err)
{
	static const char *const roots[] = { "etc/pki/ca-trust/source",
					     "usr/share/pki/ca-trust-source" };
	static const struct {
		const char *name;
		enum trust_default how;
	} dirs[] = {
		{ "", TRUST_PLAIN },
		{ "/anchors", TRUST_ANCHORS },
		{ "/blocklist", TRUST_BLOCKED },
		{ "/blacklist", TRUST_BLOCKED },
	};

	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		for (size_t k = 0; k < ARRAY_LEN(dirs); k++) {
			cleanup_free char *dir = xasprintf("%s%s", roots[i], dirs[k].name);

			if (read_dir(f, t, arena, dir, dirs[k].how, err) < 0)
				return -1;
		}
	}
	return 0;
}

/* As `trust extract --format=java-cacerts` names them: the label without blanks, in small letters.
 */
static char *java_name(const char *label)
{
	cleanup_strbuf struct strbuf b = { 0 };

	for (const char *p = label; *p; p++) {
		if (!strchr(" \t\n\v\f\r", *p))
			strbuf_addc(&b, *p);
	}
	strbuf_adds(&b, "");
	return strbuf_steal(&b);
}

static int add_java(struct finish *f, const struct trust *trust, struct arena *arena,
		    struct error *err)
{
	cleanup_jks_entries struct jks_entries entries = { 0 };
	cleanup_strbuf struct strbuf store = { 0 };

	for (size_t i = 0; i < trust->certificates.len; i++) {
		const struct trust_certificate *c = &trust->certificates.items[i];
		cleanup_free char *name = java_name(*c->label ? c->label : "unlabeled");
		bool again = false;

		for (size_t k = 0; k < entries.len && !again; k++)
			again = slice_equal(entries.items[k].der, c->der);
		if (again || !trust_serves(trust, c, TRUST_SERVERS))
			continue;
		vec_push(&entries,
			 ((struct jks_entry){ .alias = jks_alias(&entries, slice_str(name), arena),
					      .der = c->der }));
	}
	if (jks_write(&entries, "changeit", FIXED_MTIME, &store, err) < 0)
		return -1;
	finish_text(f, "etc/pki/ca-trust/extracted/java/cacerts", 0444, strbuf_slice(&store));
	return 0;
}

int finish_rpm_certificates(struct finish *f, struct error *err)
{
	static const struct {
		const char *name;
		unsigned purpose;
	} bundles[] = {
		{ "tls-ca-bundle.pem", TRUST_SERVERS },
		{ "email-ca-bundle.pem", TRUST_EMAIL },
		{ "objsign-ca-bundle.pem", TRUST_CODE },
	};
	cleanup_arena struct arena arena = { 0 };
	cleanup_trust struct trust trust = { 0 };

	if (!rootfs_component(f->rootfs, COMPONENT_RPM, "ca-certificates"))
		return 0;
	if (read_sources(f, &trust, &arena, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(bundles) && trust.certificates.len; i++) {
		cleanup_strbuf struct strbuf text = { 0 };
		cleanup_free char *path =
			xasprintf("etc/pki/ca-trust/extracted/pem/%s", bundles[i].name);

		trust_bundle(&trust, bundles[i].purpose, &text);
		finish_text(f, path, 0444, strbuf_slice(&text));
	}
	return trust.certificates.len ? add_java(f, &trust, &arena, err) : 0;
}
