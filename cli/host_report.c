#include "cli/host_report.h"

#include "builder/left_to_host.h"

static const struct lock_platform *section_of(const struct lockfile *lock, const char *platform)
{
	static const struct lock_platform none;

	for (size_t i = 0; i < lock->platforms.len; i++) {
		if (str_equal(lock->platforms.items[i].platform, platform))
			return &lock->platforms.items[i];
	}
	return &none;
}

void host_report_text(const struct lockfile *lock, const char *platform, struct strbuf *text)
{
	const struct lock_platform *section = section_of(lock, platform);
	cleanup_arena struct arena arena = { 0 };

	for (size_t i = 0; i < section->inputs.len; i++) {
		const struct lock_input *in = &section->inputs.items[i];
		const char *note = left_to_host(in, &arena);

		if (note)
			strbuf_addf(text, "  left to the host: %s %s %s\n", in->name, in->version,
				    note);
	}
}

json_t *host_report_json(const struct lockfile *lock, const char *platform)
{
	const struct lock_platform *section = section_of(lock, platform);
	cleanup_arena struct arena arena = { 0 };
	json_t *list = json_array();

	for (size_t i = 0; i < section->inputs.len; i++) {
		const struct lock_input *in = &section->inputs.items[i];
		const char *note = left_to_host(in, &arena);
		json_t *o;

		if (!note)
			continue;
		o = json_object();
		json_put(o, "name", json_text(in->name));
		json_put(o, "version", json_text(in->version));
		json_put(o, "needed_by", json_text(in->host_for));
		json_put(o, "note", json_text(note));
		json_push(list, o);
	}
	return list;
}
