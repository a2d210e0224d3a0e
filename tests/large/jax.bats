#!/usr/bin/env bats
# JAX with its CUDA 12 plug-in, from the wheels that people install.

load common

@test "jax: built twice offline from its lock with one digest, unpacked, scanned, linted" {
	whole_stack jax
}

@test "jax: computes, and its plug-in finds every library down to the missing driver" {
	run -0 --separate-stderr in_image /usr/bin/env JAX_PLATFORMS=cpu python3 -W error -c \
		'import jax; print(jax.__version__, jax.numpy.arange(4).sum(), [d.platform for d in jax.devices()])'
	[ "$output" = "$(jq -r '.platforms[].inputs[] | select(.name == "jax") | .version' "$STACKS/jax.lock.json") 6 ['cpu']" ]
	# the plug-in loads its libraries, then asks the driver, which is not here
	run -0 in_image /usr/bin/python3 -c '
import jax_plugins.xla_cuda12 as p
try: p.initialize()
except RuntimeError as e: print(e)
from jax_cuda12_plugin import _versions as v
print(v.cudnn_get_version(), v.cublas_get_version() // 100)'
	cublas=$(jq -r '.platforms[].inputs[] | select(.name == "nvidia-cublas-cu12") | .version | split(".") | map(tonumber) | .[0] * 100 + .[1]' "$STACKS/jax.lock.json")
	[ "${lines[-1]}" = "$(number jax cudnn) $cublas" ]
}

@test "jax: pip check is content" {
	pip_is_content
}

@test "jax: the files of every wheel are those of its RECORD" {
	records_hold
}

@test "jax: the load tier passes" {
	load_tier_passes --gpu sm_80 --gpu sm_90
}
