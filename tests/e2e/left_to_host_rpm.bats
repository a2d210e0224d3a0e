#!/usr/bin/env bats
# Packages of the driver that an .rpm drags in: their record is in the image, the host has the rest.

load common

setup() { work; export GPUIMG_STORE=$WORK/store; }

package() { # NAME 'FIELD: VALUE\n…' FILES…: a package of the spec, files from tree/NAME
	local name=$1 fields=$2 file
	shift 2
	printf '%%package -n %s\nSummary: s\nAutoReqProv: no\n%b%%description -n %s\nd\n' "$name" "$fields" "$name" >>all.spec
	printf '%%files -n %s\n' "$name" >>files
	for file; do echo "$file" >>files; done
	[ ! -d "tree/$name" ] || cp -a "tree/$name/." root/
}

repository() { # a repository of .rpms in repo
	need rpm rpmbuild createrepo_c gpg gcc jq
	local driver=tree/nvidia-driver-cuda-libs
	mkdir -p root repo $driver/usr/lib64 $driver/usr/bin $driver/etc $driver/usr/share/doc/driver
	echo 'int x;' | gcc -shared -fPIC -nostdlib -Wl,-soname,libcuda.so.1 -x c - -o $driver/usr/lib64/libcuda.so.550.54
	ln -s libcuda.so.550.54 $driver/usr/lib64/libcuda.so.1
	printf '#!/bin/sh\n' >$driver/usr/bin/nvidia-smi
	echo x >$driver/etc/driver.conf
	echo 'of the driver' >$driver/usr/share/doc/driver/README
	mkdir -p tree/foo/usr/bin
	printf '#!/bin/sh\n' >tree/foo/usr/bin/foo
	chmod 755 tree/foo/usr/bin/foo
	printf 'Name: all\nVersion: %s\nRelease: 1\nSummary: s\nLicense: MIT\n%%description\nd\n' 550.54 >all.spec
	: >files
	package nvidia-driver-cuda-libs 'Requires: kmod-nvidia = 550.54, dkms\nRecommends: x11\nProvides: libcuda.so.1()(64bit)\nConflicts: nouveau\n' \
		/usr/lib64/libcuda.so.550.54 /usr/lib64/libcuda.so.1 '%attr(755,root,root) /usr/bin/nvidia-smi' '%config /etc/driver.conf' \
		'%dir /usr/share/doc/driver' '%doc /usr/share/doc/driver/README'
	cat >>files <<-'END'
		%post -n nvidia-driver-cuda-libs
		make-device-nodes
		%preun -n nvidia-driver-cuda-libs
		remove-device-nodes
		%triggerin -n nvidia-driver-cuda-libs -- foo
		look-again
	END
	package foo 'Requires: libcuda.so.1()(64bit), /usr/bin/nvidia-smi\n' /usr/bin/foo
	package bar 'Requires: nvidia-driver-cuda-libs >= 535\n'
	package newer 'Requires: nvidia-driver-cuda-libs >= 999\n'
	package cuda-drivers 'Requires: nvidia-driver\n'
	package cuda-libraries-12-6 ''
	package cuda-runtime-12-6 'Requires: cuda-libraries-12-6, cuda-drivers >= 500\n'
	package app 'Requires: cuda-runtime-12-6\n'
	package nvidia-settings 'Provides: gpu-panel\n'
	package zpanel 'Provides: gpu-panel\n'
	package either 'Requires: gpu-panel\n'
	printf '%%install\ncp -a %s/root/. %%{buildroot}/\n' "$WORK" | cat - files >>all.spec
	rpmbuild --quiet -bb --define "_topdir $WORK/top" --define "_rpmdir $WORK/repo" --define '_build_name_fmt %%{NAME}.%%{ARCH}.rpm' \
		--define '_buildhost example.org' all.spec >log 2>&1 || { cat log >&2; return 1; }
	sign_rpms repo
}

manifest() { # PACKAGES
	cat >stack.yaml <<-END
		gpuimg: 1
		name: test/host
		tag: "1"
		platforms: [linux/amd64]
		sources: [ { id: os, type: rpm-md, url: "file://$WORK/repo/", gpgkey: repo/key.asc } ]
		stages: { runtime: { profile: base, packages: { os: [$1] } } }
		image: { env: { NVIDIA_VISIBLE_DEVICES: all, NVIDIA_DRIVER_CAPABILITIES: "compute,utility" } }
	END
}

locked() { # the packages, each with the one that it is there for
	jq -r '[.platforms["linux/amd64"].inputs[] | select(.kind == "rpm") | .name + (if .host_for then "<" + .host_for else "" end)] | sort | join(" ")' "${1:-stack.lock.json}"
}

note='nvidia-driver-cuda-libs 550.54-1 (needed by foo) belongs to the driver: its record and documentation are in the image, all else of it is left out, the host'\''s driver brings that'

unpacked() { # IMAGE: $root is its tree
	umoci unpack --rootless --image "$1" bundle >&2
	root=$PWD/bundle/rootfs
}

installed() { rpm --root "$root" --dbpath /var/lib/rpm "$@" 2>&1 | { grep -v '^rpm: ' || true; }; }

@test "driver .rpms: one that a package needs is in the image as a record, said at lock, plan and build and in the SBOM" {
	need umoci
	repository
	manifest foo
	run -0 gpuimg lock stack.yaml
	[[ $output == *"$note"* ]]
	[ "$(locked)" = "foo nvidia-driver-cuda-libs<foo" ]
	run -0 gpuimg fetch stack.yaml
	run -0 --separate-stderr gpuimg plan stack.yaml
	[ "$(grep -cF "  left to the host: $note" <<<"$output")" -eq 1 ]
	gpuimg plan --output json stack.yaml >plan.json
	run -0 gpuimg build --offline --to oci:out:1 --output text --output json=build.json --sbom spdx=a.spdx.json --sbom files=a.files stack.yaml
	[ "$(grep -cF "$note" <<<"$output")" -eq 1 ]
	[[ $output != *make-device-nodes* ]]
	for report in plan build; do
		[ "$(jq -c '.images[0].left_to_host[] | [.name, .version, .needed_by, (.note | startswith("(needed by foo) belongs"))]' $report.json)" = \
			'["nvidia-driver-cuda-libs","550.54-1","foo",true]' ]
	done
	jq -e '.packages[] | select(.name == "nvidia-driver-cuda-libs") | .comment | startswith("(needed by foo) belongs to the driver")' a.spdx.json
	unpacked out:1
	[ -z "$(find "$root" -name '*cuda.so*' -o -name driver.conf -o -name nvidia-smi)" ]
	[ "$(cat "$root/usr/share/doc/driver/README")" = 'of the driver' ]
	[ "$(awk -F '\t' '$1 ~ /nvidia-driver/ { print $2 }' a.files | grep -v '/$' | tail -1)" = /usr/share/doc/driver/README ]
}

@test "driver .rpms: rpm and dnf find nothing to mend with the record, and lint no driver" {
	need umoci
	repository
	manifest foo
	run -0 gpuimg lock -q stack.yaml
	run -0 gpuimg build --no-lint --to oci:out:1 stack.yaml
	unpacked out:1
	[ "$(installed -qa | sort | xargs)" = "foo-550.54-1.x86_64 nvidia-driver-cuda-libs-550.54-1.x86_64" ]
	[ -z "$(installed -Va)" ]
	[ "$(installed -ql nvidia-driver-cuda-libs | xargs)" = "/usr/share/doc/driver /usr/share/doc/driver/README" ]
	[ -z "$(installed -q --requires --recommends --scripts --triggers nvidia-driver-cuda-libs)" ]
	installed -q --provides nvidia-driver-cuda-libs >provides
	grep -qx 'libcuda.so.1()(64bit)' provides
	grep -qx /usr/bin/nvidia-smi provides
	[ "$(installed -q --conflicts nvidia-driver-cuda-libs)" = nouveau ]
	run -0 gpuimg lint -o json=lint.json oci:out:1
	jq -e '[.. | objects | select((.rule? // "") | tostring | startswith("DRV"))] == []' lint.json
	run -0 gpuimg inspect --packages oci:out:1
	[[ $output == *nvidia-driver-cuda-libs* ]]
	[[ $(installed -e foo nvidia-driver-cuda-libs) != *device-nodes* ]]
	[ -z "$(installed -qa)" ]
}

@test "driver .rpms: dnf checks the record and installs beside it" {
	need umoci dnf
	repository
	manifest foo
	run -0 gpuimg lock -q stack.yaml
	run -0 gpuimg build --no-lint --to oci:out:1 stack.yaml
	unpacked out:1
	mkdir -p home dnf/log
	echo '%_dbpath /var/lib/rpm' >home/.rpmmacros
	dnf_there() {
		HOME=$WORK/home dnf --installroot="$root" --releasever=9 --forcearch=x86_64 --setopt=reposdir="$WORK/none" --setopt=plugins=0 --setopt=cachedir="$WORK/dnf/cache" \
			--setopt=logdir="$WORK/dnf/log" --setopt=persistdir="$WORK/dnf/persist" --nogpgcheck --repofrompath="t,file://$WORK/repo" "$@"
	}
	run -0 dnf_there -q repoquery --installed --qf '%{name}\n'
	[[ $output == *nvidia-driver-cuda-libs* ]]
	run -0 dnf_there -q check
	[ -z "$output" ]
	# what needs the driver has it
	run -1 dnf_there install --assumeno bar
	[[ $output == *"Installing:"*bar* && $output != *nvidia-driver-cuda-libs* ]]
}

@test "driver .rpms: two builds are one digest, verify --rebuild and a build over the image find the same" {
	need umoci
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
	sed '/^stages/d; s|repo/key.asc|../repo/key.asc|; s|test/host|test/over|' stack.yaml >over/stack.yaml
	printf 'base: { image: "oci:../a:1" }\nstages: { runtime: { packages: { os: [bar] } } }\n' >>over/stack.yaml
	run -0 gpuimg lock over/stack.yaml
	[[ $output != *nvidia-driver* ]]
	[ "$(locked over/stack.lock.json)" = bar ]
	run -0 gpuimg build --no-lint --to oci:c:1 over/stack.yaml
	[[ $output != *nvidia-driver* ]]
	unpacked c:1
	[ "$(installed -qa | sort | xargs)" = "bar-550.54-1.x86_64 foo-550.54-1.x86_64 nvidia-driver-cuda-libs-550.54-1.x86_64" ]
	[ -z "$(installed -Va)" ]
}

@test "driver .rpms: the last of alternatives, and meta-packages are followed to the toolkit" {
	repository
	manifest either
	run -0 gpuimg lock stack.yaml
	[ "$(locked)" = "either zpanel" ]
	# where the driver is needed besides, too
	manifest 'either, bar'
	run -0 gpuimg lock stack.yaml
	[ "$(locked)" = "bar either nvidia-driver-cuda-libs<bar zpanel" ]
	manifest app
	run -0 gpuimg lock stack.yaml
	[ "$(locked)" = "app cuda-drivers<cuda-runtime-12-6 cuda-libraries-12-6 cuda-runtime-12-6" ]
	# a stage without the driver after one with it
	sed -i 's|^stages.*|stages: { tools: { packages: { os: [bar] } }, runtime: { profile: base, packages: { os: [either] } } }|' stack.yaml
	run -0 gpuimg lock stack.yaml
	[ "$(jq -r '[.platforms["linux/amd64"].inputs[] | "\(.stage):\(.name)"] | sort | join(" ")' stack.lock.json)" = \
		"runtime:either runtime:zpanel tools:bar tools:nvidia-driver-cuda-libs" ]
}

@test "driver .rpms: one that the manifest names is refused, and one in no version that will do" {
	repository
	manifest 'foo, nvidia-driver-cuda-libs'
	run -2 gpuimg lock stack.yaml
	[[ $output == *"'nvidia-driver-cuda-libs' brings the driver into the image, which belongs to the host"* ]]
	manifest '"libcuda.so.1()(64bit)"'
	run -2 gpuimg lock stack.yaml
	manifest newer
	run -1 gpuimg lock stack.yaml
	[[ $output == *"nvidia-driver-cuda-libs >= 999"* ]]
	[ ! -e stack.lock.json ]
}
