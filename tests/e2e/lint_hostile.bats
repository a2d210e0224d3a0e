#!/usr/bin/env bats
# Images that somebody made to hurt: they end with a sentence, in bounded memory, and nothing of
# them reaches the terminal raw. The large versions are in tests/tools/lint-memory.

load common

setup() {
	work
	export GPUIMG_STORE=$WORK/store
}

image() { python3 "$ROOT/tests/support/make_image.py" "$1" "$WORK/image" "${@:2}"; }

# Peak memory in MiB of a command, whatever its status.
peak_of() {
	python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)' "$@"
}

@test "lint: many entries take little memory each" {
	image entries 60000
	run -0 gpuimg lint oci:image
	few=$(peak_of "$GPUIMG" lint --no-cache oci:image)
	kept=$(peak_of "$GPUIMG" lint oci:image)
	echo "$few MiB, from what is kept $kept MiB"
	[ "$few" -le 60 ] && [ "$kept" -le 60 ]
}

@test "lint: a thousand layers" {
	image layers 1000
	run -0 gpuimg lint oci:image --output json=report
	jq -e '.image.layers == 1000 and ([.findings[].rule] == ["SIZ006"])' report
}

@test "lint: links that lead to each other, and paths through them" {
	image loops
	run -1 gpuimg lint oci:image --output json=report
	jq -e '.findings[] | select(.rule == "OCI005" and .path == "/hard2")' report
	run -0 gpuimg inspect oci:image --tree
}

@test "reports: names that would speak to a terminal are in none of them as they are" {
	image names
	local outputs=() f
	for f in text concise json jsonl sarif junit github gitlab checkstyle markdown html; do
		outputs+=(--output "$f=report.$f")
	done
	run -1 gpuimg lint oci:image "${outputs[@]}"
	for f in report.*; do
		python3 - "$f" <<'PY'
import sys, unicodedata
text = open(sys.argv[1], "rb").read().decode("utf-8") # and it is UTF-8
for c in text:
    assert c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf"), (sys.argv[1], hex(ord(c)))
assert "libnvidia-ml.so" in text
PY
	done
	run -0 gpuimg inspect oci:image --tree
	printf '%s' "$output" | python3 -c 'import sys, unicodedata
for c in sys.stdin.buffer.read().decode(): assert c == "\n" or unicodedata.category(c) not in ("Cc", "Cf"), hex(ord(c))'
}

@test "lint: entries that engines do not agree about are told once a layer" {
	image odd
	run -0 gpuimg lint oci:image --output json=report
	[ "$(jq -r '[.findings[] | select(.rule == "OCI005") | .path] | sort | join(" ")' report)" = "/opaque /sparse /strange" ]
	run -0 gpuimg lint oci:image --output json=kept
	run -0 cmp report kept
}

@test "lint: JSON that is nested deeply" {
	image depth 100000
	run -3 --separate-stderr gpuimg lint oci:image
	[[ $stderr == *"oci:image: the configuration: "*"depth"* ]]
}

@test "lint: a layer that unpacks to a thousand times its size, in the memory of a small one" {
	image bomb 256 gzip
	run -0 gpuimg lint oci:image
	peak=$(peak_of "$GPUIMG" lint --no-cache oci:image)
	echo "$peak MiB"
	[ "$peak" -le 60 ]
	rm -r image
	need zstd
	image bomb 256 zstd
	run -0 gpuimg lint oci:image
}
