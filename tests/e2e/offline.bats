#!/usr/bin/env bats
# No network where none is promised.

load common

setup() { work; }

# Every network system call of a command and its children; empty when there is none.
network_calls() { # COMMAND…
	strace -f -qq -e trace=network -e signal=none -o "$WORK/trace" "$@" >"$WORK/stdout" 2>"$WORK/stderr" || { cat "$WORK/stderr"; return 1; }
	grep -vE '^[0-9]+ +(\+\+\+|---)' "$WORK/trace" || true
}

@test "build --offline works in a network namespace that has no interfaces" {
	need unshare ip
	[ "$(id -u)" -eq 0 ] || skip "needs root to make a network namespace"
	stack=$(library_stack cuda13-runtime)
	run -0 unshare -n "$GPUIMG" build --offline --to "oci:$WORK/image:t" "$stack"
	run -0 unshare -n "$GPUIMG" lint "oci:$WORK/image:t"
}

@test "build --offline opens no socket, not even from an empty cache" {
	need strace
	stack=$(library_stack cuda13-runtime)
	mkdir s && cp -al "$GPUIMG_STORE/objects" s/objects
	run -0 network_calls "$GPUIMG" build --offline --no-lint --store "$WORK/s" --to "oci:$WORK/image:t" "$stack"
	[ -z "$output" ]
}

@test "a build whose stages run a compiler opens no socket either" {
	need strace
	[ "$(id -u)" -eq 0 ] || skip "without root bubblewrap makes the network namespace, over a netlink socket"
	stack=$(library_stack cuda13-devel-app)
	mkdir s && cp -al "$GPUIMG_STORE/objects" s/objects
	run -0 network_calls "$GPUIMG" build --offline --no-lint --store "$WORK/s" --to "oci:$WORK/image:t" "$stack"
	echo "$output"
	[ -z "$output" ]
}

@test "lint opens no socket" {
	need strace
	stack=$(library_stack cuda13-runtime)
	gpuimg build --offline --no-lint --to "oci:$WORK/image:t" "$stack"
	run -0 network_calls "$GPUIMG" lint "oci:$WORK/image:t"
	[ -z "$output" ]
}
