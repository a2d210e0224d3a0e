#!/usr/bin/env bats
# PyTorch for arm64 servers from real aarch64 wheels and arm64 .debs, built here without emulation.

load common

@test "torch-arm64: built twice offline from its lock with one digest, unpacked, scanned, linted" {
	whole_stack torch-arm64
}

@test "torch-arm64: no program or library is for another machine, and the image says so" {
	machine_is AArch64
	[ "$(gpuimg inspect -o json "oci:$LARGE/work/a:t" | jq -r '.image.platform // .platform')" = linux/arm64 ]
}

@test "torch-arm64: the files of every wheel are those of its RECORD" {
	records_hold
}

@test "torch-arm64: ldconfig reads the loader cache, which has the libraries of arm64" {
	run -0 ldconfig -r "$LARGE/work/bundle/rootfs" -p
	[[ $output == *"libc.so.6 (libc6,AArch64"* ]]
}
