# gpuimg test, the load tier: each of its checks, and sets of CUDA's libraries that are broken.

load common
load kernels

setup() {
	work
	export GPUIMG_STORE=$WORK/store
	need cc jq python3 bwrap
	[ -e /lib64/ld-linux-x86-64.so.2 ] || skip "made for x86-64, and no GPU either"
}

run_load() { # STATUS [OPTION…]
	local want=$1
	shift
	run "-$want" gpuimg test --mode "${MODE:-loader}" -o json=report.json "$@" rootfs:root
}

# A CUDA runtime that knows its version, and nothing else.
small_runtime() {
	echo 'int cudaRuntimeGetVersion(int *v) { *v = 12060; return 0; }' |
		cc -shared -fPIC -nostdlib -Wl,-soname,libcudart.so.12 -x c -o root/lib/libcudart.so.12 -
}

# --- the image's own PTX

# A library with PTX in it; each text is a VERSION:TARGET:WORD, and long enough not to be taken for empty.
gpu_object() { # NAME TEXT…
	python3 - "$@" <<-'END'
		import struct, sys
		entries = b""
		for text in sys.argv[2:]:
		    version, target, word = text.split(":")
		    major, minor = map(int, version.split("."))
		    number = target.removeprefix("sm_")
		    flags = 0x11 | (1 << 20 if number.endswith("a") else 0)
		    ptx = (".version %s\n.target %s\n.address_size 64\n// %s\n" % (version, target, word)).encode() + b"/" * 500
		    ptx += b"\0" * (-len(ptx) % 8)
		    entries += struct.pack("<HHIIIIIHHIQQQQ", 1, 0x101, 64, len(ptx), 0, 0, 0, minor, major, int(number.rstrip("af")), 0, flags, 0, 0) + ptx
		open("code", "wb").write(struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries)
	END
	printf '.section .nv_fatbin,"a"\n.balign 8\n.incbin "code"\n.section .rodata\n.zero 8192\n' >code.s
	cc -shared -nostdlib -Wl,-soname,"$1" -o "root/lib/$1" code.s
}

# An assembler that knows sm_75 to sm_90 and PTX up to 9.0, and refuses what says "broken".
assembler() {
	cat >assembler.c <<-'END'
		#include <stdlib.h>
		#include <string.h>
		static const char *words = "";
		int nvJitLinkVersion(unsigned *a, unsigned *b) { *a = 13; *b = 0; return 0; }
		int nvJitLinkCreate(void **h, unsigned n, const char **o)
		{
			int sm = atoi(o[0] + 9);
			*h = "";
			words = sm < 75 || sm > 90 ? "ERROR NVJITLINK_ERROR_ARCH" : "";
			return sm < 75 ? 17 : sm > 90 ? 16 : 0;
		}
		int nvJitLinkAddData(void *h, int type, const void *data, size_t size, const char *name)
		{
			words = strstr(data, ".version 9.1") ? "fatal: Unsupported .version 9.1; current version is '9.0'\nmore" :
				strstr(data, "broken") ? "fatal: feature missing" : "";
			return *words ? 4 : 0;
		}
		int nvJitLinkComplete(void *h) { return 0; }
		int nvJitLinkDestroy(void **h) { return 0; }
		int nvJitLinkGetErrorLogSize(void *h, size_t *n) { *n = strlen(words) + 1; return 0; }
		int nvJitLinkGetErrorLog(void *h, char *out) { strcpy(out, words); return 0; }
	END
	cc -shared -fPIC -w -Wl,-soname,libnvJitLink.so.13 -o root/lib/libnvJitLink.so.13 assembler.c
}

rehearsal() { # OBJECT
	jq -r --arg id "load.ptx-rehearsal@/lib/$1" '.tests[] | select(.id == $id) |
		"\(.status) \(.reason) \(.code) \(.blame) \(.evidence.assembled) \(.evidence.newer_than_the_assembler)"' report.json
}

@test "load: an image's PTX goes through its own assembler, whatever is wrong is told for each object" {
	local m
	make_root
	assembler
	gpu_object libgood.so 7.0:sm_70:fine 8.0:sm_80:fine 8.5:sm_90a:fine
	gpu_object libnewer.so 9.1:sm_90:fine
	gpu_object libmixed.so 9.1:sm_90:fine 9.0:sm_90:fine
	gpu_object libbroken.so 8.0:sm_80:broken
	gpu_object liblater.so 9.0:sm_120:fine
	for m in loader bwrap; do
		MODE=$m run_load 1
		[ "$(rehearsal libgood.so)" = "pass null null null 3 null" ] # sm_70 by the next that it knows
		[ "$(rehearsal libnewer.so)" = "skip library-not-in-image null null 0 1" ]
		[ "$(rehearsal libmixed.so)" = "pass null null null 1 1" ]
		[ "$(rehearsal libbroken.so)" = "fail null 4 image null null" ]
		[[ $(said_of load.ptx-rehearsal@/lib/libbroken.so) == "/lib/libbroken.so: "*"for sm_80"*"feature missing"* ]]
		[ "$(rehearsal liblater.so)" = "fail null 16 image null null" ]
	done
	[[ $(said_of load.ptx-rehearsal@/lib/libnewer.so) == *"newer driver"*"9.1; current version is '9.0'" ]]
}

@test "load: with targets, the PTX is assembled that a driver would take for them" {
	make_root
	assembler
	# for sm_86 the text of sm_80 counts, and neither the older one nor another architecture's own
	gpu_object libx.so 7.0:sm_70:broken 8.0:sm_80:fine 8.0:sm_90:broken 8.5:sm_90a:broken
	run_load 0 --gpu sm_86
	[ "$(rehearsal libx.so)" = "pass null null null 1 null" ]
	run_load 1 --gpu sm_86 --gpu sm_90a
	[ "$(rehearsal libx.so)" = "fail null 4 image null null" ]
	gpu_object libx.so 8.5:sm_90a:broken
	run_load 0 --gpu sm_86
	[[ $(said_of load.ptx-rehearsal) == *"none of the image's PTX"* ]]
	rm root/lib/libnvJitLink.so.13
	run_load 0
	[[ $(said_of load.ptx-rehearsal) == *"no run-time linker"* ]]
	[ "$(jq -r '.tests[] | select(.id == "load.ptx-rehearsal") | .reason' report.json)" = library-not-in-image ]
}

@test "load: samples of PTX are kept beside the unpacked tree, and found anew when it changed" {
	need umoci
	make_root
	assembler
	gpu_object libgood.so 8.0:sm_80:fine
	umoci init --layout image
	umoci new --image image:t
	umoci unpack --rootless --image image:t bundle
	cp -a root/. bundle/rootfs/
	umoci repack --image image:t bundle
	run -0 gpuimg test --mode loader -o json=report.json oci:image:t
	[ "$(cat store/trees/*/ptx/index)" = $'0.ptx\t80\t-\t8\t0\t/lib/libgood.so' ]
	grep -q '^.target sm_80' store/trees/*/ptx/0.ptx
	# what is kept is what is read
	sed -i 's/fine/broken/' store/trees/*/ptx/0.ptx
	run -1 gpuimg test --mode loader -o json=report.json oci:image:t
	[ "$(rehearsal libgood.so)" = "fail null 4 image null null" ]
	echo changed >>"$(echo store/trees/*/root/lib/libgood.so)"
	run -0 gpuimg test --mode loader -o json=report.json oci:image:t
	[ "$(rehearsal libgood.so)" = "pass null null null 1 null" ]
}

# --- versions

version_row() { # SONAME
	jq -r --arg id "load.version.$1" '.tests[] | select(.id == $id) | "\(.evidence.package) \(.evidence.package_version) \(.message)"' report.json
}

@test "load: a library's version against that of its package, of dpkg and of a wheel" {
	local site=usr/lib/python3/site-packages
	make_root
	small_runtime
	mkdir -p root/var/lib/dpkg/info "root/$site/nvidia/nccl/lib" "root/$site/nvidia_nccl_cu12-2.28.9.dist-info"
	printf 'Package: cuda-cudart-12-6\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1:12.6.77-1\n' >root/var/lib/dpkg/status
	printf '/.\n/lib\n/lib/libcudart.so.12\n' >root/var/lib/dpkg/info/cuda-cudart-12-6:amd64.list
	echo 'int ncclGetVersion(int *v) { *v = 22809; return 0; }' |
		cc -shared -fPIC -nostdlib -Wl,-soname,libnccl.so.2 -x c -o "root/$site/nvidia/nccl/lib/libnccl.so.2" -
	echo 'nvidia/nccl/lib/libnccl.so.2,sha256=x,1' >"root/$site/nvidia_nccl_cu12-2.28.9.dist-info/RECORD"
	run_load 0
	[ "$(version_row libcudart.so.12)" = "cuda-cudart-12-6 12.6.77-1 null" ]
	[ "$(version_row libnccl.so.2)" = "nvidia_nccl_cu12 2.28.9 null" ]
	# another file under the same name
	sed -i s/12.6.77/12.4.127/ root/var/lib/dpkg/status
	mv "root/$site/nvidia_nccl_cu12-2.28.9.dist-info" "root/$site/nvidia_nccl_cu12-2.21.5.dist-info"
	run_load 0
	[ "$(version_row libcudart.so.12)" = "cuda-cudart-12-6 12.4.127-1 /lib/libcudart.so.12 says it is 12.6, but its package cuda-cudart-12-6 is 12.4.127-1" ]
	[[ $(version_row libnccl.so.2) == *"says it is 2.28.9, but its package nvidia_nccl_cu12 is 2.21.5" ]]
}

# --- roots that lack or forbid something

@test "load: a read-only root does, in every mode" {
	need runc unshare
	[ "$(id -u)" -eq 0 ] || skip "needs root to mount, as a GPU's machine may"
	local m
	make_root
	small_runtime
	for m in runc bwrap loader; do
		run -0 unshare -m sh -c 'mount --bind root root && mount -o remount,bind,ro root && ! touch root/x 2>/dev/null && exec "$@"' sh \
			"$GPUIMG" test --mode $m -o json=report.json "rootfs:$WORK/root"
		[ "$(status_of load.version.libcudart.so.12)" = pass ]
	done
	[ "$(ls root)" = $'lib\nlib64' ]
}

@test "load: libraries of another machine are not the image's, nor is an image of another machine judged" {
	make_root
	small_runtime
	cp root/lib/libcudart.so.12 root/lib/libnccl.so.2
	printf '\xb7\0' | dd of=root/lib/libnccl.so.2 bs=1 seek=18 conv=notrunc status=none # EM_AARCH64
	run_load 0
	[ "$(status_of load.libcudart.so.12)" = pass ]
	[ -z "$(status_of load.libnccl.so.2)" ]
	[ "$(status_of load.libnccl)" = skip ]
	mv root/lib64/ld-linux-x86-64.so.2 root/lib/ld-linux-aarch64.so.1
	printf '\xb7\0' | dd of=root/lib/ld-linux-aarch64.so.1 bs=1 seek=18 conv=notrunc status=none
	printf '\xb7\0' | dd of=root/lib/libcudart.so.12 bs=1 seek=18 conv=notrunc status=none
	run_load 3 --require load
	[[ $(said_of load.loader) == *"for another processor"* ]]
}

# --- broken sets of the real libraries

cudnn="libcudnn_graph.so.9 libcudnn_ops.so.9 libcudnn_cnn.so.9 libcudnn_adv.so.9 libcudnn_engines_precompiled.so.9
	libcudnn_engines_runtime_compiled.so.9 libcudnn_heuristic.so.9 libcudart.so.13 libcublas.so.13 libcublasLt.so.13 libnvrtc.so.13
	libnvrtc-builtins.so.13.0"
base="libstdc++.so.6 libgcc_s.so.1 libz.so.1"

@test "load: cuDNN whole, without its parts, and without some of them" {
	need_toolkit
	make_root $base
	add_toolkit libcudnn.so.9 $cudnn
	run_load 0
	[ "$(status_of load.cudnn-set)" = pass ]
	[ "$(jq -r '.tests[] | select(.id == "load.cudnn-set") | .evidence | "\(.version_checks) \(.engine_libraries)"' report.json)" = "4 3" ]
	rm root/lib/libcudnn_{ops,cnn,adv}.so.9
	run_load 1
	[ "$(status_of load.version.libcudnn.so.9)" = pass ]
	[ "$(blame_of load.cudnn-set)" = "3009 CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE image" ]
	rm root/lib/libcudnn_*.so.9
	run_load 1
	[ "$(status_of load.libcudnn.so.9)" = pass ]
	[ "$(blame_of load.cudnn-set)" = "null crashed image" ]
	[ "$(blame_of load.version.libcudnn.so.9)" = "null crashed image" ]
	[[ $(said_of load.version.libcudnn.so.9) == *"crashed: signal "*"last words: "*"Cannot load symbol"* ]]
}

@test "load: nvrtc whole, without its builtins, and with those of another version" {
	need_toolkit
	make_root $base
	add_toolkit libnvrtc.so.13 libnvrtc-builtins.so.13.0
	run_load 0 --gpu sm_90 --gpu sm_100
	[ "$(status_of load.nvrtc-compile)" = pass ]
	run_load 1 --gpu sm_70
	[ "$(blame_of load.nvrtc-compile)" = "5 NVRTC_ERROR_INVALID_OPTION image" ]
	[[ $(said_of load.nvrtc-compile) == *"--gpu-architecture"* ]]
	rm root/lib/libnvrtc-builtins.so.13.0
	run_load 1
	[ "$(status_of load.version.libnvrtc.so.13)" = pass ]
	[ "$(blame_of load.nvrtc-compile)" = "7 NVRTC_ERROR_BUILTIN_OPERATION_FAILURE image" ]
	echo 'int getBuiltins(void) { return 0; }' |
		cc -shared -fPIC -Wl,-soname,libnvrtc-builtins.so.13.0 -x c -o root/lib/libnvrtc-builtins.so.13.0 -
	run_load 1
	[ "$(blame_of load.nvrtc-compile)" = "7 NVRTC_ERROR_BUILTIN_OPERATION_FAILURE image" ]
}

@test "load: cuBLAS without cuBLASLt, cuSOLVER and cuSPARSE without nvJitLink" {
	need_toolkit
	make_root $base
	add_toolkit libcublas.so.13 libcusolver.so.12 libcusparse.so.12
	run_load 1
	[ "$(blame_of load.libcublas.so.13)" = "null missing-library image" ]
	[[ $(said_of load.libcublas.so.13) == *"libcublasLt.so.13: cannot open"* ]]
	[ "$(blame_of load.libcusparse.so.12)" = "null missing-library image" ]
	[[ $(said_of load.libcusparse.so.12) == *"libnvJitLink.so.13: cannot open"* ]]
	[ "$(blame_of load.libcusolver.so.12)" = "null missing-library image" ]
	add_toolkit libcublasLt.so.13 libnvJitLink.so.13
	run_load 0
	[ "$(status_of load.libcusolver.so.12)" = pass ]
	[ "$(status_of load.jitlink)" = pass ]
}

@test "load: a stub that comes first, the toolkit's own" {
	need_toolkit
	need umoci
	[ -e $TOOLKIT/stubs/libcuda.so ] || skip "the toolkit has no stub, nor is there a GPU"
	local m
	make_root $base
	add_toolkit libcudart.so.13
	mkdir root/stubs
	cp -L $TOOLKIT/stubs/libcuda.so root/stubs/libcuda.so.1
	umoci init --layout image
	umoci new --image image:t
	umoci unpack --rootless --image image:t bundle
	cp -a root/. bundle/rootfs/
	umoci repack --image image:t bundle
	run -0 gpuimg test --mode bwrap oci:image:t # not where programs look
	umoci config --image image:t --config.env LD_LIBRARY_PATH=/stubs
	for m in loader bwrap; do
		run -1 gpuimg test --mode $m --driver 13.0 -o json=report.json oci:image:t
		[ "$(blame_of load.no-driver)" = "34 CUDA_ERROR_STUB_LIBRARY image" ]
		[[ $(said_of load.no-driver) == "/stubs/libcuda.so.1 is a link-time stub"* ]]
		[ "$(blame_of load.driver-what-if.libcudart.so.13)" = "34 CUDA_ERROR_STUB_LIBRARY image" ]
	done
}

@test "load: a function that needs no GPU, on the host" {
	need_toolkit
	make_root $base
	add_toolkit libcurand.so.10
	run_load 0
	[ "$(status_of load.curand-host)" = pass ]
	echo 'int curandGetProperty(int w, int *v) { *v = 1; return 0; } int curandCreateGeneratorHost(void **g, int t) { return 203; }' |
		cc -shared -fPIC -Wl,-soname,libcurand.so.10 -x c -o curand -
	rm root/lib/libcurand.so.10
	mv curand root/lib/libcurand.so.10
	run_load 1
	[[ $(blame_of load.curand-host) == "203 "*" image" ]]
}
