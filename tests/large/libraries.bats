#!/usr/bin/env bats
# Stacks of NVIDIA's libraries without a framework, and ONNX Runtime, which declares none of them.

load common

@test "cuda13-cudnn-nccl: built twice offline from its lock with one digest, unpacked, scanned, linted, loaded" {
	whole_stack cuda13-cudnn-nccl parts_are_those_of
	load_tier_passes
}

@test "cuda13-cudnn-nccl: the loader finds all that the libraries need, through the cache alone" {
	# the image has no grep
	run -0 in_image /bin/bash -c 'shopt -s nullglob
for f in /usr/local/cuda/lib64/lib*.so.* /usr/lib/x86_64-linux-gnu/lib{cudnn,nccl}*.so.*; do ldd "$f"; done'
	[[ $output == *"libcublasLt.so.13 => /"* ]] # which cuBLAS needs; libcudart is needed by none of them
	output=$(grep "not found" <<<"$output" | sort -u || true)
	echo "$output"
	[ -z "$output" ] || [ "$output" = "$(printf '\tlibcuda.so.1 => not found')" ]
}

@test "inference-server: built twice offline from its lock with one digest, unpacked, scanned, linted, loaded" {
	whole_stack inference-server parts_are_those_of
	load_tier_passes
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

@test "onnxruntime-gpu: built twice offline from its lock with one digest, unpacked, scanned, linted, loaded" {
	whole_stack onnxruntime-gpu
	load_tier_passes
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
	pip_is_content
	records_hold
}
