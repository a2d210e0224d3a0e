#include "formats/os_release.h"

const char *os_release_value(struct arena *arena, struct slice text, const char *key)
{
	struct slice line, name;

	while (slice_cut(&text, '\n', &line)) {
		line = slice_trim(line);
		if (!slice_cut(&line, '=', &name) || !slice_is(name, key) || !line.data)
			continue;
		if (line.len >= 2 && (line.data[0] == '"' || line.data[0] == '\'') &&
		    line.data[line.len - 1] == line.data[0])
			line = slice_of(line.data + 1, line.len - 2);
		return arena_slice(arena, line);
	}
	return "";
}
