#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

#include "base/out.h"

#define LARGE_IMAGE (4 * GIB)

/* Layers that are gzip, of a large image. */
static void check_compression(const struct rule *rule, const struct facts *facts,
			      const uint64_t *bytes, struct findings *found)
{
	uint64_t packed = 0;
	size_t count = 0;
	char size[32];

	for (size_t i = 0; i < facts->media.len && i < facts->layer_count; i++) {
		if (facts->media.items[i].compression != COMPRESSION_GZIP)
			continue;
		packed += bytes[i];
		count++;
	}
	if (packed > LARGE_IMAGE)
		finding_add(
			found, rule, "", -1, "gzip",
			"%zu layers of %s unpacked are gzip, which a node unpacks several times "
			"slower than zstd.",
			count, out_size(packed, size));
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	cleanup_free uint64_t *bytes = xcalloc(facts->layer_count + 1, sizeof(*bytes));
	uint64_t total = 0;
	size_t largest = 0;
	struct finding *f;
	char size[32], all[32];

	(void)err;
	for (size_t i = 0; i < facts->tree.count; i++) {
		const struct tree_node *node = tree_node_at(&facts->tree, i);

		if (node->entry.type == TAR_FILE)
			bytes[node->layer] += node->entry.size;
	}
	for (size_t i = 0; i < facts->layer_count; i++) {
		total += bytes[i];
		largest = bytes[i] > bytes[largest] ? i : largest;
	}
	if (facts->layer_count > 100) {
		f = finding_add(found, rule, "", -1, "count", "The image has %zu layers.",
				facts->layer_count);
		f->severity = SEVERITY_WARNING;
	}
	check_compression(rule, facts, bytes, found);
	if (total < GIB || bytes[largest] <= total / 10 * 6)
		return 0;
	f = finding_add(found, rule, "", (int)largest, "largest",
			"Layer %zu holds %s of the image's %s (%u %%), so that it alone sets the "
			"time of a pull.",
			largest, out_size(bytes[largest], size), out_size(total, all),
			(unsigned)(bytes[largest] / (total / 100)));
	if (total > LARGE_IMAGE)
		f->severity = SEVERITY_WARNING;
	return 0;
}

const struct rule rule_siz006 = {
	.id = "SIZ006",
	.name = "layer-shape",
	.severity = SEVERITY_INFO,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_LAYERS,
	.what = "Most of the image is in one layer, it has very many layers, or much of it is "
		"gzip.",
	.why = "Engines pull and unpack layers side by side, so the largest one sets the time; one "
	       "that changes has to be pulled again as a whole. Hundreds of small ones cost a "
	       "request and a mount each, and overlayfs takes at most a few hundred. gzip is "
	       "unpacked "
	       "by one core at a few hundred MB/s, zstd several times faster.",
	.fix = "Put what changes together into one step, the large libraries into steps of their "
	       "own; gpuimg build and buildah commit --squash of only the small steps do that. For "
	       "zstd: compression: zstd in a manifest of gpuimg, or skopeo copy "
	       "--dest-compress-format zstd.",
	.sources = "Linux overlayfs documentation, \"Multiple lower layers\"; containerd issue "
		   "3245 (128 layers)",
	.check = check,
};
