#!/usr/bin/env bats
# The stacks we ship, built from real packages, given to the tools that real users have.

load common

setup() { work; }

# podman makes a name of the path, and names are lower case: mktemp's are not.
setup_file() {
	IMAGES=/tmp/gpuimg-e2e-$$
	mkdir "$IMAGES"
	export IMAGES
}

teardown_file() {
	pod rmi -af >/dev/null 2>&1 || true
	umount "$IMAGES"/podman/* 2>/dev/null || true
	rm -rf "$IMAGES"
}

build_library() { # NAME: an OCI layout of it, built once
	local dir=$IMAGES/$1 stack
	if [ ! -f "$dir/index.json" ]; then
		stack=$(library_stack "$1") || return 1
		gpuimg build --offline --to "oci:$dir:t" "$stack" >&2 || return 1
	fi
	echo "$dir"
}

# Two builds that differ in everything that must not matter.
same_bytes_twice() { # NAME
	local stack a b
	stack=$(library_stack "$1")
	mkdir -p "$WORK/s1" "$WORK/s2" "$WORK/x/y" # stores of their own: inputs, but no layers
	cp -al "$GPUIMG_STORE/objects" "$WORK/s1/objects"
	cp -al "$GPUIMG_STORE/objects" "$WORK/s2/objects"
	(umask 022; cd "$WORK"; TZ=Pacific/Kiritimati LC_ALL=C gpuimg build --store "$WORK/s1" --offline --no-lint --to oci:a:t "$stack")
	(umask 077; cd "$WORK/x/y"; TZ=America/New_York LC_ALL=C.UTF-8 HOME=/nonexistent taskset -c 0 \
		"$GPUIMG" build --store "$WORK/s2" --offline --no-lint --to "oci:$WORK/x/y/b:t" "$stack")
	a=$(digest_of "$WORK/a" t)
	b=$(digest_of "$WORK/x/y/b" t)
	[ -n "$a" ] && [ "$a" = "$b" ]
}

accepted_by_foreign_tools() { # NAME
	local dir
	need skopeo umoci podman runc
	dir=$(build_library "$1")
	run -0 skopeo inspect "oci:$dir:t"
	run -0 umoci unpack --image "$dir:t" "$WORK/bundle"
	runs_in_runc "$WORK/bundle"
	runs_in_podman "$dir"
}

runs_in_runc() { # BUNDLE
	jq 'del(.process.rlimits) | .process.terminal = false | .process.args = ["/bin/true"]' "$1/config.json" >"$WORK/config.json"
	cp "$WORK/config.json" "$1/config.json"
	(cd "$1" && runc --root "$WORK/runc" run "gpuimg-$$-$RANDOM")
}

pod() { podman --root "$IMAGES/podman" --runroot "$IMAGES/podman-run" --storage-driver vfs --runtime runc "$@"; }

runs_in_podman() { # LAYOUT
	local id
	id=$(pod pull -q "oci:$1:t")
	pod run --rm --network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --entrypoint /bin/true "$id"
}

in_image() { # LAYOUT COMMAND…
	local id
	id=$(pod pull -q "oci:$1:t")
	shift
	pod run --rm --network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --entrypoint "$1" "$id" "${@:2}"
}

@test "cuda13-runtime: two builds that differ in time zone, umask, locale, home, folder and processors give one digest" {
	same_bytes_twice cuda13-runtime
}

@test "python-cuda: two builds that differ in time zone, umask, locale, home, folder and processors give one digest" {
	same_bytes_twice python-cuda
}

@test "cuda13-devel-app: two builds that differ in time zone, umask, locale, home, folder and processors give one digest" {
	same_bytes_twice cuda13-devel-app
}

@test "an ordinary user builds what root builds" {
	need setpriv
	[ "$(id -u)" -eq 0 ] || skip "needs root to become somebody else"
	stack=$(library_stack cuda13-runtime)
	dir=$(build_library cuda13-runtime)
	mkdir -p "$IMAGES/user/store"
	cp "$GPUIMG" "$stack" "${stack%.yaml}.lock.json" "$IMAGES/user/"
	cp -al "$GPUIMG_STORE/objects" "$IMAGES/user/store/objects"
	find "$IMAGES/user" -type d -exec chown 65534:65534 {} +
	run -0 setpriv --reuid 65534 --regid 65534 --clear-groups env -i PATH="$PATH" \
		"$IMAGES/user/gpuimg" build --offline --store "$IMAGES/user/store" \
		--to "oci:$IMAGES/user/image:t" "$IMAGES/user/cuda13-runtime.yaml"
	[ "$(digest_of "$IMAGES/user/image" t)" = "$(digest_of "$dir" t)" ]
}

@test "cuda13-runtime: skopeo, umoci, runc and podman accept and run it" {
	accepted_by_foreign_tools cuda13-runtime
}

@test "python-cuda: skopeo, umoci, runc and podman accept and run it" {
	accepted_by_foreign_tools python-cuda
}

@test "cuda13-devel-app: skopeo, umoci, runc and podman accept and run it" {
	accepted_by_foreign_tools cuda13-devel-app
}

@test "python-cuda: libcudart is found through the loader cache alone" {
	need podman runc
	dir=$(build_library python-cuda)
	run -0 in_image "$dir" /usr/bin/python3 -c "import os, ctypes; assert 'LD_LIBRARY_PATH' not in os.environ; print(ctypes.CDLL('libcudart.so.13'))"
	[[ $output == *libcudart.so.13* ]]
}

@test "python-cuda: ssl finds certificates" {
	need podman runc
	dir=$(build_library python-cuda)
	run -0 in_image "$dir" /usr/bin/python3 -c "import ssl; print(len(ssl.create_default_context().get_ca_certs()))"
	[ "$output" -gt 50 ]
}

@test "cuda13-devel-app: the program runs up to its own message that there is no driver" {
	need podman runc
	[ ! -e /dev/nvidiactl ] || skip "this machine has a GPU"
	dir=$(build_library cuda13-devel-app)
	entry=$(skopeo inspect --config "oci:$dir:t" | jq -r '.config.Entrypoint[0]')
	run in_image "$dir" "$entry"
	[ "$status" -ne 0 ]
	[ "$status" -lt 126 ]
	[[ $output == *driver* ]]
}

@test "cuda13-devel-app: no compiler, header, static library or stub on a run-time path is in the image" {
	need umoci
	dir=$(build_library cuda13-devel-app)
	run -0 umoci unpack --image "$dir:t" "$WORK/bundle"
	root=$WORK/bundle/rootfs
	[ -z "$(find "$root" \( -name '*.h' -o -name '*.hpp' -o -name '*.a' -o -name 'nvcc' -o -name 'ptxas' -o -name 'cc1plus' -o -name 'g++*' -o -name 'gcc*' -o -name as -o -name ld \) -not -type d -path '*bin*' -print -o -name '*.a' -print -o -path '*/include/*.h' -print)" ]
	run -0 chroot "$root" /sbin/ldconfig -p -C /etc/ld.so.cache
	[[ $output != *stubs* ]]
	[[ $output != *libcuda.so.1* ]]
	run -0 find "$root" -name 'libcuda.so*'
	[[ $output == */stubs/libcuda.so ]]
}

@test "the loader cache we write is what ldconfig of the image makes, entry for entry" {
	need umoci
	dir=$(build_library cuda13-runtime)
	run -0 umoci unpack --image "$dir:t" "$WORK/bundle"
	root=$WORK/bundle/rootfs
	chroot "$root" /sbin/ldconfig -p | grep -v '^Cache generated by' >"$WORK/ours"
	run -0 chroot "$root" /sbin/ldconfig
	chroot "$root" /sbin/ldconfig -p | grep -v '^Cache generated by' >"$WORK/theirs"
	[ "$(wc -l <"$WORK/ours")" -gt 20 ]
	diff "$WORK/ours" "$WORK/theirs"
}

# A line for each path of an unpacked image: what of it counts.
listing() { # ROOT
	(
		cd "$1"
		find . -mindepth 1 -type l -printf '/%P\t%l\n' -o ! -type f -mindepth 1 -printf '/%P\t%y %m %U:%G\n'
		join -t $'\t' <(find . -type f -printf '/%P\t%m %U:%G\n' | sort) \
			<(find . -type f -exec sha256sum {} + | sed -E 's|^([0-9a-f]+)  \.(.*)|\2\t\1|' | sort)
	) | sort
}

@test "diff: two shipped stacks differ in just the files and packages that they differ in when they are unpacked" {
	local a b side part
	need umoci jq dpkg-query
	export LC_ALL=C
	a=$(build_library cuda13-runtime)
	b=$(build_library python-cuda)
	umoci unpack --image "$a:t" a >/dev/null
	umoci unpack --image "$b:t" b >/dev/null
	for side in a b; do
		listing "$side/rootfs" >"$side.listing"
		cut -f1 "$side.listing" >"$side.files"
		dpkg-query --admindir="$side/rootfs/var/lib/dpkg" -W -f '${Package}:${Architecture} (dpkg)\n' | sort >"$side.packages"
	done
	run -1 gpuimg diff "oci:$a:t" "oci:$b:t" --output json=d.json
	for part in files packages; do
		comm -13 "a.$part" "b.$part" | diff - <(jq -r ".$part[] | select(.before == null) | .what" d.json | grep -v '(wheel)$' | sort)
		comm -23 "a.$part" "b.$part" | diff - <(jq -r ".$part[] | select(.after == null) | .what" d.json | grep -v '(wheel)$' | sort)
	done
	comm -3 a.listing b.listing | sed 's/^\t//' | cut -f1 | sort | uniq -d |
		diff - <(jq -r '.files[] | select(.before != null and .after != null and .what != "/") | .what' d.json | sort)
	[ "$(wc -l <b.files)" -gt 1000 ]
	jq -e '.config | map(.what) | index("Cmd") != null or index("Entrypoint") != null' d.json
}

@test "our own linter has nothing against the shipped stacks" {
	for name in cuda13-runtime python-cuda cuda13-devel-app; do
		dir=$(build_library "$name")
		run -0 gpuimg lint --fail-on warning "oci:$dir:t"
	done
}

@test "the load tier of the test kernels passes in the shipped stacks" {
	for name in cuda13-runtime python-cuda; do
		dir=$(build_library "$name")
		run -0 gpuimg test --output json --require load "oci:$dir:t"
		echo "$output" | jq -e '.schema == "gpuimg-test/1"'
	done
}
