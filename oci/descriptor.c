#include "oci/descriptor.h"

#include "base/alloc.h"

static const char *copy_opt(struct arena *arena, const char *s)
{
	return s ? arena_strdup(arena, s) : NULL;
}

/* "arm64" and "v8" say no more than "arm64". */
static bool variant_is_default(const char *architecture, const char *variant)
{
	return (str_equal(architecture, "arm64") &&
		(str_equal(variant, "v8") || str_equal(variant, "8"))) ||
	       (str_equal(architecture, "amd64") && str_equal(variant, "v1"));
}

static int parse_platform(const json_t *object, const char *where, struct arena *arena,
			  struct platform *out, struct error *err)
{
	cleanup_free char *path = xasprintf("%s%splatform", where, *where ? "." : "");
	const char *os, *architecture, *variant;

	if (json_get_str_opt(object, path, "os", &os, err) < 0 ||
	    json_get_str_opt(object, path, "architecture", &architecture, err) < 0 ||
	    json_get_str_opt(object, path, "variant", &variant, err) < 0)
		return -1;
	out->os = arena_strdup(arena, os ? os : "unknown");
	out->architecture = arena_strdup(arena, architecture ? architecture : "unknown");
	out->variant = variant && *variant ? arena_strdup(arena, variant) : NULL;
	return 0;
}

static int check_annotations(json_t *annotations, const char *where, struct error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach(annotations, key, value)
	{
		if (!json_is_string(value))
			return error_set(err, ERROR_FORMAT, "%s%sannotations.%s: is not text",
					 where, *where ? "." : "", key);
	}
	return 0;
}

int descriptor_parse(const json_t *value, const char *where, struct arena *arena,
		     struct descriptor *out, struct error *err)
{
	const char *media_type, *digest, *artifact_type;
	json_t *platform, *annotations;
	struct descriptor d = { 0 };

	if (!json_is_object(value))
		return error_set(err, ERROR_FORMAT, "%s: is not an object", where);
	if (json_get_str(value, where, "mediaType", &media_type, err) < 0 ||
	    json_get_str(value, where, "digest", &digest, err) < 0 ||
	    json_get_u64(value, where, "size", &d.size, err) < 0 ||
	    json_get_str_opt(value, where, "artifactType", &artifact_type, err) < 0 ||
	    json_get_object_opt(value, where, "platform", &platform, err) < 0 ||
	    json_get_object_opt(value, where, "annotations", &annotations, err) < 0)
		return -1;
	if (digest_parse(slice_str(digest), &d.digest, err) < 0)
		return error_wrap(err, "%s.digest", where);
	if (platform && parse_platform(platform, where, arena, &d.platform, err) < 0)
		return -1;
	if (annotations && check_annotations(annotations, where, err) < 0)
		return -1;
	d.media_type = arena_strdup(arena, media_type);
	d.artifact_type = copy_opt(arena, artifact_type);
	d.annotations = annotations;
	*out = d;
	return 0;
}

const char *descriptor_annotation(const struct descriptor *d, const char *key)
{
	return json_string_value(json_object_get(d->annotations, key));
}

json_t *descriptor_json(const struct descriptor *d)
{
	json_t *object = json_object();
	char digest[DIGEST_TEXT_MAX];

	json_put(object, "mediaType", json_text(d->media_type));
	json_put(object, "digest", json_text(digest_text(&d->digest, digest)));
	json_put(object, "size", json_integer((json_int_t)d->size));
	if (d->platform.os) {
		json_t *platform = json_object();

		json_put(platform, "os", json_text(d->platform.os));
		json_put(platform, "architecture", json_text(d->platform.architecture));
		if (d->platform.variant)
			json_put(platform, "variant", json_text(d->platform.variant));
		json_put(object, "platform", platform);
	}
	if (d->artifact_type)
		json_put(object, "artifactType", json_text(d->artifact_type));
	if (d->annotations && json_object_size(d->annotations))
		json_put(object, "annotations", json_deep_copy(d->annotations));
	return object;
}

static bool part_valid(struct slice s)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = (char)s.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
		      c == '.'))
			return false;
	}
	return s.len > 0;
}

static const char *architecture_name(struct arena *arena, struct slice s)
{
	if (slice_is(s, "x86_64"))
		return "amd64";
	if (slice_is(s, "aarch64"))
		return "arm64";
	return arena_slice(arena, s);
}

int platform_parse(const char *text, struct arena *arena, struct platform *out, struct error *err)
{
	struct slice rest = slice_str(text), parts[3] = { { 0 } }, part;
	struct platform p = { 0 };
	size_t count = 0;
	bool valid = true;

	while (slice_cut(&rest, '/', &part)) {
		valid = valid && count < 3 && part_valid(part);
		if (count < 3)
			parts[count++] = part;
	}
	if (!valid || count < 2)
		return error_set(err, ERROR_USAGE,
				 "'%s' is not a platform: write OS/ARCHITECTURE[/VARIANT], as in "
				 "linux/amd64",
				 text);
	p.os = arena_slice(arena, parts[0]);
	p.architecture = architecture_name(arena, parts[1]);
	if (count == 3)
		p.variant = arena_slice(arena, parts[2]);
	if (p.variant && variant_is_default(p.architecture, p.variant))
		p.variant = NULL;
	*out = p;
	return 0;
}

const char *platform_text(const struct platform *p, struct arena *arena)
{
	return arena_printf(arena, "%s/%s%s%s", p->os ? p->os : "unknown",
			    p->architecture ? p->architecture : "unknown", p->variant ? "/" : "",
			    p->variant ? p->variant : "");
}

static bool same(const char *a, const char *b)
{
	return a && b ? str_equal(a, b) : a == b;
}

static const char *variant_of(const struct platform *p)
{
	if (!p->variant || !*p->variant ||
	    (p->architecture && variant_is_default(p->architecture, p->variant)))
		return NULL;
	return p->variant;
}

bool platform_equal(const struct platform *a, const struct platform *b)
{
	return same(a->os, b->os) && same(a->architecture, b->architecture) &&
	       same(variant_of(a), variant_of(b));
}

struct platform platform_host(void)
{
	struct platform p = { .os = "linux" };

#if defined(__x86_64__)
	p.architecture = "amd64";
#elif defined(__aarch64__)
	p.architecture = "arm64";
#elif defined(__powerpc64__)
	p.architecture = "ppc64le";
#elif defined(__s390x__)
	p.architecture = "s390x";
#elif defined(__riscv)
	p.architecture = "riscv64";
#else
	p.architecture = "unknown";
#endif
	return p;
}
