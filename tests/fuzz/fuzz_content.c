/*
 * The content of one file under a name that the linter looks into; the first byte says which. What
 * is found becomes a record and is read back: written again it gives the same bytes.
 */
#include "base/alloc.h"
#include "lint/fact_record.h"
#include "lint/facts_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static const char *const paths[] = {
	"etc/ld.so.cache",
	"etc/ld.so.conf",
	"etc/passwd",
	"etc/os-release",
	"usr/bin/app",
	"usr/lib/libcuda.so.1",
	"usr/lib/libnccl.so.2",
	"usr/bin/ptxas",
	"usr/lib/libx.a",
	"a/x.dist-info/METADATA",
	"a/client_configuration_token.tok",
	"a/__pycache__/x.pyc",
	"etc/OpenCL/vendors/nvidia.icd",
	"root/.netrc",
	"root/.docker/config.json",
	"root/.kube/config",
	"root/.npmrc",
	"root/.pypirc",
	"root/.git-credentials",
	"root/.aws/credentials",
	"etc/pip.conf",
};

/* The record of the file; empty when its facts must not be kept. */
static void record(const struct tar_entry *entry, const struct file_facts *facts,
		   struct strbuf *out)
{
	if (fact_record_entry(out, entry, facts))
		fact_record_end(out);
	else
		strbuf_truncate(out, 0);
}

static void check_record(const struct tar_entry *entry, const struct file_facts *facts)
{
	cleanup_strbuf struct strbuf once = { 0 }, twice = { 0 };
	cleanup_stream struct stream *in = NULL;
	cleanup_arena struct arena arena = { 0 };
	cleanup_free struct fact_record_reader *r = xcalloc(1, sizeof(*r));
	struct tar_entry again;
	struct file_facts *read;
	struct odd_entry odd;

	record(entry, facts, &once);
	if (!once.len)
		return;
	in = stream_memory(strbuf_slice(&once));
	r->in = in;
	r->names = r->content = &arena;
	if (fact_record_next(r, &again, &read, &odd) != FACT_RECORD_ENTRY)
		abort();
	record(&again, read, &twice);
	if (!slice_equal(strbuf_slice(&once), strbuf_slice(&twice)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct slice content = len ? slice_of(data + 1, len - 1) : slice_of(data, 0);
	struct tar_entry entry = { .type = TAR_FILE,
				   .path = paths[len ? data[0] % ARRAY_LEN(paths) : 0],
				   .link = "",
				   .size = content.len,
				   .mode = 0755 };
	cleanup_stream struct stream *stream = stream_memory(content);
	cleanup_strbuf struct strbuf buffer = { 0 };
	cleanup_arena struct arena arena = { 0 };
	struct file_facts *facts = NULL;
	struct error err = { 0 };

	if (content_facts_read(&entry, stream, &buffer, &arena, &facts, &err) == 0)
		check_record(&entry, facts);
	return 0;
}
