#!/usr/bin/env bats
# JAX with its CUDA 12 plug-in, from the wheels that people install.

load common

teardown_file() { rm -rf "${GPUIMG_LARGE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuimg-large}/work"; }

setup() { STACKS=$LARGE/stacks; }

@test "jax: locked and fetched" {
	locked jax
}

@test "jax: built twice without network from its lock, with one digest; lint lets it pass" {
	built_twice jax
}

@test "jax: umoci unpacks it" {
	unpacked jax
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
	cudnn=$(jq -r '.stack.cudnn | split(".") | map(tonumber) | .[0] * 10000 + .[1] * 100 + .[2]' "$STACKS/jax.lock.json")
	cublas=$(jq -r '.platforms[].inputs[] | select(.name == "nvidia-cublas-cu12") | .version | split(".") | map(tonumber) | .[0] * 100 + .[1]' "$STACKS/jax.lock.json")
	[ "${lines[-1]}" = "$cudnn $cublas" ]
}

@test "jax: pip check is content" {
	run -0 in_image /usr/bin/env PYTHONPATH=/opt/pip PYTHONDONTWRITEBYTECODE=1 python3 -m pip check
	[[ $output == *"No broken requirements found."* ]]
}

@test "jax: package lists of dpkg, of Python and of inspect are those of the lock" {
	packages_are_those_of jax
}

@test "jax: the files of every wheel are those of its RECORD" {
	records_hold
}

@test "jax: the load tier passes" {
	run -0 gpuimg test --require load --gpu sm_80 --gpu sm_90 "rootfs:$LARGE/work/bundle/rootfs"
	[[ $output != *"fail "* ]]
}

@test "jax: lint has no error" {
	run -0 gpuimg lint --fail-on never "oci:$LARGE/work/a:t"
	echo "$output"
	[[ $output == *"0 errors"* ]]
}
