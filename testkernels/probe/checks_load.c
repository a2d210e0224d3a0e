/*
 * The load tier: what the image's libraries do on a machine without a driver. CUDA's libraries do
 * not link libcuda, so each can be opened and asked for its version anywhere; only some engines of
 * cuDNN do (9.27 for CUDA 12), which then wait for the driver.
 */
#include "probe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* dlsym gives an object pointer; POSIX promises that it holds a function's address. */
#define FUNCTION(type, handle, name) ((type)library_symbol(handle, name))

void *library_symbol(void *handle, const char *name)
{
	return dlsym(handle, name);
}

void *library_open(const struct check *check, const char *name)
{
	char path[4096];
	const char *text;
	void *handle;
	struct say s;

	put_text(path, sizeof(path), "%s%s", name[0] == '/' ? check->root : "", name);
	handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	text = handle ? NULL : dlerror();

	if (handle)
		return handle;
	result_begin(&s, check, "fail");
	say_str(&s, "kind", "dlopen");
	say_str(&s, "call", "dlopen");
	say_str(&s, "message", text ? text : "dlopen gave no reason");
	say_end(&s);
	return NULL;
}

static bool from_root(const struct check *check, const char *name)
{
	size_t n = strlen(check->root);

	return !n || !name[0] || !strchr(name, '/') ||
	       (strncmp(name, check->root, n) == 0 && (name[n] == '/' || !name[n]));
}

void say_library(struct say *s, const struct check *check, void *handle)
{
	struct link_map *map = NULL;
	char foreign[1024] = "";
	size_t at = 0;

	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map)
		return;
	say_str(s, "library", map->l_name);
	while (map->l_prev)
		map = map->l_prev;
	for (; map; map = map->l_next) {
		if (from_root(check, map->l_name) || at + strlen(map->l_name) + 2 > sizeof(foreign))
			continue;
		put_text(foreign + at, sizeof(foreign) - at, "%s%s", at ? ":" : "", map->l_name);
		at += strlen(foreign + at);
	}
	if (at)
		say_str(s, "foreign", foreign);
}

static void pass(const struct check *check, void *handle)
{
	struct say s;

	result_begin(&s, check, "pass");
	say_library(&s, check, handle);
	say_end(&s);
}

static void check_open(const struct check *check)
{
	void *handle = library_open(check, check->args[0]);

	if (handle)
		pass(check, handle);
}

/* Each way in which a library of CUDA tells its version. */
enum version_how {
	VERSION_PROPERTY, /* int f(int which, int *out), which 0 major, 1 minor, 2 patch */
	VERSION_1000_10,  /* int f(int *out): 1000 * major + 10 * minor */
	VERSION_NCCL,     /* int f(int *out): 10000 * major + 100 * minor + patch */
	VERSION_PAIR,     /* int f(int *major, int *minor) */
	VERSION_NUMBER,   /* int f(int *out), as it is */
};

static const struct version_row {
	const char *stem, *function;
	enum version_how how;
} version_rows[] = {
	{ "libcudart", "cudaRuntimeGetVersion", VERSION_1000_10 },
	{ "libcublas", "cublasGetProperty", VERSION_PROPERTY },
	{ "libcublasLt", "cublasLtGetProperty", VERSION_PROPERTY },
	{ "libcudnn", "cudnnGetProperty", VERSION_PROPERTY },
	{ "libnccl", "ncclGetVersion", VERSION_NCCL },
	{ "libnvrtc", "nvrtcVersion", VERSION_PAIR },
	{ "libnvJitLink", "nvJitLinkVersion", VERSION_PAIR },
	{ "libcufft", "cufftGetProperty", VERSION_PROPERTY },
	{ "libcurand", "curandGetProperty", VERSION_PROPERTY },
	{ "libcusolver", "cusolverGetProperty", VERSION_PROPERTY },
	{ "libcusparse", "cusparseGetProperty", VERSION_PROPERTY },
	{ "libnvvm", "nvvmVersion", VERSION_PAIR },
	{ "libcupti", "cuptiGetVersion", VERSION_NUMBER },
};

static long version_property(void *function, char *out, size_t size)
{
	int (*get)(int, int *) = (int (*)(int, int *))function;
	int part[3] = { 0 };

	for (int i = 0; i < 3; i++) {
		int rc = get(i, &part[i]);

		if (rc)
			return rc;
	}
	put_text(out, size, "%d.%d.%d", part[0], part[1], part[2]);
	return 0;
}

static long version_get(void *function, enum version_how how, char *out, size_t size)
{
	int (*one)(int *) = (int (*)(int *))function;
	int (*two)(int *, int *) = (int (*)(int *, int *))function;
	int a = 0, b = 0, rc;

	if (how == VERSION_PROPERTY)
		return version_property(function, out, size);
	rc = how == VERSION_PAIR ? two(&a, &b) : one(&a);
	if (rc)
		return rc;
	if (how == VERSION_PAIR)
		put_text(out, size, "%d.%d", a, b);
	else if (how == VERSION_1000_10)
		put_text(out, size, "%d.%d", a / 1000, a % 1000 / 10);
	else if (how == VERSION_NUMBER)
		put_text(out, size, "%d", a);
	else if (a >= 10000)
		put_text(out, size, "%d.%d.%d", a / 10000, a / 100 % 100, a % 100);
	else /* NCCL before 2.9: 1000 * major + 100 * minor + patch */
		put_text(out, size, "%d.%d.%d", a / 1000, a / 100 % 10, a % 100);
	return 0;
}

/* args: stem, name */
static void check_version(const struct check *check)
{
	const struct version_row *row = NULL;
	char text[64] = "";
	void *handle, *function;
	struct say s;
	long code;

	for (size_t i = 0; i < sizeof(version_rows) / sizeof(version_rows[0]); i++) {
		if (strcmp(version_rows[i].stem, check->args[0]) == 0)
			row = &version_rows[i];
	}
	handle = row ? library_open(check, check->args[1]) : NULL;
	if (!handle)
		return;
	function = library_symbol(handle, row->function);
	if (!function) {
		put_text(text, sizeof(text), "it has no function %s", row->function);
		result_fail(check, "symbol", text);
		return;
	}
	code = version_get(function, row->how, text, sizeof(text));
	if (code) {
		result_fail_call(check, row->stem, row->function, code, "");
		return;
	}
	result_begin(&s, check, "pass");
	say_str(&s, "version", text);
	say_str(&s, "call", row->function);
	say_library(&s, check, handle);
	say_end(&s);
}

/* True unless the function is there and refuses. */
static bool cudnn_part_ok(const struct check *check, void *handle, const char *name, int *asked)
{
	int (*version_check)(void) = FUNCTION(int (*)(void), handle, name);
	int rc = version_check ? version_check() : 0;

	*asked += version_check != NULL;
	if (!rc)
		return true;
	result_fail_call(check, "libcudnn", name, rc, "");
	return false;
}

/* Opened, or counted where nothing but the driver's own library keeps it from that. */
static bool cudnn_engine_opens(const struct check *check, const char *name, int *waiting)
{
	char path[4096];
	const char *text;

	put_text(path, sizeof(path), "%s%s", name[0] == '/' ? check->root : "", name);
	if (dlopen(path, RTLD_NOW | RTLD_GLOBAL))
		return true;
	text = dlerror();
	if (text && strncmp(text, "libcuda.so.1: cannot open", 25) == 0) {
		(*waiting)++;
		return true;
	}
	return library_open(check, name) != NULL; /* which says what is wrong */
}

/* args: name of libcudnn, then its engine libraries to open */
static void check_cudnn_set(const struct check *check)
{
	static const char *const parts[] = {
		"cudnnGraphVersionCheck",    "cudnnOpsVersionCheck",
		"cudnnCnnVersionCheck",      "cudnnAdvVersionCheck",
		"cudnnOpsInferVersionCheck", "cudnnOpsTrainVersionCheck",
		"cudnnCnnInferVersionCheck", "cudnnCnnTrainVersionCheck",
		"cudnnAdvInferVersionCheck", "cudnnAdvTrainVersionCheck",
	};
	void *handle = library_open(check, check->args[0]);
	struct say s;
	int asked = 0, waiting = 0;

	if (!handle)
		return;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (!cudnn_part_ok(check, handle, parts[i], &asked))
			return;
	}
	for (size_t i = 1; i < check->count; i++) {
		if (!cudnn_engine_opens(check, check->args[i], &waiting))
			return;
	}
	result_begin(&s, check, "pass");
	say_int(&s, "version_checks", asked);
	say_int(&s, "engine_libraries", (long)check->count - 1);
	if (waiting)
		say_int(&s, "engine_libraries_that_wait_for_the_driver", waiting);
	say_library(&s, check, handle);
	say_end(&s);
}

struct nvrtc {
	int (*create)(void **, const char *, const char *, int, const char *const *,
		      const char *const *);
	int (*compile)(void *, int, const char *const *);
	int (*destroy)(void **);
	int (*log_size)(void *, size_t *);
	int (*log)(void *, char *);
	int (*arch_count)(int *);
	int (*archs)(int *);
};

static bool nvrtc_load(const struct check *check, void *handle, struct nvrtc *out)
{
	out->create = (__typeof__(out->create))library_symbol(handle, "nvrtcCreateProgram");
	out->compile = (__typeof__(out->compile))library_symbol(handle, "nvrtcCompileProgram");
	out->destroy = (__typeof__(out->destroy))library_symbol(handle, "nvrtcDestroyProgram");
	out->log_size = (__typeof__(out->log_size))library_symbol(handle, "nvrtcGetProgramLogSize");
	out->log = (__typeof__(out->log))library_symbol(handle, "nvrtcGetProgramLog");
	out->arch_count =
		(__typeof__(out->arch_count))library_symbol(handle, "nvrtcGetNumSupportedArchs");
	out->archs = (__typeof__(out->archs))library_symbol(handle, "nvrtcGetSupportedArchs");
	if (out->create && out->compile && out->destroy && out->log_size && out->log)
		return true;
	result_fail(check, "symbol", "it lacks functions that every version has");
	return false;
}

/* "75 80 86": what this nvrtc can compile for; "" before CUDA 11.2. Returns the lowest, or 0. */
static int nvrtc_archs(const struct nvrtc *nvrtc, char *out, size_t size)
{
	int archs[128], count = 0;
	size_t at = 0;

	out[0] = '\0';
	if (!nvrtc->arch_count || !nvrtc->archs || nvrtc->arch_count(&count) || count < 1 ||
	    count > 128 || nvrtc->archs(archs))
		return 0;
	for (int i = 0; i < count && at + 8 < size; i++) {
		put_text(out + at, size - at, "%s%d", i ? " " : "", archs[i]);
		at += strlen(out + at);
	}
	return archs[0];
}

static bool nvrtc_compile(const struct check *check, const struct nvrtc *nvrtc, const char *target)
{
	char option[96], log[1024] = "", call[128];
	const char *options[] = { option };
	void *program = NULL;
	size_t size = 0;
	int rc;

	put_text(option, sizeof(option), "--gpu-architecture=%s", target);
	rc = nvrtc->create(&program, kernel_vectoradd_cu, "vectoradd.cu", 0, NULL, NULL);
	if (!rc)
		rc = nvrtc->compile(program, 1, options);
	if (!rc) {
		nvrtc->destroy(&program);
		return true;
	}
	if (program && !nvrtc->log_size(program, &size) && size && size < sizeof(log))
		nvrtc->log(program, log);
	put_text(call, sizeof(call), "nvrtcCompileProgram for %s", target);
	result_fail_call(check, "libnvrtc", call, rc, log);
	return false;
}

/* args: name, then targets ("sm_90") */
static void check_nvrtc_compile(const struct check *check)
{
	void *handle = library_open(check, check->args[0]);
	char archs[512], lowest[32];
	struct nvrtc nvrtc;
	struct say s;
	int first;

	if (!handle || !nvrtc_load(check, handle, &nvrtc))
		return;
	first = nvrtc_archs(&nvrtc, archs, sizeof(archs));
	put_text(lowest, sizeof(lowest), "compute_%d", first ? first : 70);
	if (!nvrtc_compile(check, &nvrtc, lowest))
		return;
	for (size_t i = 1; i < check->count; i++) {
		if (!nvrtc_compile(check, &nvrtc, check->args[i]))
			return;
	}
	result_begin(&s, check, "pass");
	say_str(&s, "compiled_for", lowest);
	if (archs[0])
		say_str(&s, "supported_archs", archs);
	say_library(&s, check, handle);
	say_end(&s);
}

/* nvJitLink's header maps each name to one with the version of the toolkit: try both. */
static void *jitlink_symbol(void *handle, const char *name)
{
	void *found = library_symbol(handle, name);
	char versioned[128];

	for (int major = 14; !found && major >= 12; major--) {
		for (int minor = 9; !found && minor >= 0; minor--) {
			put_text(versioned, sizeof(versioned), "__%s_%d_%d", name, major, minor);
			found = library_symbol(handle, versioned);
		}
	}
	return found;
}

struct jitlink {
	int (*create)(void **, uint32_t, const char **);
	int (*add)(void *, int, const void *, size_t, const char *);
	int (*complete)(void *);
	int (*destroy)(void **);
	int (*log_size)(void *, size_t *);
	int (*log)(void *, char *);
};

enum { JITLINK_INPUT_PTX = 2 }; /* nvJitLink.h, nvJitLinkInputType */

static bool jitlink_load(const struct check *check, void *handle, struct jitlink *out)
{
	out->create = (__typeof__(out->create))jitlink_symbol(handle, "nvJitLinkCreate");
	out->add = (__typeof__(out->add))jitlink_symbol(handle, "nvJitLinkAddData");
	out->complete = (__typeof__(out->complete))jitlink_symbol(handle, "nvJitLinkComplete");
	out->destroy = (__typeof__(out->destroy))jitlink_symbol(handle, "nvJitLinkDestroy");
	out->log_size =
		(__typeof__(out->log_size))jitlink_symbol(handle, "nvJitLinkGetErrorLogSize");
	out->log = (__typeof__(out->log))jitlink_symbol(handle, "nvJitLinkGetErrorLog");
	if (out->create && out->add && out->complete && out->destroy && out->log_size && out->log)
		return true;
	result_fail(check, "symbol", "it lacks functions that every version has");
	return false;
}

static bool jitlink_assemble(const struct check *check, const struct jitlink *link,
			     const char *target)
{
	char option[64], log[1024] = "", call[128];
	const char *options[] = { option };
	void *handle = NULL;
	size_t size = 0;
	int rc;

	put_text(option, sizeof(option), "-arch=%s", target);
	rc = link->create(&handle, 1, options);
	if (!rc)
		rc = link->add(handle, JITLINK_INPUT_PTX, kernel_vectoradd_ptx,
			       strlen(kernel_vectoradd_ptx) + 1, "vectoradd.ptx");
	if (!rc)
		rc = link->complete(handle);
	if (!rc)
		return true;
	if (handle && !link->log_size(handle, &size) && size && size < sizeof(log))
		link->log(handle, log);
	put_text(call, sizeof(call), "nvJitLink for %s", target);
	result_fail_call(check, "libnvJitLink", call, rc, log);
	return false;
}

/* args: name, then targets; without any, sm_80, which every nvJitLink knows */
static void check_jitlink(const struct check *check)
{
	void *handle = library_open(check, check->args[0]);
	struct jitlink link;

	if (!handle || !jitlink_load(check, handle, &link))
		return;
	if (check->count == 1 && !jitlink_assemble(check, &link, "sm_80"))
		return;
	for (size_t i = 1; i < check->count; i++) {
		if (!jitlink_assemble(check, &link, check->args[i]))
			return;
	}
	pass(check, handle);
}

enum { PTX_MAX = 8 << 20 };

/* A text beside the plan, NUL-terminated, on the heap; NULL when it cannot be read. */
static char *read_ptx(const struct check *check, const char *name, size_t *out_len)
{
	char path[4352], *text = malloc(PTX_MAX + 1);
	size_t len = 0;
	ssize_t n = -1;
	int fd;

	put_text(path, sizeof(path), "%s/ptx/%s", check->place, name);
	fd = open(path, O_RDONLY);
	while (text && fd >= 0 && (n = read(fd, text + len, PTX_MAX - len)) > 0)
		len += (size_t)n;
	if (fd >= 0)
		close(fd);
	if (n != 0) {
		free(text);
		return NULL;
	}
	text[len] = '\0';
	*out_len = len + 1;
	return text;
}

/* One assembly: what was tried last, and what the linker said of it. */
struct rehearsal {
	char target[32], log[1024];
	int rc;
	bool newer; /* the text is of a newer PTX than the linker knows */
};

static void rehearse(const struct jitlink *link, const char *ptx, size_t len, struct rehearsal *r)
{
	char option[64];
	const char *options[] = { option };
	void *handle = NULL;
	size_t size = 0;

	put_text(option, sizeof(option), "-arch=%s", r->target);
	r->rc = link->create(&handle, 1, options);
	if (!r->rc)
		r->rc = link->add(handle, JITLINK_INPUT_PTX, ptx, len, "sample.ptx");
	r->log[0] = '\0';
	if (r->rc && handle && !link->log_size(handle, &size) && size && size < sizeof(r->log))
		link->log(handle, r->log);
	r->newer = r->rc && strstr(r->log, "Unsupported .version");
	for (char *end = r->log; r->newer && *end; end++) {
		if (*end == '\n')
			*end = '\0'; /* the first line says it */
	}
	if (handle)
		link->destroy(&handle);
}

/*
 * For "~sm_70", which is the text's own architecture, the next one that the linker knows does as
 * well: the driver compiles it for later ones too.
 */
static void rehearse_for(const struct jitlink *link, const char *target, const char *ptx,
			 size_t len, struct rehearsal *r)
{
	static const int later[] = { 75, 80, 90, 100, 110, 120 };
	bool own = target[0] == '~';
	int sm = 0;

	put_text(r->target, sizeof(r->target), "%s", target + own);
	rehearse(link, ptx, len, r);
	for (const char *p = target + own + 3; own && *p >= '0' && *p <= '9' && sm < 10000; p++)
		sm = sm * 10 + (*p - '0');
	for (size_t i = 0; own && i < sizeof(later) / sizeof(later[0]); i++) {
		if (!r->rc || !strstr(r->log, "ARCH"))
			return;
		if (later[i] <= sm)
			continue;
		put_text(r->target, sizeof(r->target), "sm_%d", later[i]);
		rehearse(link, ptx, len, r);
	}
}

static void say_rehearsed(const struct check *check, long assembled, long newer, const char *why,
			  void *handle)
{
	char text[1200] = "all texts of it are too large to be assembled in a moment";
	const char *left_out = check->args[1];
	struct say s;

	result_begin(&s, check, assembled ? "pass" : "skip");
	say_int(&s, "assembled", assembled);
	if (newer)
		say_int(&s, "newer_than_the_assembler", newer);
	if (strcmp(left_out, "0") != 0)
		say_str(&s, "not_assembled", left_out);
	if (!assembled && newer) {
		put_text(text, sizeof(text), "only a newer driver compiles its PTX: %s", why);
	}
	if (!assembled) {
		say_str(&s, "reason", newer ? "library-not-in-image" : "not-requested");
		say_str(&s, "message", text);
	}
	say_library(&s, check, handle);
	say_end(&s);
}

/* args: name of libnvJitLink, how many were left out, then texts below "ptx" beside the plan, each
 * with its target */
static void check_ptx_rehearsal(const struct check *check)
{
	void *handle = library_open(check, check->args[0]);
	struct rehearsal r = { .log = "" };
	struct jitlink link;
	long assembled = 0, newer = 0;

	if (!handle || !jitlink_load(check, handle, &link))
		return;
	for (size_t i = 2; i + 1 < check->count; i += 2) {
		size_t len = 0;
		char *ptx = read_ptx(check, check->args[i], &len), call[128];

		if (!ptx) {
			result_fail(check, "host", "a text beside the plan cannot be read");
			return;
		}
		rehearse_for(&link, check->args[i + 1], ptx, len, &r);
		free(ptx);
		assembled += !r.rc;
		newer += r.newer;
		if (!r.rc || r.newer)
			continue;
		put_text(call, sizeof(call), "nvJitLink of its PTX for %s", r.target);
		result_fail_call(check, "libnvJitLink", call, r.rc, r.log);
		return;
	}
	say_rehearsed(check, assembled, newer, r.log, handle);
}

/* No libcuda may be found before one is injected: a stub or a baked-in one would answer. */
static void check_no_driver(const struct check *check)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW);
	struct link_map *map = NULL;
	int (*init)(unsigned) = handle ? FUNCTION(int (*)(unsigned), handle, "cuInit") : NULL;
	struct say s;

	if (handle)
		dlinfo(handle, RTLD_DI_LINKMAP, &map);
	if (handle && map && !from_root(check, map->l_name))
		handle = NULL; /* the host's, which the image would not see */
	result_begin(&s, check, handle ? "fail" : "pass");
	if (handle) {
		say_str(&s, "kind", "driver-in-image");
		if (init)
			say_int(&s, "code", init(0));
		say_str(&s, "domain", "driver");
		say_library(&s, check, handle);
	}
	say_end(&s);
}

enum { CURAND_PSEUDO_DEFAULT = 100 }; /* curand.h, CURAND_RNG_PSEUDO_DEFAULT */

/* args: name */
static void check_curand_host(const struct check *check)
{
	void *handle = library_open(check, check->args[0]), *generator = NULL;
	int (*create)(void **, int), rc;

	if (!handle)
		return;
	create = FUNCTION(int (*)(void **, int), handle, "curandCreateGeneratorHost");
	if (!create) {
		result_fail(check, "symbol", "it has no function curandCreateGeneratorHost");
		return;
	}
	rc = create(&generator, CURAND_PSEUDO_DEFAULT);
	if (rc)
		result_fail_call(check, "libcurand", "curandCreateGeneratorHost", rc, "");
	else
		pass(check, handle);
}

static const struct check_entry load_checks[] = {
	{ "open", check_open },           { "version", check_version },
	{ "cudnn-set", check_cudnn_set }, { "nvrtc-compile", check_nvrtc_compile },
	{ "jitlink", check_jitlink },     { "ptx-rehearsal", check_ptx_rehearsal },
	{ "no-driver", check_no_driver }, { "curand-host", check_curand_host },
};

check_fn *check_load_find(const char *name)
{
	for (size_t i = 0; i < sizeof(load_checks) / sizeof(load_checks[0]); i++) {
		if (strcmp(load_checks[i].name, name) == 0)
			return load_checks[i].run;
	}
	return NULL;
}
