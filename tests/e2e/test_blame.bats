# gpuimg test: every code of the driver, out of the image's own libcudart, and who is blamed for it.

load common
load kernels

setup() {
	work
	export GPUIMG_STORE=$WORK/store
	need cc jq
	[ -e /lib64/ld-linux-x86-64.so.2 ] || skip "made for x86-64, and no GPU either"
	DOUBLE=$(dirname "$GPUIMG")/libcuda-double.so
	make_root
	if [ -e $TOOLKIT/libcudart.so.13 ]; then
		add_toolkit libcudart.so.13
	else
		make_cudart
	fi
}

# The stand-in for the driver as CDI gives it, answering cuInit with a code.
driver_answers() { # CODE [VERSION]
	mkdir -p cdi
	cp -n "$DOUBLE" libcuda.so.580.95.05
	cat >cdi/nvidia.yaml <<-END
		cdiVersion: "0.5.0"
		kind: nvidia.com/gpu
		devices:
		- name: "0"
		  containerEdits: { deviceNodes: [ { path: /dev/nvidia0, hostPath: /dev/null } ] }
		containerEdits:
		  env: [ GPUIMG_DOUBLE_INIT=$1, GPUIMG_DOUBLE_VERSION=${2:-13000} ]
		  mounts:
		  - { hostPath: $PWD/libcuda.so.580.95.05, containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05, options: [ ro, rbind ] }
		  hooks:
		  - { hookName: createContainer, path: x/nvidia-cdi-hook, args: [ x, create-symlinks, --link, "libcuda.so.580.95.05::/usr/lib/x86_64-linux-gnu/libcuda.so.1" ] }
		  - { hookName: createContainer, path: x/nvidia-cdi-hook, args: [ x, update-ldcache, --folder, /usr/lib/x86_64-linux-gnu ] }
	END
}

# Code, name and first suspect, as the pages of the driver API and experience have them.
expected() {
	cat <<-'END'
		2 CUDA_ERROR_OUT_OF_MEMORY host
		34 CUDA_ERROR_STUB_LIBRARY image
		35 CUDA_ERROR_INSUFFICIENT_DRIVER host
		36 CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER host
		46 CUDA_ERROR_DEVICES_UNAVAILABLE host
		100 CUDA_ERROR_NO_DEVICE injection
		101 CUDA_ERROR_INVALID_DEVICE host
		200 CUDA_ERROR_INVALID_IMAGE image
		209 CUDA_ERROR_NO_BINARY_FOR_GPU image
		218 CUDA_ERROR_INVALID_PTX image
		221 CUDA_ERROR_JIT_COMPILER_NOT_FOUND injection
		222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION host
		223 CUDA_ERROR_JIT_COMPILATION_DISABLED image
		304 CUDA_ERROR_OPERATING_SYSTEM injection
		700 CUDA_ERROR_ILLEGAL_ADDRESS image
		719 CUDA_ERROR_LAUNCH_FAILED image
		802 CUDA_ERROR_SYSTEM_NOT_READY host
		803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH injection
		804 CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE image
		999 CUDA_ERROR_UNKNOWN injection
	END
}

@test "blame: every row of the table comes out of the image's libcudart with its name and culprit" {
	# the rows as the program has them: one that this test does not know is a failure
	sed -nE 's/^\t\{ ([0-9]+), "(CUDA_ERROR_[A-Z_0-9]+)",.*/\1 \2/p' "$ROOT/testkernels/verdict.c" >rows
	expected | cut -d' ' -f1,2 | diff rows -
	local code name blame status
	while read -r code name blame; do
		driver_answers "$code"
		status=3
		[ "$blame" != image ] || status=1
		run -$status gpuimg test --mode loader --cdi-dir cdi -o json=report.json rootfs:root
		[ "$(blame_of run.runtime.libcudart.so.13)" = "$code $name $blame" ] ||
			{ echo "$code $name $blame: $(blame_of run.runtime.libcudart.so.13)"; return 1; }
		[[ $(said_of run.runtime.libcudart.so.13) == *"/lib/libcudart.so.13: cudaGetDeviceCount gave $code $name: "* ]]
	done < <(expected)
}

@test "blame: too old a driver is told from none, in a container too" {
	need bwrap
	driver_answers 0 12040
	run -3 gpuimg test --mode bwrap --cdi-dir cdi -o json=report.json rootfs:root
	[ "$(blame_of run.runtime.libcudart.so.13)" = "35 CUDA_ERROR_INSUFFICIENT_DRIVER host" ]
	[[ $(said_of run.runtime.libcudart.so.13) == *"older than the CUDA runtime"* ]]
	echo '{"cdiVersion":"0.5.0","kind":"nvidia.com/gpu","devices":[{"name":"0","containerEdits":{"deviceNodes":[{"path":"/dev/nvidia0","hostPath":"/dev/null"}]}}]}' >cdi/nvidia.yaml
	run -3 gpuimg test --mode bwrap --cdi-dir cdi -o json=report.json rootfs:root
	[ "$(blame_of run.runtime.libcudart.so.13)" = "35 CUDA_ERROR_INSUFFICIENT_DRIVER injection" ]
	[[ $(said_of run.runtime.libcudart.so.13) == *"no driver library was found"* ]]
}

@test "blame: a code that nobody knows is told as it is" {
	driver_answers 998
	run gpuimg test --mode loader --cdi-dir cdi -o json=report.json rootfs:root
	[ "$(blame_of run.runtime.libcudart.so.13 | cut -d' ' -f1,2)" = "998 null" ]
}
