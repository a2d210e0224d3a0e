#include "testkernels/verdict.h"

#include <signal.h>

#include "base/alloc.h"
#include "testkernels/verdict_library.h"

/* A code of the driver, its first suspect, and the suspect when the image's own libcuda answered.
 */
static const struct driver_row {
	int64_t code;
	const char *name;
	enum test_blame blame, blame_own;
	const char *message, *hint;
} driver_rows[] = {
	{ 2, "CUDA_ERROR_OUT_OF_MEMORY", BLAME_HOST, BLAME_HOST, "there is no memory left",
	  "see what else uses the device's memory" },
	{ 34, "CUDA_ERROR_STUB_LIBRARY", BLAME_IMAGE, BLAME_IMAGE,
	  "a link-time stub answered in place of the driver",
	  "remove its directory from LD_LIBRARY_PATH and from ld.so.conf, and remake the loader's "
	  "cache" },
	{ 35, "CUDA_ERROR_INSUFFICIENT_DRIVER", BLAME_HOST, BLAME_IMAGE,
	  "the driver is older than the CUDA runtime of the image needs",
	  "use a newer driver on the host, or an image with an older CUDA" },
	{ 36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", BLAME_HOST, BLAME_IMAGE,
	  "the driver is older than this call needs",
	  "use a newer driver on the host, or an image with an older CUDA" },
	{ 46, "CUDA_ERROR_DEVICES_UNAVAILABLE", BLAME_HOST, BLAME_HOST,
	  "the device is busy or in exclusive mode",
	  "see what else uses it, and its compute mode (nvidia-smi -q -d COMPUTE)" },
	{ 100, "CUDA_ERROR_NO_DEVICE", BLAME_INJECTION, BLAME_INJECTION,
	  "the driver sees no device",
	  "look which /dev/nvidia* nodes are there and at NVIDIA_VISIBLE_DEVICES and "
	  "CUDA_VISIBLE_DEVICES" },
	{ 101, "CUDA_ERROR_INVALID_DEVICE", BLAME_HOST, BLAME_HOST,
	  "there is no device of that number", NULL },
	{ 200, "CUDA_ERROR_INVALID_IMAGE", BLAME_IMAGE, BLAME_IMAGE,
	  "the driver does not understand this GPU code", NULL },
	{ 209, "CUDA_ERROR_NO_BINARY_FOR_GPU", BLAME_IMAGE, BLAME_IMAGE,
	  "there is no code for this GPU",
	  "build it for this GPU's architecture, or keep PTX in it" },
	{ 218, "CUDA_ERROR_INVALID_PTX", BLAME_IMAGE, BLAME_IMAGE, "the driver refuses this PTX",
	  NULL },
	{ 221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", BLAME_INJECTION, BLAME_INJECTION,
	  "libnvidia-ptxjitcompiler was not found",
	  "NVIDIA_DRIVER_CAPABILITIES must hold \"compute\"" },
	{ 222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", BLAME_HOST, BLAME_HOST,
	  "the PTX is newer than the driver",
	  "use a newer driver, or compile with an older toolkit" },
	{ 223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", BLAME_IMAGE, BLAME_IMAGE,
	  "compiling PTX is switched off",
	  "remove CUDA_DISABLE_JIT and CUDA_DISABLE_PTX_JIT from the image's environment" },
	{ 304, "CUDA_ERROR_OPERATING_SYSTEM", BLAME_INJECTION, BLAME_INJECTION,
	  "a call to the operating system did not succeed",
	  "look whether each /dev/nvidia* node can be opened, and at device cgroups and seccomp" },
	{ 700, "CUDA_ERROR_ILLEGAL_ADDRESS", BLAME_IMAGE, BLAME_IMAGE,
	  "a kernel used an address that is not its own", NULL },
	{ 719, "CUDA_ERROR_LAUNCH_FAILED", BLAME_IMAGE, BLAME_IMAGE, "a kernel ended badly", NULL },
	{ 802, "CUDA_ERROR_SYSTEM_NOT_READY", BLAME_HOST, BLAME_HOST,
	  "the system is not ready for CUDA work",
	  "look at the fabric manager and at confidential computing mode" },
	{ 803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", BLAME_INJECTION, BLAME_IMAGE,
	  "the driver library and the kernel module are of different versions",
	  "remove driver libraries from the image; on the host, make the injection anew or reboot "
	  "after a driver update" },
	{ 804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", BLAME_IMAGE, BLAME_IMAGE,
	  "forward compatibility is in use on hardware that does not support it",
	  "remove the compat directory from LD_LIBRARY_PATH, or use a newer driver" },
	{ 999, "CUDA_ERROR_UNKNOWN", BLAME_INJECTION, BLAME_INJECTION, "the driver gives no reason",
	  "look whether each /dev/nvidia* node can be opened, nvidia-uvm above all" },
};

bool verdict_driver_code(int64_t code, bool driver_injected, bool driver_from_image,
			 struct verdict *out)
{
	for (size_t i = 0; i < ARRAY_LEN(driver_rows); i++) {
		const struct driver_row *row = &driver_rows[i];

		if (row->code != code)
			continue;
		*out = (struct verdict){ .status = TEST_FAIL,
					 .code_name = row->name,
					 .blame = driver_from_image ? row->blame_own : row->blame,
					 .message = row->message,
					 .hint = row->hint };
		if (code == 35 && !driver_injected && !driver_from_image) {
			out->blame = BLAME_INJECTION;
			out->message = "no driver library was found";
			out->hint = "start the container with a GPU: --gpus all, a CDI device";
		}
		return true;
	}
	return false;
}

/* What the loader says, and what it means. The first row that fits counts. */
static const struct loader_row {
	const char *part, *name, *hint;
} loader_rows[] = {
	{ "GLIBC_", "libc-too-old",
	  "the library was built for a newer C library than the image has: use a newer base or an "
	  "older build of the library" },
	{ "GLIBCXX_", "libstdcxx-too-old",
	  "the library needs a newer libstdc++ than the image has: install a newer libstdc++6" },
	{ "version `", "wrong-version",
	  "another version of a library is found first: look at the search path" },
	{ "undefined symbol", "undefined-symbol",
	  "libraries of different versions are mixed: install them from one release" },
	{ "wrong ELF class", "wrong-machine", "the file is for another processor" },
	{ "invalid ELF header", "damaged-library",
	  "the file is not a library, or damaged: install its package again" },
	{ "file too short", "damaged-library", "the file is cut off: install its package again" },
	{ "ELF file's phentsize", "damaged-library",
	  "the file is damaged: install its package again" },
	{ "cannot read file data", "damaged-library",
	  "the file is cut off: install its package again" },
	{ "failed to map segment", "damaged-library",
	  "the file is cut off, or lies where programs may not be run from" },
	{ "object file has no", "damaged-library",
	  "the file is damaged: install its package again" },
	{ "Error loading shared library ld-linux", "needs-glibc",
	  "the image's C library is musl; CUDA's libraries need glibc: use a base image with it" },
	{ "Error loading shared library", "missing-library",
	  "add the package that holds it, or its directory to the loader's search path" },
	{ "cannot open shared object file", "missing-library",
	  "add the package that holds it, or its directory to the loader's search path" },
	{ "cannot allocate memory in static TLS", "static-tls",
	  "too many libraries with static TLS in one process: load this one first" },
};

/* Codes of libraries that say more than their number. */
static const struct library_row {
	const char *domain;
	int64_t code;
	const char *name, *message, *hint;
} library_rows[] = {
	{ "libcudnn", 1002, "CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH",
	  "the parts of cuDNN are of different versions",
	  "install all of cuDNN from one release, and only once" },
	{ "libcudnn", 3009, "CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE",
	  "a part of cuDNN is missing or is not found",
	  "install all of cuDNN (libcudnn_ops, _cnn, _adv, _graph …), in one directory" },
	{ "libnvJitLink", 4, "NVJITLINK_ERROR_PTX_COMPILE", "this PTX does not assemble",
	  "see what the assembler says of it; PTX for one architecture alone serves no other" },
	{ "libnvJitLink", 16, "NVJITLINK_ERROR_UNRECOGNIZED_ARCH",
	  "this nvJitLink does not know the target", "use a newer CUDA for this GPU" },
	{ "libnvJitLink", 17, "NVJITLINK_ERROR_UNSUPPORTED_ARCH",
	  "this nvJitLink no longer serves the target", "use an older CUDA for this GPU" },
	{ "libnvrtc", 5, "NVRTC_ERROR_INVALID_OPTION", "this nvrtc does not know the target",
	  "use a newer CUDA for this GPU" },
	{ "libnvrtc", 6, "NVRTC_ERROR_COMPILATION", "nvrtc refuses the program", NULL },
	{ "libnvrtc", 7, "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
	  "nvrtc's builtins library is missing or of another version",
	  "install libnvrtc-builtins of the same release beside libnvrtc" },
};

/* `text` with the root's prefix taken off every path in it. */
static const char *as_in_image(const char *text, const char *root, struct arena *arena)
{
	cleanup_strbuf struct strbuf out = { 0 };
	size_t n = root ? strlen(root) : 0;

	if (!text || !n)
		return text ? arena_strdup(arena, text) : NULL;
	for (char before = ' '; *text;) {
		bool starts = !strchr("/._-", before) && !(before >= '0' && before <= '9') &&
			      !((before | 0x20) >= 'a' && (before | 0x20) <= 'z');

		if (starts && strncmp(text, root, n) == 0 && (text[n] == '/' || !text[n])) {
			text += n;
			before = '/';
			continue;
		}
		before = *text;
		strbuf_addc(&out, *text++);
	}
	return arena_strdup(arena, strbuf_text(&out));
}

static void judge_loader(const struct probe_outcome *o, const struct verdict_context *c,
			 struct arena *arena, struct verdict *v)
{
	const char *message = as_in_image(o->message ? o->message : "", c->root, arena);

	v->blame = BLAME_IMAGE;
	v->code_name = "not-loadable";
	v->message = message;
	for (size_t i = 0; i < ARRAY_LEN(loader_rows); i++) {
		if (!strstr(message, loader_rows[i].part))
			continue;
		v->code_name = loader_rows[i].name;
		v->hint = loader_rows[i].hint;
		break;
	}
	if (c->damage) {
		v->code_name = "damaged-library";
		v->message = arena_printf(arena, "%s (%s)", message, c->damage);
		v->hint = "install its package again";
	}
	if (c->path && !strstr(v->message, c->path))
		v->message = arena_printf(arena, "%s: %s", c->path, v->message);
	if (c->tier == TIER_RUN && strstr(message, "libcuda.so.1")) {
		v->blame = c->driver_injected ? BLAME_INJECTION : BLAME_HOST;
		v->hint = "the driver library, or one that it needs, was not injected";
	}
}

/* The status of a library that was called with a context, and what it means, or NULL. */
static const char *judge_status(const char *domain, int64_t code, struct verdict *v)
{
	const struct library_status *status = library_status_find(domain, code);

	if (str_equal(domain, "driver") || str_equal(domain, "libcudart"))
		return NULL;
	v->blame = status ? status->blame : library_blame(domain);
	if (!status)
		return NULL;
	v->code_name = status->name;
	v->hint = status->hint;
	return status->message;
}

static void judge_code(const struct probe_outcome *o, const struct verdict_context *c,
		       struct arena *arena, struct verdict *v)
{
	const char *call = o->call ? o->call : "a call", *domain = o->domain ? o->domain : "";
	const char *library = as_in_image(o->library, c->root, arena);
	const char *what = NULL;

	v->blame = c->tier == TIER_LOAD ? BLAME_IMAGE : BLAME_HOST;
	v->code_name = o->code_name;
	if (str_equal(domain, "driver") || str_equal(domain, "libcudart")) {
		if (verdict_driver_code(o->code, c->driver_injected, c->driver_from_image, v))
			what = v->message;
	}
	for (size_t i = 0; i < ARRAY_LEN(library_rows); i++) {
		const struct library_row *row = &library_rows[i];

		if (!str_equal(row->domain, domain) || row->code != o->code)
			continue;
		v->code_name = row->name;
		v->hint = row->hint;
		what = row->message;
	}
	if (c->tier == TIER_RUN && !what)
		what = judge_status(domain, o->code, v);
	if (c->driver_injected && c->module_version && o->code == 803)
		what = arena_printf(arena, "%s (library %s, kernel module %s)", what ? what : "",
				    c->driver_version ? c->driver_version : "unknown",
				    c->module_version);
	v->message =
		arena_printf(arena, "%s%s%s gave %" PRId64 "%s%s%s%s%s%s",
			     library   ? library
			     : c->path ? c->path
				       : "",
			     library || c->path ? ": " : "", call, o->code, v->code_name ? " " : "",
			     v->code_name ? v->code_name : "", what ? ": " : "", what ? what : "",
			     o->message && *o->message ? ": " : "",
			     o->message ? as_in_image(o->message, c->root, arena) : "");
}

static void judge_driver_in_image(const struct probe_outcome *o, const struct verdict_context *c,
				  struct arena *arena, struct verdict *v)
{
	const char *library = as_in_image(o->library ? o->library : "libcuda.so.1", c->root, arena);
	bool stub = o->has_code && o->code == 34;

	v->blame = BLAME_IMAGE;
	v->code_name = stub ? "CUDA_ERROR_STUB_LIBRARY" : "driver-in-image";
	v->message = arena_printf(arena,
				  stub ? "%s is a link-time stub and comes before the driver"
				       : "%s answers in place of the driver that will be injected",
				  library);
	v->hint = stub ? "remove it from LD_LIBRARY_PATH and ld.so.conf, and remake the cache"
		       : "remove the driver's libraries from the image";
}

/* A device node that cannot be opened: the errno says whose fault it is. */
static void judge_node(const struct probe_outcome *o, struct arena *arena, struct verdict *v)
{
	static const struct {
		int64_t code;
		const char *name;
		enum test_blame blame;
		const char *hint;
	} rows[] = {
		{ ENOENT, "node-missing", BLAME_INJECTION,
		  "the node was not given to the container" },
		{ EPERM, "device-cgroup", BLAME_INJECTION,
		  "the container's device control group does not allow it" },
		{ EACCES, "node-mode", BLAME_INJECTION,
		  "the node's owner and mode do not let the image's user open it" },
		{ ENXIO, "no-driver", BLAME_HOST, "there is no driver behind it: load its module" },
		{ ENODEV, "no-driver", BLAME_HOST,
		  "there is no driver behind it: load its module" },
		{ EIO, "device-error", BLAME_HARDWARE,
		  "the device does not answer: look at the kernel's log for Xid" },
	};

	v->blame = BLAME_INJECTION;
	v->code_name = "node";
	v->message = o->message ? arena_strdup(arena, o->message) : NULL;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].code != o->code)
			continue;
		v->blame = rows[i].blame;
		v->code_name = rows[i].name;
		v->hint = rows[i].hint;
	}
}

static void judge_result(const struct probe_outcome *o, const struct verdict_context *c,
			 struct arena *arena, struct verdict *v)
{
	const char *kind = o->kind ? o->kind : "";

	v->status = TEST_FAIL;
	v->blame = BLAME_IMAGE;
	v->code_name = kind;
	if (str_equal(kind, "dlopen")) {
		judge_loader(o, c, arena, v);
	} else if (str_equal(kind, "call") && o->has_code) {
		judge_code(o, c, arena, v);
	} else if (str_equal(kind, "driver-in-image")) {
		judge_driver_in_image(o, c, arena, v);
	} else if (str_equal(kind, "node")) {
		judge_node(o, arena, v);
	} else {
		v->message =
			arena_printf(arena, "%s%s%s", c->path ? c->path : "", c->path ? ": " : "",
				     o->message ? as_in_image(o->message, c->root, arena)
						: "no reason was given");
		if (str_equal(kind, "wrong-numbers"))
			v->blame = BLAME_HARDWARE;
		if (str_equal(kind, "host"))
			v->blame = BLAME_HOST;
		if (str_equal(kind, "unknown-check"))
			v->status = TEST_ERROR, v->blame = BLAME_NONE;
	}
}

/* It loaded, but with files that only this host has: in a container they would be missing. */
static void judge_foreign(const struct probe_outcome *o, const struct verdict_context *c,
			  struct arena *arena, struct verdict *v)
{
	*v = (struct verdict){
		.status = TEST_FAIL,
		.blame = BLAME_IMAGE,
		.code_name = "missing-library",
		.message =
			arena_printf(arena,
				     "%s%sthe image lacks what it needs; the host's %s was found "
				     "instead",
				     c->path ? c->path : "", c->path ? ": " : "", o->foreign),
		.hint = "add the package that holds it, or its directory to the loader's search "
			"path",
	};
}

static const char *signal_name(int sig)
{
	switch (sig) {
	case SIGSEGV:
		return " (SIGSEGV)";
	case SIGABRT:
		return " (SIGABRT)";
	case SIGBUS:
		return " (SIGBUS)";
	case SIGILL:
		return " (SIGILL)";
	case SIGFPE:
		return " (SIGFPE)";
	case SIGKILL:
		return " (SIGKILL)";
	default:
		return "";
	}
}

/* The last line of what it printed. */
static const char *last_line(const char *words, const char *root, struct arena *arena)
{
	size_t end = strlen(words), start;

	while (end && strchr(" \t\r\n", words[end - 1]))
		end--;
	for (start = end; start && words[start - 1] != '\n';)
		start--;
	return as_in_image(arena_slice(arena, slice_of(words + start, end - start)), root, arena);
}

static void judge_death(const struct probe_outcome *o, const struct verdict_context *c,
			struct arena *arena, struct verdict *v)
{
	const char *words = o->last_words ? last_line(o->last_words, c->root, arena) : "";
	const char *path = c->path ? c->path : "", *sep = c->path ? ": " : "";

	v->status = TEST_FAIL;
	v->blame = BLAME_IMAGE;
	if (o->timed_out) {
		v->blame = c->tier == TIER_RUN ? BLAME_HOST : BLAME_IMAGE;
		v->code_name = "time-limit";
		v->message =
			arena_printf(arena, "%s%sno answer within %" PRIu64 " ms%s%s", path, sep,
				     c->timeout_ms, *words ? "; last words: " : "", words);
		v->hint = "give more time with --timeout if the machine is slow";
	} else if (o->signal) {
		v->code_name = "crashed";
		v->message =
			arena_printf(arena, "%s%scrashed: signal %d%s%s%s", path, sep, o->signal,
				     signal_name(o->signal), *words ? ", last words: " : "", words);
		v->hint = "a part of the set is missing, damaged or of another version";
		if (c->damage || o->signal == SIGBUS) {
			v->code_name = "damaged-library";
			v->message =
				arena_printf(arena, "%s (%s)", v->message,
					     c->damage ? c->damage : "a file it uses is cut off");
			v->hint = "install its package again";
		}
		if (o->signal == SIGKILL) {
			v->blame = BLAME_HOST;
			v->hint = "something on the host killed it, perhaps for want of memory";
		}
	} else {
		v->code_name = "ended-early";
		v->message =
			arena_printf(arena, "%s%sended with status %d and without a result%s%s",
				     path, sep, o->exit_status, *words ? ", last words: " : "",
				     words);
	}
}

/* A command of the manifest: well when its status is 0 and its output holds what it must. */
static void judge_command(const struct probe_outcome *o, const struct verdict_context *c,
			  struct arena *arena, struct verdict *v)
{
	const char *words = o->last_words ? o->last_words : "";
	bool good = !o->timed_out && !o->signal && o->exit_status == 0;

	if (o->has_result && o->kind && str_equal(o->kind, "exec")) {
		*v = (struct verdict){ .status = TEST_FAIL,
				       .blame = BLAME_IMAGE,
				       .code_name = "command-not-found",
				       .message = arena_printf(
					       arena, "the command could not be started: %s",
					       o->message ? o->message : "") };
		return;
	}
	if (!good) {
		judge_death(o, c, arena, v);
		if (!o->timed_out && !o->signal) {
			v->code_name = "command-status";
			v->message = arena_printf(arena, "it ended with status %d%s%s",
						  o->exit_status, *words ? ", last words: " : "",
						  last_line(words, c->root, arena));
		}
		return;
	}
	*v = (struct verdict){ .status = TEST_PASS };
	if (!c->expect || strstr(words, c->expect))
		return;
	*v = (struct verdict){ .status = TEST_FAIL,
			       .blame = BLAME_IMAGE,
			       .code_name = "command-output",
			       .message =
				       arena_printf(arena,
						    "its output does not hold \"%s\"; last words: "
						    "%s",
						    c->expect, last_line(words, c->root, arena)) };
}

void verdict_of(const struct probe_outcome *o, const struct verdict_context *context,
		struct arena *arena, struct verdict *out)
{
	*out = (struct verdict){ .status = TEST_ERROR };
	if (!o || !(o->has_result || o->ended)) {
		out->code_name = "no-report";
		out->message = o && o->started ? "the probe ended during this test"
					       : "the probe did not come to this test";
		return;
	}
	if (context->command && o->ended) {
		judge_command(o, context, arena, out);
		return;
	}
	/* a library's exit handler may crash after its result: the result stands */
	if (!o->has_result)
		judge_death(o, context, arena, out);
	else if (o->status == TEST_FAIL)
		judge_result(o, context, arena, out);
	else if (o->foreign && context->tier == TIER_LOAD)
		judge_foreign(o, context, arena, out);
	else
		*out = (struct verdict){ .status = o->status,
					 .message = o->status == TEST_SKIP && o->message
							    ? arena_strdup(arena, o->message)
							    : NULL };
}
