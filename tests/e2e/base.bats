#!/usr/bin/env bats
# Images built upon a base image: by other tools' hands, and by mmdebstrap.

load common
load registry

setup() { work; }
teardown() { stop_registry; }

# A .deb of the files below a folder. DEPENDS may be empty.
make_deb() { # FOLDER NAME VERSION DEPENDS TO
	mkdir -p "$1/DEBIAN"
	printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: Test <test@example.org>\nDescription: test\n' "$2" "$3" >"$1/DEBIAN/control"
	[ -z "$4" ] || echo "Depends: $4" >>"$1/DEBIAN/control"
	dpkg-deb --root-owner-group -Zgzip -b "$1" "$5/$2.deb" >/dev/null
}

# libx 2, tool that needs it, and a package with a file of a group that its script would make.
make_repository() {
	mkdir -p repo p/libx/usr/share/libx p/libx/lib p/tool/usr/bin p/tool/opt/tool p/ssh/usr/bin
	echo new >p/libx/usr/share/libx/new.txt
	echo same >p/libx/usr/share/libx/same.txt
	echo two >p/libx/lib/libx.txt
	printf '#!/bin/sh\n' >p/tool/usr/bin/tool
	echo t >p/tool/opt/tool/file
	echo agent >p/ssh/usr/bin/ssh-agent
	make_deb p/libx libx 2 "" repo
	make_deb p/tool tool 1.0 "libx (>= 2)" repo
	mkdir -p p/ssh/DEBIAN
	cat >p/ssh/DEBIAN/postinst <<-'EOF'
		#!/bin/sh
		set -e
		if ! getent group _ssh >/dev/null; then
			addgroup --system --quiet _ssh
		fi
		chgrp _ssh /usr/bin/ssh-agent
		chmod 2755 /usr/bin/ssh-agent
	EOF
	chmod 755 p/ssh/DEBIAN/postinst
	make_deb p/ssh openssh-client 1 "" repo
	sign_repository "$PWD/repo"
}

# A root that is not merged, with a link for a folder, accounts, and odd owners. FORM of the
# package database: status or status.d.
make_root() { # FORM
	rm -rf root
	mkdir -p root/{bin,sbin,etc,opt,tmp,usr/lib,usr/share/libx,var/lib/dpkg/info}
	ln -s usr/lib root/lib
	echo one >root/usr/lib/libx.txt
	echo old >root/usr/share/libx/old.txt
	echo same >root/usr/share/libx/same.txt
	printf 'root:x:0:0:root:/root:/bin/sh\nold:!:500:500:an account:/:/bin/false\n' >root/etc/passwd
	printf 'root:x:0:\ntaken:x:101:old\n' >root/etc/group
	printf 'root:*:1:0:99999:7:::\n' >root/etc/shadow
	printf 'ID=testix\nVERSION_ID="1"\n' >root/etc/os-release
	local stanza='Package: libx\nVersion: 1\nArchitecture: amd64\nMaintainer: Test <test@example.org>\nDescription: old\n'
	if [ "$1" = status ]; then
		printf "${stanza/Version/Status: install ok installed\\nVersion}" >root/var/lib/dpkg/status
		printf '/.\n/lib\n/lib/libx.txt\n/usr\n/usr/share\n/usr/share/libx\n/usr/share/libx/old.txt\n/usr/share/libx/same.txt\n' >root/var/lib/dpkg/info/libx.list
		echo gone >root/var/lib/dpkg/info/libx.postrm
	else
		mkdir root/var/lib/dpkg/status.d
		printf "$stanza" >root/var/lib/dpkg/status.d/libx
	fi
	chmod 1777 root/tmp
	tar -C root --sort=name --mtime=@0 --owner=0 --group=0 -cf root.tar --exclude=./opt .
	tar -C root --mtime=@0 --owner=7 --group=8 --mode=0750 -rf root.tar ./opt
}

# The root as the image base:1, with a configuration of its own.
make_base() { # FORM
	make_root "$1"
	rm -rf base
	umoci init --layout base
	umoci new --image base:1
	umoci raw add-layer --image base:1 root.tar
	umoci config --image base:1 --config.env WHO=base --config.env PATH=/bin:/usr/bin \
		--config.label from=base --config.cmd /bin/tool --config.workingdir /opt --no-history
}

manifest() { # BASE
	cat <<-EOF
		gpuimg: 1
		name: acme/on-base
		tag: "1"
		base: { image: "$1" }
		sources: [ { id: os, type: apt, url: "file://$PWD/repo/", suite: "./", signed-by: repo/key.gpg } ]
		stages:
		  runtime: { packages: { os: [tool, openssh-client] } }
		image: { user: { name: app, uid: 1000 }, env: { WHO: us, X: "1" } }
	EOF
}

config_of() { skopeo inspect --config "$1"; }

# The blob of the first layer of a layout's tag, by its digest.
layer_digest() { skopeo inspect "$1" | jq -r ".Layers[$2]"; }

@test "a base image goes on: layers, database, accounts, folders and links" {
	need umoci skopeo dpkg-deb gpgv
	[ "$(id -u)" -eq 0 ] || skip "owners are only unpacked by root"
	make_repository
	make_base status
	manifest oci:base:1 >stack.yaml
	run -0 gpuimg build --no-lint --to oci:out:t stack.yaml

	# its layer is the very blob, under ours
	[ "$(layer_digest oci:out:t 0)" = "$(layer_digest oci:base:1 0)" ]
	cmp base/blobs/sha256/"$(layer_digest oci:base:1 0 | cut -d: -f2)" out/blobs/sha256/"$(layer_digest oci:out:t 0 | cut -d: -f2)"
	umoci unpack --image out:t bundle
	cd bundle/rootfs

	# the upgrade that a relation asked for took away what only the old version had
	[ ! -e usr/share/libx/old.txt ]
	[ ! -e var/lib/dpkg/info/libx.postrm ]
	[ "$(cat usr/share/libx/new.txt)" = new ]
	[ "$(dpkg-query --admindir=var/lib/dpkg -W -f '${Package} ${Version} ${Status}\n' | sort)" = "libx 2 install ok installed
openssh-client 1 install ok installed
tool 1.0 install ok installed" ]
	[ ! -e var/lib/dpkg/status.d ]

	# the base is not merged and stays so; its link for a folder stays a link
	[ -d bin ] && [ ! -L bin ]
	[ "$(readlink lib)" = usr/lib ]
	[ "$(cat usr/lib/libx.txt)" = two ]

	# a folder that ours write into keeps its owner and mode
	[ "$(stat -c '%a %u %g' opt)" = "750 7 8" ]
	[ "$(stat -c %a tmp)" = 1777 ]

	# accounts: its lines as they were, ours behind them; a number that was taken is not taken again
	[ "$(head -n 2 etc/passwd)" = "$(cat "$WORK/root/etc/passwd")" ]
	grep -q '^app:x:1000:1000:' etc/passwd
	grep -q '^taken:x:101:old$' etc/group
	gid=$(sed -n 's/^_ssh:x:\([0-9]*\):.*/\1/p' etc/group)
	[ -n "$gid" ] && [ "$gid" != 101 ]
	[ "$(stat -c '%g %a' usr/bin/ssh-agent)" = "$gid 2755" ]
	grep -q '^root:\*:1:' etc/shadow
	grep -q '^app:' etc/shadow
	[ ! -e etc/gshadow ]
}

@test "a base image's configuration and history go on, ours on top" {
	need umoci skopeo dpkg-deb gpgv
	make_repository
	make_base status
	manifest oci:base:1 >stack.yaml
	run -0 gpuimg build --no-lint --to oci:out:t stack.yaml
	config_of oci:out:t >config.json
	run -0 jq -c '[.config.Env, .config.Cmd, .config.WorkingDir, .config.User, .config.Labels.from]' config.json
	[ "$output" = '[["WHO=us","PATH=/bin:/usr/bin","LANG=C.UTF-8","X=1"],["/bin/tool"],"/opt","1000:1000","base"]' ]
	[ "$(jq '[.history[] | select(.empty_layer | not)] | length' config.json)" = "$(jq '.rootfs.diff_ids | length' config.json)" ]
	[ "$(jq -c '.history[0]' config.json)" = "$(config_of oci:base:1 | jq -c '.history[0]')" ]
	[ "$(jq -r '.rootfs.diff_ids[0]' config.json)" = "$(config_of oci:base:1 | jq -r '.rootfs.diff_ids[0]')" ]
	index=$(digest_of out t)
	manifest=$(jq -r '.manifests[0].digest' "out/blobs/sha256/${index#*:}")
	run -0 jq -r '.annotations["org.opencontainers.image.base.digest"]' "out/blobs/sha256/${manifest#*:}"
	[ "$output" = "$(digest_of base 1)" ]
	run -0 gpuimg build --no-lint --to oci:twice:t stack.yaml
	run -0 diff -r out twice
	run gpuimg lint --output json oci:out:t
	[ "$status" -le 1 ]
}

@test "a base image with status.d goes on with a file for each package" {
	need umoci dpkg-deb gpgv
	make_repository
	make_base status.d
	manifest oci:base:1 >stack.yaml
	run -0 gpuimg build --no-lint --to oci:out:t --to rootfs:root.out stack.yaml
	[ ! -e root.out/var/lib/dpkg/status ]
	[ "$(cd root.out/var/lib/dpkg/status.d && echo *)" = "libx openssh-client tool" ]
	grep -q '^Version: 2$' root.out/var/lib/dpkg/status.d/libx
	grep -q '^Status: install ok installed$' root.out/var/lib/dpkg/status.d/tool
}

@test "lock --diff and --update speak of the base image" {
	need umoci skopeo dpkg-deb gpgv
	make_repository
	make_base status
	manifest oci:base:1 >stack.yaml
	run -0 gpuimg lock stack.yaml
	old=$(digest_of base 1)
	[ "$(jq -r '.platforms[].inputs[] | select(.kind == "image" and .name == "base") | .version' stack.lock.json)" = "$old" ]
	echo more >root/more.txt
	tar -C root -cf more.tar more.txt
	umoci raw add-layer --image base:1 more.tar
	run -1 gpuimg lock --diff stack.yaml
	[[ $output == *"moved    base $old -> $(digest_of base 1)"* ]]
	[[ $output == *"added    base.layer[1]"* ]]
	# another thing moves: the base stays, out of the store
	run -0 gpuimg lock --update tool stack.yaml
	grep -q "$old" stack.lock.json
	run -0 gpuimg lock --update base stack.yaml
	grep -q "$(digest_of base 1)" stack.lock.json
	run -0 gpuimg build --no-lint --to oci:out:t stack.yaml
	[ "$(layer_digest oci:out:t 1)" = "$(layer_digest oci:base:1 1)" ]
}

@test "a base image of a registry is locked to its digest, fetched anew, and named in annotations" {
	need umoci skopeo dpkg-deb gpgv
	make_repository
	make_base status
	start_registry
	skopeo copy --quiet --dest-tls-verify=false oci:base:1 "docker://$REGISTRY/sys/base:1"
	manifest "docker://$REGISTRY/sys/base:1" >stack.yaml
	export GPUIMG_STORE=$WORK/s1
	run -0 gpuimg build --no-lint --to oci:out:t stack.yaml
	run -0 jq -r '.platforms[].inputs[] | select(.kind == "image") | .url' stack.lock.json
	[ "${lines[0]}" = "docker://$REGISTRY/sys/base@$(digest_of base 1)" ]
	# the tag moves on; what is locked is what is fetched
	umoci config --image base:1 --config.env NEW=1
	skopeo copy --quiet --dest-tls-verify=false oci:base:1 "docker://$REGISTRY/sys/base:1"
	export GPUIMG_STORE=$WORK/s2
	run -0 gpuimg fetch --to "$WORK/carried" stack.lock.json
	stop_registry
	run -0 gpuimg build --offline --no-lint --store "$WORK/carried" --to oci:out2:t stack.yaml
	run -0 diff -r out out2
	index=$(digest_of out t)
	manifest=$(jq -r '.manifests[0].digest' "out/blobs/sha256/${index#*:}")
	run -0 jq -r '.annotations["org.opencontainers.image.base.name"], .layers[0].annotations["containerd.io/distribution.source.'"$REGISTRY"'"]' "out/blobs/sha256/${manifest#*:}"
	[ "$output" = "$REGISTRY/sys/base:1
sys/base" ]
}

@test "archives serve as base images, with the same layers" {
	need umoci skopeo dpkg-deb gpgv
	make_repository
	make_base status
	skopeo copy --quiet oci:base:1 oci-archive:base.tar:1
	skopeo copy --quiet oci:base:1 docker-archive:docker.tar:base:1
	for base in oci:base:1 oci-archive:base.tar:1 docker-archive:docker.tar; do
		manifest "$base" >stack.yaml
		rm -f stack.lock.json
		run -0 gpuimg build --no-lint --to oci:out:t stack.yaml
		config_of oci:out:t | jq -c .rootfs.diff_ids >>ids
	done
	[ "$(sort -u ids | wc -l)" -eq 1 ]
}

@test "build stages sit on the base image too" {
	need umoci bwrap dpkg-deb gpgv gcc
	make_repository
	make_root status
	printf 'int main(void) { return 0; }\n' >true.c
	printf '#include <stdio.h>\n#include <unistd.h>\nint main(int c, char **v) { (void)c; FILE *f = fopen("/out", "w"); fputs("made\\n", f); return v[0] == 0; }\n' >sh.c
	gcc -static -o root/bin/sh sh.c
	tar -C root --owner=0 --group=0 -rf root.tar ./bin/sh
	umoci init --layout base && umoci new --image base:1 && umoci raw add-layer --image base:1 root.tar
	{
		manifest oci:base:1 | sed '/^stages:/,/^  runtime/d'
		printf 'stages:\n  make: { run: [ "anything" ] }\n  runtime: { copy: [ { from: make, path: /out, to: /opt/out } ] }\n'
	} >stack.yaml
	run -0 gpuimg build --no-lint --to rootfs:root.out stack.yaml
	[ "$(cat root.out/opt/out)" = made ]
}

# What a base image must not be. Prints the error of a lock.
refused() { # STATUS BASE
	manifest "$2" >stack.yaml
	run -"$1" gpuimg lock stack.yaml
	[ ! -e stack.lock.json ]
}

# Change the configuration or the manifest of base:1 by a jq filter, with all digests above it.
rewrite() { # config|manifest FILTER
	python3 - "$1" "$2" <<-'EOF'
		import hashlib, json, subprocess, sys
		def blob(d): return "base/blobs/sha256/" + d.split(":")[1]
		def put(text):
		    d = "sha256:" + hashlib.sha256(text).hexdigest()
		    open(blob(d), "wb").write(text)
		    return d, len(text)
		def change(text, f): return subprocess.run(["jq", "-c", f], input=text, stdout=subprocess.PIPE, check=True).stdout
		index = json.load(open("base/index.json"))
		text = open(blob(index["manifests"][0]["digest"]), "rb").read()
		if sys.argv[1] == "config":
		    m = json.loads(text)
		    d, n = put(change(open(blob(m["config"]["digest"]), "rb").read(), sys.argv[2]))
		    m["config"]["digest"], m["config"]["size"] = d, n
		    text = json.dumps(m).encode()
		else:
		    text = change(text, sys.argv[2])
		d, n = put(text)
		index["manifests"][0]["digest"], index["manifests"][0]["size"] = d, n
		json.dump(index, open("base/index.json", "w"))
	EOF
}

@test "base images that lie, lack something or cannot be passed on are refused" {
	need umoci skopeo dpkg-deb gpgv python3
	export GPUIMG_STORE=$WORK/store
	make_repository

	make_base status
	rewrite config '.rootfs.diff_ids[0] = "sha256:'"$(printf '0%.0s' {1..64})"'"'
	refused 3 oci:base:1
	[[ $output == *"base.image"*"layer 0: its content has digest"*"(diff_id)"* ]]

	make_base status
	rewrite config '.rootfs.diff_ids = []'
	refused 3 oci:base:1
	[[ $output == *"1 layers and the configuration 0 diff_ids"* ]]

	make_base status
	rm -rf store
	rm base/blobs/sha256/"$(layer_digest oci:base:1 0 | cut -d: -f2)"
	refused 3 oci:base:1
	[[ $output == *"layer 0"* ]]

	make_base status
	rewrite manifest '.layers[0].mediaType = "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"'
	refused 3 oci:base:1
	[[ $output == *"may not be distributed"* ]]

	make_base status
	rewrite manifest '.layers[0].mediaType = "application/vnd.oci.image.layer.v1.tar+xz"'
	refused 3 oci:base:1
	[[ $output == *"plain or compressed by gzip or zstd"* ]]

	make_base status
	rewrite manifest '.layers[0].mediaType = "application/vnd.oci.image.layer.v1.tar+zstd"'
	refused 3 oci:base:1
	[[ $output == *"said to be compressed by zstd, and its content is by gzip"* ]]

	refused 2 rootfs:root
	[[ $output == *"is a folder, not an image"* ]]
	refused 3 oci:nowhere:1
}

@test "a base image is no answer for another platform" {
	need umoci dpkg-deb gpgv
	make_repository
	make_base status
	manifest oci:base:1 | sed 's/^tag:/platforms: [linux\/arm64]\ntag:/' >stack.yaml
	run -3 gpuimg lock stack.yaml
	[[ $output == *"linux/amd64"* ]]
}

# Debian's essential packages as mmdebstrap makes them; kept, since that takes a minute.
essential() {
	need mmdebstrap
	local kept=$TEST_CACHE/essential-bookworm.tar
	local -a sources=()
	if [ -n "${MIRROR_CONFIG:-}" ]; then
		kept=$TEST_CACHE/mirror/essential-bookworm.tar # of the packages that `from: host` finds there
		mapfile -t sources < <(sed -n 's/ file:/ copy:/; / bookworm /p' "$MIRROR_CONFIG/sources.list")
	fi
	if [ ! -f "$kept" ]; then
		mkdir -p "$TEST_CACHE"
		mmdebstrap --variant=essential --aptopt='Acquire::Check-Valid-Until "false"' --aptopt='APT::Sandbox::User "root"' \
			bookworm "$WORK/e.tar" "${sources[@]}" >"$WORK/log" 2>&1 || { cat "$WORK/log"; return 1; }
		mv "$WORK/e.tar" "$kept"
	fi
	cp --reflink=auto "$kept" "$1"
}

@test "upon mmdebstrap's root: dpkg lists both, nothing is broken, and it runs" {
	need umoci skopeo runc
	[ "$(id -u)" -eq 0 ] || skip "needs root"
	essential base.tar
	umoci init --layout base && umoci new --image base:1 && umoci raw add-layer --image base:1 base.tar
	cat >stack.yaml <<-EOF
		gpuimg: 1
		name: on-debian
		base: { image: "oci:base:1" }
		sources: [ { id: os, type: apt, from: host } ]
		stages: { runtime: { packages: { os: [ca-certificates, libopenblas0-pthread, less] } } }
	EOF
	run -0 gpuimg build --no-lint --to oci:out:t stack.yaml
	umoci unpack --image out:t bundle
	jq '.process.terminal = false | .process.args = ["sh", "-ec", "dpkg -l | cat; dpkg --audit; less --version; ldconfig -p"] | .linux.resources = {}' bundle/config.json >c && mv c bundle/config.json
	cd bundle
	run -0 runc --root "$WORK/runc" run "gpuimg-$$-$RANDOM"
	[[ $output == *"ii  base-files"* ]]
	[[ $output == *"ii  libopenblas0-pthread"* ]]
	[[ $output == *"libopenblas.so.0"* ]]
	[[ $output == *"less 590"* ]]
	run -0 chroot rootfs dpkg --verify
	[ -z "$output" ]
	# what was there is not shipped again
	run -0 tar -tzf "../out/blobs/sha256/$(layer_digest oci:../out:t 1 | cut -d: -f2)"
	[[ $output != *"usr/bin/dpkg"* ]]
}
