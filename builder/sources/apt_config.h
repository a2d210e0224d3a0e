/*
 * The machine's own apt configuration: which repositories, by which keys, with which preferences.
 *
 * Read below a root folder ("/" in earnest): etc/apt/sources.list, sources.list.d/ (.list,
 * .sources), preferences, preferences.d/, trusted.gpg, trusted.gpg.d/, auth.conf, auth.conf.d/, and
 * of apt.conf and apt.conf.d/ what is named below; elsewhere where the file that APT_CONFIG names,
 * or those, say so by Dir, Dir::Etc and the items of Dir::Etc. All strings live in the arena.
 * Source: sources.list(5), apt_preferences(5), apt.conf(5) ("DIRECTORIES"), apt_auth.conf(5).
 */
#ifndef BUILDER_SOURCES_APT_CONFIG_H
#define BUILDER_SOURCES_APT_CONFIG_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "builder/sources/deb_universe.h"

/* One repository of one suite: "deb URI SUITE COMPONENT…". */
struct apt_source {
	const char *uri;   /* ends in "/" */
	const char *suite; /* ends in "/" when the repository is flat; "/" and "./" are its root */
	const char **components;
	size_t component_count; /* 0: flat */
	const char **architectures;
	size_t architecture_count; /* 0: any */
	/* Paths of keyrings and fingerprints, as written (blanks or commas between); NULL: not
	 * said. */
	const char *signed_by;
	const char *key_text; /* the armoured key itself; NULL */
	bool trusted;         /* "Trusted: yes": the signature is not asked for */
	bool ignore_validity; /* Valid-Until is not looked at */
	const char *place;    /* "/etc/apt/sources.list:3" */
};

struct apt_auth {
	const char *scheme; /* "https" or NULL */
	const char *prefix; /* "host", "host:port/path" */
	const char *login, *password;
};

/* Acquire::SCHEME::Proxy and Acquire::SCHEME::Proxy::HOST of apt.conf; the last of a kind counts.
 */
struct apt_proxy {
	bool https;
	const char *host;  /* NULL: of every host that has none of its own */
	const char *value; /* an address, or DIRECT */
};

/* What lies somewhere: the items of Dir::Etc. */
enum apt_place {
	APT_PLACE_MAIN,
	APT_PLACE_PARTS,
	APT_PLACE_SOURCE_LIST,
	APT_PLACE_SOURCE_PARTS,
	APT_PLACE_PREFERENCES,
	APT_PLACE_PREFERENCE_PARTS,
	APT_PLACE_NETRC,
	APT_PLACE_NETRC_PARTS,
	APT_PLACE_TRUSTED,
	APT_PLACE_TRUSTED_PARTS,
	APT_PLACES
};

struct apt_config {
	struct arena arena;
	const char *dir, *dir_etc;      /* NULL: "/", "etc/apt" */
	const char *places[APT_PLACES]; /* as written; NULL: the usual name */
	VEC(struct apt_source) sources;
	VEC(struct deb_pin) pins;
	VEC(const char *) keyrings; /* trusted.gpg and trusted.gpg.d/: for sources that name none */
	VEC(struct apt_auth) auths;
	VEC(struct apt_proxy) proxies;
	const char *default_release; /* APT::Default-Release; NULL */
	bool ignore_validity;        /* Acquire::Check-Valid-Until "false" */
};

/*
 * Read all of it; missing files and folders count as empty. `conf`: the file that APT_CONFIG names,
 * read first; NULL or "": none. ERROR_USAGE names file and line of what cannot be understood, or
 * `conf` when it is not there (apt goes on with the machine's own sources then, after a warning;
 * which would be a surprise here); ERROR_SYSTEM, ERROR_LIMIT.
 */
int apt_config_read(const char *root, const char *conf, struct apt_config *out,
		    struct error *err) MUST_USE;
void apt_config_release(struct apt_config *config);
#define cleanup_apt_config cleanup(apt_config_release)

/* The parsers, each adding to *out; `name` is the file's, for texts. */
int apt_sources_list(struct slice text, const char *name, struct apt_config *out,
		     struct error *err) MUST_USE;
int apt_sources_deb822(struct slice text, const char *name, struct apt_config *out,
		       struct error *err) MUST_USE;
int apt_preferences(struct slice text, const char *name, struct apt_config *out,
		    struct error *err) MUST_USE;
int apt_conf(struct slice text, const char *name, struct apt_config *out,
	     struct error *err) MUST_USE;
/* The caller has refused NUL bytes in it. */
void apt_auth_conf(struct slice text, struct apt_config *out);
/* ERROR_USAGE with the line of the first NUL byte. */
int apt_refuse_nul(struct slice text, const char *name, struct error *err) MUST_USE;
/* "Dir", "Dir::Etc" and the items of that; false when `key` is another. */
bool apt_config_set_place(struct apt_config *out, const char *key, struct slice value);

/* Cut the next word off the front of a text, blanks and line ends between; false at its end. */
bool apt_cut_word(struct slice *rest, struct slice *out);
/* True when a source is read for that Debian architecture. */
bool apt_source_has_arch(const struct apt_source *source, const char *arch);
/* Value of an Authorization header for an address ("Basic …"), heap; NULL: none is known. */
char *apt_config_authorization(const struct apt_config *config, const char *url);
/*
 * The proxy for an address: "" where apt.conf says there is none, NULL where it says nothing and
 * the environment decides. What is said for http counts for https where that says nothing.
 */
const char *apt_config_proxy(const struct apt_config *config, const char *url);
/* The value of that header for a login; heap. */
char *apt_basic(const char *login, const char *password);

#endif
