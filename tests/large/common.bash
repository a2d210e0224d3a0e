# Shared by the tests of large stacks: a folder outside the tree that outlives a run, since gigabytes
# of wheels come through the network once, and what is checked of every stack.
#
#   GPUIMG_LARGE_DIR=DIR    where downloads stay and images are made (default ~/.cache/gpuimg-large);
#                           the torch stack needs 3 GB there for good and 9 GB while it is tested

bats_require_minimum_version 1.5.0

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
GPUIMG=${GPUIMG:-$ROOT/build/gpuimg}
LARGE=${GPUIMG_LARGE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuimg-large}
STACKS=$LARGE/stacks
export GPUIMG_STORE=$LARGE/inputs

# Images go when the tests of a file are through; downloads stay. A file may have its own.
teardown_file() {
	umount "$LARGE/work/podman/overlay" 2>/dev/null || true # podman's own mount of its folder
	rm -rf "$LARGE/work"
}

gpuimg() { "$GPUIMG" "$@"; }

# All that holds of each stack. The image is left in $LARGE/work/a:t, unpacked in $LARGE/work/bundle,
# for tests of what is its own. Commands in a list do not end a test, so each says what follows.
whole_stack() { # NAME [COMPARE]: parts_are_those_of where no database names the wheels
	locked "$1" || return 1
	built_twice "$1" || return 1
	unpacked || return 1
	"${2:-packages_are_those_of}" "$1" || return 1
	lint_has_no_error || return 1
}

# Locks and fetches manifests/library/NAME.yaml; its lock is $STACKS/NAME.lock.json. A lock of the
# same manifest serves for a day, since pip reads wheels as a whole to resolve them.
locked() { # NAME
	local manifest=$ROOT/manifests/library/$1.yaml lock=$STACKS/$1.lock.json
	mkdir -p "$STACKS" "$LARGE/work"
	if ! cmp -s "$manifest" "$STACKS/$1.yaml" || [ -z "$(find "$lock" -mtime -1 2>/dev/null)" ]; then
		cp "$manifest" "$STACKS/"
		gpuimg lock "$STACKS/$1.yaml" && touch "$lock" || return 1
	fi
	gpuimg fetch -q "$lock"
}

# A store with the inputs of the lock and nothing else: no layer, no record of an earlier build.
inputs_only() { # STORE NAME
	local digest
	rm -rf "$1"
	mkdir -p "$1/objects/sha256"
	for digest in $(jq -r '.platforms[].inputs[].digest | ltrimstr("sha256:")' "$STACKS/$2.lock.json" | sort -u); do
		mkdir -p "$1/objects/sha256/${digest:0:2}"
		ln "$GPUIMG_STORE/objects/sha256/${digest:0:2}/$digest" "$1/objects/sha256/${digest:0:2}/" || return 1
	done
}

digest_of() { jq -r '.manifests[0].digest' "$1/index.json"; } # LAYOUT

# Builds NAME twice without network from nothing but inputs, under circumstances that differ in all
# that must not matter, and leaves the image in $LARGE/work/a. Two whole layouts at once never exist.
built_twice() { # NAME
	local w=$LARGE/work first second
	rm -rf "$w"
	mkdir -p "$w/elsewhere"
	inputs_only "$w/s1" "$1"
	(umask 077; cd "$w/elsewhere"; TZ=America/New_York LC_ALL=C.UTF-8 HOME=/nonexistent taskset -c 0 unshare -rn \
		"$GPUIMG" build -q --store "$w/s1" --offline --no-lint --to oci:b:t "$STACKS/$1.yaml") || return 1
	second=$(digest_of "$w/elsewhere/b")
	rm -rf "$w/elsewhere" "$w/s1"
	inputs_only "$w/s2" "$1"
	(umask 022; cd "$w"; TZ=Pacific/Kiritimati LC_ALL=C "$GPUIMG" build --store "$w/s2" --offline --to oci:a:t \
		"$STACKS/$1.yaml" >"$w/build.log" 2>&1) || { cat "$w/build.log"; return 1; }
	first=$(digest_of "$w/a")
	echo "$1: $first and $second"
	[ -n "$first" ] && [ "$first" = "$second" ]
}

# The image's files, unpacked by a foreign tool.
unpacked() {
	rm -rf "$LARGE/work/bundle"
	umoci unpack --image "$LARGE/work/a:t" "$LARGE/work/bundle"
}

# Runs a command in the image as its user, without network. /opt/pip holds pip's code, which the
# image lacks.
in_image() { # COMMAND…
	local b=$LARGE/work/bundle pip
	pip=$(python3 -c 'import os, pip; print(os.path.dirname(pip.__file__))')
	[ -f "$b/config.orig" ] || cp "$b/config.json" "$b/config.orig"
	jq --arg pip "$pip" 'del(.process.rlimits) | .process.terminal = false | .process.args = $ARGS.positional |
		.mounts += [{ destination: "/opt/pip/pip", type: "bind", source: $pip, options: ["rbind", "ro"] }]' \
		--args -- "$@" <"$b/config.orig" >"$b/config.json"
	(cd "$b" && runc --root "$LARGE/work/runc" run "gpuimg-large-$$-$RANDOM")
}

# Layers in an overlay: the copy of each, as the driver vfs makes it, would be tens of gigabytes.
pod() { podman --root "$LARGE/work/podman" --runroot "$LARGE/work/podman-run" --storage-driver overlay --runtime runc "$@"; }

# Runs a command in the image as podman has it, from the layout: with its user, environment and
# folder. The unpacked image goes, which is as large; what needs it comes before. podman makes a name of
# the path that it is given, and refuses one with a dot in front.
in_podman() { # COMMAND…
	local id
	rm -rf "$LARGE/work/bundle"
	id=$(pod images -q --no-trunc) || return 1
	[ -n "$id" ] || id=$(cd "$LARGE/work" && pod pull -q oci:a:t) || return 1
	pod run --rm --network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 --entrypoint "$1" "$id" "${@:2}"
}

locked_packages() { # NAME KIND: "name version" lines as pip and dpkg spell names
	jq -r --arg kind "$2" '.platforms[].inputs[] | select(.kind == $kind) | "\(.name) \(.version)"' "$STACKS/$1.lock.json" |
		tr '_A-Z' '-a-z' | sort
}

debs_are_those_of() { # NAME
	diff <(locked_packages "$1" deb) \
		<(dpkg-query --admindir="$LARGE/work/bundle/rootfs/var/lib/dpkg" -W -f '${Package} ${Version}\n' | sort)
}

# What scanners read says what the lock says: dpkg's status, the records of wheels, our own list
# (but for what setuptools carries inside itself).
packages_are_those_of() { # NAME
	debs_are_those_of "$1" || return 1
	diff <(locked_packages "$1" wheel) <(installed_wheels '
for d in distributions: print(re.sub(r"[-_.]+", "-", d.metadata["Name"]).lower(), d.version)' | sort) || return 1
	diff <({ locked_packages "$1" deb; locked_packages "$1" wheel; } | sort) \
		<(gpuimg inspect --packages -o json "oci:$LARGE/work/a:t" | jq -r '.packages[] | select((.record // "") | contains("/_vendor/") | not) | "\(.name) \(.version)"' | tr '_A-Z' '-a-z' | sort)
}

# The same of libraries that lie where a toolkit has them, out of wheels: no database of packages
# names them, our SBOM does.
parts_are_those_of() { # NAME
	debs_are_those_of "$1" || return 1
	diff <({ locked_packages "$1" deb; locked_packages "$1" wheel; } | sort) \
		<(gpuimg sbom --store "$LARGE/work/s2" -o cyclonedx "oci:$LARGE/work/a:t" | jq -r '.components[] | select((.purl // "") | test("^pkg:(deb|pypi)/")) | "\(.name) \(.version)"' | tr '_A-Z' '-a-z' | sort)
}

# Runs code of this machine's Python over `distributions`, the wheels that lie in the unpacked image,
# of whatever architecture.
installed_wheels() { # CODE
	python3 - "$1" "$LARGE/work/bundle/rootfs/usr/local/lib/python3."*/dist-packages <<'PY'
import importlib.metadata, re, sys
distributions = list(importlib.metadata.distributions(path=sys.argv[2:]))
exec(sys.argv[1])
PY
}

# Every file that a RECORD names is there with the size and digest it says (large ones: the size),
# and every file of a wheel's folders is in one. Prints how many.
records_hold() {
	installed_wheels '
import base64, hashlib, os
bad = n = 0
named = set()
for d in distributions:
    for f in d.files:
        path, n = f.locate(), n + 1
        named.add(os.path.realpath(path))
        size = path.stat().st_size
        if f.size is not None and size != f.size: bad += 1; print("size", f)
        if f.hash and size < 1 << 24 and base64.urlsafe_b64encode(hashlib.new(f.hash.mode, path.read_bytes()).digest()).rstrip(b"=").decode() != f.hash.value: bad += 1; print("digest", f)
for top in sys.argv[2:]:
    for folder, _, files in os.walk(top):
        for name in files:
            if os.path.realpath(os.path.join(folder, name)) not in named: bad += 1; print("in no RECORD", os.path.join(folder, name))
print(n, "files")
sys.exit(bad > 0 or n < 100)'
}

pip_is_content() {
	run -0 in_image /usr/bin/env PYTHONPATH=/opt/pip PYTHONDONTWRITEBYTECODE=1 python3 -m pip check
	[[ $output == *"No broken requirements found."* ]]
}

# Every library that the image brings opens in it. More options: what else has to hold.
load_tier_passes() { # [OPTION…]
	run gpuimg test --require load "$@" "rootfs:$LARGE/work/bundle/rootfs"
	echo "$output"
	[ "$status" -eq 0 ] && [[ $output != *"fail "* ]]
}

lint_has_no_error() {
	run gpuimg lint --fail-on never "oci:$LARGE/work/a:t"
	echo "$output"
	[ "$status" -eq 0 ] && [[ $output == *"0 errors"* ]]
}

# As cuDNN and NCCL count: 9.27.0 is 92700, 2.30.7 is 23007.
number() { # NAME COMPONENT
	jq -r --arg c "$2" '.stack[$c] | split(".") | map(tonumber) | .[0] * 10000 + .[1] * 100 + .[2]' "$STACKS/$1.lock.json"
}

# No ELF file of the unpacked image is for another machine.
machine_is() { # NAME as readelf says it
	local other
	other=$(find "$LARGE/work/bundle/rootfs" -xdev -type f \( -name '*.so' -o -name '*.so.*' -o -perm -u+x \) -print0 |
		xargs -0 readelf -hW 2>/dev/null | sed -n 's/^ *Machine: *//p' | sort | uniq -c)
	echo "$other"
	[ "$(wc -l <<<"$other")" -eq 1 ] && [[ $other == *"$1" ]]
}
