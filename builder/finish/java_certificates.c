/*
 * The key store that ca-certificates-java makes of the certificates in /etc/ssl/certs, where every
 * Java of Debian finds its cacerts. Its script runs a Java of the image for it; here it is written
 * directly, once with the time that everything else of ours has.
 * Source: the package's postinst and UpdateCertificates.java; docs/formats/jks.md
 */
#include "base/x509.h"
#include "builder/finish/finish.h"
#include "formats/jks.h"

enum { CERTIFICATE_BYTES_MAX = 1024 * 1024, DEFAULTS_BYTES_MAX = 64 * 1024 };

static const char path[] = "etc/ssl/certs/java/cacerts";

/* /etc/default/cacerts: whether the store is wanted, and its password. */
struct defaults {
	bool wanted;
	char password[64];
};

static int read_defaults(struct finish *f, struct defaults *out, struct error *err)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct slice rest, line;

	snprintf(out->password, sizeof(out->password), "changeit");
	if (!rootfs_resolve(f->rootfs, "etc/default/cacerts"))
		return 0;
	if (rootfs_read(f->rootfs, "etc/default/cacerts", DEFAULTS_BYTES_MAX, &text, err) < 0)
		return -1;
	rest = strbuf_slice(&text);
	while (slice_cut(&rest, '\n', &line)) {
		struct slice key;

		if (!slice_cut(&line, '=', &key))
			continue;
		line = slice_trim(line);
		if (line.len > 1 && (line.data[0] == '\'' || line.data[0] == '"') &&
		    line.data[line.len - 1] == line.data[0])
			line = slice_of(line.data + 1, line.len - 2);
		if (slice_is(key, "cacerts_updates"))
			out->wanted = slice_is(line, "yes");
		if (slice_is(key, "storepass") && line.len)
			snprintf(out->password, sizeof(out->password), "%.*s", (int)line.len,
				 (const char *)line.data);
	}
	return 0;
}

/* Links that lead to certificates of the distribution or of the site. */
static bool is_certificate_link(const struct rootfs_node *n)
{
	return n->tar->type == TAR_SYMLINK && str_ends(n->tar->path, ".pem") &&
	       (str_starts(n->tar->link, "/usr/share/ca-certificates/") ||
		str_starts(n->tar->link, "/usr/local/share/ca-certificates/"));
}

static int add(struct finish *f, const struct rootfs_node *n, struct arena *arena,
	       struct jks_entries *entries, struct error *err)
{
	cleanup_strbuf struct strbuf pem = { 0 }, der = { 0 };
	cleanup_free char *name = xasprintf("debian:%s", strrchr(n->tar->path, '/') + 1);
	struct jks_entry e;

	if (!rootfs_resolve(f->rootfs, n->tar->path))
		return 0; /* what it led to is gone */
	if (rootfs_read(f->rootfs, n->tar->path, CERTIFICATE_BYTES_MAX, &pem, err) < 0 ||
	    x509_der(strbuf_slice(&pem), &der, err) < 0)
		return error_wrap(err, "/%s", n->tar->path);
	e.alias = jks_alias(entries, slice_str(name), arena);
	e.der = slice_of(arena_slice(arena, strbuf_slice(&der)), der.len);
	vec_push(entries, e);
	return 0;
}

/* It may hold a password; the script of older packages closes it. */
static void close_defaults(struct finish *f)
{
	struct rootfs_node *n = rootfs_lookup(f->rootfs, "etc/default/cacerts");

	if (n && n->owner && n->owner->kind == COMPONENT_DEB)
		finish_mode(f, n, 0600);
}

/* The package is ours, or the base image has a store and a certificate is new. */
static bool is_due(struct finish *f)
{
	if (rootfs_component(f->rootfs, COMPONENT_DEB, "ca-certificates-java"))
		return true;
	return f->base && rootfs_resolve(f->rootfs, path) && finish_has_new_certificates(f);
}

int finish_java_certificates(struct finish *f, struct error *err)
{
	cleanup_arena struct arena arena = { 0 };
	cleanup_jks_entries struct jks_entries entries = { 0 };
	cleanup_strbuf struct strbuf store = { 0 };
	struct rootfs_nodes links = { 0 };
	struct defaults defaults = { 0 };
	int rc = 0;

	if (!is_due(f))
		return 0;
	if (read_defaults(f, &defaults, err) < 0)
		return -1;
	close_defaults(f);
	if (!defaults.wanted || !rootfs_resolve(f->rootfs, "usr/bin/java"))
		return 0; /* as the script does */
	rootfs_list(f->rootfs, "etc/ssl/certs", &links);
	for (size_t i = 0; i < links.len && rc == 0; i++) {
		if (is_certificate_link(links.items[i]))
			rc = add(f, links.items[i], &arena, &entries, err);
	}
	vec_release(&links);
	if (rc == 0)
		rc = jks_write(&entries, defaults.password, FIXED_MTIME, &store, err);
	return rc < 0 ? -1 : finish_update(f, path, 0644, strbuf_slice(&store), err);
}
