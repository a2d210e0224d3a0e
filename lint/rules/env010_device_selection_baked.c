#include "lint/facts.h"
#include "lint/findings.h"
#include "lint/rule.h"

/* Variables that name interfaces or addresses of one cluster. */
static const char *const site_names[] = { "NCCL_SOCKET_IFNAME",  "NCCL_IB_HCA",
					  "NCCL_OOB_NET_IFNAME", "NCCL_COMM_ID",
					  "NCCL_HOSTID",         "NCCL_RAS_ADDR",
					  "NCCL_IB_ADDR_RANGE",  "GLOO_SOCKET_IFNAME" };

static void report(const struct rule *rule, struct findings *found, const char *name,
		   const char *value, const char *what)
{
	finding_add(found, rule, "", -1, name, "%s=%s in the image %s.", name, value, what);
}

/* "all" and an empty value choose nothing. */
static void check_visible(const struct rule *rule, const struct facts *facts,
			  struct findings *found)
{
	const char *value = facts_env(facts, "NVIDIA_VISIBLE_DEVICES");

	/* The driver's own container asks for none on purpose. */
	if (!value || !*value || str_equal(value, "all") || facts->driver_container)
		return;
	if (str_equal(value, "none") || str_equal(value, "void"))
		report(rule, found, "NVIDIA_VISIBLE_DEVICES", value,
		       "asks for no GPU, on every host");
	else
		report(rule, found, "NVIDIA_VISIBLE_DEVICES", value,
		       "names GPUs of one host; another has others, or fewer");
}

static int check(const struct rule *rule, const struct facts *facts, struct findings *found,
		 struct error *err)
{
	const char *value = facts_env(facts, "CUDA_VISIBLE_DEVICES");

	(void)err;
	check_visible(rule, facts, found);
	if (value)
		report(rule, found, "CUDA_VISIBLE_DEVICES", *value ? value : "(empty)",
		       "decides for every host which GPUs programs see");
	value = facts_env(facts, "CUDA_DEVICE_ORDER");
	if (value && *value)
		report(rule, found, "CUDA_DEVICE_ORDER", value,
		       "changes which GPU has which number, for every host");
	for (size_t i = 0; i < ARRAY_LEN(site_names); i++) {
		value = facts_env(facts, site_names[i]);
		/* What only excludes (^lo,docker0) fits everywhere. */
		if (value && *value && *value != '^')
			report(rule, found, site_names[i], value,
			       "names what only one cluster has");
	}
	return 0;
}

const struct rule rule_env010 = {
	.id = "ENV010",
	.name = "device-selection-baked",
	.severity = SEVERITY_WARNING,
	.confidence = CONFIDENCE_CERTAIN,
	.needs = NEEDS_GPU_IMAGE | NEEDS_CONFIG,
	.what = "The image fixes which GPUs or network interfaces are used.",
	.why = "Whoever starts the container knows what the host has; the image does not. On "
	       "another "
	       "host no GPU, or the wrong one, is seen, or communication fails to find its "
	       "interface.",
	.fix = "Leave these variables to whoever starts the container.",
	.sources =
		"CUDA C++ Programming Guide, \"CUDA Environment Variables\"; NCCL documentation, "
		"\"Environment Variables\"; NVIDIA Container Toolkit, \"GPU Enumeration\"",
	.check = check,
};
