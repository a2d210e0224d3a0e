/* An upload's journal and a host's record: what is read and written again reads the same. */
#include <stdlib.h>

#include "registry/journal.h"
#include "registry/persona.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOW = 1000000 };

static void check_journal(struct slice text)
{
	struct digest digest = digest_of(slice_str("blob"));
	struct journal_key key = {
		.registry = "r.example.org", .repository = "a/b", .digest = &digest, .size = 100
	};
	cleanup_journal_entry struct journal_entry entry = { 0 };
	cleanup_journal_entry struct journal_entry again = { 0 };
	cleanup_strbuf struct strbuf printed = { 0 };

	if (!journal_parse(text, &key, NOW, &entry))
		return;
	journal_print(&key, entry.location, entry.offset, NOW, &printed);
	if (!journal_parse(strbuf_slice(&printed), &key, NOW, &again) ||
	    again.offset != entry.offset || !str_equal(again.location, entry.location))
		abort();
}

static void check_facts(struct slice text)
{
	cleanup_strbuf struct strbuf printed = { 0 };
	struct host_facts facts, again;

	if (!host_facts_parse(text, NOW, &facts))
		return;
	host_facts_print(&facts, NOW, &printed);
	if (!host_facts_parse(strbuf_slice(&printed), NOW, &again) ||
	    again.body_max != facts.body_max || again.cut_bytes != facts.cut_bytes ||
	    again.resume != facts.resume || again.no_single != facts.no_single ||
	    again.no_chunk != facts.no_chunk || again.no_mount != facts.no_mount)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_journal(slice_of(data, size));
	check_facts(slice_of(data, size));
	return 0;
}
