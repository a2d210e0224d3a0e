/*
 * Several devices: copies between them, and NCCL over all that are visible.
 */
#include "gpu.h"

enum { DEVICES_MAX = 16 };

/* One of the visible devices with its primary context. */
struct peer {
	int device;
	void *context, *stream;
	uint64_t in, out;
};

static bool peer_open(const struct gpu *g, int index, struct peer *p)
{
	GPU_TRY(g, device_get, &p->device, index);
	GPU_TRY(g, context_retain, &p->context, p->device);
	GPU_TRY(g, context_set, p->context);
	return true;
}

static bool copy_pair(const struct gpu *g, const struct peer *from, const struct peer *to,
		      int *out_direct)
{
	enum { WORDS = 1 << 18 };
	unsigned word = 0x5a5a5a00U + (unsigned)from->device, last = 0;
	uint64_t source, target;
	int rc;

	GPU_TRY(g, can_access_peer, out_direct, to->device, from->device);
	GPU_TRY(g, context_set, from->context);
	GPU_TRY(g, alloc, &source, WORDS * 4);
	GPU_TRY(g, set, source, word, WORDS);
	GPU_TRY(g, context_sync);
	GPU_TRY(g, context_set, to->context);
	rc = *out_direct ? g->d.enable_peer(from->context, 0) : 0;
	if (rc && rc != 704) /* it is enabled already */
		return gpu_refused(g, gpu_name_enable_peer, rc);
	if (!gpu_buffer(g, NULL, WORDS * 4, &target))
		return false;
	GPU_TRY(g, copy_peer, target, to->context, source, from->context, WORDS * 4);
	if (!gpu_read(g, target + (WORDS - 1) * 4, &last, sizeof(last)))
		return false;
	return last == word || gpu_wrong(g->check, WORDS - 1, WORDS, last, word);
}

static bool peers_test(struct gpu *g)
{
	struct peer peers[DEVICES_MAX] = { 0 };
	int count = g->count < DEVICES_MAX ? g->count : DEVICES_MAX;
	char direct[DEVICES_MAX * DEVICES_MAX * 6 + 1] = "";
	size_t at = 0;
	struct say s;

	if (count < 2)
		return result_skip(g->check, "single-gpu", "one device is visible");
	for (int i = 0; i < count; i++) {
		if (!peer_open(g, i, &peers[i]))
			return false;
	}
	for (int i = 0; i < count * count; i++) {
		int from = i / count, to = i % count, can = 0;

		if (from == to)
			continue;
		if (!copy_pair(g, &peers[from], &peers[to], &can))
			return false;
		if (!can)
			continue;
		put_text(direct + at, sizeof(direct) - at, "%s%d>%d", at ? " " : "", from, to);
		while (direct[at])
			at++;
	}
	result_begin(&s, g->check, "pass");
	say_int(&s, "devices", count);
	say_str(&s, "direct", direct);
	say_library(&s, g->check, g->d.handle);
	say_end(&s);
	return true;
}

/* Data arrives on the other device; whether directly is told, and the host's affair. */
void run_p2p(const struct check *check)
{
	struct gpu g;

	if (gpu_open(check, &g))
		peers_test(&g);
}

struct nccl {
	void *handle;
	GPU_API_NCCL(API_FIELD)
	GPU_API_NCCL_LATER(API_FIELD)
};
API_OPEN(nccl, GPU_API_NCCL)

#define NCCL_TRY(call, name)                                                                  \
	do {                                                                                  \
		int nccl_rc = (call);                                                         \
                                                                                              \
		if (nccl_rc)                                                                  \
			return library_refused(g->check, n->handle, "libnccl", name, nccl_rc, \
					       n->last_error ? n->last_error(NULL)            \
							     : n->error_string(nccl_rc));     \
	} while (0)

enum { NCCL_COUNT = 1 << 16 };

static bool reduce_all(const struct gpu *g, const struct nccl *n, void *const *comms,
		       const struct peer *peers, int count)
{
	NCCL_TRY(n->group_start(), "ncclGroupStart");
	for (int i = 0; i < count; i++) {
		GPU_TRY(g, context_set, peers[i].context);
		NCCL_TRY(n->all_reduce(gpu_pointer(peers[i].in), gpu_pointer(peers[i].out),
				       NCCL_COUNT, NCCL_INT32, NCCL_SUM, comms[i], peers[i].stream),
			 "ncclAllReduce");
	}
	NCCL_TRY(n->group_end(), "ncclGroupEnd");
	return true;
}

static bool reduced_right(const struct gpu *g, const struct peer *p, int want)
{
	int *got = host_buffer(g->check, NCCL_COUNT * sizeof(*got));

	GPU_TRY(g, context_set, p->context);
	GPU_TRY(g, stream_sync, p->stream);
	if (!gpu_read(g, p->out, got, NCCL_COUNT * sizeof(*got)))
		return false;
	for (size_t i = 0; i < NCCL_COUNT; i++) {
		if (got[i] != want)
			return gpu_wrong(g->check, i, NCCL_COUNT, got[i], want);
	}
	return true;
}

static bool nccl_test(struct gpu *g, struct nccl *n)
{
	struct peer peers[DEVICES_MAX] = { 0 };
	void *comms[DEVICES_MAX] = { 0 };
	int devices[DEVICES_MAX], count = g->count < DEVICES_MAX ? g->count : DEVICES_MAX;

	n->last_error = (__typeof__(n->last_error))library_symbol(n->handle, "ncclGetLastError");
	for (int i = 0; i < count; i++) {
		devices[i] = i;
		if (!peer_open(g, i, &peers[i]) ||
		    !gpu_buffer(g, NULL, NCCL_COUNT * 4, &peers[i].in) ||
		    !gpu_buffer(g, NULL, NCCL_COUNT * 4, &peers[i].out))
			return false;
		GPU_TRY(g, set, peers[i].in, (unsigned)i + 1, NCCL_COUNT);
		GPU_TRY(g, stream_create, &peers[i].stream, STREAM_NON_BLOCKING);
		GPU_TRY(g, context_sync);
	}
	NCCL_TRY(n->init_all(comms, count, devices), "ncclCommInitAll");
	if (!reduce_all(g, n, comms, peers, count))
		return false;
	for (int i = 0; i < count; i++) {
		if (!reduced_right(g, &peers[i], count * (count + 1) / 2))
			return false;
	}
	for (int i = 0; i < count; i++)
		NCCL_TRY(n->destroy(comms[i]), "ncclCommDestroy");
	gpu_pass(g->check, n->handle, "devices", count);
	return true;
}

/* args: libnccl. It has code for these devices, and finds shared memory and its plug-ins. */
void run_nccl(const struct check *check)
{
	struct nccl n = { 0 };
	struct gpu g;

	if (gpu_open(check, &g) && nccl_open(check, check->args[0], &n))
		nccl_test(&g, &n);
}
