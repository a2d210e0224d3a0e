#!/usr/bin/env bats
# Where an image can go, and who reads it there.

load common

setup() { work; }

teardown() {
	[ -n "${OPEN:-}" ] || return 0
	umount "$OPEN"/p/* 2>/dev/null || true
	rm -rf "$OPEN"
}

# A stack of a folder alone: no network, no packages.
small_stack() {
	mkdir -p tree/bin tree/etc
	echo one >tree/etc/one
	printf '#!/bin/sh\n' >tree/bin/run && chmod 755 tree/bin/run
	ln -s one tree/etc/link
	cat >stack.yaml <<-EOF
		gpuimg: 1
		name: acme/small
		tag: "7"
		stages: { runtime: { files: [ { from: tree/, to: /app } ] } }
		image: { user: { name: app, uid: 1000 }, cmd: [/app/bin/run] }
	EOF
	gpuimg lock stack.yaml
}

diff_ids() { skopeo inspect --config "$1" | jq -c .rootfs.diff_ids; }

@test "one build, every destination: the same diff_ids" {
	need skopeo umoci
	small_stack
	gpuimg build --offline --no-lint --to oci:a/b:1 --to oci-archive:new/dir/x.tar --to docker-archive:new/d.tar \
		--to rootfs:root --to - stack.yaml >stdout.tar 2>messages
	grep -q 'written to oci:a/b:1' messages
	for image in oci:a/b:1 oci-archive:new/dir/x.tar:7 docker-archive:new/d.tar docker-archive:stdout.tar; do
		diff_ids "$image" >>ids
	done
	[ "$(sort -u ids | wc -l)" -eq 1 ]
	run -0 cmp new/d.tar stdout.tar
	run -0 jq -r '.[0].RepoTags[0]' <(tar -xOf new/d.tar manifest.json)
	[ "$output" = acme/small:7 ]
	run -0 tar -xOf new/d.tar repositories
	[[ $output == '{"acme/small":{"7":"'* ]]
	[ "$(readlink root/app/etc/link)" = one ]
	[ "$(cat root/app/etc/one)" = one ]
	run -0 gpuimg lint docker-archive:new/d.tar
	gpuimg lint - <stdout.tar
}

@test "docker-archive takes a name, and the same image gives the same bytes" {
	small_stack
	run -0 gpuimg build --offline --no-lint --to docker-archive:a.tar:example.org/x/app:v2 --to docker-archive:b.tar:example.org/x/app:v2 stack.yaml
	run -0 cmp a.tar b.tar
	run -0 jq -r '.[0].RepoTags[0]' <(tar -xOf a.tar manifest.json)
	[ "$output" = example.org/x/app:v2 ]
}

@test "a folder is what umoci unpacks" {
	need umoci
	[ "$(id -u)" -eq 0 ] || skip "needs root for owners"
	small_stack
	run -0 gpuimg build --offline --no-lint --to oci:a:1 --to rootfs:root stack.yaml
	umoci unpack --image a:1 bundle
	list() { (cd "$1" && find . -mindepth 1 ! -type d -printf '%P %y %m %U %G %s %l %T@\n' -o -mindepth 1 -printf '%P %y %m %U %G\n' | sort); }
	run -0 diff <(list root) <(list bundle/rootfs)
	run -0 diff -r --no-dereference root bundle/rootfs
	run -2 gpuimg build --offline --no-lint --to rootfs:root stack.yaml
	[[ $output == *"root is not empty"* ]]
}

@test "without root a folder says what it could not do" {
	need setpriv
	[ "$(id -u)" -eq 0 ] || skip "becomes another user"
	OPEN=$(mktemp -d /tmp/gpuimg-outputs.XXXXXX) # bats' own folders are closed to others
	as_nobody() { setpriv --reuid 65534 --clear-groups env GPUIMG_STORE="$OPEN/store" "$@"; }
	chmod 777 "$OPEN" && cd "$OPEN"
	install -m 755 "$GPUIMG" gpuimg # where others may come
	GPUIMG=$OPEN/gpuimg
	small_stack
	run -0 as_nobody "$GPUIMG" build --offline --no-lint --to rootfs:root stack.yaml
	[[ $output == *"belong to other users than you in the image; only root can set that"* ]]
	[ "$(cat root/app/etc/one)" = one ]
}

@test "podman reads what gpuimg loads into its store, archives and standard output" {
	need podman
	small_stack
	OPEN=$(mktemp -d /tmp/gpuimg-out.XXXXXX) # podman takes no long names
	pod() { podman --root "$OPEN/p" --runroot "$OPEN/r" --storage-driver vfs "$@"; }
	gpuimg build --offline --no-lint --to - stack.yaml 2>messages | pod load -q
	run -0 pod image inspect --format '{{.Config.Cmd}} {{.RootFS.Layers}}' localhost/acme/small:7
	[[ $output == "[/app/bin/run]"* ]]
	# through containers-storage:, which runs podman: its options come by a wrapper
	mkdir tools
	printf '#!/bin/sh\nexec %s --root %s --runroot %s --storage-driver vfs "$@"\n' "$(command -v podman)" "$OPEN/p" "$OPEN/r" >tools/podman
	chmod +x tools/podman
	PATH=$WORK/tools:$PATH run -0 gpuimg build --offline --no-lint --to containers-storage:acme/other:2 stack.yaml
	run -0 pod image exists localhost/acme/other:2
	# and the linter and skopeo read the same out of it
	gpuimg build --offline --no-lint --to oci:same:2 stack.yaml
	run gpuimg lint oci:same:2 --output json=layout
	PATH=$WORK/tools:$PATH run gpuimg lint containers-storage:localhost/acme/other:2 --output json=stored
	[ "$status" -le 1 ]
	[ "$(jq -c '[.image.layers, .findings]' stored)" = "$(jq -c '[.image.layers, .findings]' layout)" ]
	PATH=$WORK/tools:$PATH run -3 gpuimg lint containers-storage:localhost/acme/none:2
}

@test "an engine that is not installed, or does not take the image, is named" {
	small_stack
	mkdir tools
	for tool in sh env cat rm mktemp; do ln -s "$(command -v $tool)" tools/; done
	PATH=$WORK/tools run -3 "$GPUIMG" build --offline --no-lint --to docker-daemon:x stack.yaml
	[[ $output == *"docker is not installed"* ]]
	printf '#!/bin/sh\necho "no daemon here" >&2\nexit 1\n' >tools/docker && chmod +x tools/docker
	PATH=$WORK/tools run -3 "$GPUIMG" build --offline --no-lint --to docker-daemon:x stack.yaml
	[[ $output == *"docker did not take the image (status 1): no daemon here"* ]]
}

@test "mistakes in destinations and manifests end with status 2, before anything is built" {
	small_stack
	run -2 gpuimg build --offline --to somewhere stack.yaml
	[[ $output == *"images are built to oci:DIR"* ]]
	run -2 gpuimg build --offline --to oci: stack.yaml
	run -2 gpuimg build --offline --to - --to - stack.yaml
	run -2 gpuimg build --offline nothere.yaml
	[[ $output == *"nothere.yaml: there is no such manifest"* ]]
	run -2 gpuimg lock nothere.yaml
	run -2 gpuimg resolve nothere.yaml
	[ ! -e out ]
}

@test "several platforms: layouts and archives hold both, a folder this machine's" {
	need skopeo
	small_stack
	sed -i 's/^tag:/platforms: [linux\/amd64, linux\/arm64]\ntag:/' stack.yaml
	gpuimg lock stack.yaml
	run -0 gpuimg build --offline --no-lint --to oci:a:1 --to rootfs:root stack.yaml
	run -0 skopeo inspect --raw oci:a:1
	[ "$(jq -c '[.manifests[].platform.architecture]' <<<"$output")" = '["amd64","arm64"]' ]
	[ -f root/app/etc/one ]
}

@test "two platforms from real packages in one run, without emulation" {
	need skopeo umoci file
	cat >stack.yaml <<-EOF
		gpuimg: 1
		name: two
		platforms: [linux/amd64, linux/arm64]
		sources: [ { id: os, type: apt, from: host } ]
		stages: { runtime: { packages: { os: [base-files, base-passwd, dash] } } }
	EOF
	run -0 gpuimg build --no-lint --to oci:a:1 stack.yaml
	run -0 skopeo inspect --raw oci:a:1
	[ "$(jq -c '[.manifests[].platform.architecture]' <<<"$output")" = '["amd64","arm64"]' ]
	for arch in amd64 arm64; do
		skopeo copy --quiet --override-arch $arch oci:a:1 "oci:$arch:1"
		umoci unpack --rootless --image "$arch:1" "b-$arch" >/dev/null
	done
	[[ $(file b-amd64/rootfs/usr/bin/dash) == *x86-64* ]]
	[[ $(file b-arm64/rootfs/usr/bin/dash) == *aarch64* ]]
	[ -e b-amd64/rootfs/lib64 ] && [ ! -e b-arm64/rootfs/lib64 ]
	grep -q 'ld-linux-aarch64.so.1' b-arm64/rootfs/etc/ld.so.cache
	run -1 grep -q '^Architecture: amd64' b-arm64/rootfs/var/lib/dpkg/status
	grep -q '^Architecture: arm64' b-arm64/rootfs/var/lib/dpkg/status
	run -0 gpuimg lint oci:a:1
}

@test "what could not be printed is said: status 3, of pages of help and the version too" {
	small_stack
	for command in --help "help lint" "build --help" --version "store ls" "schema stack" "plan stack.yaml" "lint --explain GPU001"; do
		# shellcheck disable=SC2086 # words
		run -3 bash -c '"$0" "$@" >/dev/full' "$GPUIMG" $command
		[[ "$output" == *": No space left on device" ]]
	done
}
