#!/usr/bin/env bats
# The manifest beyond one file: its JSON Schema before a real validator, overlays, --set, matrices,
# and what makes a lock stale.

load common

setup() {
	work
	cat >stack.yaml <<'YAML'
gpuimg: 1
name: test/small
tag: t
sources:
  - { id: os, type: apt, from: host }
stages:
  runtime:
    packages: { os: [base-files, hostname] }
YAML
}

validator() { need_cached check-jsonschema; }

valid() { PYTHONPATH=$TEST_CACHE/tools/check-jsonschema python3 -m check_jsonschema --schemafile "$WORK/schema.json" "$@"; }

@test "schema: is the committed one, and a schema of draft 2020-12" {
	validator
	gpuimg schema >schema.json
	cmp schema.json "$ROOT/docs/stack.schema.json"
	[ "$(jq -r '."$schema"' schema.json)" = https://json-schema.org/draft/2020-12/schema ]
	PYTHONPATH=$TEST_CACHE/tools/check-jsonschema run -0 python3 -m check_jsonschema --check-metaschema schema.json
}

@test "schema: what the program accepts is valid" {
	validator
	gpuimg schema >schema.json
	cat >overlay.yaml <<'YAML'
extends: stack.yaml
stack: { cuda: 13.0, gpus: [h100, sm_120], framework: { torch: "2.7.*" } }
image: { user: { uid: 7 }, env: { A: 1, B: true, C: "" }, expose: [8080, 53/udp] }
base:
layers: { max-size: 512MiB }
YAML
	cat >matrix.yaml <<'YAML'
gpuimg: 1
name: test/{cuda}
tag: "{cuda}-py{python}"
matrix: { cuda: ["12.6", 13.0], python: ["3.11"], exclude: [ { cuda: "13.0" } ] }
stages:
  build: { packages: { pip: [a, { requirements: r.txt }] } }
  run:
lint: { ignore: [ { rule: SIZ003, reason: big, until: 2027-01-01 } ] }
YAML
	run -0 valid "$ROOT"/manifests/library/*.yaml stack.yaml overlay.yaml matrix.yaml
}

@test "schema: what the program refuses is not valid" {
	validator
	gpuimg schema >schema.json
	local n=0 edit
	for edit in 's/packages:/pakages:/' 's/^name:.*/name: UPPER/' 's/^name:.*//' 's/^gpuimg: 1/gpuimg: 2/' \
		's/type: apt/type: atp/' 's/from: host/from: guest/' 's/id: os,//' 's/^tag: t/tag: "a b"/' \
		's/^tag: t/tag: [t]/' 's/^tag: t/tag: ""/' 's/runtime:/"a b":/' 's/\[base-files, hostname\]/base-files/' \
		's/^tag: t/platforms: [linux\/riscv]/' 's/^tag: t/platforms: [linux\/amd64, linux\/amd64]/' \
		's/^tag: t/layers: { max-size: 0MiB }/' 's/^tag: t/layers: { split: sigle }/' \
		's/^tag: t/image: { user: { name: app } }/' 's/^tag: t/image: { user: { name: app, uid: -1 } }/' \
		's/^tag: t/image: { env: { "A-B": x } }/' 's/^tag: t/image: { workdir: opt }/' \
		's/^tag: t/lint: { ignore: [ { rule: SIZ003 } ] }/' 's/^tag: t/matrix: { gpu: [a] }/' \
		's/^tag: t/stack: { cuda: "12 6" }/' 's/^tag: t/nothing: 1/'; do
		n=$((n + 1))
		sed "$edit" stack.yaml >"wrong$n.yaml"
		! cmp -s stack.yaml "wrong$n.yaml"
		run valid "wrong$n.yaml"
		[ "$status" -eq 1 ] || { echo "valid after $edit: $output"; return 1; }
		run gpuimg lock "wrong$n.yaml"
		[ "$status" -eq 2 ] || { echo "accepted after $edit"; return 1; }
	done
}

@test "extends: maps merge, lists replace; errors name the file they stand in" {
	mkdir lib
	mv stack.yaml lib/common.yaml
	printf 'extends: lib/common.yaml\ntag: over\nstages: { runtime: { packages: { os: [hostname] } } }\n' >stack.yaml
	run -0 gpuimg lock stack.yaml
	run -0 gpuimg build --no-lint --to "oci:$WORK/image" stack.yaml
	run -0 digest_of "$WORK/image" over
	[ -n "$output" ]
	! jq -e '.. | objects | select(.name? == "base-files" and .requested)' stack.lock.json
	sed -i 's/packages:/pakages:/' lib/common.yaml
	refuses 2 "lib/common.yaml:8:5: unknown key 'pakages' in stages.runtime; did you mean 'packages'?" -- lock stack.yaml
}

@test "extends: a missing file, and a circle with its chain" {
	echo 'extends: none.yaml' >a.yaml
	refuses 2 'a.yaml:1:10: extends: ' 'none.yaml' -- lock a.yaml
	echo 'extends: b.yaml' >a.yaml
	printf 'gpuimg: 1\nextends: a.yaml\n' >b.yaml
	refuses 2 'b.yaml:2:10: extends: goes in a circle: a.yaml extends b.yaml extends a.yaml' -- build --offline a.yaml
}

@test "--set: typed by its key, refused with its own text" {
	run -0 gpuimg lock --set tag=u --set stages.runtime.packages.os=hostname stack.yaml
	run -0 gpuimg build --no-lint --to "oci:$WORK/image" --set tag=u --set stages.runtime.packages.os=hostname stack.yaml
	run -0 digest_of "$WORK/image" u
	[ -n "$output" ]
	refuses 2 'stages.runtime.packages.os, tag;' -- build --offline stack.yaml
	refuses 2 "--set 'stack.cudaa=1': unknown key 'cudaa' in stack; did you mean 'cuda'?" -- lock --set stack.cudaa=1 stack.yaml
	refuses 2 "--set 'layers.level=fats': layers: 'level': 'fats' is not one of fast, default, max; did you mean 'fast'?" -- \
		build --offline --set layers.level=fats stack.yaml
	refuses 2 "--set 'stack.cuda': write PATH=VALUE" -- lock --set stack.cuda stack.yaml
}

@test "resolve --print-manifest: what is merged, with defaults, and it reads as the same" {
	printf 'extends: stack.yaml\nimage: { env: { A: "x" } }\n' >top.yaml
	run -0 --separate-stderr gpuimg resolve --print-manifest --set tag=u --set stack.cuda=12.6 top.yaml
	[[ $output == *'tag: "u"'* ]]
	[[ $output == *'cuda: "12.6"'* ]]
	[[ $output == *'"A": "x"'* ]]
	[[ $output == *'max-size: 1GiB'* ]]
	echo "$output" >printed.yaml
	run -0 gpuimg resolve --print-manifest printed.yaml
	[ "$output" = "$(cat printed.yaml)" ]
	printf 'extends: stack.yaml\ntag: "{cuda}"\nmatrix: { cuda: ["12.6", "13.0"] }\n' >many.yaml
	run -0 gpuimg resolve --print-manifest many.yaml
	[ "$(grep -c '^---' <<<"$output")" -eq 2 ]
	run -0 --separate-stderr gpuimg resolve --output json many.yaml
	[ "$(jq -r '.[].variant' <<<"$output" | tr '\n' ' ')" = "cuda12.6 cuda13.0 " ]
}

@test "a lock outlives comments and layout, and not a changed key" {
	gpuimg lock stack.yaml
	gpuimg fetch stack.yaml
	{
		echo '# the same, written otherwise'
		echo 'layers: { level: "default" }'
		cat stack.yaml
	} >other.yaml
	mv other.yaml stack.yaml
	run -0 gpuimg lock --check stack.yaml
	run -0 gpuimg build --offline --no-lint --to "oci:$WORK/image" stack.yaml
	echo 'image: { workdir: /srv }' >>stack.yaml
	sed -i 's/^tag: t/tag: u/' stack.yaml
	refuses 2 'stack.lock.json: stack.yaml has changed since it was locked: tag, image.workdir (new); run `gpuimg lock stack.yaml`' -- \
		build --offline stack.yaml
}

@test "matrix: one lock and one image for each combination" {
	cat >>stack.yaml <<'YAML'
matrix:
  cuda: ["12.6", "13.0"]
  python: ["3.11", "3.12"]
  exclude: [ { cuda: "12.6", python: "3.12" } ]
YAML
	sed -i 's/^tag: t/tag: "{cuda}-py{python}"/; s/    packages/    profile: base\n    packages/' stack.yaml
	sed -i 's|  - { id: os.*|&\n  - { id: pip, type: wheels, from: host }|' stack.yaml
	run -0 gpuimg lock stack.yaml
	[ "$(echo stack.*.lock.json)" = "stack.cuda12.6-python3.11.lock.json stack.cuda13.0-python3.11.lock.json stack.cuda13.0-python3.12.lock.json" ]
	[ "$(jq -r .stack.cuda stack.cuda12.6-python3.11.lock.json)" = 12.6 ]
	run -0 gpuimg fetch stack.yaml
	run -0 gpuimg build --offline --no-lint --to "oci:$WORK/image" --output json=report.json stack.yaml
	[ "$(jq -r '.[].tag' report.json | tr '\n' ' ')" = "12.6-py3.11 13.0-py3.11 13.0-py3.12 " ]
	for tag in 12.6-py3.11 13.0-py3.11 13.0-py3.12; do
		[ -n "$(digest_of "$WORK/image" $tag)" ]
	done
	run -0 gpuimg build --offline --no-lint --variant cuda13.0-python3.12 --to "oci-archive:$WORK/one.tar" stack.yaml
	run -0 gpuimg build --offline --no-lint --to "oci-archive:$WORK/{variant}.tar" stack.yaml
	[ -f cuda12.6-python3.11.tar ]
	refuses 2 'over each other' '{variant}' -- build --offline --to "oci-archive:$WORK/all.tar" stack.yaml
	refuses 2 "there is no variant 'cuda13.0-python3.13'; did you mean" -- build --offline --variant cuda13.0-python3.13 stack.yaml
	run -0 gpuimg lock --check --variant cuda12.6-python3.11 stack.yaml
}

@test "matrix: mistakes with their place" {
	echo 'matrix: { cuda: ["12.6", "13.0"] }' >>stack.yaml
	refuses 2 'stack.yaml:9:9: matrix: cuda12.6 and cuda13.0 would both be test/small:t' -- lock stack.yaml
	sed -i 's/^tag: t/tag: "{cuad}"/' stack.yaml
	refuses 2 "stack.yaml:3:6: tag: '{cuad}' is not an axis of the matrix; did you mean '{cuda}'?" -- lock stack.yaml
}

make_deb() { # NAME VERSION [DEPENDS]
	mkdir -p "deb/DEBIAN" "deb/usr/share/$1"
	echo "$2" >"deb/usr/share/$1/version"
	printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: T <t@example.org>\n%sDescription: t\n' "$1" "$2" "${3:+Depends: $3
}" >deb/DEBIAN/control
	dpkg-deb -Zgzip -b deb "repo/$1_$2_all.deb" >/dev/null
	rm -rf deb
}

make_wheel() { # NAME VERSION [REQUIRES]
	python3 - "$@" <<'PY'
import sys, zipfile, hashlib, base64
name, version, *requires = sys.argv[1:]
files = {f"{name}.py": f"version = '{version}'\n",
         f"{name}-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {r}\n" for r in requires),
         f"{name}-{version}.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
record = "".join(f"{n},sha256={base64.urlsafe_b64encode(hashlib.sha256(t.encode()).digest()).rstrip(b'=').decode()},{len(t)}\n" for n, t in files.items())
with zipfile.ZipFile(f"wheels/{name}-{version}-py3-none-any.whl", "w") as z:
    for n, t in files.items(): z.writestr(n, t)
    z.writestr(f"{name}-{version}.dist-info/RECORD", record + f"{name}-{version}.dist-info/RECORD,,\n")
PY
}

versions() { jq -r '.platforms[].inputs[] | .name + "=" + .version' stack.lock.json | sort | tr '\n' ' '; }

@test "lock --diff tells what would move; lock --update moves one thing and what it needs" {
	need dpkg-deb gpg
	mkdir repo wheels
	make_deb one 1 && make_deb two 1 three && make_deb three 1
	make_wheel alpha 1 'gamma==1' && make_wheel beta 1 && make_wheel gamma 1
	start_repository repo
	cat >stack.yaml <<YAML
gpuimg: 1
name: test/small
stack: { python: "3.11" }
sources:
  - { id: os, type: apt, url: "$REPOSITORY", suite: ./, signed-by: repo/key.gpg }
  - { id: pip, type: wheels, path: wheels }
stages:
  runtime:
    packages: { os: [one, two], pip: [alpha, beta] }
YAML
	refuses 2 '--update one: there is no lock to update' -- lock --update one stack.yaml
	run -0 gpuimg lock stack.yaml
	[ "$(versions)" = "alpha=1 beta=1 gamma=1 one=1 three=1 two=1 " ]
	run -0 gpuimg lock --diff stack.yaml
	cp stack.lock.json before.json
	sleep 1 # the Release file must not look older
	make_deb one 2 && make_deb two 2 three && make_deb three 2
	make_wheel alpha 2 'gamma==2' && make_wheel beta 2 && make_wheel gamma 2
	sign_repository repo
	run -1 --separate-stderr gpuimg lock --diff stack.yaml
	[[ $output == *"  moved    two 1 -> 2 (os, stage runtime)"* ]]
	[[ $output == *"  moved    gamma 1 -> 2 (pip, stage runtime)"* ]]
	cmp stack.lock.json before.json
	run -0 gpuimg lock --update one stack.yaml
	[ "$(versions)" = "alpha=1 beta=1 gamma=1 one=2 three=1 two=1 " ]
	run -0 gpuimg lock --update alpha stack.yaml
	[ "$(versions)" = "alpha=2 beta=1 gamma=2 one=2 three=1 two=1 " ]
	run -0 gpuimg lock --update os stack.yaml
	[ "$(versions)" = "alpha=2 beta=1 gamma=2 one=2 three=2 two=2 " ]
	refuses 2 "--update alhpa: neither a source of stack.yaml nor a package in stack.lock.json; did you mean 'alpha'?" -- lock --update alhpa stack.yaml
	run -0 gpuimg lock stack.yaml
	[ "$(versions)" = "alpha=2 beta=2 gamma=2 one=2 three=2 two=2 " ]
}

teardown() { stop_repository; }
