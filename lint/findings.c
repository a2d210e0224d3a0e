#include "lint/findings.h"

#include "base/map.h"
#include "base/strbuf.h"

const char *severity_name(enum severity severity)
{
	static const char *const names[] = { "info", "warning", "error" };

	return names[severity];
}

const char *confidence_name(enum confidence confidence)
{
	static const char *const names[] = { "heuristic", "likely", "certain" };

	return names[confidence];
}

void findings_release(struct findings *found)
{
	vec_release(found);
	arena_release(&found->arena);
}

struct finding *finding_add(struct findings *found, const struct rule *rule, const char *path,
			    int layer, const char *cause, const char *fmt, ...)
{
	struct finding *f = arena_alloc(&found->arena, sizeof(*f));
	cleanup_free char *message = NULL;
	va_list ap;

	va_start(ap, fmt);
	message = xvasprintf(fmt, ap);
	va_end(ap);
	*f = (struct finding){
		.rule = rule,
		.severity = rule->severity,
		.confidence = rule->confidence,
		.path = arena_strdup(&found->arena, path),
		.layer = layer,
		.message = arena_strdup(&found->arena, message),
		.cause = arena_strdup(&found->arena, cause),
		.fix = rule->fix,
	};
	vec_push(found, f);
	return f;
}

void finding_evidence(struct findings *found, struct finding *f, const char *key, const char *value)
{
	struct evidence *e = arena_alloc(&found->arena, sizeof(*e)), **at = &f->evidence;

	while (*at && strcmp((*at)->key, key) <= 0)
		at = &(*at)->next;
	*e = (struct evidence){ .key = key,
				.value = arena_strdup(&found->arena, value),
				.next = *at };
	*at = e;
}

static int by_identity(const void *left, const void *right)
{
	const struct finding *a = *(const struct finding *const *)left;
	const struct finding *b = *(const struct finding *const *)right;
	int c = strcmp(a->rule->id, b->rule->id);

	if (!c)
		c = strcmp(a->path, b->path);
	if (!c)
		c = strcmp(a->cause, b->cause);
	if (!c)
		c = strcmp(a->message, b->message);
	return c;
}

static int by_report(const void *left, const void *right)
{
	const struct finding *a = *(const struct finding *const *)left;
	const struct finding *b = *(const struct finding *const *)right;

	if (a->severity != b->severity)
		return a->severity > b->severity ? -1 : 1;
	if (strcmp(a->rule->id, b->rule->id))
		return strcmp(a->rule->id, b->rule->id);
	if (strcmp(a->path, b->path))
		return strcmp(a->path, b->path);
	if (strcmp(a->message, b->message))
		return strcmp(a->message, b->message);
	return strcmp(a->cause, b->cause);
}

static bool same_identity(const struct finding *a, const struct finding *b)
{
	return a->rule == b->rule && str_equal(a->path, b->path) && str_equal(a->cause, b->cause);
}

static void merge(struct findings *found, struct finding *into, const struct finding *from)
{
	into->severity = MAX(into->severity, from->severity);
	into->confidence = MAX(into->confidence, from->confidence);
	if (from->layer >= 0 && (into->layer < 0 || from->layer < into->layer))
		into->layer = from->layer;
	if (!strstr(into->message, from->message))
		into->message = arena_printf(&found->arena, "%s %s", into->message, from->message);
	for (const struct evidence *e = from->evidence; e; e = e->next)
		finding_evidence(found, into, e->key, e->value);
}

/* Digits become "#", so that a new version of the same file is the same finding. */
static void without_versions(struct strbuf *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		bool digit = *p >= '0' && *p <= '9';

		if (digit && out->len && out->data[out->len - 1] == '#')
			continue;
		strbuf_addc(out, digit ? '#' : *p);
	}
}

static void set_fingerprint(struct finding *f, size_t repeat)
{
	cleanup_strbuf struct strbuf text = { 0 };
	char hex[DIGEST_HEX_MAX];
	struct digest digest;

	strbuf_addf(&text, "%s\n", f->rule->id);
	without_versions(&text, f->path);
	strbuf_addc(&text, '\n');
	without_versions(&text, f->cause);
	if (repeat)
		strbuf_addf(&text, "\n%zu", repeat);
	digest = digest_of(strbuf_slice(&text));
	digest_hex(&digest, hex);
	memcpy(f->fingerprint, hex, 32);
	f->fingerprint[32] = '\0';
}

/* Two files that differ in their version only would share one: the later ones are numbered. */
static void fingerprint_all(struct findings *found)
{
	cleanup_map struct map seen = { 0 };

	for (size_t i = 0; i < found->len; i++) {
		size_t repeat = 0;

		set_fingerprint(found->items[i], 0);
		if (map_has(&seen, found->items[i]->fingerprint)) {
			size_t *times = map_get(&seen, found->items[i]->fingerprint);

			repeat = ++*times;
			set_fingerprint(found->items[i], repeat);
		} else {
			map_put(&seen, found->items[i]->fingerprint,
				arena_alloc(&found->arena, sizeof(size_t)));
		}
	}
}

void findings_finish(struct findings *found)
{
	size_t kept = 0;

	vec_sort(found, by_identity);
	for (size_t i = 0; i < found->len; i++) {
		if (kept && same_identity(found->items[kept - 1], found->items[i]))
			merge(found, found->items[kept - 1], found->items[i]);
		else
			found->items[kept++] = found->items[i];
	}
	found->len = kept;
	fingerprint_all(found);
	findings_sort(found);
}

void findings_sort(struct findings *found)
{
	vec_sort(found, by_report);
}
