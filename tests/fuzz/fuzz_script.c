/* Maintainer scripts: any text ends, and its commands have words that lie in it. */
#include "builder/finish/script_words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script_commands commands = { 0 };
	struct arena arena = { 0 };
	const struct script_place place = { "p", "amd64", "configure", NULL, NULL };

	script_words_in(slice_of(data, size), &place, &arena, &commands);
	for (size_t i = 0; i < commands.len; i++) {
		assert(commands.items[i].count > 0);
		assert(commands.items[i].line >= 1 && commands.items[i].line <= size + 1);
		for (size_t k = 0; k < commands.items[i].count; k++)
			assert(commands.items[i].words[k]);
	}
	vec_release(&commands);
	arena_release(&arena);
	return 0;
}
