#!/usr/bin/env bats
# Builds that go to registries: layers sent while the next are made, caches that are signed, and
# everything in one command.

load common
load registry

setup() {
	work
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state XDG_CONFIG_HOME=$BATS_TEST_TMPDIR/config
	export GPUIMG_STORE=$WORK/store
	PYTHON=/usr/bin/python3
}

teardown() {
	stop_registry
	stop_servers
}

# A locked stack of files and a stage that copies from another; nothing of it is fetched.
stack() {
	mkdir -p src/deep big
	echo hello >src/deep/hello
	openssl enc -aes-128-ctr -nosalt -K 01 -iv 00 </dev/zero 2>/dev/null | head -c 3000000 >big/noise
	cat >stack.yaml <<-END
		gpuimg: 1
		name: acme/app
		tag: "1.0"
		platforms: [linux/amd64]
		sources: [ { id: one, type: dir, path: src }, { id: two, type: dir, path: big } ]
		stages:
		  runtime: { profile: base, packages: { one: [.], two: [.] } }
		publish: [ "REGISTRY/acme/app:{tag}", "REGISTRY/acme/app:latest" ]
	END
	sed -i '/packages:/s/.*/  runtime: { profile: base, files: [ { from: src, to: \/opt\/src }, { from: big, to: \/opt\/big } ] }/; /sources:/s/.*/sources: []/' stack.yaml
	sed -i "s/REGISTRY/$REGISTRY/g" stack.yaml
	gpuimg lock -q stack.yaml
}

@test "build --to a registry: the same image as in a layout, signed, with its SBOMs and provenance" {
	start_registry
	stack
	gpuimg keygen -q --plain mine
	run -0 gpuimg build --to oci:out:1.0 --to "docker://$REGISTRY/{name}" --sign mine.key stack.yaml
	[[ "$output" == *"sent while layers were made"* ]]
	run -0 gpuimg copy "docker://$REGISTRY/acme/app:1.0" oci:back:1.0
	[ "$(digest_of out 1.0)" = "$(digest_of back 1.0)" ]
	run -0 gpuimg verify --key mine.pub --attestation spdx --attestation cyclonedx --attestation provenance "docker://$REGISTRY/acme/app:1.0"
	[ "$(grep -c '^verified' <<<"$output")" = 4 ]
	run -0 gpuimg verify --key mine.pub --attestation provenance --platform linux/amd64 --predicate said.json "docker://$REGISTRY/acme/app:1.0"
	[ "$(jq -r .runDetails.builder.id said.json)" = urn:gpuimg:builder:local ]
	if "$PYTHON" -c 'import cryptography, nacl.secret' 2>/dev/null; then
		image=$(jq -r '.manifests[0].digest' "out/blobs/sha256/$(digest_of out 1.0 | cut -d: -f2)")
		run -0 "$PYTHON" "$ROOT/tests/support/foreign_sign.py" verify-bundles mine.pub "$REGISTRY" acme/app "$image" \
			https://spdx.dev/Document https://cyclonedx.org/bom https://slsa.dev/provenance/v1
	fi
	run -2 gpuimg build --offline --to "docker://$REGISTRY/acme/app:2" stack.yaml
}

@test "push: what the build said is attached, once; an image that lint refuses gets no tag" {
	start_registry
	stack
	gpuimg build -q --to oci:out:1.0 stack.yaml
	run -0 gpuimg push oci:out:1.0 "docker://$REGISTRY/app:1"
	[[ "$output" == *"3 documents attached (SBOMs, provenance)"* ]]
	run -0 gpuimg push oci:out:1.0 "docker://$REGISTRY/app:1"
	[[ "$output" != *"documents attached"* ]]
	image=$(jq -r '.manifests[0].digest' "out/blobs/sha256/$(digest_of out 1.0 | cut -d: -f2)")
	run -0 curl -sf -H 'Accept: application/vnd.oci.image.index.v1+json' "http://$REGISTRY/v2/app/manifests/${image/:/-}"
	[ "$(jq -r '[.manifests[].artifactType] | sort | join(" ")' <<<"$output")" = "application/spdx+json application/vnd.cyclonedx+json application/vnd.in-toto+json" ]
	mkdir -p src/stubs && touch src/stubs/x
	printf '%s\n' 'lint: { fail-on: info }' >>stack.yaml
	sed -i 's/^image:.*//; $a image: { env: { LD_LIBRARY_PATH: /usr/local/cuda/lib64/stubs } }' stack.yaml
	gpuimg lock -q stack.yaml
	run -1 gpuimg build --to "docker://$REGISTRY/refused:1" stack.yaml
	run -3 gpuimg ls "$REGISTRY/refused"
}

@test "cache: another machine takes signed results, and nothing else" {
	start_registry
	stack
	gpuimg keygen -q --plain ci
	gpuimg keygen -q --plain evil
	cache=docker://$REGISTRY/cache
	run -0 gpuimg build --to oci:out:1.0 --cache-to "$cache" --cache-sign ci.key stack.yaml
	[[ "$output" == *"entries put"* ]]
	run -0 gpuimg build --to oci:out:1.0 --cache-to "$cache" --cache-sign ci.key stack.yaml
	[[ "$output" == *" 0 entries put"* ]]
	other() { gpuimg build --store "$WORK/$1" --to "oci:$1-out:1.0" "${@:2}" stack.yaml; }
	run -0 other b --cache-from "$cache" --cache-key ci.pub
	[[ "$output" == *"--cache-from: "*" entries, "* ]]
	[ "$(digest_of b-out 1.0)" = "$(digest_of out 1.0)" ]
	# whose entries are not by our key is made here
	run -0 other c --cache-from "$cache" --cache-key evil.pub
	[[ "$output" == *"is signed by none of the keys; it is made here"* ]]
	[ "$(digest_of c-out 1.0)" = "$(digest_of out 1.0)" ]
	run -2 other d --cache-from "$cache"
	[[ "$output" == *"say whom to believe"* ]]
	run -0 other e --cache-from "$cache" --cache-unsigned
	[ "$(digest_of e-out 1.0)" = "$(digest_of out 1.0)" ]
	# entries moved to other keys: a signed document is for its own key
	images=$(gpuimg ls "$REGISTRY/cache" | grep '^images-')
	layer=$(gpuimg ls "$REGISTRY/cache" | grep '^layers-' | head -n 1)
	gpuimg tag "$REGISTRY/cache:$layer" "$images" >/dev/null
	run -0 other f --cache-from "$cache" --cache-key ci.pub
	[[ "$output" == *"is an entry for something else; it is made here"* ]]
	[ "$(digest_of f-out 1.0)" = "$(digest_of out 1.0)" ]
	# objects with other bytes
	find "$REGISTRY_DIR/data" -path '*/blobs/*/data' -size +1000k -exec sh -c 'printf x | dd of="$1" conv=notrunc bs=1 seek=5000 2>/dev/null' _ {} \;
	run -0 other g --cache-from "$cache" --cache-key ci.pub
	[[ "$output" == *"it is made here"* ]]
	[ "$(digest_of g-out 1.0)" = "$(digest_of out 1.0)" ]
	# a registry that is gone costs a warning
	stop_registry
	run -0 other h --cache-from "$cache" --cache-key ci.pub
	[[ "$output" == *"warning: --cache-from"* ]]
	[ "$(digest_of h-out 1.0)" = "$(digest_of out 1.0)" ]
}

@test "ship: build, lint, test, push, sign; one report; the exit status of the first step that is against" {
	start_registry
	stack
	gpuimg keygen -q --plain mine
	run -0 gpuimg ship --sign mine.key -o text -o json=ship.json stack.yaml
	[[ "$output" == *"build  done"*"lint   done"*"test   done"*"push   done"*"sign   done"* ]]
	[ "$(jq -r '[.schema, .exit, ([.steps[].step] | join(","))] | join(" ")' ship.json)" = "gpuimg-ship/1 0 build,lint,test,push,sign" ]
	[ "$(jq -r '.steps[1].report.schema' ship.json)" = gpuimg-lint/1 ]
	[ "$(jq -r '.steps[0].report != null and .steps[2].report != null' ship.json)" = true ]
	run -0 gpuimg verify --key mine.pub --attestation provenance "docker://$REGISTRY/acme/app:latest"
	[ "$(gpuimg ls "$REGISTRY/acme/app" | sort | xargs)" = "1.0 latest" ]
	# nobody listens: what was done is told, and where it stopped
	run -3 gpuimg ship --no-test --to docker://127.0.0.1:9/x/y:1 -o json stack.yaml
	# lint is against it
	printf '%s\n' 'lint: { fail-on: info }' 'image: { env: { LD_LIBRARY_PATH: /usr/local/cuda/lib64/stubs } }' >>stack.yaml
	gpuimg lock -q stack.yaml
	run -1 --separate-stderr gpuimg ship --to "docker://$REGISTRY/refused:1" -o json stack.yaml
	[ "$(jq -r '[.exit, ([.steps[] | .step + ":" + .status] | join(","))] | join(" ")' <<<"$output")" = "1 build:done,lint:against" ]
	run -3 gpuimg ls "$REGISTRY/refused"
	run -2 gpuimg ship stack-that-is-not-there.yaml
}

@test "ship: of several platforms, which was not tested is said" {
	start_registry
	stack
	here=linux/$(uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
	[ "$here" = linux/amd64 ] && other=linux/arm64 || other=linux/amd64
	sed -i "s|^platforms: .*|platforms: [linux/amd64, linux/arm64]|" stack.yaml
	gpuimg lock -q stack.yaml
	run -0 --separate-stderr gpuimg ship -o text -o json=ship.json stack.yaml
	[ "$(grep "not tested" <<<"$output")" = "  not tested: the image for $other, which only a machine of that kind can run; there, use gpuimg test" ]
	[ "$(jq -c .untested ship.json)" = "[\"$other\"]" ]
	[ "$(jq -r '.steps[2].report.image.platform' ship.json)" = "$here" ]
	run -0 --separate-stderr gpuimg ship --no-test -o text -o json=ship.json stack.yaml
	[[ $output != *"not tested"* ]]
	[ "$(jq -c .untested ship.json)" = '["linux/amd64","linux/arm64"]' ]
	# the one platform there is, is another: nothing ran
	sed -i "s|^platforms: .*|platforms: [$other]|" stack.yaml
	gpuimg lock -q stack.yaml
	run -0 --separate-stderr gpuimg ship -o text stack.yaml
	[[ $output == *"not tested: the image for $other"* ]]
}

@test "ship: the commands of test.run are run in the image, and the report says which" {
	need cc jq runc
	[ -e /lib64/ld-linux-x86-64.so.2 ] || skip "made for x86-64"
	start_registry
	mkdir -p root/lib root/lib64 root/bin
	cp -L /lib64/ld-linux-x86-64.so.2 root/lib64/
	for l in libc.so.6 libdl.so.2 libm.so.6 libpthread.so.0 librt.so.1; do cp -L "$(dirname "$(cc -print-file-name=libc.so.6)")/$l" root/lib/; done
	printf '#include <stdio.h>\nint main(int c, char **v) { printf("hello %%s\\n", c > 1 ? v[1] : "nobody"); return c > 2; }\n' >hello.c
	cc -o root/bin/hello hello.c
	cat >stack.yaml <<-END
		gpuimg: 1
		name: acme/hello
		tag: "1"
		platforms: [linux/amd64]
		stages: { runtime: { profile: base, files: [ { from: root/lib, to: /lib }, { from: root/lib64, to: /lib64 }, { from: root/bin, to: /bin } ] } }
		test: { run: [ { cmd: [ /bin/hello, world ], expect: "hello world" }, { cmd: [ /bin/hello ], gpu: true } ] }
	END
	gpuimg lock -q stack.yaml
	to=(--to "docker://$REGISTRY/{name}:{tag}")
	run -0 --separate-stderr gpuimg ship --no-lint "${to[@]}" -o text -o json=ship.json stack.yaml
	[[ $output == *"  pass  /bin/hello world"*"  skip  /bin/hello  (no-gpu"* ]]
	[ "$(jq -r '.steps[] | select(.step == "test") | .report.tests[] | select(.id == "run.user.1") | .status + " " + .evidence.command' ship.json)" = "pass /bin/hello world" ]
	run -0 gpuimg ls "$REGISTRY/acme/hello"
	# one that fails: no tag, and the report has its words
	sed -i 's/^tag: .*/tag: "2"/; s/, world ], expect: "hello world"/, a, b ]/' stack.yaml
	gpuimg lock -q stack.yaml
	run -1 --separate-stderr gpuimg ship --no-lint "${to[@]}" stack.yaml
	[[ $output == *"test   against"*"  fail  /bin/hello a b  (it ended with status 1, last words: hello a)"* ]]
	run -0 gpuimg ls "$REGISTRY/acme/hello"
	[ "$output" = 1 ]
}

@test "images of registries are read as far as is needed: documents, or each layer once" {
	start_persona v3
	make_layout
	gpuimg push -q oci:layout:v1 "docker://$REGISTRY/app:1"
	gpuimg tag "$REGISTRY/app:1" 2 >/dev/null
	layers() { # COMMAND…: how often each layer was asked for, most first
		: >"$PERSONA/log"
		gpuimg "$@" >/dev/null || return
		jq -r 'select(.method == "GET") | .path' "$PERSONA/log" | grep '/blobs/' | grep -v "$(sha256sum config.json | cut -c1-64)" | sort | uniq -c | awk '{ print $1 }' | sort -rn | xargs
	}
	[ "$(layers inspect "docker://$REGISTRY/app:1")" = "" ]
	[ "$(layers diff "docker://$REGISTRY/app:1" "docker://$REGISTRY/app:2")" = "1 1" ]
	[ "$(layers diff "docker://$REGISTRY/app:1" "docker://$REGISTRY/app:2")" = "" ] # the store knows them now
	[ "$(layers inspect --tree "docker://$REGISTRY/app:1")" = "1 1" ]
	[ "$(layers lint "docker://$REGISTRY/app:1")" = "" ]
	[ "$(layers lint --no-cache "docker://$REGISTRY/app:1")" = "1 1" ]
	[ "$(layers test "docker://$REGISTRY/app:1")" = "1 1" ]
	[ "$(layers sbom --scan "docker://$REGISTRY/app:1")" = "1 1" ]
}
