/*
 * CAs and client certificates for one registry, as docker and podman keep them: the folder
 * HOST[:PORT] of $XDG_CONFIG_HOME/containers/certs.d (~/.config), /etc/containers/certs.d or
 * /etc/docker/certs.d, the first that is there. *.crt are CAs to trust besides the system's;
 * NAME.cert with NAME.key is our certificate.
 * Source: containers-certs.d(5).
 */
#ifndef REGISTRY_CERTS_H
#define REGISTRY_CERTS_H

#include "base/error.h"
#include "base/strbuf.h"

struct certs {
	struct strbuf ca_pem;           /* all *.crt */
	char *client_cert, *client_key; /* paths, both or none */
};

void certs_release(struct certs *c);
#define cleanup_certs cleanup(certs_release)
/* Nothing found is 0. ERROR_NOT_FOUND a certificate without its key; ERROR_LIMIT, ERROR_SYSTEM. */
int certs_find(const char *registry, struct certs *out, struct error *err) MUST_USE;
/* The same in the folder `dir`, which need not exist; *out_there tells. */
int certs_read(const char *dir, struct certs *out, bool *out_there, struct error *err) MUST_USE;

#endif
