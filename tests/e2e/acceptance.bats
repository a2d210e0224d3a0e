# testkernels/gpu-acceptance.sh, the script for a machine with a GPU, rehearsed with stand-ins: that it
# runs through, sees the faults it plants, and says so when something is not as it should be.

load common

setup() {
	work
	need python3 runc bwrap
	[ -e /lib64/ld-linux-x86-64.so.2 ] || skip "made for x86-64"
	DOUBLES=$(dirname "$GPUIMG")/doubles
	[ -e "$DOUBLES/libcuda.so.1" ] || skip "no stand-ins: make doubles"
}

@test "acceptance: a rehearsal runs every step, and each fault is blamed rightly" {
	run -0 "$ROOT/testkernels/gpu-acceptance.sh" --rehearse "$DOUBLES" "$GPUIMG" out
	[[ ${lines[-1]} == acceptance:*" 0 failed, "* ]]
	for line in 'REHEARSAL' 'the image is built' 'mode runc: nothing failed' 'mode bwrap: nothing failed' 'mode loader: nothing failed' \
		'tests of the run tier pass' 'driver for an older CUDA: load.driver-what-if' 'stale specification missing: run.inject, injection' \
		'code 803 (stand-in for the driver)' 'PTX-only code: compiled by the driver' 'PTX-only code, and JIT switched off by the image: run.own-code' \
		'JIT switched off by the image: run.vadd-ptx, image' 'a cubin for another GPU: run.own-code@/opt/foreign, image' \
		'compat library on the path: load.no-driver, image'; do
		grep -qF "$line" <<<"$output" || { echo "missing: $line"; echo "$output"; return 1; }
	done
	[ "$(jq -r '.tests[] | select(.id == "run.own-code@/opt/foreign") | .code' out/fault-a-cubin-for-another-gpu.json)" = 209 ]
	[ "$(jq -r '.tests[] | select(.id == "run.vadd-ptx") | .code' out/fault-jit-switched-off-by-the-image.json)" = 223 ]
	[ "$(grep -c '^mode runc run' out/tests.txt)" -gt 20 ]
}

@test "acceptance: a device that gives wrong numbers is not accepted" {
	mkdir bad
	cp "$DOUBLES"/* bad/
	printf '#include <stdlib.h>\n#include "testkernels/double/device_double.c"\n__attribute__((constructor)) static void begin(void) { setenv("GPUIMG_DOUBLE_WRONG", "cuLaunchKernel", 1); }\n' >bad.c
	cc -shared -fPIC -w -I"$ROOT" -Wl,-soname,libcuda.so.1 -o bad/libcuda.so.1 bad.c
	run -1 "$ROOT/testkernels/gpu-acceptance.sh" --rehearse "$PWD/bad" "$GPUIMG" out
	[[ $output == *"NOT OK   mode runc"* ]]
	[[ $output == *"run.vadd-cubin"* ]]
	run -2 "$ROOT/testkernels/gpu-acceptance.sh"
}
