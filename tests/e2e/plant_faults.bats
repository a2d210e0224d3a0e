#!/usr/bin/env bats
# Faults that are planted into a good image, one at a time: each is found, and nothing else.

load common

setup() { work; }

@test "lint: each of more than forty planted faults is found, and nothing else is new" {
	need python3 gcc
	run -0 env GPUIMG="$GPUIMG" GPUIMG_STORE="$WORK/store" "$ROOT/tests/tools/plant-faults"
	echo "$output"
	[ "$(sed -n 's/^planted: \([0-9]*\) faults.*, all found, nothing else new$/\1/p' <<<"$output")" -ge 40 ]
}

@test "lint: damaged images end as findings or as unreadable, never in a crash" {
	need python3
	run -0 env GPUIMG="$GPUIMG" "$ROOT/tests/tools/damage-images" 60
	echo "$output"
}
