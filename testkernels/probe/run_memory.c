/*
 * Memory of every kind: pinned, managed, of other devices; and work in streams and graphs.
 */
#include "gpu.h"

#include <time.h>

static long now_us(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Half of what is to be done: up, add, and down again. */
struct half {
	float *host; /* a, b, c: pinned */
	uint64_t a, b, c;
	void *stream;
};

static bool half_make(const struct gpu *g, struct half *h)
{
	size_t bytes = GPU_ELEMENTS * sizeof(float);
	void *pinned = NULL;

	GPU_TRY(g, alloc_pinned, &pinned, 3 * bytes, 0);
	h->host = pinned;
	gpu_fill(h->host, h->host + GPU_ELEMENTS);
	for (size_t i = 0; i < GPU_ELEMENTS; i++)
		h->host[2 * GPU_ELEMENTS + i] = -1;
	GPU_TRY(g, stream_create, &h->stream, STREAM_NON_BLOCKING);
	return gpu_buffer(g, NULL, bytes, &h->a) && gpu_buffer(g, NULL, bytes, &h->b) &&
	       gpu_buffer(g, NULL, bytes, &h->c);
}

static bool half_start(const struct gpu *g, void *function, const struct half *h)
{
	size_t bytes = GPU_ELEMENTS * sizeof(float);

	GPU_TRY(g, to_device_async, h->a, h->host, bytes, h->stream);
	GPU_TRY(g, to_device_async, h->b, h->host + GPU_ELEMENTS, bytes, h->stream);
	if (!gpu_vectoradd(g, function, h->a, h->b, h->c, h->stream))
		return false;
	GPU_TRY(g, to_host_async, h->host + 2 * GPU_ELEMENTS, h->c, bytes, h->stream);
	return true;
}

static bool half_right(const struct gpu *g, const struct half *h)
{
	for (size_t i = 0; i < GPU_ELEMENTS; i++) {
		float got = h->host[2 * GPU_ELEMENTS + i];
		float want = h->host[i] + h->host[GPU_ELEMENTS + i];

		if (got != want)
			return gpu_wrong(g->check, i, GPU_ELEMENTS, (double)got, (double)want);
	}
	return true;
}

static bool overlap_test(struct gpu *g)
{
	struct half halves[2] = { 0 };
	void *function, *begin = NULL, *end = NULL;
	long apart, together;
	float event_ms = -1;
	struct say s;

	if (!gpu_kernel(g, "vectoradd", &function) || !half_make(g, &halves[0]) ||
	    !half_make(g, &halves[1]))
		return false;
	GPU_TRY(g, event_create, &begin, 0);
	GPU_TRY(g, event_create, &end, 0);
	GPU_TRY(g, context_sync);
	apart = now_us();
	GPU_TRY(g, event_record, begin, halves[0].stream);
	if (!half_start(g, function, &halves[0]))
		return false;
	GPU_TRY(g, event_record, end, halves[0].stream);
	GPU_TRY(g, stream_sync, halves[0].stream);
	if (!half_start(g, function, &halves[1]))
		return false;
	GPU_TRY(g, stream_sync, halves[1].stream);
	apart = now_us() - apart;
	together = now_us();
	if (!half_start(g, function, &halves[0]) || !half_start(g, function, &halves[1]))
		return false;
	GPU_TRY(g, stream_sync, halves[0].stream);
	GPU_TRY(g, stream_sync, halves[1].stream);
	together = now_us() - together;
	GPU_TRY(g, event_sync, end);
	GPU_TRY(g, event_elapsed, &event_ms, begin, end);
	if (!half_right(g, &halves[0]) || !half_right(g, &halves[1]))
		return false;
	if (!(event_ms >= 0)) {
		result_fail(g->check, "wrong-numbers", "an event ended before it began");
		return false;
	}
	result_begin(&s, g->check, "pass");
	say_int(&s, "one_after_the_other_us", apart);
	say_int(&s, "in_two_streams_us", together);
	say_library(&s, g->check, g->d.handle);
	say_end(&s);
	return true;
}

/* Memory of the host can be pinned and registered; that copies overlap is told, not judged. */
void run_pinned_overlap(const struct check *check)
{
	struct gpu g;

	if (gpu_begin(check, &g))
		overlap_test(&g);
}

struct graph_api {
	void *handle;
	GPU_API_GRAPH(API_FIELD)
};

static bool graph_load(const struct gpu *g, struct graph_api *api)
{
	const char *missing = NULL;

	api->handle = g->d.handle;
	GPU_API_GRAPH(API_LOAD)
	return !missing || result_skip(g->check, "device-lacks-feature",
				       "the driver is from before 11.4 and has not these graphs");
}

#define GRAPH_TRY(call, name)                                  \
	do {                                                   \
		int graph_rc = (call);                         \
                                                               \
		if (graph_rc)                                  \
			return gpu_refused(g, name, graph_rc); \
	} while (0)

static bool graph_test(struct gpu *g)
{
	enum { TIMES = 100 };
	size_t bytes = GPU_ELEMENTS * sizeof(float);
	float *b = host_buffer(g->check, 3 * bytes), *got = b + GPU_ELEMENTS,
	      *want = got + GPU_ELEMENTS;
	void *function, *stream = NULL, *graph = NULL, *ready = NULL;
	struct graph_api api = { 0 };
	uint64_t db, dc;

	if (!graph_load(g, &api) || !gpu_kernel(g, "vectoradd", &function))
		return false;
	gpu_fill(want, b);
	for (size_t i = 0; i < GPU_ELEMENTS; i++)
		want[i] = TIMES * b[i];
	if (!gpu_buffer(g, b, bytes, &db) || !gpu_buffer(g, NULL, bytes, &dc))
		return false;
	GPU_TRY(g, context_sync);
	GPU_TRY(g, stream_create, &stream, STREAM_NON_BLOCKING);
	GRAPH_TRY(api.capture_begin(stream, CAPTURE_THREAD_LOCAL), "cuStreamBeginCapture");
	if (!gpu_vectoradd(g, function, db, dc, dc, stream))
		return false;
	GRAPH_TRY(api.capture_end(stream, &graph), "cuStreamEndCapture");
	GRAPH_TRY(api.instantiate(&ready, graph, 0), "cuGraphInstantiate");
	for (int i = 0; i < TIMES; i++)
		GRAPH_TRY(api.graph_launch(ready, stream), "cuGraphLaunch");
	GPU_TRY(g, stream_sync, stream);
	if (!gpu_read(g, dc, got, bytes) || !gpu_equal(g->check, got, want, GPU_ELEMENTS))
		return false;
	gpu_pass(g->check, g->d.handle, "replays", TIMES);
	return true;
}

/* What was captured once runs as often as it is asked for: no more and no less. */
void run_graph(const struct check *check)
{
	struct gpu g;

	if (gpu_begin(check, &g))
		graph_test(&g);
}

static bool managed_test(struct gpu *g)
{
	enum { BYTES = 4 << 20, PART = 1 << 20 };
	uint64_t block = 0;
	void *function;
	float *a;
	int can = 0;

	GPU_TRY(g, device_attribute, &can, DEVICE_MANAGED_MEMORY, 0);
	if (!can)
		return result_skip(g->check, "device-lacks-feature",
				   "the device has no managed memory");
	if (!gpu_kernel(g, "vectoradd", &function))
		return false;
	GPU_TRY(g, alloc_managed, &block, BYTES, MANAGED_GLOBAL);
	a = gpu_pointer(block);
	for (size_t i = 0; i < BYTES / sizeof(float); i++)
		a[i] = -1;
	gpu_fill(a, a + PART / sizeof(float));
	if (!gpu_vectoradd(g, function, block, block + PART, block + 2 * PART, NULL))
		return false;
	GPU_TRY(g, context_sync);
	for (size_t i = 0; i < GPU_ELEMENTS; i++) {
		float got = a[2 * PART / sizeof(float) + i];
		float want = a[i] + a[PART / sizeof(float) + i];

		if (got != want)
			return gpu_wrong(g->check, i, GPU_ELEMENTS, (double)got, (double)want);
	}
	gpu_pass(g->check, g->d.handle, "bytes", BYTES);
	return true;
}

/* /dev/nvidia-uvm was injected. Small: more than the device holds can hang it. */
void run_managed(const struct check *check)
{
	struct gpu g;

	if (gpu_begin(check, &g))
		managed_test(&g);
}

static bool bandwidth_say(const struct gpu *g, uint64_t bytes, double ms)
{
	int clock_khz = 0, bus_bits = 0;
	double per_s = ms > 0 ? 2.0 * (double)bytes / (ms / 1000) : 0, peak;
	struct say s;

	GPU_TRY(g, device_attribute, &clock_khz, DEVICE_MEMORY_CLOCK_KHZ, 0);
	GPU_TRY(g, device_attribute, &bus_bits, DEVICE_MEMORY_BUS_BITS, 0);
	peak = 2.0 * clock_khz * 1000.0 * bus_bits / 8;
	result_begin(&s, g->check, "pass");
	say_int(&s, "gigabytes_per_s", (long)(per_s / 1e9));
	if (peak > 0)
		say_int(&s, "percent_of_peak", (long)(100 * per_s / peak));
	if (peak > 0 && per_s < peak / 10)
		say_str(&s, "warning",
			"a copy on the device runs at less than a tenth of what its "
			"memory can do");
	say_library(&s, g->check, g->d.handle);
	say_end(&s);
	return true;
}

static bool bandwidth_test(struct gpu *g)
{
	enum { BYTES = 64 << 20, TIMES = 10, WORD = 0x600dda7a };
	uint64_t from, to, total = (uint64_t)BYTES * TIMES;
	unsigned last = 0;
	void *begin = NULL, *end = NULL;
	float ms = 0;

	if (!gpu_buffer(g, NULL, BYTES, &from) || !gpu_buffer(g, NULL, BYTES, &to))
		return false;
	GPU_TRY(g, set, from, WORD, BYTES / 4);
	GPU_TRY(g, event_create, &begin, 0);
	GPU_TRY(g, event_create, &end, 0);
	GPU_TRY(g, copy_async, to, from, BYTES, NULL);
	GPU_TRY(g, event_record, begin, NULL);
	for (int i = 0; i < TIMES; i++)
		GPU_TRY(g, copy_async, to, from, BYTES, NULL);
	GPU_TRY(g, event_record, end, NULL);
	GPU_TRY(g, event_sync, end);
	GPU_TRY(g, event_elapsed, &ms, begin, end);
	if (!gpu_read(g, to + BYTES - sizeof(last), &last, sizeof(last)))
		return false;
	if (last != WORD)
		return gpu_wrong(g->check, BYTES / 4 - 1, BYTES / 4, last, WORD);
	return bandwidth_say(g, total, (double)ms);
}

/* For information: how fast a copy within the device is. */
void run_bandwidth(const struct check *check)
{
	struct gpu g;

	if (gpu_begin(check, &g))
		bandwidth_test(&g);
}
