#include "builder/pull_model.h"

#include "base/alloc.h"

const struct pull_engine pull_engines[] = {
	{ "docker", 3, 1, 500 },
	{ "containerd", 3, 1, 500 },
	{ "containerd 2.2, parallel", 10, 10, 500 },
	{ "CRI-O", 6, 1, 250 },
	{ NULL, 0, 0, 0 },
};

/* When each layer is there. The active downloads share the bandwidth until the next one ends. */
static void download(const struct pull_engine *engine, const struct pull_layer *layers,
		     size_t count, double rate, double *out_at)
{
	cleanup_free double *left = xcalloc(count + 1, sizeof(*left));
	size_t begun = 0, active = 0, ended = 0;
	double now = 0;

	while (ended < count) {
		double least = -1, step;

		while (begun < count && active < engine->downloads) {
			left[begun] = (double)layers[begun].size + 1;
			begun++;
			active++;
		}
		for (size_t i = 0; i < begun; i++) {
			if (left[i] > 0 && (least < 0 || left[i] < least))
				least = left[i];
		}
		step = least * (double)active / rate;
		now += step;
		for (size_t i = 0; i < begun; i++) {
			if (left[i] <= 0)
				continue;
			left[i] -= least;
			if (left[i] > 0.5)
				continue;
			left[i] = 0;
			out_at[i] = now;
			active--;
			ended++;
		}
	}
}

static double unpack_rate(const struct pull_engine *engine, enum compression compression)
{
	if (compression == COMPRESSION_GZIP)
		return engine->gzip_rate * 1e6;
	return compression == COMPRESSION_ZSTD ? 1300e6 : 2500e6;
}

/* In order over the unpackers: each layer takes the one that is free first. */
static double unpack(const struct pull_engine *engine, const struct pull_layer *layers,
		     size_t count, double rate, const double *at)
{
	cleanup_free double *freed = xcalloc(engine->unpacks, sizeof(*freed));
	double last = 0;

	for (size_t i = 0; i < count; i++) {
		size_t first = 0;

		for (size_t k = 1; k < engine->unpacks; k++) {
			if (freed[k] < freed[first])
				first = k;
		}
		freed[first] = MAX(freed[first], at[i]) + (double)layers[i].raw / rate;
		last = MAX(last, freed[first]);
	}
	return last;
}

double pull_model_seconds(const struct pull_engine *engine, const struct pull_layer *layers,
			  size_t count, enum compression compression, uint64_t mbit)
{
	cleanup_free double *at = xcalloc(count + 1, sizeof(*at));

	download(engine, layers, count, (double)mbit * 1e6 / 8, at);
	return unpack(engine, layers, count, unpack_rate(engine, compression), at);
}
