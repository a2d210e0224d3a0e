#!/usr/bin/env bats
# What is done in place of maintainer scripts and of ldconfig, shown on small packages of our own.

load common

setup() { work; export GPUIMG_STORE=$WORK/store; }

library() { # FILE SONAME
	mkdir -p "$(dirname "$1")"
	echo 'int x;' | gcc -shared -fPIC -nostdlib -Wl,-soname,"$2" -x c - -o "$1"
}

deb() { # NAME: of tree/NAME
	mkdir -p "tree/$1/DEBIAN" repo
	printf 'Package: %s\nVersion: 1\nArchitecture: amd64\nMaintainer: T <t@example.org>\nDescription: t\n' "$1" >"tree/$1/DEBIAN/control"
	dpkg-deb --root-owner-group -Znone -b "tree/$1" "repo/$1.deb" >/dev/null
}

manifest() { # PACKAGES [MORE]
	cat <<-END
		gpuimg: 1
		name: test/root
		platforms: [linux/amd64]
		sources: [ { id: os, type: apt, url: "file://$WORK/repo/", suite: "./", signed-by: repo/key.gpg } ]
		stages: { runtime: { profile: base, packages: { os: [$1] } } }
		${2:-}
	END
}

build() {
	gpuimg lock -q stack.yaml || return 1
	gpuimg build -v --no-lint --to oci:out:1 "$@" stack.yaml
}

@test "loader cache: libraries for newer processors (glibc-hwcaps) stand in it as ldconfig puts them there" {
	need gpg dpkg-deb gcc umoci ldconfig
	lib=tree/libs/usr/lib/x86_64-linux-gnu
	library tree/libs/lib64/ld-linux-x86-64.so.2 ld-linux-x86-64.so.2
	library $lib/libplain.so.1.0 libplain.so.1
	library $lib/libfast.so.2.1 libfast.so.2
	for level in 2 3 4; do library $lib/glibc-hwcaps/x86-64-v$level/libfast.so.2.1 libfast.so.2; done
	ln -s libfast.so.2.1 $lib/glibc-hwcaps/x86-64-v2/libfast.so.2
	library $lib/glibc-hwcaps/x86-64-v3/libonly.so.1 libonly.so.1
	library $lib/glibc-hwcaps/odd/libodd.so.1 libodd.so.1
	library tree/libs/opt/app/lib/glibc-hwcaps/x86-64-v3/libapp.so.3 libapp.so.3
	library tree/libs/opt/app/lib/libapp.so.3 libapp.so.3
	mkdir -p tree/libs/etc/ld.so.conf.d
	printf '/usr/lib/x86_64-linux-gnu\n/opt/app/lib\n' >tree/libs/etc/ld.so.conf.d/libs.conf
	deb libs
	sign_repository repo
	manifest libs >stack.yaml
	run -0 build
	run -0 umoci unpack --rootless --image out:1 bundle
	state() { ldconfig -r bundle/rootfs -p | grep -v '^Cache generated'; find bundle/rootfs -name '*.so*' -printf '%p %l\n' | sort; }
	state >ours
	grep -q 'libfast.so.2 .*x86-64-v4.* => /usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v4/libfast.so.2.1$' ours
	[ "$(grep -c 'hwcap: ' ours)" -eq 6 ]
	ldconfig -r bundle/rootfs # makes links, too
	state >theirs
	run -0 diff ours theirs
}

@test "scripts: what they would have done more is said by package, until it is acknowledged by the script's digest" {
	need gpg dpkg-deb
	mkdir -p tree/one/DEBIAN tree/two/DEBIAN
	printf '#!/bin/sh\nset -e\nmkdir -p /var/lib/one\nregister-with-the-moon --now\n' >tree/one/DEBIAN/postinst
	printf '#!/bin/sh\nset -e\nldconfig\n' >tree/two/DEBIAN/postinst
	chmod 755 tree/*/DEBIAN/postinst
	deb one
	deb two
	sign_repository repo
	manifest "one, two" >stack.yaml
	run -0 --separate-stderr build
	[[ $stderr == *"maintainer scripts of 1 package would have done more than was reproduced: one"* ]]
	[[ $output$stderr == *"register-with-the-moon --now"* ]]
	sum=$(sha256sum tree/one/DEBIAN/postinst | cut -d' ' -f1)
	[[ $output == *"- \"sha256:$sum\" # one postinst"* ]]
	# the report's lines are what the manifest takes
	manifest "one, two" "$(sed -n '/^  scripts:/,/^      - /{s/^  //;p}' <<<"$output")" >stack.yaml
	grep -q "sha256:$sum" stack.yaml
	run -0 --separate-stderr build
	[[ $stderr != *"would have done more"* ]]
	[[ $output$stderr == *accepted*"register-with-the-moon"* ]]

	# the package's next version asks again
	echo 'register-with-the-sun' >>tree/one/DEBIAN/postinst
	deb one
	sign_repository repo
	run -0 --separate-stderr build
	[[ $stderr == *"would have done more"*": one"* ]]
}
