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
	library $lib/libtwo.so.1.9 libtwo.so.1 # of one soname: the newer
	library $lib/libtwo.so.1.10 libtwo.so.1
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
	[ "$(readlink bundle/rootfs/usr/lib/x86_64-linux-gnu/libtwo.so.1)" = libtwo.so.1.10 ]
	ldconfig -r bundle/rootfs # makes links, too
	state >theirs
	run -0 diff ours theirs
}

@test "layers: another image of the same packages has theirs, whatever else is in it; no file lies in two" {
	need gpg dpkg-deb jq
	mkdir -p tree/one/usr/share/one tree/two/usr/share/two a b
	head -c 3000000 /dev/urandom >tree/one/usr/share/one/data
	head -c 70000 /dev/urandom >tree/two/usr/share/two/data
	echo a >a/run
	echo b >b/run
	deb one
	deb two
	sign_repository repo
	for app in a b; do
		manifest "one, two" "image: { env: { APP: $app }, labels: { app: $app } }" | sed "s|test/root|test/$app|; s|profile: base,|profile: base, files: [ { from: $app/, to: /opt/app/ } ],|" >stack.yaml
		rm -f stack.lock.json
		gpuimg lock -q stack.yaml
		run -0 gpuimg build --no-lint --to oci:out:$app --output json=$app.json stack.yaml
	done
	[ "$(jq -c '[.images[0].layers[] | .title]' a.json)" = "$(jq -c '[.images[0].layers[] | .title]' b.json)" ]
	same() { jq -r --slurpfile b b.json '[.images[0].layers[].digest] as $a | [$b[0].images[0].layers[] | select(.digest as $d | $a | index($d)) | .title] | sort | join(" ")' a.json; }
	[ "$(same)" = "metadata os" ] # env and labels are in no layer
	[ "$(jq -r '.images[0].layers[] | select(.title == "os") | .cached' b.json)" = true ]
	jq -r '.images[0].layers[].digest' a.json | while read -r layer; do tar -tf "out/blobs/sha256/${layer#sha256:}" | grep -v '/$'; done | sort >files
	[ "$(wc -l <files)" -ge 5 ]
	[ -z "$(uniq -d files)" ]
}

@test "driver libraries: an image with one is not written, but in compat and stubs they may lie" {
	need gcc umoci jq
	library driver/libcuda.so.550.54.15 libcuda.so.1
	library driver/libnvidia-ml.so.550.54.15 libnvidia-ml.so.1
	echo "int main(void) { return 0; }" | gcc -x c - -o driver/nvidia-smi
	library compat/libcuda.so.580.65.06 libcuda.so.1
	library stubs/libcuda.so libcuda.so.1
	stack() { # FROM TO…
		printf 'gpuimg: 1\nname: test/driver\nplatforms: [linux/amd64]\nimage: { env: { NVIDIA_VISIBLE_DEVICES: all, NVIDIA_DRIVER_CAPABILITIES: "compute,utility" } }\nstages: { runtime: { profile: base, files: [' >stack.yaml
		while [ $# -gt 0 ]; do printf '{ from: "%s", to: "%s" }, ' "$1" "$2"; shift 2; done >>stack.yaml
		printf '] } }\n' >>stack.yaml
		gpuimg lock -q stack.yaml
	}
	for file in libcuda.so.550.54.15 libnvidia-ml.so.550.54.15 nvidia-smi; do
		to=/usr/lib/x86_64-linux-gnu/$file
		[ $file != nvidia-smi ] || to=/usr/bin/nvidia-smi
		stack "driver/$file" "$to"
		run -1 gpuimg build --to oci:out:1 stack.yaml
		[[ $output == *DRV00*"$to"* || $output == *"$to"*DRV00* ]]
		[ ! -e out ]
	done
	stack compat/libcuda.so.580.65.06 /usr/local/cuda-13.0/compat/libcuda.so.580.65.06 stubs/libcuda.so /usr/local/cuda-13.0/lib64/stubs/libcuda.so
	run -0 gpuimg build --to oci:out:1 stack.yaml
	[ -e out/index.json ]
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
