#include "manifests/stack_keys.h"

#include "base/alloc.h"
#include "manifests/stack_check.h"
#include "manifests/stack_key_tables.h"

/* Enums are written through the table as unsigned. */
_Static_assert(sizeof(enum stack_profile) == sizeof(unsigned), "enum of another size");
_Static_assert(sizeof(enum compression) == sizeof(unsigned), "enum of another size");

static const char *const compat_choices[] = { "auto", "always", "never", NULL };
static const char *const libraries_choices[] = { "auto", "wheels", "system", NULL };
static const char *const type_choices[] = { "apt", "wheels", "dir", "rpm-md", "redist", NULL };
static const char *const host_choices[] = { "host", NULL };
static const char *const profile_choices[] = { "base", "runtime", "devel", NULL };
static const char *const compression_choices[] = { "none", "gzip", "zstd", NULL };
static const char *const level_choices[] = { "fast", "default", "max", NULL };
static const char *const split_choices[] = { "component", "stage", "single", NULL };
static const char *const fail_on_choices[] = { "error", "warning", "info", "never", NULL };
static const char *const require_choices[] = { "load", "run", NULL };

static const struct stack_key request_keys[] = {
	{ .name = "driver",
	  .type = KEY_TEXT,
	  .offset = AT(stack_request, driver),
	  .check = stack_check_constraint,
	  .help = "The driver floor, such as \">=535.183.06\": every host with this driver or a "
		  "newer "
		  "one must be able to start the image." },
	{ .name = "gpus",
	  .type = KEY_TEXTS,
	  .distinct = true,
	  .offset = AT(stack_request, gpus),
	  .help = "The GPUs its code must run on, by name (`a100`) or architecture (`sm_120`)." },
	{ .name = "cuda",
	  .type = KEY_TEXT,
	  .offset = AT(stack_request, cuda),
	  .check = stack_check_constraint,
	  .fallback = "the framework decides",
	  .help = "CUDA toolkit: \"12.6.3\", \"12.6\" or \">=12.4,<13\"." },
	{ .name = "cudnn",
	  .type = KEY_TEXT,
	  .offset = AT(stack_request, cudnn),
	  .check = stack_check_constraint,
	  .help = "cuDNN, written as `cuda`." },
	{ .name = "nccl",
	  .type = KEY_TEXT,
	  .offset = AT(stack_request, nccl),
	  .check = stack_check_constraint,
	  .help = "NCCL, written as `cuda`." },
	{ .name = "framework",
	  .type = KEY_PAIRS,
	  .offset = AT(stack_request, framework),
	  .check = stack_check_constraint,
	  .check_key = stack_check_id,
	  .help = "Framework and version, such as `{ torch: \"2.7.*\" }`; this line alone installs "
		  "it." },
	{ .name = "libraries",
	  .type = KEY_ENUM,
	  .offset = AT(stack_request, libraries),
	  .choices = libraries_choices,
	  .fallback = "`auto`",
	  .help = "Who brings cuDNN, NCCL and the CUDA libraries." },
	{ .name = "python",
	  .type = KEY_TEXT,
	  .offset = AT(stack_request, python),
	  .check = stack_check_constraint,
	  .help = "Python, written as `cuda`." },
	{ .name = "compat",
	  .type = KEY_ENUM,
	  .offset = AT(stack_request, compat),
	  .choices = compat_choices,
	  .fallback = "`auto`",
	  .help = "Whether the forward-compatibility libraries are put into the image." },
};

static const struct stack_section request_section = {
	.title = "stack",
	KEYS(request_keys),
	.place_offset = AT(stack_request, place),
	.plain_offset = STACK_NO_OFFSET,
	.help = "What the image is to run on and with. Exact versions come of it when it is "
		"locked.",
};

static const struct stack_key source_keys[] = {
	{ .name = "id",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(stack_source, id),
	  .check = stack_check_id,
	  .help = "The name that `packages` of a stage uses for it." },
	{ .name = "type",
	  .type = KEY_ENUM,
	  .required = true,
	  .offset = AT(stack_source, type),
	  .choices = type_choices,
	  .help = "What kind of source it is." },
	{ .name = "from",
	  .type = KEY_FLAG,
	  .offset = AT(stack_source, from_host),
	  .choices = host_choices,
	  .help = "`host`: the machine's own configuration of apt (with its keyrings) or of pip." },
	{ .name = "url",
	  .type = KEY_TEXT,
	  .offset = AT(stack_source, url),
	  .check = stack_check_url,
	  .help = "Its address. `{arch}` (x86_64, aarch64), `{debarch}` (amd64, arm64) and "
		  "`{sbsa}` "
		  "(x86_64, sbsa) are filled in per platform." },
	{ .name = "suite",
	  .type = KEY_TEXT,
	  .offset = AT(stack_source, suite),
	  .help = "apt: the suite, such as `bookworm`, or a path that ends in `/` for a flat "
		  "repository. redist: the label of the manifest, such as `13.0.2`; without it "
		  "that "
		  "of `stack.cuda` or `stack.cudnn`." },
	{ .name = "components",
	  .type = KEY_TEXTS,
	  .distinct = true,
	  .offset = AT(stack_source, components),
	  .help = "apt: the components of a suite that is not flat." },
	{ .name = "signed-by",
	  .type = KEY_TEXT,
	  .offset = AT(stack_source, signed_by),
	  .help = "apt: file with the keys that may sign it." },
	{ .name = "gpgkey",
	  .type = KEY_TEXT,
	  .offset = AT(stack_source, gpgkey),
	  .help = "rpm-md: file with the keys that may sign it." },
	{ .name = "path",
	  .type = KEY_TEXT,
	  .offset = AT(stack_source, path),
	  .help = "dir: the folder to take, such as an installed toolkit. wheels: a folder of "
		  "wheels." },
};

static const struct stack_section source_section = {
	.title = "sources[]",
	KEYS(source_keys),
	.size = sizeof(struct stack_source),
	.place_offset = AT(stack_source, place),
	.plain_offset = STACK_NO_OFFSET,
	.help = "Where packages come from, asked in this order. Relative paths start at the "
		"manifest's "
		"folder.",
};

/* Of struct stack. */
static const struct stack_key base_keys[] = {
	{ .name = "image",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(stack, base_image),
	  .help = "The image's name: `docker://HOST/NAME:TAG@sha256:…`, `oci:DIR:TAG`, "
		  "`oci-archive:FILE` or `docker-archive:FILE`, paths relative to the manifest. "
		  "The lock holds its digest for each platform; its layers are kept byte for "
		  "byte, its packages count as installed, and its environment, command, "
		  "accounts and package database go on." },
};

static const struct stack_section base_section = {
	.title = "base",
	KEYS(base_keys),
	.place_offset = STACK_NO_OFFSET,
	.plain_offset = STACK_NO_OFFSET,
	.help = "An image to build upon. Without it the operating system comes from packages.",
};

/* A text in place of this map is a package. */
static const struct stack_key package_keys[] = {
	{ .name = "requirements",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(stack_package, requirements),
	  .check = stack_check_relative,
	  .help = "A pip requirements file, or a lock file named `pylock.toml` or "
		  "`pylock.NAME.toml`, which is taken as it stands." },
};

static const struct stack_section package_section = {
	.title = "stages.NAME.packages.SOURCE[]",
	KEYS(package_keys),
	.size = sizeof(struct stack_package),
	.place_offset = AT(stack_package, place),
	.plain_offset = AT(stack_package, spec),
	.help = "A package as its source writes it (`g++`, `libnccl2=2.28.*`, `einops>=0.8`), or a "
		"map:",
};

static const struct stack_key file_keys[] = {
	{ .name = "from",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(stack_file, from),
	  .check = stack_check_relative,
	  .help = "A file or folder below the manifest's folder; a folder ends in `/`." },
	{ .name = "to",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(stack_file, to),
	  .check = stack_check_absolute,
	  .help = "Where it goes in the image, absolute." },
	{ .name = "mode",
	  .type = KEY_TEXT,
	  .offset = AT(stack_file, mode),
	  .check = stack_check_mode,
	  .fallback = "0755 when its owner may run it, else 0644",
	  .help = "Permissions as octal text, such as \"0755\"." },
};

static const struct stack_section file_section = {
	.title = "stages.NAME.files[]",
	KEYS(file_keys),
	.size = sizeof(struct stack_file),
	.place_offset = AT(stack_file, place),
	.plain_offset = STACK_NO_OFFSET,
	.help = "Files of your own.",
};

static const struct stack_key copy_keys[] = {
	{ .name = "from",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(stack_copy, from),
	  .help = "An earlier stage." },
	{ .name = "path",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(stack_copy, path),
	  .check = stack_check_absolute,
	  .help = "What to take from it, absolute." },
	{ .name = "to",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(stack_copy, to),
	  .check = stack_check_absolute,
	  .help = "Where it goes, absolute." },
	{ .name = "mode",
	  .type = KEY_TEXT,
	  .offset = AT(stack_copy, mode),
	  .check = stack_check_mode,
	  .fallback = "as in the stage it comes from",
	  .help = "Permissions as octal text, such as \"0755\"." },
};

static const struct stack_section copy_section = {
	.title = "stages.NAME.copy[]",
	KEYS(copy_keys),
	.size = sizeof(struct stack_copy),
	.place_offset = AT(stack_copy, place),
	.plain_offset = STACK_NO_OFFSET,
	.help = "What an earlier stage made.",
};

static const struct stack_key secret_keys[] = {
	{ .name = "id",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(stack_secret, id),
	  .check = stack_check_id,
	  .help = "Its name, for `--secret id=NAME,src=FILE` and `--secret "
		  "id=NAME,env=VARIABLE`." },
	{ .name = "variable",
	  .type = KEY_TEXT,
	  .offset = AT(stack_secret, env),
	  .check = stack_check_env_name,
	  .help = "The variable that holds it where gpuimg runs, unless `--secret` says." },
	{ .name = "file",
	  .type = KEY_TEXT,
	  .offset = AT(stack_secret, src),
	  .check = stack_check_file,
	  .help = "The file that holds it where gpuimg runs, unless `--secret` says." },
};

static const struct stack_section secret_section = {
	.title = "stages.NAME.secrets[]",
	KEYS(secret_keys),
	.size = sizeof(struct stack_secret),
	.place_offset = AT(stack_secret, place),
	.plain_offset = AT(stack_secret, id),
	.help = "What commands may know and no image may hold: a text stands for its `id`. It is "
		"the file `/run/secrets/ID` while a command runs. Its bytes are in no key and no "
		"record, "
		"and what is copied out of a stage is refused when they are in it.",
};

static const struct stack_key stage_keys[] = {
	{ .name = "profile",
	  .type = KEY_ENUM,
	  .offset = AT(stack_stage, profile),
	  .choices = profile_choices,
	  .fallback = "`runtime`",
	  .help = "How much of the stack it gets: `base` the CUDA runtime, `runtime` the libraries "
		  "the "
		  "stack names, `devel` all it takes to compile." },
	{ .name = "packages",
	  .type = KEY_PACKAGES,
	  .offset = AT(stack_stage, packages),
	  .count_offset = AT(stack_stage, package_count),
	  .section = &package_section,
	  .help = "Packages by the `id` of the source they come from. None of the driver: of what "
		  "others need of it the image has the record, the host the rest." },
	{ .name = "files",
	  .type = KEY_LIST,
	  .offset = AT(stack_stage, files),
	  .count_offset = AT(stack_stage, file_count),
	  .section = &file_section,
	  .help = "Files of your own to put in." },
	{ .name = "copy",
	  .type = KEY_LIST,
	  .offset = AT(stack_stage, copies),
	  .count_offset = AT(stack_stage, copy_count),
	  .section = &copy_section,
	  .help = "Files to take from earlier stages." },
	{ .name = "run",
	  .type = KEY_TEXTS,
	  .offset = AT(stack_stage, run),
	  .help = "Shell commands, run in order in a sandbox without network." },
	{ .name = "secrets",
	  .type = KEY_LIST,
	  .offset = AT(stack_stage, secrets),
	  .count_offset = AT(stack_stage, secret_count),
	  .section = &secret_section,
	  .help = "What `run` may know and no image may hold." },
	{ .name = "gpu",
	  .type = KEY_TEXT,
	  .offset = AT(stack_stage, gpu),
	  .check = stack_check_device,
	  .help = "A device of the building machine that `run` gets, by its CDI name: "
		  "`nvidia.com/gpu=all`, as `podman run --device` has it. Nothing of it reaches an "
		  "image, and results kept from an earlier build count on any machine." },
	{ .name = "timeout",
	  .type = KEY_TEXT,
	  .offset = AT(stack_stage, timeout),
	  .check = stack_check_duration,
	  .fallback = "`" STACK_TIMEOUT "`",
	  .help = "The time that all commands of `run` have together, such as `90s`, `30m`, `2h`; "
		  "then they are ended with all they started." },
};

static const struct stack_section stage_section = {
	.title = "stages.NAME",
	KEYS(stage_keys),
	.size = sizeof(struct stack_stage),
	.place_offset = AT(stack_stage, place),
	.name_offset = AT(stack_stage, name),
	.plain_offset = STACK_NO_OFFSET,
	.help = "Stages in the order they are built. The last is the image; those before it are "
		"never "
		"shipped.",
};

/* Of struct stack_image. */
static const struct stack_key user_keys[] = {
	{ .name = "name",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(stack_image, user_name),
	  .check = stack_check_user,
	  .help = "The account's name; it is made when it is missing." },
	{ .name = "uid",
	  .type = KEY_UINT,
	  .required = true,
	  .offset = AT(stack_image, uid),
	  .max = 4294967294,
	  .help = "Its number." },
	{ .name = "gid",
	  .type = KEY_UINT,
	  .offset = AT(stack_image, gid),
	  .max = 4294967294,
	  .fallback = "the uid",
	  .help = "The number of its group." },
	{ .name = "home",
	  .type = KEY_TEXT,
	  .offset = AT(stack_image, home),
	  .check = stack_check_absolute,
	  .fallback = "`/home/` and the name",
	  .help = "Its home directory." },
};

static const struct stack_section user_section = {
	.title = "image.user",
	KEYS(user_keys),
	.place_offset = AT(stack_image, user_place),
	.plain_offset = STACK_NO_OFFSET,
	.help = "Who runs in the container. Without it, root.",
};

static const struct stack_key image_keys[] = {
	{ .name = "user",
	  .type = KEY_SECTION,
	  .section = &user_section,
	  .fallback = "root",
	  .help = "Who runs in the container." },
	{ .name = "entrypoint",
	  .type = KEY_TEXTS,
	  .empty_ok = true,
	  .offset = AT(stack_image, entrypoint),
	  .help = "The program and its fixed arguments." },
	{ .name = "cmd",
	  .type = KEY_TEXTS,
	  .empty_ok = true,
	  .offset = AT(stack_image, cmd),
	  .help = "Arguments the user of the image may replace." },
	{ .name = "env",
	  .type = KEY_PAIRS,
	  .empty_ok = true,
	  .offset = AT(stack_image, env),
	  .check_key = stack_check_env_name,
	  .help = "Environment variables." },
	{ .name = "workdir",
	  .type = KEY_TEXT,
	  .offset = AT(stack_image, workdir),
	  .check = stack_check_absolute,
	  .help = "The directory it starts in." },
	{ .name = "labels",
	  .type = KEY_PAIRS,
	  .empty_ok = true,
	  .offset = AT(stack_image, labels),
	  .help = "Labels of the image configuration." },
	{ .name = "annotations",
	  .type = KEY_PAIRS,
	  .empty_ok = true,
	  .offset = AT(stack_image, annotations),
	  .help = "Annotations of the image manifest." },
	{ .name = "expose",
	  .type = KEY_TEXTS,
	  .distinct = true,
	  .offset = AT(stack_image, expose),
	  .check = stack_check_expose,
	  .help = "Ports it listens on: `8080`, `53/udp`." },
	{ .name = "volumes",
	  .type = KEY_TEXTS,
	  .distinct = true,
	  .offset = AT(stack_image, volumes),
	  .check = stack_check_absolute,
	  .help = "Directories that hold the data of a container." },
	{ .name = "stop-signal",
	  .type = KEY_TEXT,
	  .offset = AT(stack_image, stop_signal),
	  .check = stack_check_signal,
	  .help = "The signal that ends it: `SIGINT`." },
};

static const struct stack_section image_section = {
	.title = "image",
	KEYS(image_keys),
	.place_offset = STACK_NO_OFFSET,
	.plain_offset = STACK_NO_OFFSET,
	.help = "How a container of the image starts.",
};

static const struct stack_key layers_keys[] = {
	{ .name = "compression",
	  .type = KEY_ENUM,
	  .offset = AT(stack_layers, compression),
	  .choices = compression_choices,
	  .fallback = "`gzip`",
	  .help = "How layers are compressed." },
	{ .name = "level",
	  .type = KEY_ENUM,
	  .offset = AT(stack_layers, level),
	  .choices = level_choices,
	  .fallback = "`default`",
	  .help = "How much work goes into it." },
	{ .name = "split",
	  .type = KEY_ENUM,
	  .offset = AT(stack_layers, split),
	  .choices = split_choices,
	  .fallback = "`component`",
	  .help = "What gets a layer of its own: each component, each stage, or all together." },
	{ .name = "max-size",
	  .type = KEY_SIZE,
	  .offset = AT(stack_layers, max_size),
	  .fallback = "`1GiB`",
	  .help = "The most bytes of a layer, compressed." },
};

static const struct stack_section layers_section = {
	.title = "layers",
	KEYS(layers_keys),
	.place_offset = STACK_NO_OFFSET,
	.plain_offset = STACK_NO_OFFSET,
	.help = "How the image is cut into layers.",
};

/* Of struct stack, as the following two. */
static const struct stack_key scripts_keys[] = {
	{ .name = "acknowledge",
	  .type = KEY_TEXTS,
	  .distinct = true,
	  .offset = AT(stack, acknowledged_scripts),
	  .check = stack_check_digest,
	  .help = "Digests (`sha256:…`) of maintainer scripts whose actions that were not "
		  "reproduced "
		  "have been looked at." },
};

static const struct stack_section scripts_section = {
	.title = "scripts",
	KEYS(scripts_keys),
	.place_offset = STACK_NO_OFFSET,
	.plain_offset = STACK_NO_OFFSET,
	.help = "Maintainer scripts of packages, which never run.",
};

static const struct stack_key ignore_keys[] = {
	{ .name = "rule",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(stack_ignore, rule),
	  .check = stack_check_rule,
	  .help = "The rule, such as `SIZ003`." },
	{ .name = "path",
	  .type = KEY_TEXT,
	  .offset = AT(stack_ignore, path),
	  .fallback = "everywhere",
	  .help = "A pattern of paths in the image: \"/opt/**\"." },
	{ .name = "reason",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(stack_ignore, reason),
	  .help = "Why it does not count here." },
	{ .name = "until",
	  .type = KEY_TEXT,
	  .offset = AT(stack_ignore, until),
	  .check = stack_check_date,
	  .fallback = "for ever",
	  .help = "From that day on it counts again." },
};

static const struct stack_section ignore_section = {
	.title = "lint.ignore[]",
	KEYS(ignore_keys),
	.size = sizeof(struct stack_ignore),
	.place_offset = AT(stack_ignore, place),
	.plain_offset = STACK_NO_OFFSET,
	.help = "Findings that do not count.",
};

static const struct stack_key lint_keys[] = {
	{ .name = "fail-on",
	  .type = KEY_CHOICE,
	  .offset = AT(stack, lint_fail_on),
	  .choices = fail_on_choices,
	  .fallback = "`error`",
	  .help = "The least severity that keeps an image from being tagged." },
	{ .name = "ignore",
	  .type = KEY_LIST,
	  .offset = AT(stack, lint_ignores),
	  .count_offset = AT(stack, lint_ignore_count),
	  .section = &ignore_section,
	  .help = "Findings that do not count." },
};

static const struct stack_section lint_section = {
	.title = "lint",
	KEYS(lint_keys),
	.place_offset = STACK_NO_OFFSET,
	.plain_offset = STACK_NO_OFFSET,
	.help = "How the built image is judged.",
};

static const char *const gpu_choices[] = { "true", "false", NULL };

static const struct stack_key test_run_keys[] = {
	{ .name = "cmd",
	  .type = KEY_TEXTS,
	  .required = true,
	  .empty_ok = true,
	  .offset = AT(stack_test_run, cmd),
	  .help = "The command and its arguments." },
	{ .name = "expect",
	  .type = KEY_TEXT,
	  .empty_ok = true,
	  .offset = AT(stack_test_run, expect),
	  .help = "What its output must hold." },
	{ .name = "gpu",
	  .type = KEY_CHOICE,
	  .offset = AT(stack_test_run, gpu),
	  .choices = gpu_choices,
	  .help = "It needs a GPU: where there is none it is skipped." },
};

static const struct stack_section test_run_section = {
	.title = "test.run[]",
	KEYS(test_run_keys),
	.size = sizeof(struct stack_test_run),
	.place_offset = STACK_NO_OFFSET,
	.plain_offset = STACK_NO_OFFSET,
	.help = "Commands that must end well inside the image.",
};

static const struct stack_key test_keys[] = {
	{ .name = "require",
	  .type = KEY_CHOICE,
	  .offset = AT(stack, test_require),
	  .choices = require_choices,
	  .help = "What must be shown before it ships: that its libraries load, or that kernels "
		  "run." },
	{ .name = "run",
	  .type = KEY_LIST,
	  .offset = AT(stack, test_runs),
	  .count_offset = AT(stack, test_run_count),
	  .section = &test_run_section,
	  .help = "Commands of your own." },
};

static const struct stack_section test_section = {
	.title = "test",
	KEYS(test_keys),
	.place_offset = STACK_NO_OFFSET,
	.plain_offset = STACK_NO_OFFSET,
	.help = "How the built image is tried.",
};

static const struct stack_key top_keys[] = {
	{ .name = "gpuimg",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = STACK_NO_OFFSET,
	  .check = stack_check_version,
	  .help = "The version of this format: 1." },
	{ .name = "extends",
	  .type = KEY_TEXT,
	  .offset = STACK_NO_OFFSET,
	  .check = stack_check_file,
	  .help = "A manifest below this one, named from this file's folder; see \"Overlays\"." },
	{ .name = "name",
	  .type = KEY_TEXT,
	  .required = true,
	  .offset = AT(stack, name),
	  .check = stack_check_name,
	  .help = "The image's name without registry: `acme/ml/trainer`." },
	{ .name = "tag",
	  .type = KEY_TEXT,
	  .offset = AT(stack, tag),
	  .check = stack_check_tag,
	  .fallback = "`latest`",
	  .help = "The image's tag." },
	{ .name = "platforms",
	  .type = KEY_TEXTS,
	  .distinct = true,
	  .offset = AT(stack, platforms),
	  .check = stack_check_platform,
	  .fallback = "`[linux/amd64]`",
	  .help = "One image each: `linux/amd64`, `linux/arm64`." },
	{ .name = "stack",
	  .type = KEY_SECTION,
	  .offset = AT(stack, stack),
	  .section = &request_section,
	  .help = "What the image is to run on and with." },
	{ .name = "sources",
	  .type = KEY_LIST,
	  .offset = AT(stack, sources),
	  .count_offset = AT(stack, source_count),
	  .section = &source_section,
	  .help = "Where packages come from." },
	{ .name = "base",
	  .type = KEY_SECTION,
	  .section = &base_section,
	  .help = "An image to build upon." },
	{ .name = "matrix",
	  .type = KEY_SECTION,
	  .offset = AT(stack, matrix),
	  .section = &stack_matrix_section,
	  .help = "Several images from one manifest." },
	{ .name = "stages",
	  .type = KEY_MAP,
	  .required = true,
	  .offset = AT(stack, stages),
	  .count_offset = AT(stack, stage_count),
	  .section = &stage_section,
	  .check_key = stack_check_id,
	  .help = "How it is put together; the last is the image." },
	{ .name = "image",
	  .type = KEY_SECTION,
	  .offset = AT(stack, image),
	  .section = &image_section,
	  .help = "How a container of it starts." },
	{ .name = "layers",
	  .type = KEY_SECTION,
	  .offset = AT(stack, layers),
	  .section = &layers_section,
	  .help = "How it is cut into layers." },
	{ .name = "scripts",
	  .type = KEY_SECTION,
	  .section = &scripts_section,
	  .help = "Maintainer scripts that were looked at." },
	{ .name = "lint",
	  .type = KEY_SECTION,
	  .section = &lint_section,
	  .help = "How it is judged." },
	{ .name = "test",
	  .type = KEY_SECTION,
	  .section = &test_section,
	  .help = "How it is tried." },
	{ .name = "publish",
	  .type = KEY_TEXTS,
	  .distinct = true,
	  .offset = AT(stack, publish),
	  .check = stack_check_reference,
	  .help = "Where it is pushed: references; `{name}` and `{tag}` are filled in." },
};

const struct stack_section stack_top = {
	.title = "",
	KEYS(top_keys),
	.size = sizeof(struct stack),
	.place_offset = STACK_NO_OFFSET,
	.plain_offset = STACK_NO_OFFSET,
	.help = "The manifest describes one image, or with a `matrix` several. It is YAML 1.1, or "
		"JSON when its name ends in "
		"`.json`. Keys that are not on this page are refused. Scalars keep their text, so "
		"`cuda: 13.0` means \"13.0\".",
};

const struct stack_key *stack_key_find(const struct stack_section *section, const char *name)
{
	for (size_t i = 0; i < section->key_count; i++) {
		if (str_equal(section->keys[i].name, name))
			return &section->keys[i];
	}
	return NULL;
}

static const char *find_below(const struct stack_section *section, const char *name)
{
	const char *found = NULL;

	if (stack_key_find(section, name))
		return *section->title ? section->title : "the top level";
	for (size_t i = 0; i < section->key_count && !found; i++) {
		if (section->keys[i].section)
			found = find_below(section->keys[i].section, name);
	}
	return found;
}

const char *stack_key_elsewhere(const char *name)
{
	return find_below(&stack_top, name);
}

enum { WORD_MAX = 40 };

/* Edits from `a` to `b`, a swap of neighbours counting as one; both at most WORD_MAX long. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t d[WORD_MAX + 1][WORD_MAX + 1];

	for (size_t i = 0; i <= a_len; i++)
		d[i][0] = i;
	for (size_t j = 0; j <= b_len; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		for (size_t j = 1; j <= b_len; j++) {
			size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;

			d[i][j] = MIN(MIN(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + cost);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = MIN(d[i][j], d[i - 2][j - 2] + 1);
		}
	}
	return d[a_len][b_len];
}

const char *stack_nearest(const char *word, const char *const *candidates, size_t count)
{
	size_t len = strlen(word), best = SIZE_MAX;
	const char *nearest = NULL;

	if (len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		size_t other = strlen(candidates[i]), d;

		if (!other || other > WORD_MAX)
			continue;
		d = distance(word, len, candidates[i], other);
		if (d < best && d <= MAX(MAX(len, other) / 3, (size_t)1)) {
			best = d;
			nearest = candidates[i];
		}
	}
	return nearest;
}
