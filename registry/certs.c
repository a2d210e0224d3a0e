#include "registry/certs.h"

#include "base/alloc.h"
#include "base/fs.h"

enum { CERT_BYTES_MAX = 4 * 1024 * 1024 };

void certs_release(struct certs *c)
{
	strbuf_release(&c->ca_pem);
	free(c->client_cert);
	free(c->client_key);
	*c = (struct certs){ 0 };
}

static int take_client(const char *dir, const char *name, struct certs *out, struct error *err)
{
	int stem = (int)(strlen(name) - strlen(".cert"));
	cleanup_free char *key = xasprintf("%s/%.*s.key", dir, stem, name);

	if (!fs_exists(AT_FDCWD, key))
		return error_set(err, ERROR_NOT_FOUND,
				 "%s/%s: there is no key with it (%s); CAs have names that end in "
				 ".crt",
				 dir, name, key);
	if (out->client_cert)
		return 0;
	out->client_cert = fs_join(dir, name);
	out->client_key = steal_ptr(&key);
	return 0;
}

int certs_read(const char *dir, struct certs *out, bool *out_there, struct error *err)
{
	struct fs_names names = { 0 };
	struct error failed = { 0 };
	int rc = fs_list(AT_FDCWD, dir, &names, &failed);

	*out_there = rc == 0;
	if (rc < 0 && failed.code != ERROR_NOT_FOUND && failed.sys_errno != ENOENT &&
	    failed.sys_errno != ENOTDIR)
		*err = failed;
	else
		rc = 0;
	for (size_t i = 0; rc == 0 && i < names.len; i++) {
		cleanup_free char *path = fs_join(dir, names.items[i]);

		if (str_ends(names.items[i], ".cert"))
			rc = take_client(dir, names.items[i], out, err);
		if (!str_ends(names.items[i], ".crt"))
			continue;
		rc = fs_read(AT_FDCWD, path, CERT_BYTES_MAX, &out->ca_pem, err);
		strbuf_addc(&out->ca_pem, '\n');
	}
	fs_names_release(&names);
	return rc;
}

int certs_find(const char *registry, struct certs *out, struct error *err)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	cleanup_free char *own = config && *config ? xasprintf("%s/containers", config)
				 : home && *home   ? xasprintf("%s/.config/containers", home)
						   : NULL;
	const char *const places[] = { own, "/etc/containers", "/etc/docker" };

	if (strchr(registry, '/') || registry[0] == '.')
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		cleanup_free char *dir =
			places[i] ? xasprintf("%s/certs.d/%s", places[i], registry) : NULL;
		bool there = false;

		if (dir && certs_read(dir, out, &there, err) < 0)
			return error_wrap(err, "certificates for %s", registry);
		if (there)
			return 0;
	}
	return 0;
}
