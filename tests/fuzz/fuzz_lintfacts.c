/*
 * One hostile file under each name that the linter looks into, and the same bytes in the
 * configuration; facts are derived, all rules run and every report is written. Beyond surviving:
 * judging the same twice gives the same number of findings, and no report has a control character.
 */
#include "lint/facts_parts.h"
#include "lint/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char *const paths[] = {
	"etc/ld.so.cache",
	"etc/ld.so.conf",
	"etc/passwd",
	"usr/bin/app",
	"usr/lib/libcuda.so.1",
	"var/lib/dpkg/status",
	"a/x.dist-info/METADATA",
	"a/client_configuration_token.tok",
	"a/x.dist-info/RECORD",
	"root/.netrc",
	"root/.docker/config.json",
	"root/.kube/config",
	"root/.npmrc",
	"root/.pypirc",
	"root/.git-credentials",
	"etc/pip.conf",
};

static void check_reports(const struct lint_result *result)
{
	for (const struct report_format *f = report_formats; f->name; f++) {
		cleanup_strbuf struct strbuf text = { 0 };

		f->write(&result, 1, &text);
		for (size_t i = 0; i < text.len; i++) {
			uint8_t c = (uint8_t)text.data[i];

			if ((c < ' ' && c != '\n') || c == 0x7f)
				abort();
		}
	}
}

static size_t judge(struct slice content)
{
	cleanup_free char *said = xstrndup((const char *)content.data, content.len);
	cleanup_free char *variable = xasprintf("A_TOKEN=%s", said);
	const char *keys[] = { "gpuimg.lint.ignore" }, *texts[] = { said }, *env[] = { variable };
	struct config_history history[] = { { .created_by = said } };
	struct image_config config = { .platform = { .os = "linux", .architecture = "amd64" },
				       .user = said,
				       .env = { env, 1 },
				       .entrypoint = { texts, 1 },
				       .label_keys = { keys, 1 },
				       .label_values = { texts, 1 },
				       .history = history,
				       .history_count = 1 };
	struct lint_options options = { 0 };
	struct facts facts = { .config = &config, .target = &options.target };
	cleanup_lint_result struct lint_result result = { 0 };
	cleanup_strbuf struct strbuf buffer = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct error err = { 0 };
	size_t count;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		cleanup_stream struct stream *stream = stream_memory(content);
		struct tar_entry entry = { .type = TAR_FILE,
					   .path = paths[i],
					   .link = "",
					   .size = content.len,
					   .mode = 0755 };
		struct file_facts *made = NULL;

		if (content_facts_read(&entry, stream, &buffer, &arena, &made, &err) == 0)
			facts_add(&facts, 0, &entry, made);
	}
	if (facts_derive(&facts, &err) < 0 || lint_judge(&facts, &options, &result, &err) < 0)
		abort();
	check_reports(&result);
	count = result.findings.len;
	facts_release(&facts);
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t first;

	if (len > MIB)
		return 0;
	first = judge(slice_of(data, len));
	if (judge(slice_of(data, len)) != first)
		abort();
	return 0;
}
