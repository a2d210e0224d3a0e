#include "builder/fragment.h"

#include "base/vec.h"

static void key_entry(struct digest_state *state, const struct layer_entry *e)
{
	const struct tar_entry *t = e->tar;
	const struct tar_extras *x = tar_extras(t);

	layer_key_u64(state, t->type);
	layer_key_text(state, t->path);
	layer_key_text(state, t->link);
	layer_key_u64(state, t->size);
	layer_key_u64(state, t->mode);
	layer_key_u64(state, t->uid);
	layer_key_u64(state, t->gid);
	layer_key_u64(state, (uint64_t)t->mtime);
	layer_key_u64(state, x->xattr_count);
	for (size_t i = 0; i < x->xattr_count; i++) {
		layer_key_text(state, x->xattrs[i].name);
		layer_key_u64(state, x->xattrs[i].len);
		digest_update(state, x->xattrs[i].value, x->xattrs[i].len);
	}
	if (t->type == TAR_FILE)
		digest_update(state, e->identity, 32);
}

char *fragment_coder(const struct layer_options *options)
{
	cleanup_free char *coder = compression_identity(options->compression, options->level);
	cleanup_free char *fast = compression_parameters(options->compression, LEVEL_FAST);
	cleanup_strbuf struct strbuf text = { 0 };

	strbuf_adds(&text, coder);
	if (options->compression != COMPRESSION_NONE && options->level == LEVEL_DEFAULT)
		strbuf_addf(&text, " big %d %s", (int)FRAGMENT_BIG, fast);
	if (options->compression == COMPRESSION_GZIP)
		strbuf_addf(&text, " splice %d", (int)SPLICE_MIN);
	return strbuf_steal(&text);
}

static uint64_t entry_bytes(const struct layer_entry *e)
{
	return 512 + (e->tar->size + 511) / 512 * 512;
}

static bool is_big(const struct layer_entry *e)
{
	return e->tar->type == TAR_FILE && e->tar->size >= FRAGMENT_BIG;
}

static bool is_spliced(const struct layer_entry *e, const struct layer_options *options)
{
	return options->compression == COMPRESSION_GZIP && e->tar->type == TAR_FILE &&
	       e->tar->size >= SPLICE_MIN && e->content->kind == CONTENT_ZIP &&
	       e->content->zip->deflated && e->content->archive;
}

static bool stands_alone(const struct layer_entry *e, const struct layer_options *options)
{
	return is_big(e) || is_spliced(e, options);
}

/* FNV-1a of the path: one in four says yes. */
static bool path_cuts(const char *path)
{
	uint32_t h = 2166136261u;

	for (; *path; path++)
		h = (h ^ (uint8_t)*path) * 16777619u;
	return ((h ^ h >> 15) & 3) == 0;
}

/* Whether a fragment of `bytes` so far, of which `last` is the last entry, ends before `e`. */
static bool cuts(const struct layer_entry *last, uint64_t bytes, const struct layer_entry *e,
		 const struct layer_options *options)
{
	if (stands_alone(last, options) || stands_alone(e, options))
		return true;
	if (last->tar->type == TAR_DIR && e->tar->type != TAR_DIR)
		return true;
	return (e->starts && bytes >= FRAGMENT_SMALL) ||
	       (bytes >= FRAGMENT_MIN && path_cuts(e->tar->path)) ||
	       bytes + entry_bytes(e) > FRAGMENT_MAX;
}

static void seal(struct fragment *f, const struct layer_entries *entries, const char *coder,
		 const struct layer_options *options)
{
	const struct layer_entry *first = &entries->items[f->from];
	cleanup_digest struct digest_state state = { 0 };

	f->spliced = is_spliced(first, options);
	f->level = options->level;
	if (f->level == LEVEL_DEFAULT && is_big(first))
		f->level = LEVEL_FAST;
	digest_init(&state, DIGEST_SHA256);
	layer_key_text(&state, "gpuimg fragment");
	layer_key_u64(&state, ASSEMBLY_VERSION);
	layer_key_text(&state, coder);
	layer_key_u64(&state, f->spliced);
	if (f->spliced) {
		const struct digest *archive = first->content->archive;

		digest_update(&state, archive->bytes, digest_size(archive->algorithm));
		layer_key_u64(&state, first->content->zip->data_offset);
	}
	for (size_t i = f->from; i < f->to; i++)
		key_entry(&state, &entries->items[i]);
	f->key = digest_finish(&state);
}

void fragments_cut(const struct layer_entries *entries, const struct layer_options *options,
		   struct fragments *out)
{
	cleanup_free char *coder = fragment_coder(options);
	struct fragment *f = NULL;

	for (size_t i = 0; i < entries->len; i++) {
		const struct layer_entry *e = &entries->items[i];

		if (f && cuts(e - 1, f->bytes, e, options)) {
			seal(f, entries, coder, options);
			f = NULL;
		}
		if (!f) {
			f = vec_add(out);
			f->from = i;
		}
		f->to = i + 1;
		f->bytes += entry_bytes(e);
	}
	if (f)
		seal(f, entries, coder, options);
}

/* "sha256:… OFFSET LENGTH RAW" */
static bool parse(struct slice text, struct fragment_place *out)
{
	struct error ignored = { 0 };
	uint64_t *const numbers[] = { &out->offset, &out->len, &out->raw };
	struct slice word;

	if (!slice_cut(&text, ' ', &word) || digest_parse(word, &out->layer, &ignored) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		if (!slice_cut(&text, ' ', &word) || !slice_u64(word, numbers[i]))
			return false;
	}
	return true;
}

bool fragment_recall(struct store *store, const struct digest *key, struct fragment_place *out)
{
	cleanup_strbuf struct strbuf text = { 0 };
	struct error ignored = { 0 }; /* then it is compressed again */

	return store_get_record(store, "fragments", key, &text, &ignored) == 0 &&
	       parse(strbuf_slice(&text), out);
}

int fragment_remember(struct store *store, const struct digest *key,
		      const struct fragment_place *place, struct error *err)
{
	char digest[DIGEST_TEXT_MAX];
	cleanup_free char *text =
		xasprintf("%s %" PRIu64 " %" PRIu64 " %" PRIu64, digest_text(&place->layer, digest),
			  place->offset, place->len, place->raw);

	return store_put_record(store, "fragments", key, slice_str(text), err);
}
