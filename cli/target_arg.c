#include "cli/target_arg.h"

#include "lint/hosts.h"

int target_arg_read(const struct invocation *in, struct target *out, struct error *err)
{
	static const struct {
		const char *option;
		int (*add)(struct target *target, const char *text, struct error *err);
	} lists[] = {
		{ "gpu", target_add_gpus },
		{ "driver", target_add_drivers },
		{ "runtime", target_add_runtimes },
	};
	const char *text;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		for (size_t n = 0; (text = option_nth(in, lists[i].option, n)); n++) {
			if (lists[i].add(out, text, err) < 0)
				return -1;
		}
	}
	text = option_text(in, "driver-cuda", NULL);
	if (text && target_set_driver_cuda(out, text, err) < 0)
		return -1;
	return hosts_check(out, err);
}
