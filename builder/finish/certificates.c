/*
 * What update-ca-certificates makes of /usr/share/ca-certificates: the bundle, a link for each
 * certificate, and the links by which OpenSSL finds one.
 * Source: update-ca-certificates(8), openssl-rehash(1).
 */
#include "base/x509.h"
#include "builder/finish/finish.h"

enum { CERTIFICATE_BYTES_MAX = 1024 * 1024 };

/* "mozilla/Name (2).crt" → "Name_=2=.pem", as the tool writes it. */
static char *link_name(const char *path)
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	cleanup_strbuf struct strbuf b = { 0 };

	for (const char *p = base; *p && !str_equal(p, ".crt"); p++)
		strbuf_addc(&b, *p == ' ' ? '_' : *p == '(' || *p == ')' ? '=' : *p);
	strbuf_adds(&b, ".pem");
	return strbuf_steal(&b);
}

struct bundle {
	struct finish *f;
	struct strbuf text, list;
	struct map hashes; /* "5a4d6896" → how many, as a number in the pointer */
};

static int add(struct bundle *b, const struct rootfs_node *n, struct error *err)
{
	cleanup_strbuf struct strbuf pem = { 0 };
	cleanup_free char *name = link_name(n->tar.path), *path = NULL, *target = NULL, *key = NULL,
			  *hashed = NULL;
	uintptr_t count;
	uint32_t hash;

	if (rootfs_read(b->f->rootfs, n->tar.path, CERTIFICATE_BYTES_MAX, &pem, err) < 0)
		return -1;
	if (x509_subject_hash(strbuf_slice(&pem), &hash, err) < 0)
		return error_wrap(err, "/%s", n->tar.path);
	strbuf_add(&b->text, pem.data, pem.len);
	if (pem.len && pem.data[pem.len - 1] != '\n')
		strbuf_addc(&b->text, '\n');
	path = xasprintf("etc/ssl/certs/%s", name);
	target = xasprintf("/%s", n->tar.path);
	finish_link(b->f, path, target);
	key = xasprintf("%08x", hash);
	count = (uintptr_t)map_get(&b->hashes, key);
	map_put(&b->hashes, key, (void *)(count + 1));
	hashed = xasprintf("etc/ssl/certs/%s.%" PRIuPTR, key, count);
	finish_link(b->f, hashed, name);
	return 0;
}

static const char root[] = "usr/share/ca-certificates/";

static int collect(struct bundle *b, struct error *err)
{
	struct rootfs_nodes all = { 0 };
	int rc = 0;

	rootfs_sorted(b->f->rootfs, &all);
	for (size_t i = 0; i < all.len && rc == 0; i++) {
		const struct rootfs_node *n = all.items[i];

		if (!str_starts(n->tar.path, root) || !str_ends(n->tar.path, ".crt") ||
		    n->tar.type == TAR_DIR)
			continue;
		strbuf_addf(&b->list, "%s\n", n->tar.path + strlen(root));
		rc = add(b, n, err);
	}
	vec_release(&all);
	return rc;
}

/* Whether there is a certificate that the base image does not have. */
static bool has_new(struct finish *f)
{
	struct rootfs_nodes all = { 0 };
	bool found = false;

	rootfs_sorted(f->rootfs, &all);
	for (size_t i = 0; i < all.len && !found; i++)
		found = str_starts(all.items[i]->tar.path, root) && all.items[i]->owner &&
			all.items[i]->owner->kind != COMPONENT_BASE &&
			str_ends(all.items[i]->tar.path, ".crt");
	vec_release(&all);
	return found;
}

int finish_certificates(struct finish *f, struct error *err)
{
	struct bundle b = { .f = f };
	int rc;

	if (f->base && !has_new(f))
		return 0;
	rc = collect(&b, err);

	if (rc == 0 && b.text.len) {
		rc = finish_update(f, "etc/ca-certificates.conf", 0644, strbuf_slice(&b.list), err);
		if (rc == 0)
			rc = finish_update(f, "etc/ssl/certs/ca-certificates.crt", 0644,
					   strbuf_slice(&b.text), err);
		/* where a libssl without the openssl package looks */
		finish_link(f, "usr/lib/ssl/cert.pem", "/etc/ssl/certs/ca-certificates.crt");
		finish_link(f, "usr/lib/ssl/certs", "/etc/ssl/certs");
		finish_dir(f, "usr/local/share/ca-certificates", 0755, 0, 0);
	}
	strbuf_release(&b.text);
	strbuf_release(&b.list);
	map_release(&b.hashes);
	return rc;
}
