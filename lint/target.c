#include "lint/target.h"

#include "base/alloc.h"
#include "base/slice.h"

static const struct {
	const char *name;
	enum runtime runtime;
} runtimes[] = {
	{ "cdi", RUNTIME_CDI }, { "legacy", RUNTIME_LEGACY }, { "enroot", RUNTIME_ENROOT },
	{ "wsl", RUNTIME_WSL }, { "jetson", RUNTIME_JETSON }, { "apptainer", RUNTIME_APPTAINER },
};

static void release_texts(struct target_texts *texts)
{
	for (size_t i = 0; i < texts->len; i++)
		free((void *)texts->items[i]);
	vec_release(texts);
}

void target_release(struct target *target)
{
	release_texts(&target->gpus);
	release_texts(&target->drivers);
}

/* Digits and dots, starting and ending with a digit. */
static bool is_version(struct slice s)
{
	if (!s.len || s.data[0] == '.' || s.data[s.len - 1] == '.')
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.data[i] != '.' && (s.data[i] < '0' || s.data[i] > '9'))
			return false;
	}
	return true;
}

static int add_texts(struct target_texts *texts, const char *option, const char *text,
		     bool (*valid)(struct slice), const char *wanted, struct error *err)
{
	struct slice rest = slice_str(text), one;

	while (slice_cut(&rest, ',', &one)) {
		one = slice_trim(one);
		if (!one.len || !valid(one))
			return error_set(err, ERROR_USAGE, "%s: '%.*s' is not %s", option,
					 (int)one.len, one.len ? (const char *)one.data : "",
					 wanted);
		vec_push(texts, xstrndup((const char *)one.data, one.len));
	}
	return 0;
}

static bool is_gpu(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = (char)s.data[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') &&
		    !strchr("_-. ", c))
			return false;
	}
	return true;
}

static bool is_driver(struct slice s)
{
	if (slice_starts(s, ">="))
		s = slice_of(s.data + 2, s.len - 2);
	return is_version(slice_trim(s));
}

int target_add_gpus(struct target *target, const char *text, struct error *err)
{
	return add_texts(&target->gpus, "--gpu", text, is_gpu, "an architecture or product (sm_90)",
			 err);
}

int target_add_drivers(struct target *target, const char *text, struct error *err)
{
	return add_texts(&target->drivers, "--driver", text, is_driver,
			 "a driver version (535.183.06), branch (550) or floor (>=550)", err);
}

int target_set_driver_cuda(struct target *target, const char *text, struct error *err)
{
	if (!is_version(slice_str(text)))
		return error_set(err, ERROR_USAGE,
				 "--driver-cuda: '%s' is not a CUDA version (12.4)", text);
	target->driver_cuda = text;
	return 0;
}

int target_add_runtimes(struct target *target, const char *text, struct error *err)
{
	struct slice rest = slice_str(text), one;

	while (slice_cut(&rest, ',', &one)) {
		unsigned found = 0;

		one = slice_trim(one);
		for (size_t i = 0; i < ARRAY_LEN(runtimes); i++) {
			if (slice_is(one, runtimes[i].name))
				found = runtimes[i].runtime;
		}
		if (!found)
			return error_set(
				err, ERROR_USAGE,
				"--runtime: '%.*s' is not one of cdi, legacy, enroot, wsl, "
				"jetson, apptainer",
				(int)one.len, one.len ? (const char *)one.data : "");
		target->runtimes |= found;
	}
	return 0;
}

void target_runtime_names(const struct target *target, struct target_texts *out)
{
	for (size_t i = 0; target && i < ARRAY_LEN(runtimes); i++) {
		if (target->runtimes & runtimes[i].runtime)
			vec_push(out, runtimes[i].name);
	}
}
