#include "base/nearest.h"

#include <ctype.h>

enum { LENGTH_MAX = 64 };

static int lower(char c)
{
	return tolower((unsigned char)c);
}

/* Damerau-Levenshtein distance (adjacent swaps count 1), without case; long texts give SIZE_MAX. */
static size_t distance_between(const char *a, const char *b)
{
	size_t d[3][LENGTH_MAX + 1], n = strlen(a), m = strlen(b);

	if (n > LENGTH_MAX || m > LENGTH_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= m; j++)
		d[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *row = d[i % 3], *prev = d[(i + 2) % 3], *prev2 = d[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			bool same = lower(a[i - 1]) == lower(b[j - 1]);

			row[j] = MIN(MIN(prev[j] + 1, row[j - 1] + 1), prev[j - 1] + !same);
			if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
			    lower(a[i - 2]) == lower(b[j - 1]))
				row[j] = MIN(row[j], prev2[j - 2] + 1);
		}
	}
	return d[n % 3][m];
}

struct nearest nearest_start(const char *wanted)
{
	return (struct nearest){ .wanted = wanted, .distance = SIZE_MAX };
}

void nearest_try(struct nearest *n, const char *candidate)
{
	size_t d = distance_between(n->wanted, candidate);
	size_t longer = MAX(strlen(n->wanted), strlen(candidate));

	/* A third of the name may differ, and at least one letter must agree. */
	if (d >= n->distance || d > MAX((size_t)1, longer / 3) || d >= longer)
		return;
	n->distance = d;
	n->best = candidate;
}
