/*
 * The image configuration. Source: OCI image specification 1.1, config.md.
 */
#ifndef OCI_CONFIG_H
#define OCI_CONFIG_H

#include "oci/descriptor.h"

struct string_list {
	const char **items;
	size_t count;
};

struct config_history {
	const char *created;    /* RFC 3339; NULL: none */
	const char *created_by; /* NULL: none */
	const char *comment;
	bool empty_layer;
};

struct image_config {
	struct platform platform;
	const char *created; /* RFC 3339; NULL: none */
	const char *author;
	const char *user;
	const char *workdir;
	const char *stop_signal;
	struct string_list env;        /* "K=V", in order */
	struct string_list entrypoint; /* count 0: none */
	struct string_list cmd;
	struct string_list ports, volumes;           /* sorted keys */
	struct string_list label_keys, label_values; /* sorted by key, same count */
	struct digest *diff_ids;
	size_t diff_id_count;
	struct config_history *history;
	size_t history_count;
};

/* All strings live in `arena`; unknown members are ignored. ERROR_FORMAT. */
int config_parse(struct slice text, struct arena *arena, struct image_config *out,
		 struct error *err) MUST_USE;
/* Canonical JSON, appended. */
void config_write(const struct image_config *config, struct strbuf *out);
/* The value of an Env entry or a label, or NULL. The last entry of that name counts. */
const char *config_env(const struct image_config *config, const char *name);
const char *config_label(const struct image_config *config, const char *key);

#endif
