/*
 * The options that name hosts: --gpu, --driver, --driver-cuda and --runtime.
 */
#ifndef CLI_TARGET_ARG_H
#define CLI_TARGET_ARG_H

#include "cli/command.h"
#include "lint/target.h"

/* Four rows of a command's options. */
#define TARGET_OPTIONS                                                       \
	{ .name = "gpu",                                                     \
	  .value = "GPUS",                                                   \
	  .repeatable = true,                                                \
	  .help = "the GPUs it must run on (sm_90,h100)" },                  \
		{ .name = "driver",                                          \
		  .value = "VERSIONS",                                       \
		  .repeatable = true,                                        \
		  .help = "drivers of the hosts (535.183.06, 550, >=550)" }, \
		{ .name = "driver-cuda",                                     \
		  .value = "VERSION",                                        \
		  .help = "the CUDA version the host driver reports" },      \
	{                                                                    \
		.name = "runtime", .value = "NAMES", .repeatable = true,     \
		.help = "cdi, legacy, enroot, wsl, jetson, apptainer"        \
	}

/* What they say; ERROR_USAGE names what nobody knows. Release *out with target_release either way.
 */
int target_arg_read(const struct invocation *in, struct target *out, struct error *err) MUST_USE;

#endif
