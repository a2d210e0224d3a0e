#!/usr/bin/env bats
# The same lock gives the same bytes, whatever the machine around it looks like; and what differs is named.

load common

setup() { work; export GPUIMG_STORE=$WORK/store; }

# A locked stack of a .deb, files and a stage with a command; made once.
stack() {
	need gpg dpkg-deb
	local made=$BATS_FILE_TMPDIR/made
	[ -d "$made" ] || (mkdir "$made" && cd "$made" && GPUIMG_STORE=$made/store make_stack >&2)
	cp -a "$made/." .
}

make_stack() {
	mkdir -p repo src/deep tree/DEBIAN tree/usr/bin tree/usr/share/tool
	local n
	for n in 1 2 3 4 5 6 7 8 9; do
		head -c 300000 /dev/zero | tr '\0' "$n" >"tree/usr/share/tool/$n"
		echo "$n" >"src/deep/$n"
	done
	echo tool >tree/usr/bin/tool
	chmod 755 tree/usr/bin/tool
	printf 'Package: tool\nVersion: 2-3\nArchitecture: amd64\nMaintainer: T <t@example.org>\nDescription: t\n' >tree/DEBIAN/control
	dpkg-deb --root-owner-group -Zxz -b tree repo/tool_2-3_amd64.deb >/dev/null
	sign_repository repo
	cat >stack.yaml <<-END
		gpuimg: 1
		name: acme/app
		tag: "1.0"
		platforms: [linux/amd64]
		sources: [ { id: os, type: apt, url: "file://$PWD/repo/", suite: "./", signed-by: repo/key.gpg } ]
		stages:
		  runtime: { profile: base, packages: { os: [tool] }, files: [ { from: src/, to: /opt/src/ } ] }
		image: { env: { A: b } }
	END
	gpuimg lock stack.yaml
	gpuimg fetch stack.yaml
}

build() { gpuimg build --offline --no-lint "$@" stack.yaml >&2; }

# The index digest of a build in surroundings of its own: an empty store but for the inputs.
fresh() { # COMMAND… before gpuimg, such as env TZ=…
	rm -rf again out-again
	gpuimg fetch --to again stack.yaml >&2
	"$@" "$GPUIMG" build --store again --offline --no-lint --to oci:out-again:1.0 stack.yaml >&2
	digest_of out-again 1.0
}

@test "the same bytes in another locale, time zone and language" {
	stack
	build --to oci:out:1.0
	[ "$(fresh env TZ=Pacific/Kiritimati LC_ALL=tr_TR.UTF-8 LANG=tr_TR.UTF-8)" = "$(digest_of out 1.0)" ]
}

@test "the same bytes with another umask" {
	stack
	build --to oci:out:1.0
	[ "$(umask 077 && fresh env)" = "$(digest_of out 1.0)" ]
	[ "$(umask 0 && fresh env)" = "$(digest_of out 1.0)" ]
}

@test "the same bytes as another user" {
	[ "$(id -u)" -eq 0 ] || skip "changing the user needs root"
	need setpriv
	stack
	build --to oci:out:1.0
	# the test's own folders are root's alone
	local there
	there=$(mktemp -d /tmp/gpuimg-verify.XXXXXX)
	cp -a stack.yaml stack.lock.json src repo "$there/"
	cp "$GPUIMG" "$there/gpuimg"
	gpuimg fetch --to "$there/store" stack.yaml
	chmod -R a+rX "$there"
	chown -R 12345:12345 "$there"
	(cd "$there" && HOME=$there setpriv --reuid 12345 --regid 12345 --clear-groups ./gpuimg build --store store --offline --no-lint --to oci:out:1.0 stack.yaml)
	local theirs
	theirs=$(digest_of "$there/out" 1.0)
	rm -rf "$there"
	[ "$theirs" = "$(digest_of out 1.0)" ]
}

@test "the same bytes from another working directory and another place of the manifest" {
	stack
	build --to oci:out:1.0
	mkdir -p else/where
	cp -a stack.yaml stack.lock.json src repo else/where/
	gpuimg fetch --to carried stack.yaml
	(cd / && "$GPUIMG" build --store "$WORK/carried" --offline --no-lint --to "oci:$WORK/out2:1.0" "$WORK/else/where/stack.yaml")
	[ "$(digest_of out2 1.0)" = "$(digest_of out 1.0)" ]
}

@test "the same bytes on one thread and on many" {
	stack
	build --to oci:out:1.0
	gpuimg fetch --to one stack.yaml
	gpuimg fetch --to many stack.yaml
	build --store one -j1 --to oci:out1:1.0
	build --store many -j16 --to oci:out2:1.0
	[ "$(digest_of out1 1.0)" = "$(digest_of out 1.0)" ]
	[ "$(digest_of out2 1.0)" = "$(digest_of out 1.0)" ]
}

@test "the same bytes whatever order a directory has" {
	stack
	build --to oci:out:1.0
	mkdir backwards
	for n in 9 8 7 6 5 4 3 2 1; do cp "src/deep/$n" "backwards/$n"; done
	rm -r src/deep
	mv backwards src/deep
	[ "$(fresh env)" = "$(digest_of out 1.0)" ]
}

@test "the same bytes on another host and at another time" {
	need unshare
	unshare --uts true 2>/dev/null || skip "no name spaces for host names here"
	stack
	build --to oci:out:1.0
	touch -d 2031-01-01 src/deep/* repo/*
	[ "$(fresh unshare --uts sh -c 'hostname elsewhere && exec "$0" "$@"')" = "$(digest_of out 1.0)" ]
}

@test "SOURCE_DATE_EPOCH moves no layer" {
	stack
	build --to oci:out:1.0
	SOURCE_DATE_EPOCH=1700000000 build --to oci:later:1.0
	[ "$(digest_of later 1.0)" != "$(digest_of out 1.0)" ]
	skopeo inspect --raw oci:out:1.0 >a.json
	for d in out later; do
		skopeo inspect "oci:$d:1.0" | jq -c .Layers >"$d.layers"
		skopeo inspect --config "oci:$d:1.0" | jq -c .rootfs >"$d.ids"
	done
	cmp out.layers later.layers
	cmp out.ids later.ids
	# and a rebuild takes the time from the image
	run -0 gpuimg verify --rebuild oci:later:1.0 stack.lock.json
}

@test "verify --rebuild: identical" {
	stack
	build --to oci:out:1.0
	run -0 gpuimg verify --offline --rebuild oci:out:1.0 stack.lock.json
	[[ $output == *"linux/amd64  identical  sha256:"* ]]
	run -0 gpuimg verify --offline --rebuild oci:out:1.0 stack.yaml
	# nothing is left behind
	[ -z "$(ls -A store/tmp 2>/dev/null)" ]
}

# out:1.0 with a layer that holds COMMAND's change of the unpacked image.
changed() { # COMMAND…
	need umoci
	umoci unpack --rootless --image out:1.0 bundle
	(cd bundle/rootfs && "$@")
	umoci repack --image out:changed bundle >&2
}

@test "verify --rebuild: names the first path that differs, and its owner" {
	need jq
	stack
	build --to oci:out:1.0
	sed 's/^1$/one/' -i src/deep/1
	build --to oci:other:1.0
	sed 's/^one$/1/' -i src/deep/1
	run -1 --separate-stderr gpuimg verify --offline --rebuild oci:other:1.0 stack.lock.json
	[[ $output == *"/opt/src/deep/1: its size differs (owner: files files)"* ]]
	rm src/deep/5
	run -1 --separate-stderr gpuimg verify --offline --rebuild oci:out:1.0 stack.lock.json
	[[ $output == *"/opt/src/deep/5: is in the image, and the lock does not give it"* ]]
	echo 5 >src/deep/5
	chmod 755 src/deep/6
	run -1 --separate-stderr gpuimg verify --offline --rebuild oci:out:1.0 stack.lock.json
	[[ $output == *"/opt/src/deep/6: its mode differs (owner: files files)"* ]]
}

@test "verify --rebuild: a package of other bytes under the same name is told by its path" {
	stack
	build --to oci:out:1.0
	changed sh -c 'echo changed >usr/bin/tool'
	run -1 --separate-stderr gpuimg verify --offline --rebuild oci:out:changed stack.lock.json
	[[ $output == *"different: the image has "*" layers, the lock gives "* ]]
}

@test "verify --rebuild: configuration and compression are told apart from content" {
	stack
	build --to oci:out:1.0
	build --set 'layers.level=fast' --to oci:fast:1.0 2>refused || grep -q 'has changed since it was locked' refused
	umoci config --image out:1.0 --tag env --config.env A=c
	run -1 --separate-stderr gpuimg verify --offline --rebuild oci:out:env stack.lock.json
	[[ $output == *"different: configuration: "* ]]
}

@test "verify --rebuild: what cannot be judged is 3, what is asked wrongly 2" {
	stack
	build --to oci:out:1.0
	run -2 gpuimg verify oci:out:1.0 stack.lock.json
	run -2 gpuimg verify --rebuild oci:out:1.0 nowhere.lock.json
	run -3 gpuimg verify --rebuild oci:nowhere:1.0 stack.lock.json
	run -3 --separate-stderr gpuimg verify --store empty --offline --rebuild oci:out:1.0 stack.lock.json
	[[ $stderr == *"tool 2-3 is not in the store; run \`gpuimg fetch"* ]]
	# a layer that is cut short
	blob=$(ls -S out/blobs/sha256 | head -n 1)
	cp "out/blobs/sha256/$blob" whole # the layout's file is the store's, too
	rm "out/blobs/sha256/$blob"
	head -c 100 whole >"out/blobs/sha256/$blob"
	run -3 gpuimg verify --offline --rebuild oci:out:1.0 stack.lock.json
}

@test "the lock says which coder it was made for, and a build by another one tells" {
	stack
	jq -e '.coder | startswith("gzip libdeflate-")' stack.lock.json
	sed -i 's/libdeflate-[0-9.]*/libdeflate-0.1/' stack.lock.json
	run -0 --separate-stderr gpuimg build --offline --no-lint --to oci:out:1.0 stack.yaml
	[[ $stderr == *'the lock was made for layers by "gzip libdeflate-0.1 '* ]]
}
