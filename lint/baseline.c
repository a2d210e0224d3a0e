#include "lint/baseline.h"

#include "formats/json.h"

void baseline_release(struct baseline *baseline)
{
	map_release(&baseline->known);
	arena_release(&baseline->arena);
}

bool baseline_knows(const struct baseline *baseline, const char *fingerprint)
{
	return map_has(&baseline->known, fingerprint);
}

static bool is_fingerprint(const char *text)
{
	return strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32;
}

static int read_row(const json_t *row, const char *where, struct baseline *out, struct error *err)
{
	const char *fingerprint, *rule;

	if (json_get_str(row, where, "fingerprint", &fingerprint, err) < 0 ||
	    json_get_str(row, where, "rule", &rule, err) < 0)
		return -1;
	if (!is_fingerprint(fingerprint))
		return error_set(err, ERROR_FORMAT,
				 "%s.fingerprint: '%.40s' is not 32 hexadecimal digits", where,
				 fingerprint);
	map_put(&out->known, fingerprint, arena_strdup(&out->arena, rule));
	return 0;
}

static int read_document(const json_t *document, struct baseline *out, struct error *err)
{
	const char *schema;
	json_t *rows;

	if (json_get_str(document, "", "schema", &schema, err) < 0 ||
	    json_get_array(document, "", "findings", &rows, err) < 0)
		return -1;
	if (!str_equal(schema, "gpuimg-baseline/1") && !str_equal(schema, "gpuimg-lint/1"))
		return error_set(err, ERROR_FORMAT,
				 "schema: '%.40s' is neither gpuimg-baseline/1 nor gpuimg-lint/1",
				 schema);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		cleanup_free char *where = xasprintf("findings[%zu]", i);

		if (read_row(json_array_get(rows, i), where, out, err) < 0)
			return -1;
	}
	return 0;
}

int baseline_parse(struct slice text, const char *name, struct baseline *out, struct error *err)
{
	cleanup_json json_t *root = NULL;

	if (json_parse_named(text, name, &root, err) < 0)
		return -1;
	if (!json_is_array(root)) {
		if (read_document(root, out, err) < 0)
			return error_wrap(err, "%s", name);
		return 0;
	}
	for (size_t i = 0; i < json_array_size(root); i++) {
		if (read_document(json_array_get(root, i), out, err) < 0)
			return error_wrap(err, "%s: [%zu]", name, i);
	}
	return 0;
}

void baseline_write(const struct findings *const *found, size_t count, struct strbuf *out)
{
	cleanup_json json_t *document = json_object();
	cleanup_map struct map rows = { 0 };
	const struct map_entry *sorted;
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < found[i]->len; k++) {
			const struct finding *f = found[i]->items[k];

			if (!f->accepted)
				map_put(&rows, f->fingerprint, found[i]->items[k]);
		}
	}
	sorted = map_sorted(&rows);
	for (size_t i = 0; i < rows.len; i++) {
		const struct finding *f = sorted[i].value;
		json_t *row = json_object();

		json_put(row, "fingerprint", json_text(f->fingerprint));
		json_put(row, "rule", json_text(f->rule->id));
		json_put(row, "path", json_text(f->path));
		json_push(list, row);
	}
	json_put(document, "schema", json_text("gpuimg-baseline/1"));
	json_put(document, "findings", list);
	json_pretty(document, out);
}
