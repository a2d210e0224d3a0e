#!/usr/bin/env bats
# Systems of .rpms: a repository of packages in the shape of Red Hat's, made here, and what rpm and
# container engines say of the image.

load common

setup() { work; }

# podman makes a name of the path, and names are lower case: mktemp's are not.
setup_file() {
	export REPO=$BATS_FILE_TMPDIR/repo IMAGE=/tmp/gpuimg-rpm-$$
	mkdir "$IMAGE"
}

teardown_file() {
	pod rmi -af >/dev/null 2>&1 || true
	umount "$IMAGE"/podman/* 2>/dev/null || true
	rm -rf "$IMAGE"
}

teardown() { stop_repository; }

need_rpms() {
	need rpm rpmbuild createrepo_c gpg cc openssl python3
	[ "$(uname -m)" = x86_64 ] || skip "the packages are made of this machine's programs, for x86_64"
}

# The library's manifest on our repository, with more packages than it names; locked and built once.
built() {
	export GPUIMG_STORE=$BATS_FILE_TMPDIR/store
	need_rpms
	[ ! -f "$IMAGE/oci/index.json" ] || return 0
	"$ROOT/tests/support/rhel/make" "$REPO"
	sign_rpms "$REPO"
	serve_folder "$REPO"
	cp "$REPO/key.asc" "$IMAGE/RPM-GPG-KEY-base"
	cp "$REPO/key.asc" "$IMAGE/RPM-GPG-KEY-cuda"
	sed -E "s|https://mirror[^\"]*|$REPOSITORY|; s/libstdc\+\+\]/libstdc++, say-high, say-low, iputils, demod, cuda-probe]/" \
		"$ROOT/manifests/library/rhel9-cuda12.yaml" >"$IMAGE/stack.yaml"
	gpuimg lock "$IMAGE/stack.yaml" >&2
	gpuimg fetch "$IMAGE/stack.lock.json" >&2
	stop_repository
	gpuimg build --offline --to "oci:$IMAGE/oci:t" "$IMAGE/stack.yaml" >"$IMAGE/report" 2>&1 || { cat "$IMAGE/report" >&2; return 1; }
}

unpacked() {
	built
	need umoci
	[ "$(id -u)" -eq 0 ] || skip "umoci wants root to give files their owners"
	ROOTFS=$IMAGE/bundle/rootfs
	[ -d "$ROOTFS" ] || umoci unpack --image "$IMAGE/oci:t" "$IMAGE/bundle" >&2
}

pod() { podman --root "$IMAGE/podman" --runroot "$IMAGE/podman-run" --storage-driver vfs --runtime runc "$@"; }

installed() { rpm --root "$ROOTFS" --dbpath /var/lib/rpm "$@"; }

@test "a system of .rpms is built offline, twice with the same bytes, and lint is content" {
	built
	run -0 env TZ=Asia/Tokyo LC_ALL=C.UTF-8 "$GPUIMG" build --offline --store "$GPUIMG_STORE" --to "oci:$WORK/b:t" "$IMAGE/stack.yaml"
	[ "$(digest_of "$IMAGE/oci" t)" = "$(digest_of "$WORK/b" t)" ]
	run -0 gpuimg lint "oci:$IMAGE/oci:t"
	[[ $output == *"0 errors, 0 warnings"* ]]
}

@test "rpm reads the database, and every file is as its package says" {
	unpacked
	run -0 installed -qa --qf '%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}\n'
	[ "$(sort <<<"$output")" = "$(jq -r '.platforms[].inputs[] | "\(.name)-\(.version | sub("^[0-9]+:"; "")).\(.arch)"' "$IMAGE/stack.lock.json" | sort)" ]
	# the root itself is nobody's, and the accounts of demod went behind those of setup
	run installed -Va
	[ "$(grep -vE ' /$' <<<"$output" | awk '{ print $NF }' | tr '\n' ' ')" = "/etc/group /etc/gshadow /etc/passwd /etc/shadow " ]
	run -0 installed -qf /usr/bin/ping /lib64/libc.so.6
	[ "${lines[*]}" = "iputils-20210202-1.el9.x86_64 glibc-2.34-1.el9.x86_64" ]
	run -0 installed -q --whatprovides system-release --qf '%{NAME}'
	[ "$output" = rhel-like-release ]
	run -0 gpuimg inspect --packages "oci:$IMAGE/oci:t"
	[ "$(awk '$1 == "rpm" { print $2 "-" $3 }' <<<"$output" | sort)" = "$(jq -r '.platforms[].inputs[] | "\(.name)-\(.version)"' "$IMAGE/stack.lock.json" | sort)" ]
}

@test "the database holds what rpm itself would have written" {
	unpacked
	need sqlite3
	# in our order, which begins with the package that makes the root
	jq -r '.platforms[].inputs | sort_by(.name != "filesystem")[] | .url' "$IMAGE/stack.lock.json" | sed "s|.*/|$REPO/|; s/%2B/+/g" >order
	mkdir root
	rpm --root "$WORK/root" --dbpath /var/lib/rpm --initdb
	# one by one: rpm would take another order, and numbers go by it
	while read -r package; do
		rpm --root "$WORK/root" --dbpath /var/lib/rpm -i --justdb --nodeps --noscripts --notriggers --nosignature "$package" 2>log || cat log >&2
	done <order
	ours=$ROOTFS/var/lib/rpm/rpmdb.sqlite theirs=$WORK/root/var/lib/rpm/rpmdb.sqlite
	run -0 sqlite3 "$ours" 'PRAGMA integrity_check'
	[ "$output" = ok ]
	diff <(sqlite3 "$theirs" .schema | grep -v sqlite_stat) <(sqlite3 "$ours" .schema)
	for table in Name Basenames Group Requirename Providename Conflictname Obsoletename Triggername Dirnames Sigmd5 Sha1header \
		Filetriggername Transfiletriggername Recommendname Suggestname Supplementname Enhancename; do
		diff <(sqlite3 "$theirs" "SELECT hnum, idx, quote(key) FROM \"$table\" ORDER BY hnum, idx") \
			<(sqlite3 "$ours" "SELECT hnum, idx, quote(key) FROM \"$table\" ORDER BY hnum, idx")
	done
	# headers too, but for when they were installed
	python3 "$ROOT/tests/support/rhel/headers" "$theirs" >theirs
	python3 "$ROOT/tests/support/rhel/headers" "$ours" >ours
	diff theirs ours
}

@test "owners, capabilities, links, bundles and alternatives are what scriptlets would have made" {
	unpacked
	run -0 stat -c '%a %u %g' "$ROOTFS/var/lib/demod" "$ROOTFS/var/lib/demod/state" "$ROOTFS/usr/bin/keeper" "$ROOTFS/var/spool/mail" "$ROOTFS/root" "$ROOTFS/etc/shadow"
	[ "${lines[*]}" = "750 381 381 640 381 381 755 382 382 775 0 12 550 0 0 0 0 0" ]
	grep -qx 'demod:x:381:381:A demon:/var/lib/demod:/sbin/nologin' "$ROOTFS/etc/passwd"
	grep -qx 'keeper:x:382:382:Keeper:/:/usr/sbin/nologin' "$ROOTFS/etc/passwd"
	[ "$(readlink "$ROOTFS/bin") $(readlink "$ROOTFS/var/run")" = "usr/bin ../run" ]
	[ "$(readlink "$ROOTFS/etc/alternatives/say")" = /usr/bin/say.high ]
	printf 'auto\n/usr/bin/say\n\n@high@/usr/bin/say.high\n50\n/usr/bin/say.low\n10\n' | diff - "$ROOTFS/var/lib/alternatives/say"
	[ "$(readlink "$ROOTFS/etc/crypto-policies/back-ends/openssl.config")" = /usr/share/crypto-policies/DEFAULT/openssl.txt ]
	run -0 grep -h '^#' "$ROOTFS/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem"
	[ "$output" = "# Server-CA" ]
	run -0 grep -h '^#' "$ROOTFS/etc/pki/ca-trust/extracted/pem/email-ca-bundle.pem"
	[ "${lines[*]}" = "# Server-CA # Mail-CA" ]
	# Java's: the password's seal is right, and the one server CA is in it
	run -0 python3 - "$ROOTFS/etc/pki/ca-trust/extracted/java/cacerts" <<'PY'
import hashlib, sys
data = open(sys.argv[1], "rb").read()
assert hashlib.sha1("changeit".encode("utf-16-be") + b"Mighty Aphrodite" + data[:-20]).digest() == data[-20:]
print(data[:12].hex(), data[18:18 + data[17]].decode())
PY
	[ "$output" = "feedfeed0000000200000001 server-ca" ]
	[ "$(stat -c %i "$ROOTFS/usr/bin/cuda-probe")" = "$(stat -c %i "$ROOTFS/usr/bin/cuda-probe-again")" ]
	run -0 python3 -c 'import os, sys; print(os.getxattr(sys.argv[1], "security.capability").hex())' "$ROOTFS/usr/bin/ping"
	[ "$output" = 0000000200200000000000000000000000000000 ]
	grep -q 'NOT DONE  demod  *post  *demod-setup --first-time' "$IMAGE/report" || gpuimg build -v --offline --to "oci:$IMAGE/oci:t" "$IMAGE/stack.yaml" 2>&1 | grep 'NOT DONE  demod  *post  *demod-setup --first-time'
}

@test "programs of it run in runc and in podman, and find CUDA through the loader cache" {
	unpacked
	need runc podman
	jq 'del(.process.rlimits) | .process.terminal = false | .process.args = ["/bin/sh", "-c", "cuda-probe && say && cat /etc/crypto-policies/config"]' \
		"$IMAGE/bundle/config.json" >config.json
	cp config.json "$IMAGE/bundle/config.json"
	run -0 runc --root "$WORK/runc" run --bundle "$IMAGE/bundle" "gpuimg-$$-$RANDOM"
	[ "${lines[*]}" = "12060 say.high DEFAULT" ]
	id=$(pod pull -q "oci:$IMAGE/oci:t")
	run -0 pod run --rm --network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 "$id" /usr/bin/cuda-probe
	[ "$output" = 12060 ]
}

@test "packages over a base image of .rpms: only what it lacks, its database goes on, what a newer version dropped goes" {
	built
	need umoci
	[ "$(id -u)" -eq 0 ] || skip "umoci wants root to give files their owners"
	serve_folder "$REPO"
	sed -E "s|http://127[^\"]*|$REPOSITORY|; /^stack:/,/^$/d; s/say-high.*\]/\"notes = 1\"]/" "$IMAGE/stack.yaml" >base.yaml
	{ sed -E "/^stages:/,\$d; s/^name:.*/name: test\/upon/" base.yaml
	  printf 'base: { image: "oci:%s/base:t" }\nstages:\n  runtime:\n    profile: base\n    packages:\n      base: [bash, "notes = 2", demod, iputils]\n' "$WORK"
	} >upon.yaml
	cp "$REPO/key.asc" RPM-GPG-KEY-base
	cp "$REPO/key.asc" RPM-GPG-KEY-cuda
	run -0 gpuimg lock base.yaml
	run -0 gpuimg build --to "oci:$WORK/base:t" base.yaml
	run -0 gpuimg lock upon.yaml
	run -0 jq -r '[.platforms[].inputs[] | select(.kind == "rpm") | .name] | sort | join(" ")' upon.lock.json
	[ "$output" = "demod iputils notes shadow-utils" ]
	run -0 gpuimg build --to "oci:$WORK/upon:t" upon.yaml
	stop_repository
	umoci unpack --image upon:t upon-bundle
	ROOTFS=$WORK/upon-bundle/rootfs
	run -0 installed -q notes bash demod
	[ "${lines[0]} ${lines[1]}" = "notes-2-1.noarch bash-5.1.8-1.el9.x86_64" ]
	[ "$(installed -qa | wc -l)" = "$(($(jq '[.platforms[].inputs[]] | length' base.lock.json) + 3))" ]
	[ -f "$ROOTFS/usr/share/notes/only-2" ] && [ ! -e "$ROOTFS/usr/share/notes/only-1" ]
	run installed -V notes iputils demod
	[ -z "$output" ]
	grep -qx 'demod:x:381:381:A demon:/var/lib/demod:/sbin/nologin' "$ROOTFS/etc/passwd"
	[ "$(jq -r '.layers[0].digest' "upon/blobs/sha256/$(jq -r '.manifests[0].digest' "upon/blobs/sha256/$(digest_of upon t | cut -d: -f2)" | cut -d: -f2)")" = \
		"$(jq -r '.layers[0].digest' "base/blobs/sha256/$(jq -r '.manifests[0].digest' "base/blobs/sha256/$(digest_of base t | cut -d: -f2)" | cut -d: -f2)")" ]
}

@test "payloads packed with xz are read as well" {
	built
	"$ROOT/tests/support/rhel/make" "$WORK/repo" w2.xzdio
	[ "$(rpm -qp --qf '%{PAYLOADCOMPRESSOR}' "$WORK"/repo/bash-*.rpm 2>/dev/null)" = xz ]
	sign_rpms "$WORK/repo"
	serve_folder "$WORK/repo"
	sed -E "s|http://127[^\"]*|$REPOSITORY|" "$IMAGE/stack.yaml" >stack.yaml
	cp "$WORK/repo/key.asc" RPM-GPG-KEY-base
	cp RPM-GPG-KEY-base RPM-GPG-KEY-cuda
	run -0 gpuimg lock stack.yaml
	run -0 gpuimg build --to "oci:$WORK/oci:t" stack.yaml
}

@test "a package with one byte changed is refused, wherever the byte is" {
	built
	hex=$(jq -r '.platforms[].inputs[] | select(.name == "bash") | .digest' "$IMAGE/stack.lock.json")
	hex=${hex#sha256:}
	cp -r "$GPUIMG_STORE" store
	rm -rf store/keys
	object=store/objects/sha256/${hex:0:2}/$hex
	size=$(stat -c %s "$object")
	for at in 20 100 4000 $((size / 2)) $((size - 3)); do
		cp --remove-destination "$GPUIMG_STORE/objects/sha256/${hex:0:2}/$hex" "$object"
		chmod u+w "$object"
		printf '\377' | dd of="$object" bs=1 seek="$at" conv=notrunc status=none
		run gpuimg build --offline --store "$WORK/store" --to "oci:$WORK/b:t" "$IMAGE/stack.yaml"
		[ "$status" -ne 0 ]
		[[ $output == *bash* ]]
	done
}

@test "a repository that is not signed: its packages must be, by the key that is named" {
	need_rpms
	need rpmsign
	[ -f "$REPO/key.asc" ] || { "$ROOT/tests/support/rhel/make" "$REPO"; sign_rpms "$REPO"; }
	mkdir "$WORK/r"
	cp "$REPO"/*.rpm "$WORK/r/"
	cp "$REPO/key.asc" .
	createrepo_c --quiet r
	serve_folder "$WORK/r"
	cat >stack.yaml <<-END
	gpuimg: 1
	name: test/rpm
	platforms: [linux/amd64]
	sources: [ { id: os, type: rpm-md, url: "$REPOSITORY", gpgkey: key.asc } ]
	stages: { runtime: { profile: base, packages: { os: [setup] } } }
	END
	run -3 --separate-stderr gpuimg lock stack.yaml
	echo "$stderr"
	[[ $stderr == *".rpm: neither its repository nor the package itself is signed"* ]]
	[ ! -e stack.lock.json ]
	rpmsign --define '__gpg /usr/bin/gpg' --define '_gpg_name Test' --define "_gpg_path $BATS_FILE_TMPDIR/gnupg" --addsign r/*.rpm 2>/dev/null
	gpgconf --homedir "$BATS_FILE_TMPDIR/gnupg" --kill all
	createrepo_c --quiet r
	run -0 --separate-stderr gpuimg lock stack.yaml
	[[ $stderr == *"repomd.xml is not signed"* ]]
	mkdir -m 700 other
	gpg --homedir other --batch --quiet --passphrase '' --quick-generate-key 'Other <other@example.org>' rsa2048 sign never
	gpg --homedir other --armor --export >key.asc
	gpgconf --homedir other --kill all
	rm stack.lock.json
	run -3 --separate-stderr gpuimg lock stack.yaml
	echo "$stderr"
	[[ $stderr == *".rpm: "*"key.asc"* ]]
	[ ! -e stack.lock.json ]
}
