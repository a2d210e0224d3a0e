#!/usr/bin/env bats
# resolve and matrix: their status, their JSON, and tables from a folder.

load common

setup() { work; }

stack() { # SECTION
	printf 'gpuimg: 1\nname: test/small\ntag: t\nplatforms: [linux/amd64]\nstack: %s\n' "$1" >stack.yaml
	printf 'sources: [ { id: pip, type: wheels, from: host } ]\nstages: { runtime: { profile: base } }\n' >>stack.yaml
}

@test "a stack that fits is solved, with status 0" {
	stack '{ driver: ">=535", gpus: [h100], framework: { torch: "2.7.*" } }'
	run --separate-stderr gpuimg resolve stack.yaml
	[ "$status" -eq 0 ]
	[[ $output == *"2.7.1 (cu126)"* && $output == *"535 (the floor): minor-version"* ]]
}

@test "the same in JSON, with the rows behind every sentence" {
	stack '{ driver: ">=535", gpus: [h100], framework: { torch: "2.7.*" } }'
	gpuimg resolve stack.yaml -o json=resolve.json
	python3 - <<'PY'
import json
d = json.load(open("resolve.json"))
assert d["schema"] == "gpuimg-resolve/1"
a = d["platforms"][0]
assert a["solved"] and a["cuda"] == "12.6.3" and a["cudnn"] == "9.5.1.17"
assert a["drivers"][0] == {**a["drivers"][0], "driver": "535", "floor": True, "verdict": "minor-version"}
assert a["gpus"][0]["verdict"] == "machine-code"
assert all(s["origins"] and s["origins"][0]["source"] for s in a["explanation"])
PY
}

@test "a stack that cannot be is explained, with status 1 and repairs" {
	stack '{ driver: ">=470", framework: { torch: "2.9.*" } }'
	run --separate-stderr gpuimg resolve stack.yaml
	[ "$status" -eq 1 ]
	[[ $output == *"driver: >=470"* && $output == *"set driver to >=525.60.13"* ]]
	run --separate-stderr gpuimg resolve stack.yaml -o json
	[ "$status" -eq 1 ]
	[[ $output == *'"solved": false'* ]]
}

@test "the suite of the packages decides which wheels fit its C library" {
	stack '{ framework: { torch: "2.8.*" } }'
	sed -i 's|sources: .*|sources: [ { id: os, type: apt, url: "https://example.org/ubuntu", suite: bionic, components: [main] } ]|' stack.yaml
	run --separate-stderr gpuimg resolve stack.yaml
	[ "$status" -eq 1 ]
	[[ $output == *"tagged for glibc 2.28 or newer, the system has 2.27"* ]]
	sed -i 's/bionic/bookworm/' stack.yaml
	gpuimg resolve stack.yaml
}

@test "a clause that cannot be read is the user's mistake" {
	stack '{ gpus: [h1000] }'
	run --separate-stderr gpuimg resolve stack.yaml
	[ "$status" -eq 2 ]
	[[ $stderr == *"stack.gpus"* && $stderr == *"h1000"* ]]
	run --separate-stderr gpuimg matrix weather
	[ "$status" -eq 2 ]
}

@test "a question in words, and a combination with its status" {
	run --separate-stderr gpuimg matrix driver 535
	[ "$status" -eq 0 ]
	[[ $output == *"serves CUDA 12.2 by itself"* ]]
	run --separate-stderr gpuimg matrix --driver 535.104 --cuda 12.6 --gpu l4
	[ "$status" -eq 0 ]
	run --separate-stderr gpuimg matrix --driver 550 --cuda 13.0 --gpu rtx4090
	[ "$status" -eq 1 ]
}

@test "a question in JSON" {
	gpuimg matrix ngc pytorch:24.10 -o json=m.json
	python3 -c 'import json; d=json.load(open("m.json")); assert d["schema"]=="gpuimg-matrix/1" and d["facts"]["cuda"]=="12.6.3", d'
}

@test "tables of a folder are used, and checked" {
	mkdir tables
	cp "$BATS_TEST_DIRNAME"/../../manifests/tables/*.json tables/
	gpuimg matrix --check --tables tables
	sed -i 's/"branch": 570, "kind": "PB"/"branch": 571, "kind": "PB"/' tables/driver-branches.json
	run --separate-stderr gpuimg matrix --check --tables tables
	[ "$status" -eq 1 ]
	[[ $output == *"no branch 570"* ]]
	sed -i 's/"version": "12.6.3", "label"/"version": 12, "label"/' tables/cuda-toolkits.json
	run --separate-stderr gpuimg matrix cuda 12.6 --tables tables
	[ "$status" -eq 3 ]
	[[ $stderr == *"cuda-toolkits.json: toolkits: "* && $stderr == *"version: is not a text"* ]]
}

@test "lock refuses a stack that cannot be, with the clash and the nearest change, before it asks a source" {
	stack '{ driver: ">=580", gpus: [v100], cuda: "13.0" }'
	sed -i 's|from: host|path: nowhere|' stack.yaml
	run --separate-stderr gpuimg lock stack.yaml
	[ "$status" -eq 1 ]
	[[ $stderr == *"gpus: v100"* && $stderr == *"cuda: 13.0"* && $stderr == *"set cuda to 12.9"* ]]
	[ ! -e stack.lock.json ]
}
