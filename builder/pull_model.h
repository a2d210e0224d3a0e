/*
 * How long a node takes to pull an image: a model, so that two plans can be compared before either
 * is built. Layers are downloaded in order over the engine's slots, which share the bandwidth
 * evenly; each is unpacked on one core once it is there, as many at once as the engine does.
 *
 * Engines and their slots: docker 3 downloads, unpacks in order (its documentation); containerd 3
 * and 1, from 2.2 on 10 and 10 where its configuration says so (containerd#12332); CRI-O, podman
 * and skopeo 6 copies at once, applied in order (their source). Bytes unpacked a second by one
 * core, of raw data: gzip 250 MB/s for engines with a decoder in Go, 500 where igzip is used;
 * zstd 1300; plain data 2500 (measured on CUDA libraries and a Debian root).
 */
#ifndef BUILDER_PULL_MODEL_H
#define BUILDER_PULL_MODEL_H

#include "base/base.h"
#include "formats/compress.h"

struct pull_engine {
	const char *name;
	unsigned downloads, unpacks; /* at once */
	unsigned gzip_rate;          /* MB of raw data a second */
};

/* Ends with a NULL name. */
extern const struct pull_engine pull_engines[];

struct pull_layer {
	uint64_t size, raw; /* bytes: over the network, unpacked */
};

/* Seconds until the last layer is unpacked. `mbit` is the bandwidth, in millions of bits, > 0. */
double pull_model_seconds(const struct pull_engine *engine, const struct pull_layer *layers,
			  size_t count, enum compression compression, uint64_t mbit);

#endif
