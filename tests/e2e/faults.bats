# A few of the faults of `make check-faults`: calls to the C library that fail, one at a time.

load common

setup() {
	work
	need cc python3 gpg dpkg-deb bwrap
	[ -e /lib64/ld-linux-x86-64.so.2 ] || skip "made for x86-64"
}

@test "faults: a call that fails ends lock, fetch and build cleanly, or makes no difference" {
	run -0 env GPUIMG="$GPUIMG" "$ROOT/tests/tools/inject-faults" --points 1 --commands lock,fetch,build --kinds read,full,rename,memory
	[[ ${lines[-1]} == "faults: 12 runs, 0 failed" ]]
}

@test "faults: a call that fails ends lint, push, pull and test cleanly, or makes no difference" {
	run -0 env GPUIMG="$GPUIMG" "$ROOT/tests/tools/inject-faults" --points 1 --commands lint,push,pull,test --kinds read,write,memory,thread
	[ "$(sed -n 's/^faults: \([0-9]*\) runs, 0 failed$/\1/p' <<<"$output")" -ge 12 ]
}
