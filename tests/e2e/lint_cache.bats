#!/usr/bin/env bats
# What lint found in a layer is kept in the store: the next image with that layer is judged without
# reading it, and says the same.

load common
load registry

setup() {
	work
	export GPUIMG_STORE=$WORK/store
}
teardown() { stop_registry; }

# An image with a library, a secret that a later layer hides, and a name with an escape sequence.
image() {
	need gcc umoci
	mkdir -p a/usr/lib/x86_64-linux-gnu a/root b/root
	echo 'int f(void) { return 1; }' | gcc -shared -nostdlib -Wl,-soname,libcuda.so.1 -o a/usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03 -x c -
	printf 'machine example.org login me password A8fJ2mZ91kQpL0xV7c\n' >a/root/.netrc
	touch "a/$(printf 'n\033[1mame')"
	umoci init --layout oci
	umoci new --image oci:t
	umoci insert --rootless --image oci:t a /
	umoci insert --rootless --whiteout --image oci:t /root/.netrc
	umoci config --image oci:t --architecture amd64 --config.env NVIDIA_VISIBLE_DEVICES=all
}

@test "lint: what is kept of layers says the same, also of an image that adds one" {
	image
	run -1 gpuimg lint oci:oci:t --no-cache --output json=plain
	[ ! -e store/keys/facts ]
	run -1 gpuimg lint oci:oci:t --output json=first
	run -1 gpuimg lint oci:oci:t --output json=second
	run -0 cmp plain first
	run -0 cmp plain second
	jq -e '[.findings[].rule] | index("DRV001") and index("SEC003")' second
	run -0 gpuimg store ls
	[[ $output == *"facts "*"what lint found in layers"* ]]
	run ! grep -r A8fJ2mZ91kQpL0xV7c store
	printf more >b/more
	umoci insert --rootless --image oci:t b /
	run -1 gpuimg lint oci:oci:t --output json=kept
	run -1 gpuimg lint oci:oci:t --no-cache --output json=plain
	run -0 cmp plain kept
}

@test "lint: a damaged record is passed over, told by store verify, and removed by gc" {
	image
	run -1 gpuimg lint oci:oci:t --output json=first
	record=$(find store/keys/facts -type f -size +100c | head -n 1)
	chmod u+w "$record"
	printf 'damaged?' | dd of="$record" bs=1 seek=50 conv=notrunc status=none
	run -1 gpuimg lint oci:oci:t --output json=second
	run -0 cmp first second
	run -0 gpuimg store verify # it was made anew
	chmod u+w "$record"
	printf 'damaged?' | dd of="$record" bs=1 seek=50 conv=notrunc status=none
	run -1 gpuimg store verify
	[[ $output == *"damaged, removed: keys/facts/"* ]]
	run -0 gpuimg store gc --older-than 0
	[ -z "$(find store/keys/facts -type f)" ]
}

@test "lint: facts do not hide that a layer is damaged or missing now" {
	image
	run -1 gpuimg lint oci:oci:t
	blob=$(jq -r '.manifests[0].digest' oci/index.json)
	blob=$(jq -r '.layers[0].digest' "oci/blobs/${blob/://}")
	blob=oci/blobs/${blob/://}
	truncate -s -10 "$blob"
	run -3 gpuimg lint oci:oci:t --output json=kept
	run -3 gpuimg lint oci:oci:t --no-cache --output json=plain
	run -0 cmp plain kept
	jq -e '.findings[] | select(.rule == "OCI001")' kept
	rm "$blob"
	run -3 gpuimg lint oci:oci:t
}

@test "lint: a layer of a registry that is known is not transferred again" {
	image
	start_registry
	run -0 gpuimg push oci:oci:t "docker://$REGISTRY/app:t"
	run -1 gpuimg lint "docker://$REGISTRY/app:t" --output json=first
	for digest in $(skopeo inspect --tls-verify=false "docker://$REGISTRY/app:t" | jq -r '.Layers[]'); do
		rm -r "$REGISTRY_DIR/data/docker/registry/v2/blobs/sha256/${digest:7:2}/${digest#sha256:}"
	done
	run -1 gpuimg lint "docker://$REGISTRY/app:t" --output json=second
	run -0 cmp first second
	run -3 gpuimg lint "docker://$REGISTRY/app:t" --no-cache
}

@test "lint: a store that cannot be written keeps nothing and is no obstacle" {
	image
	touch file
	run -1 gpuimg lint oci:oci:t --store file/store --output json=kept
	run -1 gpuimg lint oci:oci:t --no-cache --output json=plain
	run -0 cmp plain kept
}

@test "build: the verdict on an image is kept: nothing changed, nothing judged, the same said" {
	mkdir -p src && echo data >src/data
	cat >stack.yaml <<-END
	gpuimg: 1
	name: test/verdict
	sources: [ { id: own, type: dir, path: src } ]
	stages: { runtime: { profile: base, packages: { own: ["."] } } }
	image: { env: { LD_LIBRARY_PATH: /usr/local/cuda/lib64/stubs } }
	lint: { fail-on: never }
	END
	gpuimg lock -q stack.yaml
	run -0 --separate-stderr gpuimg build --to oci:out:1 stack.yaml
	first=$stderr
	[[ $first == *" warning"* || $first == *" error"* ]]
	[ "$(find store/keys/verdicts -type f | wc -l)" -eq 1 ]
	rm -r store/keys/facts
	run -0 --separate-stderr gpuimg build --to oci:out:1 stack.yaml
	[ "$stderr" = "$first" ]
	[[ $output == *"nothing changed"* ]]
	[ ! -e store/keys/facts ] # no layer was looked at
	run -0 gpuimg store ls
	[[ $output == *"verdicts "*"what lint said"* ]]
	run -0 gpuimg store verify

	# one that is damaged is passed over; another policy asks anew
	verdict=$(find store/keys/verdicts -type f)
	chmod u+w "$verdict"
	printf 'damaged?' | dd of="$verdict" bs=1 seek=60 conv=notrunc status=none
	run -0 --separate-stderr gpuimg build --to oci:out:1 stack.yaml
	[ "$stderr" = "$first" ]
	[ -e store/keys/facts ]
	sed -i 's/fail-on: never/fail-on: info/' stack.yaml
	gpuimg lock -q stack.yaml
	run -1 gpuimg build --to oci:out:1 stack.yaml
	run -1 gpuimg build --to oci:out:1 stack.yaml
	[ "$(find store/keys/verdicts -type f | wc -l)" -eq 1 ]
}

# Bytes read by a command and by what it starts.
bytes_read() { # COMMAND…
	bash -c '"$@" >/dev/null 2>&1 || exit; exec sed -n "s/^rchar: //p" /proc/self/io' - "$@"
}

@test "build: one small file changed, and lint reads no layer that it knows, whatever links it has by now" {
	mkdir -p kit app && echo 1 >app/file
	head -c 100M /dev/urandom >kit/data # a layer of its own
	cat >stack.yaml <<-END
	gpuimg: 1
	name: test/small-change
	sources: [ { id: own, type: dir, path: kit } ]
	stages: { runtime: { profile: base, packages: { own: ["."] }, files: [ { from: app, to: /opt/app } ] } }
	END
	gpuimg lock -q stack.yaml
	sleep 0.2 # what was written just now is read again by every build
	run -0 gpuimg build --to oci:out:1 stack.yaml
	for i in 2 3; do # the second finds what the first left
		echo $i >app/file
		run -0 bytes_read "$GPUIMG" build --to oci:out:$i --to oci:elsewhere:$i stack.yaml
		[ "$output" -gt 0 ] && [ "$output" -lt $((24 << 20)) ]
	done
	rm -r store/keys/facts
	echo 4 >app/file
	run -0 bytes_read "$GPUIMG" build --to oci:out:4 stack.yaml
	[ "$output" -gt $((96 << 20)) ] # that is how it shows
}

@test "build: a layer of the base image that was damaged in the store is not passed on, nor judged" {
	need umoci
	mkdir -p root/etc root/opt app && echo 'ID=testix' >root/etc/os-release && echo 1 >app/file
	head -c 2M /dev/urandom >root/opt/data
	umoci init --layout base
	umoci new --image base:1
	umoci insert --rootless --image base:1 root /
	umoci config --image base:1 --architecture amd64
	cat >stack.yaml <<-END
	gpuimg: 1
	name: test/damaged-base
	platforms: [linux/amd64]
	base: { image: "oci:base:1" }
	stages: { runtime: { profile: base, files: [ { from: app, to: /opt/app } ] } }
	END
	gpuimg lock -q stack.yaml
	run -0 gpuimg build --to oci:out:1 stack.yaml
	object=$(find store/objects -type f -size +1024k)
	[ "$(wc -l <<<"$object")" -eq 1 ]
	for options in "" --no-lint; do
		chmod u+w "$object"
		printf 'damaged?' | dd of="$object" bs=1 seek=5000 conv=notrunc status=none
		echo "2 $options" >app/file
		run -3 gpuimg build $options --offline --to oci:new:1 stack.yaml
		[[ $output == *"${object##*/} is damaged and was removed; fetch it again"* ]]
		[ ! -e new ]
		run -3 gpuimg build $options --offline --to oci:new:1 stack.yaml
		run -0 gpuimg build $options --to oci:new:1 stack.yaml # fetches
		run -0 sha256sum "new/blobs/sha256/${object##*/}"
		[ "${output%% *}" = "${object##*/}" ]
		rm -r new
	done
}

@test "build: the images of all platforms are judged" {
	mkdir -p app && echo data >app/data
	cat >stack.yaml <<-END
	gpuimg: 1
	name: test/platforms
	tag: t
	platforms: [linux/amd64, linux/arm64]
	stages: { runtime: { profile: base, files: [ { from: "app", to: /opt/app } ] } }
	image: { env: { LD_LIBRARY_PATH: /usr/local/cuda/lib64/stubs } }
	lint: { fail-on: never }
	END
	gpuimg lock -q stack.yaml
	for i in 1 2; do # made, then kept
		run -0 --separate-stderr gpuimg build --to oci:out:t stack.yaml
		[[ $stderr == *"test/platforms:t (linux/amd64)"*"test/platforms:t (linux/arm64)"* ]]
	done
	[ "$(find store/keys/verdicts -type f | wc -l)" -eq 2 ]
	start_registry
	run -0 --separate-stderr gpuimg ship --no-test --to "docker://$REGISTRY/app:t" -o json stack.yaml
	jq -e '.steps[] | select(.step == "lint") | .report | map(.image.platform) == ["linux/amd64", "linux/arm64"]' <<<"$output"
}
