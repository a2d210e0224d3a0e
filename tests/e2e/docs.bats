# The commands of the guides run, in their order, in a fresh folder. A page's blocks: ```yaml whose
# first line is "# NAME" is the file NAME, ```sh are commands.

load common
load registry

setup() {
	work
	mkdir bin && ln -s "$GPUIMG" bin/gpuimg
	PATH=$WORK/bin:$PATH
	start_registry
}

teardown() { stop_registry; }

# docs/PAGE.md as a script; registry.example.org is the registry of this test.
script_of() { # PAGE
	awk '/^```/ { block = block == "" ? substr($0, 4) : ""; if (block == "yaml") file = ""; else if (file != "") { print "GUIDE-END"; file = "" } next }
	     block == "yaml" && file == "" { file = $2; print "cat >" file " <<\"GUIDE-END\""; next }
	     block == "yaml" || block == "sh" { print }' "$ROOT/docs/$1.md" | sed "s/registry\.example\.org/$REGISTRY/g"
}

runs() { # PAGE COMMANDS-AT-LEAST
	script_of "$1" >guide.sh
	[ "$(grep -c '^gpuimg\|^tar\|^cp' guide.sh)" -ge "$2" ]
	sh -eux guide.sh
}

@test "docs: the quick start runs as it stands" {
	runs quick-start 14
	[ -s out/index.json ]
}

@test "docs: the guide to building without a network runs as it stands" {
	runs air-gapped 10
	[ -s again.tar ]
}

@test "docs: the guide to signing runs as it stands" {
	runs signing 16
	[ -s tool.spdx.json ]
}
