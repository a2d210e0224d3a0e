# gpuimg test: from an image to an exit status.

load common

setup() {
	work
	export GPUIMG_STORE=$WORK/store
	need cc jq
	[ -e /lib64/ld-linux-x86-64.so.2 ] || skip "made for x86-64"
	mkdir -p root/lib root/lib64
	cp -L /lib64/ld-linux-x86-64.so.2 root/lib64/
	local libc
	libc=$(cc -print-file-name=libc.so.6)
	for l in libc.so.6 libdl.so.2; do cp -L "$(dirname "$libc")/$l" root/lib/; done
	echo 'int cudaRuntimeGetVersion(int *v) { *v = 12060; return 0; }' |
		cc -shared -fPIC -nostdlib -Wl,-soname,libcudart.so.12 -x c -o root/lib/libcudart.so.12 -
}

@test "test: a working root passes, and its report says the version" {
	run -0 gpuimg test --require load -o json=report.json rootfs:root
	run -0 jq -r '.tests[] | select(.id == "load.version.libcudart.so.12") | .evidence.version' report.json
	[ "$output" = 12.6 ]
	run -0 jq -r '.schema, .summary.fail' report.json
	[ "$output" = $'gpuimg-test/1\n0' ]
}

@test "test: further copies of a library are tested by their paths, which may be long" {
	local folder=opt/python/lib/python3.11/site-packages/compiler/backends/nvidia/lib/a-folder-of-a-wheel/that-carries-its-own
	mkdir -p "root/$folder"
	echo 'int cudaRuntimeGetVersion(int *v) { *v = 12040; return 0; }' |
		cc -shared -fPIC -nostdlib -Wl,-soname,libcudart.so.12 -x c -o "root/$folder/libcudart.so.12" -
	run -0 gpuimg test --require load -o json=report.json rootfs:root
	run -0 jq -r --arg id "load.libcudart.so.12@/$folder/libcudart.so.12" '.tests[] | select(.id == $id) | .status' report.json
	[ "$output" = pass ]
}

@test "test: an image in layers is unpacked, judged and removed again" {
	need umoci
	umoci init --layout image
	umoci new --image image:t
	umoci unpack --rootless --image image:t bundle
	cp -a root/. bundle/rootfs/
	umoci repack --image image:t bundle
	mkdir tmp
	TMPDIR=$PWD/tmp run -0 gpuimg test oci:image:t
	[[ $output == *"pass  load.libcudart.so.12"* ]]
	[ -z "$(ls tmp)" ]
}

@test "test: a cut-off library is the image's fault" {
	head -c 2000 root/lib/libcudart.so.12 >cut
	mv cut root/lib/libcudart.so.12
	run -1 gpuimg test rootfs:root
	[[ $output == *"blame: image"* ]]
	[[ $output == *"/lib/libcudart.so.12"* ]]
}

@test "test: a required tier that cannot run is status 3" {
	[ ! -e /dev/nvidiactl ] || skip "there is a GPU here"
	run -3 gpuimg test --require run rootfs:root
	[[ $output == *"required, but did not run: run"* ]]
}

@test "test: wrong options are status 2" {
	run -2 gpuimg test --require lode rootfs:root
	run -2 gpuimg test --gpu h100 rootfs:root
	run -2 gpuimg test --mode docker rootfs:root
	run -2 gpuimg test
}
