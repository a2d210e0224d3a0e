#!/usr/bin/env bats
# A disk that fills in the middle of a layer of 1 GiB, that of the store and that of the destination.

load common

setup() {
	[ "$(id -u)" -eq 0 ] || skip "needs root to mount a small file system"
	WORK=$LARGE/disk
	rm -rf "$WORK"
	mkdir -p "$WORK/tree" "$WORK/small"
	cd "$WORK" || return 1
	for i in 1 2 3 4 5; do head -c 220000000 /dev/urandom >"tree/$i"; done
	cat >stack.yaml <<-END
	gpuimg: 1
	name: test/disk
	platforms: [linux/amd64]
	sources: [ { id: kit, type: dir, path: tree } ]
	stages: { runtime: { profile: base, packages: { kit: ["."] } } }
	layers: { max-size: 2GiB }
	END
	gpuimg lock -q --store store stack.yaml
	mount -t tmpfs -o size=500m tmpfs small
}

teardown() {
	umount "$WORK/small" 2>/dev/null || true
	rm -rf "$WORK"
}

build() { run --separate-stderr gpuimg build -q --offline --no-lint --store "$1" --to "$2" stack.yaml; }

@test "disk: full under the store, said, nothing half is left, and the next build is well" {
	build "$WORK/small" "oci:$WORK/a:t"
	[ "$status" -eq 3 ]
	[[ $stderr == *"No space left"* ]]
	[ ! -e a/index.json ]
	[ -z "$(find small/tmp -type f)" ]
	gpuimg store verify --store small
	mount -o remount,size=2g small
	build "$WORK/small" "oci:$WORK/a:t"
	[ "$status" -eq 0 ]
}

@test "disk: full under the destination, said, and nothing is left there" {
	build "$WORK/store" "oci:$WORK/small/a:t"
	[ "$status" -eq 3 ]
	[[ $stderr == *"free some space there"*"No space left"* ]]
	[ -z "$(find small -type f)" ]
}
