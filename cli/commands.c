#include "cli/command.h"

extern const struct command command_attest;
extern const struct command command_build;
extern const struct command command_copy;
extern const struct command command_diff;
extern const struct command command_doctor;
extern const struct command command_fetch;
extern const struct command command_init;
extern const struct command command_inspect;
extern const struct command command_keygen;
extern const struct command command_lint;
extern const struct command command_lock;
extern const struct command command_login;
extern const struct command command_logout;
extern const struct command command_ls;
extern const struct command command_matrix;
extern const struct command command_plan;
extern const struct command command_pull;
extern const struct command command_push;
extern const struct command command_resolve;
extern const struct command command_rm;
extern const struct command command_sbom;
extern const struct command command_schema;
extern const struct command command_ship;
extern const struct command command_sign;
extern const struct command command_store;
extern const struct command command_tag;
extern const struct command command_test;
extern const struct command command_verify;

const struct command *const commands[] = {
	&command_attest,
	&command_build,
	&command_copy,
	&command_diff,
	&command_doctor,
	&command_fetch,
	&command_init,
	&command_inspect,
	&command_keygen,
	&command_lint,
	&command_lock,
	&command_login,
	&command_logout,
	&command_ls,
	&command_matrix,
	&command_plan,
	&command_pull,
	&command_push,
	&command_resolve,
	&command_rm,
	&command_sbom,
	&command_schema,
	&command_ship,
	&command_sign,
	&command_store,
	&command_tag,
	&command_test,
	&command_verify,
	NULL,
};

const struct command *command_find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++) {
		if (str_equal((*c)->name, name))
			return *c;
	}
	return NULL;
}
