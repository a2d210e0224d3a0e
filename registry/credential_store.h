/*
 * Credentials put where docker, podman and credentials.h find them: into the helper that the file
 * names for the registry, else into the file itself. All else in the file stays; it is replaced as
 * one step, with mode 0600.
 *
 * The file: `auth_file`, $GPUIMG_AUTH_FILE, $REGISTRY_AUTH_FILE, $DOCKER_CONFIG/config.json, else
 * ~/.docker/config.json, the first that is set.
 */
#ifndef REGISTRY_CREDENTIAL_STORE_H
#define REGISTRY_CREDENTIAL_STORE_H

#include "registry/credentials.h"

/* *out_where: the file or the helper; heap. ERROR_FORMAT, ERROR_NETWORK a helper, ERROR_SYSTEM. */
int credential_store(const char *auth_file, const char *registry, const struct credential *c,
		     char **out_where, struct error *err) MUST_USE;
/* *out_found: whether there were any. Errors as above. */
int credential_erase(const char *auth_file, const char *registry, bool *out_found, char **out_where,
		     struct error *err) MUST_USE;

#endif
