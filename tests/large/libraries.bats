#!/usr/bin/env bats
# Stacks of NVIDIA's libraries without a framework, and ONNX Runtime, which declares none of them.

load common

teardown_file() { rm -rf "${GPUIMG_LARGE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuimg-large}/work"; }

setup() { STACKS=$LARGE/stacks; }

# All that holds of each of them; the unpacked image is left for more.
whole_stack() { # NAME [COMPARE]: packages_are_those_of where they have records
	locked "$1" || return 1
	built_twice "$1" || return 1
	unpacked "$1" || return 1
	"${2:-parts_are_those_of}" "$1" || return 1
	run gpuimg test --require load "rootfs:$LARGE/work/bundle/rootfs"
	echo "$output"
	[ "$status" -eq 0 ] && [[ $output != *"fail "* ]] || return 1
	run gpuimg lint --fail-on never "oci:$LARGE/work/a:t"
	echo "$output"
	[ "$status" -eq 0 ] && [[ $output == *"0 errors"* ]]
}

# As cuDNN and NCCL count: 9.27.0 is 92700, 2.30.7 is 23007.
number() { # NAME COMPONENT
	jq -r --arg c "$2" '.stack[$c] | split(".") | map(tonumber) | .[0] * 10000 + .[1] * 100 + .[2]' "$STACKS/$1.lock.json"
}

@test "cuda13-cudnn-nccl: built twice alike, unpacked, scanned, loaded, linted" {
	whole_stack cuda13-cudnn-nccl
}

@test "cuda13-cudnn-nccl: the loader finds all that the libraries need, through the cache alone" {
	# the image has no grep
	run -0 in_image /bin/bash -c 'shopt -s nullglob
for f in /usr/local/cuda/lib64/lib*.so.* /usr/lib/x86_64-linux-gnu/lib{cudnn,nccl}*.so.*; do ldd "$f"; done'
	[[ $output == *libcudart* ]]
	output=$(grep "not found" <<<"$output" | sort -u || true)
	echo "$output"
	[ -z "$output" ] || [ "$output" = "$(printf '\tlibcuda.so.1 => not found')" ]
}

@test "inference-server: built twice alike, unpacked, scanned, loaded, linted" {
	whole_stack inference-server
}

@test "inference-server: cuDNN, NCCL and the runtime say the versions of the lock" {
	run -0 in_image /usr/bin/python3 -c '
import ctypes
n = ctypes.c_int()
cudnn = ctypes.CDLL("libcudnn.so.9").cudnnGetVersion
cudnn.restype = ctypes.c_size_t
ctypes.CDLL("libnccl.so.2").ncclGetVersion(ctypes.byref(n))
runtime = ctypes.c_int()
ctypes.CDLL("libcudart.so.13").cudaRuntimeGetVersion(ctypes.byref(runtime))
print(cudnn(), n.value, runtime.value)'
	[ "$output" = "$(number inference-server cudnn) $(number inference-server nccl) 13000" ]
	run -0 in_image /bin/sh -c 'id -un; pwd'
	[ "$output" = "$(printf 'server\n/home/server')" ]
}

@test "onnxruntime-gpu: built twice alike, unpacked, scanned, loaded, linted" {
	whole_stack onnxruntime-gpu packages_are_those_of
}

# The provider links the driver's library: the stub stands for it here.
@test "onnxruntime-gpu: offers its CUDA provider, which finds every library" {
	run in_image /usr/bin/python3 -c '
import ctypes, glob, os, onnxruntime as o
print(o.__version__, "CUDAExecutionProvider" in o.get_available_providers())
ctypes.CDLL(glob.glob("/usr/local/cuda/**/stubs/libcuda.so", recursive=True)[0], ctypes.RTLD_GLOBAL)
capi = os.path.join(os.path.dirname(o.__file__), "capi")
ctypes.CDLL(os.path.join(capi, "libonnxruntime_providers_shared.so"), ctypes.RTLD_GLOBAL)
ctypes.CDLL(os.path.join(capi, "libonnxruntime_providers_cuda.so"))
print("loaded")'
	echo "$output"
	[[ $output == *" True"*loaded ]]
}

@test "onnxruntime-gpu: pip check is content; the files of every wheel are those of its RECORD" {
	run -0 in_image /usr/bin/env PYTHONPATH=/opt/pip PYTHONDONTWRITEBYTECODE=1 python3 -m pip check
	[[ $output == *"No broken requirements found."* ]]
	records_hold
}
