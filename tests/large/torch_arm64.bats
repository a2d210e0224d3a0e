#!/usr/bin/env bats
# PyTorch for arm64 servers from real aarch64 wheels and arm64 .debs, built here without emulation.

load common

teardown_file() { rm -rf "${GPUIMG_LARGE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuimg-large}/work"; }

setup() { STACKS=$LARGE/stacks; }

@test "torch-arm64: locked and fetched" {
	locked torch-arm64
}

@test "torch-arm64: built twice without network from its lock, with one digest; lint lets it pass" {
	built_twice torch-arm64
}

@test "torch-arm64: umoci unpacks it, and no program or library is for another machine" {
	unpacked torch-arm64
	machine_is AArch64
	[ "$(gpuimg inspect -o json "oci:$LARGE/work/a:t" | jq -r '.image.platform // .platform')" = linux/arm64 ]
}

@test "torch-arm64: package lists of dpkg, of Python and of inspect are those of the lock" {
	packages_are_those_of torch-arm64
}

@test "torch-arm64: the files of every wheel are those of its RECORD" {
	records_hold
}

@test "torch-arm64: ldconfig reads the loader cache, which has the libraries of arm64" {
	local root=$LARGE/work/bundle/rootfs
	run -0 ldconfig -r "$root" -p
	[[ $output == *"libc.so.6 (libc6,AArch64"* ]]
}

@test "torch-arm64: lint has no error" {
	run -0 gpuimg lint --fail-on never "oci:$LARGE/work/a:t"
	echo "$output"
	[[ $output == *"0 errors"* ]]
}
