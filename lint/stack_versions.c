#include "lint/stack_versions.h"

#include <ctype.h>

/* One part of a stack and how its version shows. The first source that tells wins. */
struct part {
	size_t member;       /* offset in struct stack_versions */
	const char *label;   /* of an image that gpuimg built; NULL: none */
	const char *wheel;   /* distribution, without the "-cu12" that some carry; NULL: none */
	const char *deb;     /* beginning of the package's name; NULL: none */
	const char *library; /* "libcudart.so." before a full version; NULL: none */
	unsigned fields;     /* numbers of the version that count; 0: all */
};

static const struct part parts[] = {
	{ offsetof(struct stack_versions, cuda), "io.gpuimg.cuda", "nvidia-cuda-runtime",
	  "cuda-cudart-", "libcudart.so.", 2 },
	{ offsetof(struct stack_versions, cudnn), "io.gpuimg.cudnn", "nvidia-cudnn", "libcudnn",
	  "libcudnn.so.", 0 },
	{ offsetof(struct stack_versions, nccl), "io.gpuimg.nccl", "nvidia-nccl", "libnccl2",
	  "libnccl.so.", 0 },
	{ offsetof(struct stack_versions, torch), NULL, "torch", NULL, NULL, 0 },
};

static bool is_wheel_of(const char *name, const char *wheel)
{
	size_t n = strlen(wheel);

	if (strncmp(name, wheel, n) != 0)
		return false;
	if (!name[n])
		return true;
	return str_starts(name + n, "-cu") && isdigit((unsigned char)name[n + 3]);
}

/* "12.4.127-1" of a .deb, "13.0.96" of a wheel → the first `fields` numbers, or all before "-". */
static const char *cut_version(const char *version, unsigned fields, struct arena *arena)
{
	const char *colon = strchr(version, ':');
	size_t n = 0;

	if (colon)
		version = colon + 1;
	while (version[n] && version[n] != '-' && version[n] != '+') {
		if (version[n] == '.' && fields && --fields == 0)
			break;
		n++;
	}
	return arena_slice(arena, slice_of(version, n));
}

static const char *from_label(const struct facts *facts, const struct part *p)
{
	const char *v = p->label && facts->config ? config_label(facts->config, p->label) : NULL;

	return v && *v ? v : NULL;
}

static const char *from_packages(const struct facts *facts, const struct part *p)
{
	for (size_t i = 0; i < facts->packages.len; i++) {
		const struct package *k = &facts->packages.items[i];

		if (!k->name || !k->version)
			continue;
		if (str_equal(k->kind, "wheel")
			    ? p->wheel && is_wheel_of(k->name, p->wheel)
			    : p->deb && str_starts(k->name, p->deb) && !strstr(k->name, "-dev"))
			return k->version;
	}
	return NULL;
}

/* libcudart.so.12.4.127: a version needs at least two dots to be one. */
static const char *from_library(const struct facts *facts, const struct part *p)
{
	for (size_t i = 0; p->library && i < facts->objects.len; i++) {
		const char *path = facts->objects.items[i].path, *slash = strrchr(path, '/');
		const char *name = slash ? slash + 1 : path, *v, *dot;

		if (!str_starts(name, p->library))
			continue;
		v = name + strlen(p->library);
		dot = strchr(v, '.');
		if (dot && strspn(v, "0123456789.") == strlen(v) && strchr(dot + 1, '.'))
			return v;
	}
	return NULL;
}

void stack_versions_find(const struct facts *facts, struct arena *arena, struct stack_versions *out)
{
	*out = (struct stack_versions){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const struct part *p = &parts[i];
		const char **member = (const char **)((char *)out + p->member);
		const char *found = from_label(facts, p);

		if (found) {
			*member = arena_strdup(arena, found);
			continue;
		}
		found = from_packages(facts, p);
		if (!found)
			found = from_library(facts, p);
		if (found)
			*member = cut_version(found, p->fields, arena);
	}
}
