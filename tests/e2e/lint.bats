#!/usr/bin/env bats
# The linter on images that other tools made: what is wrong is found, what is right is not.

load common

setup() { work; }

# An image of umoci: one layer per folder named, with the given configuration options after "--".
image() { # TAG FOLDER… -- OPTION…
	need umoci
	local tag=$1
	shift
	[ -d oci ] || umoci init --layout oci
	umoci new --image "oci:$tag"
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		umoci insert --rootless --image "oci:$tag" "$1" /
		shift
	done
	[ $# -eq 0 ] || shift
	umoci config --image "oci:$tag" --architecture amd64 --config.env NVIDIA_VISIBLE_DEVICES=all \
		--config.env NVIDIA_DRIVER_CAPABILITIES=compute,utility "$@"
}

library() { # FILE SONAME
	need gcc
	mkdir -p "$(dirname "$1")"
	echo 'int f(void) { return 1; }' | gcc -shared -nostdlib -Wl,-soname,"$2" -o "$1" -x c -
}

rules() { jq -r '.findings[] | .rule + " " + .path' "$1"; }

lib=usr/lib/x86_64-linux-gnu

@test "lint: a driver library in a layer" {
	library a/$lib/libcuda.so.535.54.03 libcuda.so.1
	image t a
	run -1 gpuimg lint oci:oci:t --output json=r.json
	[ "$(rules r.json)" = "DRV001 /$lib/libcuda.so.535.54.03" ] || { rules r.json; false; }
	[ "$(jq -r '.findings[0].severity' r.json)" = error ]
	[ "$(jq -r '.findings[0].layer' r.json)" = 0 ]
}

@test "lint: a stub that LD_LIBRARY_PATH reaches" {
	library a/usr/local/cuda-12.4/lib64/stubs/libcuda.so libcuda.so.1
	ln -s libcuda.so a/usr/local/cuda-12.4/lib64/stubs/libcuda.so.1
	ln -s cuda-12.4 a/usr/local/cuda
	image t a -- --config.env LD_LIBRARY_PATH=/usr/local/cuda/lib64/stubs
	run -1 gpuimg lint oci:oci:t --output json=r.json
	[ "$(rules r.json)" = "DRV005 /usr/local/cuda-12.4/lib64/stubs" ] || { rules r.json; false; }
	jq -r '.findings[0].message' r.json | grep -q LD_LIBRARY_PATH
}

@test "lint: the same stub off the path is right" {
	library a/usr/local/cuda-12.4/lib64/stubs/libcuda.so libcuda.so.1
	library a/usr/local/cuda-12.4/lib64/libcudart.so.12.4.127 libcudart.so.12
	ln -s cuda-12.4 a/usr/local/cuda
	image t a
	run -0 gpuimg lint oci:oci:t --fail-on info
}

@test "lint: compat on the path, in the cache that ldconfig wrote" {
	need /sbin/ldconfig
	library a/usr/local/cuda-12.4/compat/libcuda.so.550.54.15 libcuda.so.1
	library a/usr/local/cuda-12.4/compat/libnvidia-ptxjitcompiler.so.550.54.15 libnvidia-ptxjitcompiler.so.1
	ln -s cuda-12.4 a/usr/local/cuda
	mkdir -p a/etc/ld.so.conf.d a/lib a/usr/lib
	echo 'include /etc/ld.so.conf.d/*.conf' >a/etc/ld.so.conf
	echo /usr/local/cuda-12.4/compat >a/etc/ld.so.conf.d/compat.conf
	/sbin/ldconfig -r a 2>/dev/null || skip "ldconfig -r needs root"
	image t a
	run -1 gpuimg lint oci:oci:t --output json=r.json
	[ "$(rules r.json)" = "CMP001 /usr/local/cuda-12.4/compat" ] || { rules r.json; false; }
	jq -r '.findings[0].message' r.json | grep -q /etc/ld.so.cache
}

@test "lint: a driver that a later layer deletes is gone, its bytes are not" {
	library a/$lib/libcuda.so.535.54.03 libcuda.so.1
	mkdir -p b/$lib
	touch b/$lib/.wh.libcuda.so.535.54.03
	image t a
	umoci insert --rootless --whiteout --image oci:t /$lib/libcuda.so.535.54.03
	run -0 gpuimg lint oci:oci:t --output json=r.json
	[ "$(rules r.json)" = "SIZ001 " ] || { rules r.json; false; }
}

@test "lint: every transport gives the same findings" {
	need skopeo
	library a/$lib/libcuda.so.535.54.03 libcuda.so.1
	image t a
	skopeo copy -q oci:oci:t oci-archive:o.tar:t
	skopeo copy -q oci:oci:t docker-archive:d.tar:example/app:t
	gzip -k o.tar
	umoci unpack --rootless --image oci:t bundle >/dev/null
	for name in oci:oci:t oci-archive:o.tar docker-archive:d.tar o.tar.gz rootfs:bundle/rootfs; do
		run gpuimg lint "$name" --output json=r.json
		echo "$name: $status $output"
		[ "$status" -eq 1 ]
		[ "$(rules r.json)" = "DRV001 /$lib/libcuda.so.535.54.03" ] || { rules r.json; false; }
	done
	gpuimg lint - <o.tar --output json=r.json || [ $? -eq 1 ]
	[ "$(rules r.json)" = "DRV001 /$lib/libcuda.so.535.54.03" ] || { rules r.json; false; }
}

@test "lint: a damaged layer is named, and what was read is still judged" {
	library a/$lib/libcuda.so.535.54.03 libcuda.so.1
	mkdir b && head -c 100000 /dev/urandom >b/data
	image t a b
	blob=$(ls -S oci/blobs/sha256 | head -n 1)
	chmod u+w "oci/blobs/sha256/$blob"
	printf X | dd of="oci/blobs/sha256/$blob" bs=1 seek=5000 conv=notrunc status=none
	run gpuimg lint oci:oci:t --output json=r.json
	rules r.json | grep -q OCI001
	rules r.json | grep -q DRV001
	truncate -s 1000 "oci/blobs/sha256/$blob"
	run -3 gpuimg lint oci:oci:t --output json=r.json
	rules r.json | grep -q OCI001
	rules r.json | grep -q DRV001
}

@test "lint: a key in a file is found and never shown" {
	mkdir -p a/root
	key=hf_$(head -c 4000 /dev/urandom | tr -dc 'A-Za-z0-9' | head -c 34)
	echo "$key" >a/root/token
	image t a
	run -1 --separate-stderr gpuimg lint oci:oci:t
	[[ $output == *SEC001* ]]
	[[ $output != *"$key"* ]]
}

@test "lint: usage mistakes are 2, what is not there is 3" {
	run -2 gpuimg lint
	run -2 gpuimg lint --select NOPE999 oci:x
	run -2 gpuimg lint --fail-on sometimes oci:x
	run -2 gpuimg lint --explain XYZ999
	run -3 gpuimg lint oci:/nonexistent
	run -0 gpuimg lint --explain DRV005
	[[ $output == *"stub-on-runtime-path"* ]]
	run -0 gpuimg lint --list-rules
	[ "${#lines[@]}" -ge 16 ]
}

@test "lint: several images and several reports in one run" {
	library a/$lib/libcuda.so.535.54.03 libcuda.so.1
	mkdir -p c && echo hello >c/hello
	image bad a
	image good c
	run -1 gpuimg lint oci:oci:good oci:oci:bad --output json=r.json --output text=r.txt
	[ "$(jq length r.json)" = 2 ]
	[ "$(jq -r '.[1].findings[0].rule' r.json)" = DRV001 ]
	grep -q DRV001 r.txt
	run -0 gpuimg lint oci:oci:good oci:oci:bad --exit-zero
}
