/*
 * Replays files through a fuzz target without a fuzzing engine: each argument is a file or a
 * folder of files. The same targets link with libFuzzer or AFL++ for a search.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct stat st;
	uint8_t *data;
	size_t n;

	if (!f || fstat(fileno(f), &st) < 0) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return 1;
	}
	data = malloc(st.st_size ? (size_t)st.st_size
				 : 1); /* exact size: ASan sees one byte more */
	n = data ? fread(data, 1, (size_t)st.st_size, f) : 0;
	fclose(f);
	fprintf(stderr, "%s\n", path); /* the last name printed is the one that crashed */
	LLVMFuzzerTestOneInput(data, n);
	free(data);
	return 0;
}

static int replay(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *d;
	int rc = 0;

	if (!dir)
		return replay_file(path);
	while ((d = readdir(dir))) {
		char full[4096];

		if (d->d_name[0] == '.')
			continue;
		snprintf(full, sizeof(full), "%s/%s", path, d->d_name);
		rc |= replay(full);
	}
	closedir(dir);
	return rc;
}

int main(int argc, char **argv)
{
	int rc = 0;

	for (int i = 1; i < argc; i++)
		rc |= replay(argv[i]);
	return rc;
}
