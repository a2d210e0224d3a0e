#!/usr/bin/env bats
# What is wrong is said with its place and the remedy, with the right status, and nothing is left.

load common

setup() {
	work
	export GPUIMG_STORE=$BATS_FILE_TMPDIR/store # what is left in it is looked for: no other file's tests write there
	cat >stack.yaml <<'YAML'
gpuimg: 1
name: test/small
tag: t
sources:
  - { id: os, type: apt, from: host }
stages:
  runtime:
    profile: runtime
    packages: { os: [base-files, hostname] }
    files: [ { from: hello.txt, to: /srv/hello.txt } ]
YAML
	echo hello >hello.txt
}

edit() { sed -i "$1" stack.yaml; }

locked() { gpuimg lock stack.yaml && gpuimg fetch stack.yaml; }

nothing_half_written() { # no temporary file, no image
	[ -z "$(find "$WORK" -name '.gpuimg-tmp-*')" ]
	[ -z "$(find "$GPUIMG_STORE" -name '.gpuimg-tmp-*' -newer "$WORK/stack.yaml")" ]
	[ ! -e "$WORK/out" ] || [ -z "$(find "$WORK/out" -name index.json -exec grep -l '"t"' {} +)" ]
}

@test "an unknown key: place, and the nearest known key" {
	edit 's/packages:/pakages:/'
	refuses 2 'stack.yaml:9:5' "pakages" "did you mean 'packages'" -- lock stack.yaml
	[ ! -e stack.lock.json ]
}

@test "a wrong type: place and what was expected" {
	edit 's/profile: runtime/profile: [runtime]/'
	refuses 2 'stack.yaml:8:' 'profile' -- lock stack.yaml
}

@test "not YAML at all: place" {
	edit 's/^name:.*/name: "unterminated/'
	refuses 2 'stack.yaml:' -- lock stack.yaml
}

@test "a manifest that does not exist" {
	refuses 2 'nowhere.yaml: there is no such manifest' -- lock nowhere.yaml
}

@test "an unknown package: place and name" {
	edit 's/hostname/hostnamee/'
	refuses 2 'stack.yaml:9:' "hostnamee" 'hostname' -- lock stack.yaml
	[ ! -e stack.lock.json ]
}

@test "a version that no source has: what there is" {
	edit 's/hostname\]/"hostname=99.9"]/'
	run --separate-stderr gpuimg lock stack.yaml
	echo "$status $stderr"
	[ "$status" -eq 1 ] || [ "$status" -eq 2 ]
	[[ $stderr == *99.9* ]]
}

@test "a file of the manifest that is missing: place, and nothing written" {
	locked
	rm hello.txt
	refuses 2 'hello.txt' 'stack.yaml:10:' -- build --offline stack.yaml
	nothing_half_written
}

@test "a lock for another manifest is refused, and the key that moved is named" {
	locked
	edit 's/tag: t/tag: u/'
	refuses 2 'has changed since it was locked: tag;' 'gpuimg lock stack.yaml' -- build --offline stack.yaml
}

@test "no lock and --offline: says to run gpuimg lock" {
	refuses 3 'gpuimg lock' -- build --offline stack.yaml
}

@test "an input that is not in the store and --offline: named, with the command to run" {
	locked
	refuses 3 'gpuimg fetch' -- build --offline --store "$WORK/empty" stack.yaml
}

@test "names of any bytes and of almost 4,096 come out as they went in; one with a line break is refused" {
	need python3 umoci jq
	python3 - <<-'PY'
		import os
		os.makedirs("odd/deep")
		for name in (b"\xff\xfe.bin", "ü ☃ .txt".encode(), b"back\\slash", b"tab\tquote\"'", b"\x1b[1mbold", b"-o", b" "):
		    with open(b"odd/" + name, "wb") as f: f.write(name)
		os.chdir("odd/deep")
		for i in range(15):
		    os.mkdir("d" * 250)
		    os.chdir("d" * 250)
		open("end", "w").write("end")
	PY
	cat >stack.yaml <<-'END'
		gpuimg: 1
		name: test/names
		platforms: [linux/amd64]
		stages: { runtime: { profile: base, files: [ { from: odd/, to: /odd } ] } }
	END
	gpuimg lock -q stack.yaml
	run -0 gpuimg build --offline --to oci:out:t --to docker-archive:out.tar --sbom spdx=a.spdx --sbom cyclonedx=a.cdx --sbom files=a.files -o json=a.json stack.yaml
	umoci unpack --rootless --image out:t bundle
	diff -r odd bundle/rootfs/odd
	for file in a.spdx a.cdx a.json; do jq -e . "$file" >/dev/null; done
	run ! grep -aP '\x1b|\t[^\t]*\t' a.files # each is a line, and nothing of it acts on a terminal
	run -0 gpuimg verify --rebuild oci:out:t stack.lock.json
	run -0 gpuimg inspect --tree oci:out:t
	[[ $output != *$'\033'* ]]
	touch $'odd/line\nbreak'
	gpuimg lock -q stack.yaml || true
	refuses 2 'break: has a line break in its name' -- build --offline --to oci:again:t stack.yaml
	[ ! -e again ]
}

@test "more packages than the soft limit of open files allows" {
	gpuimg lock stack.yaml
	gpuimg fetch --store "$WORK/s" stack.yaml
	ulimit -Sn 14
	run -0 gpuimg build --offline --no-lint --store "$WORK/s" stack.yaml
}

@test "a damaged store object is named, and fetched again" {
	gpuimg lock stack.yaml
	gpuimg fetch --store "$WORK/s" stack.yaml
	hex=$(jq -r '[.. | objects | select(.name? == "hostname")][0].digest // [.. | objects | select(.name? == "hostname")][0].sha256' stack.lock.json)
	hex=${hex#sha256:}
	object=$(find "$WORK/s/objects" -name "*${hex:2}*" -type f)
	chmod u+w "$object"
	printf 'X' | dd of="$object" bs=1 seek=100 conv=notrunc status=none
	refuses 3 'hostname' 'digest' -- build --offline --no-lint --store "$WORK/s" stack.yaml
	nothing_half_written
	run -0 gpuimg fetch --store "$WORK/s" stack.yaml
	run -0 gpuimg build --offline --no-lint --store "$WORK/s" stack.yaml
}

@test "an input whose bytes are not those that were locked is refused" {
	gpuimg lock stack.yaml
	python3 - <<'PY'
import json
l = json.load(open("stack.lock.json"))
def walk(v):
    if isinstance(v, dict):
        if v.get("name") == "hostname":
            for k in v:
                if isinstance(v[k], str) and k in ("digest", "sha256"):
                    v[k] = v[k][:-1] + ("0" if v[k][-1] != "0" else "1")
        for x in v.values(): walk(x)
    elif isinstance(v, list):
        for x in v: walk(x)
walk(l)
json.dump(l, open("stack.lock.json", "w"), indent=2, sort_keys=True)
PY
	refuses 3 'hostname' 'digest' -- fetch --store "$WORK/s" stack.yaml
	[ -z "$(find "$WORK/s" -name '.gpuimg-tmp-*')" ]
}

@test "the repository's signature is checked: a missing keyring is named" {
	cat >>stack.yaml <<'YAML'
YAML
	edit 's|{ id: os, type: apt, from: host }|{ id: os, type: apt, url: "http://127.0.0.1:9/debian", suite: stable, components: [main], signed-by: keys/none.gpg }|'
	refuses 3 'keys/none.gpg' -- lock stack.yaml
}

@test "a full disk: said, and nothing left behind" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to mount a small file system"
	locked
	mkdir small
	mount -t tmpfs -o size=256k tmpfs small
	run --separate-stderr gpuimg build --offline --no-lint --to "oci:$WORK/small/image:t" stack.yaml
	left=$(find small -type f | wc -l)
	umount small
	echo "$status $stderr"
	[ "$status" -eq 3 ]
	[[ $stderr == *"No space left"* ]]
	[ "$left" -eq 0 ]
}

@test "a full disk under the store: said, and nothing left behind" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to mount a small file system"
	gpuimg lock stack.yaml
	mkdir small
	mount -t tmpfs -o size=64k tmpfs small
	run --separate-stderr gpuimg fetch --store "$WORK/small" stack.yaml
	left=$(find small -name '.gpuimg-tmp-*' | wc -l)
	umount small
	echo "$status $stderr"
	[ "$status" -eq 3 ]
	[[ $stderr == *"No space left"* ]]
	[ "$left" -eq 0 ]
}

@test "killed at random points, then built again: the same digest" {
	locked
	gpuimg build --offline --no-lint --store "$GPUIMG_STORE" --to "oci:$WORK/good:t" stack.yaml
	want=$(digest_of "$WORK/good" t)
	for delay in 0.005 0.01 0.02 0.03 0.05 0.08 0.12 0.2 0.3 0.5; do
		rm -rf "$WORK/s" && mkdir "$WORK/s" && cp -al "$GPUIMG_STORE/objects" "$WORK/s/objects"
		"$GPUIMG" build --offline --no-lint --store "$WORK/s" --to "oci:$WORK/killed:t" stack.yaml 2>/dev/null &
		pid=$!
		sleep "$delay"
		kill -9 "$pid" 2>/dev/null || true
		wait "$pid" || true
		run -0 gpuimg build --offline --no-lint --store "$WORK/s" --to "oci:$WORK/killed:t" stack.yaml
		[ "$(digest_of "$WORK/killed" t)" = "$want" ]
		[ -z "$(find "$WORK/killed" "$WORK/s" -name '.gpuimg-tmp-*')" ]
		rm -rf "$WORK/killed"
	done
}

# A signed repository of small packages: make_deb NAME [FIELD…].
make_deb() {
	local name=$1
	shift
	mkdir -p "deb/$name/DEBIAN" "deb/$name/usr/share/$name" repo
	echo "$name" >"deb/$name/usr/share/$name/file"
	{
		printf 'Package: %s\nVersion: 1\nArchitecture: all\nMaintainer: T <t@example.org>\n' "$name"
		[ $# -eq 0 ] || printf '%s\n' "$@"
		printf 'Description: t\n'
	} >"deb/$name/DEBIAN/control"
	dpkg-deb -Zgzip -b "deb/$name" "repo/${name}_1_all.deb" >/dev/null
}

use_repository() { # PACKAGES
	start_repository repo
	edit "s|{ id: os, type: apt, from: host }|{ id: os, type: apt, url: \"$REPOSITORY\", suite: ./, signed-by: repo/key.gpg }|"
	edit "s/base-files, hostname/$1/"
}

@test "a package that cannot be satisfied: the chain of who wanted it, status 1" {
	need dpkg-deb
	make_deb outer 'Depends: middle'
	make_deb middle 'Depends: nowhere (>= 2)'
	use_repository outer
	refuses 1 'nowhere' 'middle' 'outer' -- lock stack.yaml
	[ ! -e stack.lock.json ]
}

@test "a repository whose signature is wrong is not believed" {
	need dpkg-deb
	make_deb outer
	use_repository outer
	sed -i 's/^Origin: test/Origin: tost/' repo/InRelease
	refuses 3 'Release' 'key.gpg' 'signature' -- lock stack.yaml
	[ ! -e stack.lock.json ]
}

@test "a Release that is older than the locked one is a step back in time" {
	need dpkg-deb
	make_deb outer
	use_repository outer
	gpuimg lock stack.yaml
	cp stack.lock.json before
	RELEASE_DATE='2 days ago' sign_repository repo
	refuses 3 'its Release file is of' 'older than' -- lock stack.yaml
	cmp before stack.lock.json
	rm stack.lock.json
	gpuimg lock stack.yaml
}

@test "a mirror caught while it changes: the index is taken by its digest where the repository has that" {
	need dpkg-deb
	make_deb mirrored # of no other test, whose index would be in the store
	use_repository mirrored
	cp repo/Packages before
	for other in "$(cat before)"$'\n\n\n\n' "$(head -c 50 before)" "$(sed 's/mirrored/marooned/' before)"; do
		echo "$other" >repo/Packages
		refuses 3 'Packages is not what the Release file says' 'try again' -- lock stack.yaml
	done
	[ ! -e stack.lock.json ]
	mkdir -p repo/by-hash/SHA256
	cp before "repo/by-hash/SHA256/$(sha256sum before | cut -d' ' -f1)"
	sed -i 's/^SHA256:/Acquire-By-Hash: yes\n&/' repo/Release
	gpg --homedir "$BATS_TEST_TMPDIR/gnupg" --batch --quiet --yes --clearsign --digest-algo SHA256 -o repo/InRelease repo/Release
	run -0 gpuimg lock stack.yaml
	[ "$(jq -r '.platforms[].inputs[].name' stack.lock.json)" = mirrored ]
}

@test "two packages that own one path with different content: both are named" {
	need dpkg-deb
	mkdir -p repo
	for p in one two; do
		mkdir -p "$p/DEBIAN" "$p/usr/share/same"
		echo "$p" >"$p/usr/share/same/file"
		printf 'Package: pkg-%s\nVersion: 1\nArchitecture: all\nMaintainer: T <t@example.org>\nDescription: t\n' "$p" >"$p/DEBIAN/control"
		dpkg-deb -Zgzip -b "$p" "repo/pkg-${p}_1_all.deb" >/dev/null
	done
	start_repository repo
	edit "s|{ id: os, type: apt, from: host }|{ id: os, type: apt, url: \"$REPOSITORY\", suite: ./, signed-by: repo/key.gpg }|"
	edit 's/base-files, hostname/pkg-one, pkg-two/'
	run -0 gpuimg lock stack.yaml
	refuses 2 'pkg-one' 'pkg-two' '/usr/share/same/file' -- build --no-lint stack.yaml
	nothing_half_written
}

@test "a .deb with names that would leave the root is refused, and nothing is written outside" {
	need dpkg-deb gpg
	mkdir -p evil repo
	python3 - <<'PY'
import io, tarfile, lzma
def tar(entries):
    b = io.BytesIO()
    with tarfile.open(fileobj=b, mode="w:gz") as t:
        for name, data in entries:
            i = tarfile.TarInfo(name); i.size = len(data); t.addfile(i, io.BytesIO(data))
    return b.getvalue()
control = tar([("./control", b"Package: evil\nVersion: 1\nArchitecture: all\nMaintainer: T <t@example.org>\nDescription: t\n")])
data = tar([("./usr/share/../../../../../../tmp/gpuimg-escaped", b"x")])
def member(name, d):
    return name.ljust(16).encode() + b"0".ljust(12) + b"0".ljust(6) * 2 + b"100644".ljust(8) + str(len(d)).ljust(10).encode() + b"`\n" + d + (b"\n" if len(d) % 2 else b"")
open("repo/evil_1_all.deb", "wb").write(b"!<arch>\n" + member("debian-binary", b"2.0\n") + member("control.tar.gz", control) + member("data.tar.gz", data))
PY
	start_repository repo
	edit "s|{ id: os, type: apt, from: host }|{ id: os, type: apt, url: \"$REPOSITORY\", suite: ./, signed-by: repo/key.gpg }|"
	edit 's/base-files, hostname/evil/'
	run -0 gpuimg lock stack.yaml
	refuses 3 'evil' '..' -- build --no-lint stack.yaml
	[ ! -e /tmp/gpuimg-escaped ]
	nothing_half_written
}

@test "a usage mistake: status 2 and the nearest option" {
	refuses 2 '--offline' -- build --ofline stack.yaml
	refuses 2 "did you mean 'build'" -- biuld stack.yaml
	refuses 2 'needs an argument' -- build
}

teardown() { stop_repository; }

@test "options of every command may stand before its name" {
	work
	run -0 gpuimg --store here -q store ls
	run -0 gpuimg --store=here --color never store ls --output json
	jq -e . <<<"$output" >/dev/null
	run -2 gpuimg --stor here store ls
	[[ "$output" = *"'--stor'"* ]]
}
