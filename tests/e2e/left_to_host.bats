#!/usr/bin/env bats
# Packages of the driver that a package drags in: their record is in the image, the host has the rest.

load common

setup() { work; export GPUIMG_STORE=$WORK/store; }

library() { # FILE SONAME
	mkdir -p "$(dirname "$1")"
	echo 'int x;' | gcc -shared -fPIC -nostdlib -Wl,-soname,"$2" -x c - -o "$1"
}

deb() { # NAME VERSION [FIELDS], of tree/NAME; with a copyright and checksums, as all of Debian's have
	local doc=tree/$1/usr/share/doc/$1
	mkdir -p "tree/$1/DEBIAN" "$doc" repo
	echo "of $1" >"$doc/copyright"
	printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: T <t@example.org>\nInstalled-Size: 99\n%bDescription: t\n' "$1" "$2" "${3:-}" \
		>"tree/$1/DEBIAN/control"
	(cd "tree/$1" && find usr -type f -exec md5sum {} + >DEBIAN/md5sums)
	dpkg-deb --root-owner-group -Znone -b "tree/$1" "repo/$1.deb" >/dev/null
}

repository() {
	local lib=usr/lib/x86_64-linux-gnu
	library tree/libcuda1/$lib/libcuda.so.550.54 libcuda.so.1
	ln -s libcuda.so.550.54 tree/libcuda1/$lib/libcuda.so.1
	mkdir -p tree/libcuda1/etc tree/libcuda1/DEBIAN
	echo x >tree/libcuda1/etc/driver.conf
	echo /etc/driver.conf >tree/libcuda1/DEBIAN/conffiles
	echo 'libcuda 1 libcuda1' >tree/libcuda1/DEBIAN/shlibs
	echo 'interest-noawait /usr/lib/driver' >tree/libcuda1/DEBIAN/triggers
	printf '#!/bin/sh\nmake-device-nodes\n' >tree/libcuda1/DEBIAN/postinst
	chmod 755 tree/libcuda1/DEBIAN/postinst
	deb libcuda1 550.54 'Depends: nvidia-kernel-dkms\nRecommends: firmware-nvidia\nProvides: libcuda.so.1\n'
	deb nvidia-kernel-dkms 550.54
	mkdir -p tree/foo/usr/bin
	printf '#!/bin/sh\n' >tree/foo/usr/bin/foo
	chmod 755 tree/foo/usr/bin/foo
	deb foo 1 'Depends: libcuda1 (>= 535)\n'
	sign_repository repo
}

manifest() { # PACKAGES
	cat >stack.yaml <<-END
		gpuimg: 1
		name: test/host
		tag: "1"
		platforms: [linux/amd64]
		sources: [ { id: os, type: apt, url: "file://$WORK/repo/", suite: "./", signed-by: repo/key.gpg } ]
		stages: { runtime: { profile: base, packages: { os: [$1] } } }
		image: { env: { NVIDIA_VISIBLE_DEVICES: all, NVIDIA_DRIVER_CAPABILITIES: "compute,utility" } }
	END
}

note='libcuda1 550.54 (needed by foo) belongs to the driver: its record and documentation are in the image, all else of it is left out, the host'\''s driver brings that'

@test "driver packages: one that a package needs is in the image as a record, said at lock, plan and build and in the SBOM" {
	need gpg dpkg-deb gcc umoci jq
	repository
	manifest foo
	run -0 gpuimg lock stack.yaml
	[[ $output == *"$note"* ]]
	jq -e '.platforms["linux/amd64"].inputs | map({ (.name): .host_for }) | add == { libcuda1: "foo", foo: null }' stack.lock.json
	run -0 gpuimg fetch stack.yaml
	run -0 --separate-stderr gpuimg plan stack.yaml
	[ "$(grep -cF "  left to the host: $note" <<<"$output")" -eq 1 ]
	gpuimg plan --output json stack.yaml >plan.json
	run -0 gpuimg build --offline --to oci:out:1 --output text --output json=build.json --sbom spdx=a.spdx.json --sbom cyclonedx=a.cdx.json --sbom files=a.files stack.yaml
	[ "$(grep -cF "$note" <<<"$output")" -eq 1 ]
	for report in plan build; do
		[ "$(jq -c '.images[0].left_to_host | map([.name, .version, .needed_by, .note])' $report.json)" = '[["libcuda1","550.54","foo","'"${note#* * }"'"]]' ]
	done
	[[ $output != *"maintainer scripts"* && $output != *make-device-nodes* ]]
	jq -e '.packages[] | select(.name == "libcuda1") | .comment | startswith("(needed by foo) belongs to the driver")' a.spdx.json
	jq -e '.components[] | select(.name == "libcuda1") | .properties[] | select(.name == "gpuimg:note")' a.cdx.json
	run -0 umoci unpack --rootless --image out:1 bundle
	root=bundle/rootfs
	[ -z "$(find $root -name '*cuda.so*' -o -name driver.conf -o -name '*dkms*' -o -name '*.postinst' -o -name '*.shlibs')" ]
	[ "$(cat $root/usr/share/doc/libcuda1/copyright)" = 'of libcuda1' ]
	[ "$(awk -F '\t' '$1 == "deb libcuda1 550.54" { print $2 }' a.files | grep -v '/$' | tail -1)" = /usr/share/doc/libcuda1/copyright ]
	printf '/.\n/usr\n/usr/share\n/usr/share/doc\n/usr/share/doc/libcuda1\n/usr/share/doc/libcuda1/copyright\n' | diff - $root/var/lib/dpkg/info/libcuda1.list
	(cd $root && md5sum -c --quiet var/lib/dpkg/info/libcuda1.md5sums)
	awk -v RS= '/^Package: libcuda1\n/' $root/var/lib/dpkg/status >stanza
	grep -qx 'Status: hold ok installed' stanza
	grep -qx 'Provides: libcuda.so.1' stanza
	run -1 grep -E '^(Depends|Recommends|Installed-Size|Conffiles):' stanza
}

@test "driver packages: dpkg and apt find nothing to mend with the record, and lint no driver" {
	need gpg dpkg-deb gcc umoci jq apt-get
	repository
	manifest foo
	run -0 gpuimg lock -q stack.yaml
	run -0 gpuimg build --no-lint --to oci:out:1 stack.yaml
	run -0 umoci unpack --rootless --image out:1 bundle
	root=$PWD/bundle/rootfs
	run -0 dpkg --root="$root" --audit
	[ -z "$output" ]
	run -0 dpkg --root="$root" -V libcuda1 foo
	[ -z "$output" ]
	mkdir -p state/lists/partial cache/archives/partial
	printf 'deb [signed-by=%s] file:%s ./\n' "$WORK/repo/key.gpg" "$WORK/repo" >sources.list
	apt_there() {
		env -u APT_CONFIG apt-get -o Dir::State="$WORK/state" -o Dir::State::status="$root/var/lib/dpkg/status" -o Dir::Cache="$WORK/cache" \
			-o Dir::Etc::sourcelist="$WORK/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Dir::Etc::preferencesparts=/dev/null -o APT::Architecture=amd64 \
			-o APT::Sandbox::User=root -o Debug::NoLocking=1 "$@"
	}
	run -0 apt_there check
	run -0 apt_there update
	# the repository has the whole package under the same version: apt would put it in the record's place
	run -0 apt_there -s dist-upgrade
	[[ $output == *"kept back:"*libcuda1* && $output != *"Inst libcuda1"* && $output != *nvidia-kernel-dkms* ]]
	run -0 gpuimg lint -o json=lint.json oci:out:1
	jq -e '[.. | objects | select((.rule? // "") | tostring | startswith("DRV"))] == []' lint.json
}

@test "driver packages: two builds are one digest, verify --rebuild and a build over the image find the same" {
	need gpg dpkg-deb gcc umoci jq
	repository
	manifest foo
	run -0 gpuimg lock -q stack.yaml
	run -0 gpuimg fetch -q stack.yaml
	run -0 gpuimg build --offline --no-lint --to oci:a:1 stack.yaml
	rm -rf carried && gpuimg fetch -q --to carried stack.lock.json
	run -0 gpuimg build --store carried --offline --no-lint --to oci:b:1 stack.yaml
	[ "$(digest_of a 1)" = "$(digest_of b 1)" ]
	run -0 gpuimg verify --rebuild oci:a:1 stack.lock.json
	# over it: the record is there, so nothing of the driver is asked for
	mkdir over
	cat >over/stack.yaml <<-END
		gpuimg: 1
		name: test/over
		platforms: [linux/amd64]
		sources: [ { id: os, type: apt, url: "file://$WORK/repo/", suite: "./", signed-by: ../repo/key.gpg } ]
		base: { image: "oci:../a:1" }
		stages: { runtime: { packages: { os: [bar] } } }
	END
	deb bar 1 'Depends: libcuda.so.1\n'
	sign_repository repo
	run -0 gpuimg lock over/stack.yaml
	[[ $output != *libcuda1* ]]
	jq -e '[.platforms["linux/amd64"].inputs[] | select(.kind == "deb") | .name] == ["bar"]' over/stack.lock.json
	run -0 gpuimg build --no-lint --to oci:c:1 over/stack.yaml
	[[ $output != *libcuda1* ]]
	run -0 umoci unpack --rootless --image c:1 bundle
	[ "$(grep -c '^Package: libcuda1$' bundle/rootfs/var/lib/dpkg/status)" -eq 1 ]
}

@test "driver packages: one that the manifest names is refused" {
	need gpg dpkg-deb gcc
	repository
	manifest 'foo, libcuda1'
	run -2 gpuimg lock stack.yaml
	[[ $output == *"'libcuda1' brings the driver into the image, which belongs to the host"* ]]
	[ ! -e stack.lock.json ]
}
