#!/usr/bin/env bats
# A toolkit from repositories as NVIDIA lays them out: small packages of the same names, folders and
# versions, locked, built into an image and looked at there.

load common

setup() { work; export GPUIMG_STORE=$WORK/store; }

# A shared object of that soname: FILE SONAME
library() { echo 'int x;' | gcc -shared -fPIC -nostdlib -Wl,-soname,"$2" -x c - -o "$1"; }

# What a package has: FOLDER PACKAGE-LIKE-NAME DRIVER
fill() {
	local cuda=$1/usr/local/cuda-12.6
	local lib=$cuda/targets/x86_64-linux/lib
	case $2 in
	cuda-cudart) mkdir -p "$lib"; library "$lib/libcudart.so.12.6.77" libcudart.so.12; ln -s libcudart.so.12.6.77 "$lib/libcudart.so.12" ;;
	cuda-compat)
		mkdir -p "$cuda/compat"
		library "$cuda/compat/libcuda.so.$3" libcuda.so.1
		ln -s "libcuda.so.$3" "$cuda/compat/libcuda.so.1"
		ln -s libcuda.so.1 "$cuda/compat/libcuda.so"
		library "$cuda/compat/libnvidia-ptxjitcompiler.so.$3" libnvidia-ptxjitcompiler.so.1
		ln -s "libnvidia-ptxjitcompiler.so.$3" "$cuda/compat/libnvidia-ptxjitcompiler.so.1"
		;;
	esac
}

deb() { # NAME VERSION LIKE
	mkdir -p "tree/$1/DEBIAN"
	fill "tree/$1" "$3" 560.35.05
	printf 'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: T <t@example.org>\nDescription: %s\n' "$1" "$2" "$1" >"tree/$1/DEBIAN/control"
	dpkg-deb --root-owner-group -Znone -b "tree/$1" "$REPO/$1_$2_amd64.deb" >/dev/null
}

rpm_of() { # NAME VERSION LIKE
	mkdir -p "tree/$1"
	fill "$PWD/tree/$1" "$3" 560.35.05
	cat >spec <<-END
		Name: $1
		Version: $2
		Release: 1
		Summary: $1
		License: none
		AutoReqProv: no
		%description
		%install
		cp -a $PWD/tree/$1/. %{buildroot}/
		%files
		/usr/local/cuda-12.6
	END
	rpmbuild --quiet -bb --target x86_64 --define "_topdir $PWD/rpmbuild" --define "_rpmdir $REPO" --define '_build_id_links none' \
		--define 'debug_package %{nil}' --define '__os_install_post %{nil}' \
		--define '_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' spec >/dev/null 2>&1
}

manifest() { # SOURCE, as a line of YAML
	cat >stack.yaml <<-END
		gpuimg: 1
		name: acme/app
		tag: "1"
		platforms: [linux/amd64]
		stack: { cuda: "12.6", compat: always }
		sources:
		  - $1
		stages:
		  runtime: { profile: base }
	END
}

# The image has the runtime where the loader looks, and one libcuda, where it does not.
built_well() {
	local tree=$WORK/tree.txt
	run -0 gpuimg lock stack.yaml
	run -0 gpuimg fetch stack.yaml
	run -0 gpuimg build --offline --no-lint --to oci:out:1 stack.yaml
	run -0 umoci unpack --rootless --image out:1 bundle
	(cd bundle/rootfs && find . ! -type d | sort) >"$tree"
	grep -qx './usr/local/cuda-12.6/targets/x86_64-linux/lib/libcudart.so.12.6.77' "$tree"
	[ "$(readlink bundle/rootfs/usr/local/cuda)" = cuda-12.6 ]
	[ "$(grep -c '/libcuda\.so\.[0-9]*\.[0-9]' "$tree")" = 1 ]
	grep -qx './usr/local/cuda-12.6/compat/libcuda.so.560.35.05' "$tree"
	[ "$(readlink bundle/rootfs/usr/local/cuda-12.6/compat/libcuda.so.1)" = libcuda.so.560.35.05 ]
	! grep -rqs compat bundle/rootfs/etc/ld.so.conf bundle/rootfs/etc/ld.so.conf.d
	gpuimg lint --output json oci:out:1 >lint.json || [ $? = 1 ]
	jq -e '[.findings[].rule | select(test("^(CMP|DRV)"))] == []' lint.json
}

@test "debs of a flat repository: the runtime and the compatibility package" {
	need gpg dpkg-deb gcc umoci
	REPO=$WORK/repo
	mkdir repo
	deb cuda-cudart-12-6 12.6.77-1 cuda-cudart
	deb cuda-compat-12-6 560.35.05-1 cuda-compat
	sign_repository repo
	manifest "{ id: cuda, type: apt, url: \"file://$REPO/\", suite: \"./\", signed-by: repo/key.gpg }"
	built_well
	jq -e '.stack.cuda == "12.6"' stack.lock.json
}

@test "rpms: the runtime and the compatibility package" {
	need gpg rpmbuild createrepo_c gcc umoci
	REPO=$WORK/repo
	mkdir repo gnupg
	chmod 700 gnupg
	rpm_of cuda-cudart-12-6 12.6.77 cuda-cudart
	rpm_of cuda-compat-12-6 560.35.05 cuda-compat
	createrepo_c --quiet --no-database repo
	gpg --homedir gnupg --batch --quiet --passphrase '' --quick-generate-key 'Test <test@example.org>' rsa2048 sign never
	gpg --homedir gnupg --batch --quiet --armor --detach-sign --digest-algo SHA256 repo/repodata/repomd.xml
	gpg --homedir gnupg --armor --export >key.asc
	gpgconf --homedir gnupg --kill all 2>/dev/null || true
	manifest "{ id: cuda, type: rpm-md, url: \"file://$REPO/\", gpgkey: key.asc }"
	built_well
}

# An archive of NVIDIA's layout and its place in the manifest: PRODUCT KEY VERSION SUFFIX FROM TO
archive() {
	local top=$2-linux-x86_64-$3$4-archive dir=redist/$1/$2/linux-x86_64
	mkdir -p "$dir" "stage/$top/$6"
	cp -a "$5/." "stage/$top/$6"
	echo terms >"stage/$top/LICENSE"
	tar -C stage -cJf "$dir/$top.tar.xz" "$top"
	jq -n --arg path "$2/linux-x86_64/$top.tar.xz" --arg sum "$(sha256sum "$dir/$top.tar.xz" | cut -d' ' -f1)" \
		--arg size "$(stat -c %s "$dir/$top.tar.xz")" '{ relative_path: $path, sha256: $sum, size: $size }'
}

@test "redistrib archives: the driver's product has the compatibility package, also one for a newer CUDA" {
	need jq gcc umoci xz
	mkdir -p redist/cuda redist/nvidia-driver
	fill "$WORK/a" cuda-cudart
	fill "$WORK/b" cuda-compat 560.35.05
	archive cuda cuda_cudart 12.6.77 "" a/usr/local/cuda-12.6/targets/x86_64-linux/lib lib |
		jq '{ release_product: "cuda", cuda_cudart: { version: "12.6.77", license: "CUDA Toolkit", "linux-x86_64": . } }' >redist/cuda/redistrib_12.6.99.json
	archive nvidia-driver cuda_compat 560.35.05 _cuda12.6 b/usr/local/cuda-12.6/compat compat |
		jq '{ release_product: "nvidia-driver", cuda_compat: { version: "560.35.05", license: "NVIDIA Driver", "linux-x86_64": { "cuda12.6": . } } }' \
			>redist/nvidia-driver/redistrib_560.35.05.json
	manifest "{ id: cuda, type: redist, url: \"file://$WORK/redist/cuda/\", suite: \"12.6.99\" }
  - { id: driver, type: redist, url: \"file://$WORK/redist/nvidia-driver/\", suite: \"560.35.05\" }"
	built_well

	# The same archive as of a newer branch, that the floor's hosts may use too.
	jq '.cuda_compat["linux-x86_64"] = { "cuda13.0": .cuda_compat["linux-x86_64"]["cuda12.6"] }' \
		redist/nvidia-driver/redistrib_560.35.05.json >redist/nvidia-driver/redistrib_580.1.json
	sed -i 's/suite: "560.35.05"/suite: "580.1"/; s/compat: always/compat: always, driver: ">=535.183.06"/' stack.yaml
	rm -rf out bundle
	built_well
	jq -e '.platforms["linux/amd64"].inputs | map(select(.name == "cuda_compat")) | length == 1' stack.lock.json
	# Hosts of branch 590 may not: nobody else has it.
	sed -i 's/>=535.183.06/>=590.44/' stack.yaml
	run -2 gpuimg lock stack.yaml
	[[ $output == *"'driver' (redist) has no cuda_compat"* ]]
}

@test "a package of a foreign architecture stands in dpkg's database, and its architecture is known there" {
	need gpg dpkg-deb umoci
	REPO=$WORK/repo
	mkdir -p repo tree/app/DEBIAN tree/app/opt tree/tool/DEBIAN
	echo x >tree/app/opt/app
	printf 'Package: app\nVersion: 1\nArchitecture: i386\nMaintainer: T <t@example.org>\nDescription: app\n' >tree/app/DEBIAN/control
	printf 'Package: tool\nVersion: 1\nArchitecture: amd64\nMaintainer: T <t@example.org>\nDescription: tool\n' >tree/tool/DEBIAN/control
	dpkg-deb --root-owner-group -Znone -b tree/app repo/app_1_i386.deb >/dev/null
	dpkg-deb --root-owner-group -Znone -b tree/tool repo/tool_1_amd64.deb >/dev/null
	sign_repository repo
	cat >stack.yaml <<-END
		gpuimg: 1
		name: acme/app
		tag: "1"
		platforms: [linux/amd64]
		sources: [ { id: os, type: apt, url: "file://$REPO/", suite: "./", signed-by: repo/key.gpg } ]
		stages: { runtime: { packages: { os: [ "app:i386", tool ] } } }
	END
	run -0 gpuimg lock stack.yaml
	run -0 gpuimg fetch stack.yaml
	run -0 gpuimg build --offline --no-lint --to oci:out:1 stack.yaml
	run -0 umoci unpack --rootless --image out:1 bundle
	[ -f bundle/rootfs/opt/app ]
	[ "$(tr '\n' ' ' <bundle/rootfs/var/lib/dpkg/arch)" = "amd64 i386 " ]
	run -0 dpkg-query --admindir=bundle/rootfs/var/lib/dpkg -W -f '${binary:Package} ${Architecture}\n' 'app:i386'
	[[ $output == *"app:i386 i386"* ]]
}

# A toolkit as NVIDIA's packages have it: cudart, and what makes it a choice. MINOR RELEASE
toolkit() {
	local dir=$1-config lib=tree/cudart-$1/usr/local/cuda-$1/targets/x86_64-linux/lib major=${1%.*}
	mkdir -p "$lib" "tree/$dir/DEBIAN" "tree/cudart-$1/DEBIAN"
	library "$lib/libcudart.so.$2" "libcudart.so.$major"
	ln -s "libcudart.so.$2" "$lib/libcudart.so.$major"
	printf '#!/bin/sh\nset -e\nupdate-alternatives --install /usr/local/cuda cuda /usr/local/cuda-%s %s\nupdate-alternatives --install /usr/local/cuda-%s cuda-%s /usr/local/cuda-%s %s\n' \
		"$1" "${1/./}" "$major" "$major" "$1" "${1/./}" >"tree/$dir/DEBIAN/postinst"
	chmod 755 "tree/$dir/DEBIAN/postinst"
	local name
	for name in "cudart-$1 cuda-cudart-${1/./-}" "$dir cuda-toolkit-${1/./-}-config-common"; do
		printf 'Package: %s\nVersion: %s-1\nArchitecture: amd64\nMaintainer: T <t@example.org>\nDescription: t\n' \
			"${name#* }" "$2" >"tree/${name% *}/DEBIAN/control"
		dpkg-deb --root-owner-group -Znone -b "tree/${name% *}" "repo/${name#* }.deb" >/dev/null
	done
}

@test "several toolkits side by side: the stack's is what /usr/local/cuda stands for, and is found first" {
	need gpg dpkg-deb gcc umoci update-alternatives ldconfig
	mkdir -p repo tree/loader/DEBIAN tree/loader/lib64
	toolkit 12.6 12.6.77
	toolkit 12.9 12.9.79
	toolkit 13.0 13.0.96
	library tree/loader/lib64/ld-linux-x86-64.so.2 ld-linux-x86-64.so.2
	printf 'Package: loader\nVersion: 1\nArchitecture: amd64\nMaintainer: T <t@example.org>\nDescription: t\n' >tree/loader/DEBIAN/control
	dpkg-deb --root-owner-group -Znone -b tree/loader repo/loader.deb >/dev/null
	sign_repository repo
	for cuda in 12.6 12.9 13.0; do
		cat >stack.yaml <<-END
			gpuimg: 1
			name: acme/several
			platforms: [linux/amd64]
			stack: { cuda: "$cuda" }
			sources: [ { id: cuda, type: apt, url: "file://$WORK/repo/", suite: "./", signed-by: repo/key.gpg } ]
			stages:
			  runtime:
			    profile: base
			    packages:
			      cuda: [loader, cuda-cudart-12-6, cuda-cudart-12-9, cuda-cudart-13-0,
			        cuda-toolkit-12-6-config-common, cuda-toolkit-12-9-config-common, cuda-toolkit-13-0-config-common]
		END
		rm -rf out bundle
		run -0 gpuimg lock stack.yaml
		run -0 gpuimg build --no-lint --to oci:out:1 stack.yaml
		run -0 umoci unpack --rootless --image out:1 bundle
		alternatives=(update-alternatives --admindir bundle/rootfs/var/lib/dpkg/alternatives --altdir bundle/rootfs/etc/alternatives)
		[ "$(readlink bundle/rootfs/usr/local/cuda)" = /etc/alternatives/cuda ]
		[ "$(readlink bundle/rootfs/etc/alternatives/cuda)" = "/usr/local/cuda-$cuda" ]
		run -0 "${alternatives[@]}" --query cuda
		[[ $output == *"Value: /usr/local/cuda-$cuda"* ]]
		[[ $output == *"Status: $([ "$cuda" = 13.0 ] && echo auto || echo manual)"* ]]
		# of one major the stack's, else the newest
		of_major=$([ "$cuda" = 13.0 ] && echo 12.9 || echo "$cuda")
		[ "$(readlink bundle/rootfs/etc/alternatives/cuda-12)" = "/usr/local/cuda-$of_major" ]
		run -0 ldconfig -r bundle/rootfs -p
		found=$(grep -m 1 "libcudart.so.${cuda%.*} " <<<"$output")
		[[ $found == *"=> /usr/local/cuda-$cuda/"* ]]
		[ -e bundle/rootfs/usr/local/cuda-13.0/targets/x86_64-linux/lib/libcudart.so.13 ]
	done
}
