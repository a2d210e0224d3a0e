#include "manifests/table_images.h"

#include "manifests/dotted.h"

/* "nvcr.io/nvidia/pytorch:24.10-py3" → "pytorch" */
static const char *image_name(const char *image, struct arena *arena)
{
	const char *slash = strrchr(image, '/');
	const char *from = slash ? slash + 1 : image;

	return arena_slice(arena, slice_of(from, strcspn(from, ":@")));
}

static int read_image(const struct table_row *row, const char *fallback, struct arena *arena,
		      struct ngc_image *out, struct error *err)
{
	if (row_text(row, "image", &out->image, err) < 0 ||
	    row_version(row, "release", &out->release, err) < 0 ||
	    row_version_opt(row, "cuda", &out->cuda, err) < 0 ||
	    row_version_opt(row, "driver", &out->driver, err) < 0 ||
	    row_version_opt(row, "cudnn", &out->cudnn, err) < 0 ||
	    row_version_opt(row, "nccl", &out->nccl, err) < 0 ||
	    row_text_opt(row, "torch", &out->torch, err) < 0 ||
	    row_version_opt(row, "python", &out->python, err) < 0 ||
	    row_text_opt(row, "ubuntu", &out->ubuntu, err) < 0 ||
	    row_text_opt(row, "note", &out->note, err) < 0)
		return -1;
	out->name = image_name(out->image, arena);
	out->origin = row_origin(row, fallback, arena);
	return 0;
}

static int compare_images(const void *pa, const void *pb)
{
	const struct ngc_image *a = pa, *b = pb;
	int order = strcmp(a->name, b->name);

	if (!order)
		order = dotted_order(b->release, a->release);
	return order ? order : strcmp(a->image, b->image);
}

int table_ngc_read(const struct table *table, struct arena *arena, struct table_images *out,
		   struct error *err)
{
	static const char *const sections[][2] = {
		{ "pytorch", "triton" },
		{ "cuda_dl_base", "jax-toolbox" },
		{ "triton_vllm", "triton" },
		{ "triton_trtllm", "triton" },
	};

	for (size_t s = 0; s < ARRAY_LEN(sections); s++) {
		json_t *list;

		if (table_list(table, sections[s][0], &list, err) < 0)
			return -1;
		for (size_t i = 0; i < json_array_size(list); i++) {
			struct ngc_image image = { 0 };
			struct table_row row;

			if (table_row_at(table, sections[s][0], list, i, "release", arena, &row,
					 err) < 0 ||
			    read_image(&row, sections[s][1], arena, &image, err) < 0)
				return -1;
			vec_push(&out->ngc, image);
		}
	}
	vec_sort(&out->ngc, compare_images);
	return 0;
}

int table_systems_read(const struct table *table, struct arena *arena, struct table_images *out,
		       struct error *err)
{
	json_t *list;

	if (table_list(table, "rows", &list, err) < 0)
		return -1;
	out->systems = arena_array(arena, json_array_size(list) + 1, sizeof(*out->systems));
	for (size_t i = 0; i < json_array_size(list); i++) {
		struct base_system *s = &out->systems[out->system_count++];
		struct table_row row;

		if (table_row_at(table, "rows", list, i, "codename", arena, &row, err) < 0 ||
		    row_text(&row, "name", &s->name, err) < 0 ||
		    row_version(&row, "release", &s->release, err) < 0 ||
		    row_text(&row, "codename", &s->codename, err) < 0 ||
		    row_version_opt(&row, "glibc", &s->glibc, err) < 0)
			return -1;
		s->origin = row_origin(&row, NULL, arena);
	}
	return 0;
}

/* Past "docker://", the registry and folders: "pytorch:24.10-py3". */
static const char *last_part(const char *reference)
{
	const char *slash = strrchr(reference, '/');

	return slash ? slash + 1 : reference;
}

const struct ngc_image *ngc_find(const struct table_images *t, const char *reference)
{
	const char *part = last_part(reference);
	size_t name = strcspn(part, ":@");
	const struct ngc_image *found = NULL;

	for (size_t i = 0; i < t->ngc.len; i++) {
		const struct ngc_image *image = &t->ngc.items[i];
		const char *tag = part + name + 1;
		size_t release = strlen(image->release);

		if (part[name] != ':' || strlen(image->name) != name ||
		    strncmp(image->name, part, name) != 0 ||
		    strncmp(tag, image->release, release) != 0 ||
		    (tag[release] && tag[release] != '-' && tag[release] != '@'))
			continue;
		if (str_starts(last_part(image->image), part))
			return image;
		if (!found)
			found = image;
	}
	return found;
}

/* "debian:12-slim" by name and tag, "…-ubuntu22.04" by the tail of the tag. */
static bool is_system(const struct base_system *s, const char *part)
{
	cleanup_free char *tail = xasprintf("%s%s", s->name, s->release);
	size_t name = strlen(s->name), release = strlen(s->release), code = strlen(s->codename);
	const char *tag = part + name + 1;

	if (strncmp(part, s->name, name) == 0 && part[name] == ':') {
		if (strncmp(tag, s->release, release) == 0 && !strchr("0123456789", tag[release]))
			return true;
		if (strncmp(tag, s->release, release) == 0 && !tag[release])
			return true;
		if (strncmp(tag, s->codename, code) == 0 && (!tag[code] || strchr("-@", tag[code])))
			return true;
	}
	return strchr(part, ':') && (strstr(strchr(part, ':'), tail) ||
				     (code > 3 && strstr(strchr(part, ':'), s->codename)));
}

const struct base_system *base_system_of(const struct table_images *t, const char *reference)
{
	const char *part = last_part(reference);

	for (size_t i = 0; i < t->system_count; i++) {
		if (is_system(&t->systems[i], part))
			return &t->systems[i];
	}
	return NULL;
}

const struct base_system *base_system_of_suite(const struct table_images *t, const char *suite)
{
	for (size_t i = 0; i < t->system_count; i++) {
		size_t n = strlen(t->systems[i].codename);

		if (strncmp(suite, t->systems[i].codename, n) == 0 &&
		    (!suite[n] || suite[n] == '-'))
			return &t->systems[i];
	}
	return NULL;
}
