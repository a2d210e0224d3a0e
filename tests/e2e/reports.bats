#!/usr/bin/env bats
# Reports of the linter against the formats' own schemas and a real browser; policies, baselines,
# platforms, engines' stores; inspect and diff.

load common
load registry

setup() { work; }
teardown() { stop_registry; }

lib=usr/lib/x86_64-linux-gnu
# Made up, and in two parts, so that no scanner of source code takes it for a real one.
TOKEN=hf_
TOKEN+=u8jzPde0IgxLd6GncfBAepfJBd0Kh8oOOL

library() { # FILE SONAME
	need gcc
	mkdir -p "$(dirname "$1")"
	echo 'int f(void) { return 1; }' | gcc -shared -nostdlib -Wl,-soname,"$2" -o "$1" -x c -
}

# An image with a driver library, a token in every place, and names that want to be escaped.
bad_image() {
	need umoci
	library a/$lib/libcuda.so.535.54.03 libcuda.so.1
	mkdir -p a/root 'a/opt/<b>&"x'
	printf %s "$TOKEN" >a/root/token
	printf %s "$TOKEN" >"a/opt/<b>&\"x/$(printf '\033[1mkey')"
	mkdir b
	printf %s x >b/file
	umoci init --layout oci
	umoci new --image oci:t
	umoci insert --rootless --image oci:t a /
	umoci insert --rootless --image oci:t b /
	umoci config --image oci:t --architecture amd64 --config.env NVIDIA_VISIBLE_DEVICES=all \
		--config.env "HF_TOKEN=$TOKEN" --config.label "key=$TOKEN" --history.created_by "|1 T=$TOKEN /bin/sh -c make"
}

all_formats="text concise json jsonl sarif junit github gitlab checkstyle markdown html"

# A Python that has the module, or nothing.
python_with() { # MODULE
	local python
	for python in python3 /usr/bin/python3; do
		if "$python" -c "import $1" 2>/dev/null; then
			echo "$python"
			return
		fi
	done
	skip "python3-$1 is not installed"
}

@test "reports: all at once; no secret and no escape sequence in any" {
	bad_image
	local outputs=() f
	for f in $all_formats; do outputs+=(--output "$f=out.$f"); done
	run -1 gpuimg lint oci:oci:t "${outputs[@]}"
	for f in $all_formats; do
		[ -s out.$f ]
		run ! grep -F "${TOKEN:0:10}" out.$f
		run ! grep -P '[\x00-\x08\x0b-\x1f\x7f]' out.$f
		grep -q POL001 out.$f # did not run, and every format says so
	done
	run -1 gpuimg lint oci:oci:t --output sarif=again.sarif --output text=-
	cmp out.sarif again.sarif
	[ "$output" = "$(cat out.text)" ]
	gpuimg inspect oci:oci:t --all --tree >inspect.txt
	gpuimg inspect oci:oci:t --facts json >facts.json
	gpuimg inspect oci:oci:t --all --output json >inspect.json
	run ! grep -F "${TOKEN:0:10}" inspect.txt facts.json inspect.json
	run ! grep -P '\x1b' inspect.txt facts.json inspect.json
	jq -e '.secrets | length >= 2' facts.json
}

@test "inspect: the facts are what readelf, the files and the configuration say" {
	need umoci jq readelf gcc
	local site=usr/lib/python3/dist-packages
	mkdir -p a/opt/app a/usr/bin a/$site a/etc/ld.so.conf.d a/models a/var/lib/dpkg
	cat >m.c <<-'C'
		extern int ncclGone(void);
		extern int cudnnMaybe(void) __attribute__((weak));
		const char *name = "libcuda.so.1";
		int PyInit_m(void) { return ncclGone() + (cudnnMaybe ? cudnnMaybe() : 0); }
	C
	library a/opt/app/libdep.so.1 libdep.so.1
	gcc -g -shared -nostdlib -o a/$site/m.so m.c -Wl,-soname,m.so -La/opt/app -l:libdep.so.1 -Wl,--no-as-needed \
		-l:libdep.so.1 -Wl,--enable-new-dtags,-rpath,/opt/app
	printf '#!/usr/bin/env python3\n' >a/usr/bin/run
	chmod 755 a/usr/bin/run
	echo /opt/app >a/etc/ld.so.conf.d/app.conf
	echo 'include /etc/ld.so.conf.d/*.conf' >a/etc/ld.so.conf
	printf 'ftrt%024d' 0 | tr 0 '\0' | head -c 24 >a/models/net.plan
	printf '\012\003\000\032more' >>a/models/net.plan
	printf 'Package: libx\nStatus: install ok installed\nVersion: 1.0\nArchitecture: amd64\nInstalled-Size: 7\n\n' >a/var/lib/dpkg/status
	echo gone >a/opt/gone
	umoci init --layout oci
	umoci new --image oci:t
	umoci insert --rootless --image oci:t a /
	umoci insert --rootless --whiteout --image oci:t /opt/gone
	umoci config --image oci:t --architecture amd64 --config.env A=1 --config.cmd run --config.label k=v \
		--config.user 1000 --config.workingdir /srv --history.created_by 'COPY a /'
	gpuimg inspect oci:oci:t --facts json >f.json
	fact() { jq -c "$1" f.json; }
	[ "$(fact .schema)" = '"gpuimg-facts/1"' ]
	[ "$(fact '.objects[] | select(.path | endswith("/m.so")) | [.soname, .runpath, .machine, .class, .opens, (.undefined | sort), .python_module, .reachable]')" = \
		'["m.so","/opt/app","x86-64",64,["compute"],["cudnnMaybe?","ncclGone"],true,true]' ]
	[ "$(fact '.objects[] | select(.path | endswith("/m.so")) | .needed')" = \
		"$(readelf -dW a/$site/m.so | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | jq -Rc . | jq -sc .)" ]
	# of the sections for debuggers, as readelf has them
	[ "$(fact '.objects[] | select(.path | endswith("/m.so")) | .debug_bytes')" = \
		"$(($(readelf -SW a/$site/m.so | sed -nE 's/^ *\[ *[0-9]+\] \.(debug_[a-z_]*|symtab|strtab) +[A-Z_]+ +[0-9a-f]+ +[0-9a-f]+ +([0-9a-f]+).*/0x\2/p' | paste -sd+)))" ]
	[ "$(fact '.scripts')" = '[{"interpreter":"/usr/bin/env python3","path":"/usr/bin/run"}]' ]
	[ "$(fact '.engines')" = '[{"path":"/models/net.plan","tensorrt":"10.3.0.26"}]' ]
	[ "$(fact '[.dead[] | [.path, .fate, .fate_layer]]')" = '[["/opt/gone","deleted",1]]' ]
	[ "$(fact '.config | [.architecture, .user, .workdir, .cmd, .labels, (.env | index("A=1") != null)]')" = \
		'["amd64","1000","/srv",["run"],{"k":"v"},true]' ]
	[ "$(fact '.config.history[-1].created_by')" = '"COPY a /"' ]
	[ "$(fact '[.packages[] | [.name, .version, .kind, .bytes]]')" = '[["libx","1.0","dpkg",7168]]' ]
	fact '[.search[].directory] | index("/opt/app") != null' | grep -qx true
	# every entry that a lister of archives sees, once; those that are gone stand apart
	umoci unpack --rootless --image oci:t bundle >/dev/null
	diff <(fact '.tree[].path' | tr -d '"' | LC_ALL=C sort) <(cd bundle/rootfs && find . -mindepth 1 | sed 's/^\.//' | LC_ALL=C sort)
}

@test "reports: SARIF against the official schema" {
	local python
	python=$(python_with jsonschema)
	bad_image
	schema=$("$ROOT/tests/tools/sarif-schema" "$TEST_CACHE/schemas") || skip "the schema could not be fetched"
	run -1 gpuimg lint oci:oci:t --output sarif=r.sarif
	"$python" -m jsonschema -i r.sarif "$schema" 2>jsonschema.log || { cat jsonschema.log; false; }
	jq -e '.runs[0].results | length >= 3' r.sarif
	jq -e '.runs[0].results[] | select(.ruleId == "DRV001") | .locations[0].physicalLocation.artifactLocation.uri == "usr/lib/x86_64-linux-gnu/libcuda.so.535.54.03"' r.sarif
	jq -e '.runs[0].tool.driver.rules as $r | all(.runs[0].results[]; $r[.ruleIndex].id == .ruleId)' r.sarif
}

@test "reports: JUnit and checkstyle against schemas" {
	need xmllint
	bad_image
	run -1 gpuimg lint oci:oci:t --output junit=r.xml --output checkstyle=c.xml
	xmllint --noout --schema "$ROOT/tests/fixtures/reports/junit.xsd" r.xml
	xmllint --noout --schema "$ROOT/tests/fixtures/reports/checkstyle.xsd" c.xml
	# a case for every rule, and a pass is one
	[ "$(xmllint --xpath 'count(//testcase)' r.xml)" = "$(gpuimg lint --list-rules | wc -l)" ]
	[ "$(xmllint --xpath 'count(//testcase[failure])' r.xml)" = "$(xmllint --xpath 'string(/testsuites/@failures)' r.xml)" ]
	[ "$(xmllint --xpath 'count(//testcase[skipped])' r.xml)" = "$(xmllint --xpath 'string(/testsuites/@skipped)' r.xml)" ]
}

@test "reports: what GitLab requires of a code quality report" {
	bad_image
	run -1 gpuimg lint oci:oci:t --output gitlab=r.json
	jq -e 'all(.[]; (.description | type == "string" and length > 0) and (.check_name | length > 0)
		and (.fingerprint | length > 0) and (.severity | IN("info", "minor", "major", "critical", "blocker"))
		and (.location.path | length > 0 and (startswith("/") or startswith("./") | not)) and (.location.lines.begin >= 1))' r.json
	jq -e '[.[].fingerprint] | length == (unique | length)' r.json
}

@test "reports: the page in a browser: searchable, nothing from elsewhere" {
	need chromium
	bad_image
	run -1 gpuimg lint oci:oci:t --output html=r.html
	run ! grep -E '(src|href)=|https?:' r.html
	browse() { # URL: the page after its script ran
		chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$WORK/browser" \
			--virtual-time-budget=2000 --dump-dom "$1" 2>browser.log || { cat browser.log; return 1; }
	}
	browse "file://$WORK/r.html" >whole.html
	grep -q 'id="shown">[0-9]* of' whole.html
	run ! grep -q 'data-s="error"[^>]*hidden' whole.html
	browse "file://$WORK/r.html#q=drv001" >found.html
	grep -q 'id="shown">1 of' found.html
	grep -q 'data-s="error"[^>]*hidden' found.html
	run ! grep -qi '<b>&amp;' found.html
}

@test "lint: a site's policy" {
	bad_image
	cat >site.yaml <<-'Y'
		gpuimg-policy: 1
		severities: { SEC: off, DRV001: info }
		labels: [org.opencontainers.image.source]
		budgets: { layers: 1 }
		files: { must-not-have: [{ path: "/root/*", reason: nothing at home }] }
		ignore:
		  - { rule: SIZ, reason: small }
	Y
	run -1 gpuimg lint oci:oci:t --policy site.yaml --output json=r.json
	[ "$(jq -r '[.findings[] | select(.severity == "error") | .rule] | join(" ")' r.json)" = "POL001 POL003 POL005" ]
	[ "$(jq -r '.findings[] | select(.rule == "DRV001") | .severity' r.json)" = info ]
	jq -e '.not_run[] | select(.rule == "SEC001") | .reason == "disabled"' r.json
	jq -e '.unused_acceptances[0].acceptance | startswith("SIZ (site.yaml:7:")' r.json
	sed -i 's/labels:/lables:/' site.yaml
	run -2 gpuimg lint oci:oci:t --policy site.yaml
	[[ $output == *"site.yaml:3:1"*"did you mean 'labels'"* ]]
}

@test "lint: the schema of policies takes what the program takes" {
	local python
	python=$(python_with jsonschema)
	gpuimg schema lint-policy >schema.json
	cmp schema.json "$ROOT/docs/lint-policy.schema.json"
	echo '{"gpuimg-policy": 1, "severities": {"SIZ": "off"}, "labels": ["a", {"name": "b", "matches": "x*"}], "budgets": {"image": "1GiB", "layers": 3},
		"bases": ["r.example.org/*"], "files": {"must-have": ["/etc/x"], "must-not-have": [{"path": "/b", "reason": "r"}]},
		"ignore": [{"rule": "SIZ", "reason": "r", "until": "2030-01-01"}]}' >good.json
	echo '{"gpuimg-policy": 1, "lables": []}' >bad.json
	"$python" -m jsonschema -i good.json schema.json 2>/dev/null
	run ! "$python" -m jsonschema -i bad.json schema.json
	need umoci
	umoci init --layout oci
	umoci new --image oci:t
	run gpuimg lint oci:oci:t --policy good.json
	[ "$status" -lt 2 ]
	run -2 gpuimg lint oci:oci:t --policy bad.json
}

@test "lint: a baseline hides what is known and tells what vanished" {
	bad_image
	run -1 gpuimg lint oci:oci:t --write-baseline known.json --output json=a.json
	run -0 gpuimg lint oci:oci:t --baseline known.json --output json=b.json
	[ "$(jq '.summary.suppressed' b.json)" = "$(jq '.findings | length' a.json)" ]
	[ "$(jq -c .resolved b.json)" = '[]' ]
	umoci config --image oci:t --config.env HF_TOKEN=none
	run -0 gpuimg lint oci:oci:t --baseline known.json --output json=c.json
	[ "$(jq -c .resolved c.json)" = "$(jq -c '[.findings[] | select(.rule == "SEC004" and (.message | contains("Env"))) | .fingerprint]' a.json)" ]
	run -0 gpuimg lint oci:oci:t --baseline known.json --ignore SEC004 --output json=d.json
	[ "$(jq -c .resolved d.json)" = '[]' ]
}

@test "lint: an image's own word, and not hearing it" {
	need umoci
	library a/$lib/libcuda.so.535.54.03 libcuda.so.1
	umoci init --layout oci
	umoci new --image oci:t
	umoci insert --rootless --image oci:t a /
	umoci config --image oci:t --architecture amd64 --config.env NVIDIA_VISIBLE_DEVICES=all \
		--config.label "gpuimg.lint.ignore=DRV001 /usr/lib/*: monitoring needs it; SIZ003"
	run -0 gpuimg lint oci:oci:t --output json=r.json
	jq -e '.findings[] | select(.rule == "DRV001") | .suppressed == "monitoring needs it"' r.json
	jq -e '.unused_acceptances[0].reason | contains("no reason")' r.json
	run -1 gpuimg lint oci:oci:t --no-image-ignores
	run -0 gpuimg lint oci:oci:t --no-image-ignores --exit-zero
}

@test "lint: every way to store one image gives the same findings, byte for byte" {
	need skopeo umoci zstd
	library a/$lib/libcuda.so.535.54.03 libcuda.so.1
	mkdir -p a/root a/srv
	printf %s "$TOKEN" >a/root/token
	head -c 3000000 /dev/zero >a/srv/zeros
	umoci init --layout oci
	umoci new --image oci:t
	umoci insert --rootless --image oci:t a /
	umoci config --image oci:t --architecture amd64 --config.env NVIDIA_VISIBLE_DEVICES=all
	skopeo copy -q oci:oci:t oci:zstd:t --dest-compress-format zstd
	skopeo copy -q oci:oci:t docker-archive:d.tar:example/app:t
	umoci unpack --rootless --image oci:t bundle >/dev/null
	zstd -q d.tar -o d.tar.zst
	xz -k d.tar
	start_registry
	skopeo copy -q --dest-tls-verify=false oci:oci:t "docker://$REGISTRY/app:t"
	findings() { # NAME: the findings, without what an unpacked root cannot know
		gpuimg lint "$1" --output json=r.json || [ $? -eq 1 ]
		jq -cS '.findings[] | select(.rule | startswith("OCI") or startswith("ENV") or . == "SIZ001" | not) | del(.layer)' r.json
	}
	findings oci:oci:t >want
	[ "$(grep -c . want)" -ge 2 ]
	for name in oci:zstd:t docker-archive:d.tar d.tar.zst d.tar.xz rootfs:bundle/rootfs "docker://$REGISTRY/app:t"; do
		findings "$name" >have
		diff want have || { echo "$name"; false; }
	done
}

@test "lint: layers of many members, many frames, long windows and xz are read as what they are" {
	need umoci zstd xz
	library a/$lib/libcuda.so.535.54.03 libcuda.so.1
	mkdir -p a/srv
	head -c 3000000 /dev/urandom >a/srv/random
	cat a/srv/random a/srv/random >a/srv/twice # a window of 2^22 sees it
	umoci init --layout oci
	umoci new --image oci:t
	umoci insert --rootless --image oci:t a /
	umoci config --image oci:t --architecture amd64 --config.env NVIDIA_VISIBLE_DEVICES=all
	gpuimg lint oci:oci:t --output json=want || [ $? -eq 1 ]
	manifest=$(jq -r '.manifests[0].digest' oci/index.json)
	layer=$(jq -r '.layers[0].digest' "oci/blobs/${manifest/://}")
	gzip -dc "oci/blobs/${layer/://}" >plain
	split -b 1000000 plain part.
	{ for p in part.*; do gzip -nc "$p"; done; } >many.gzip
	{ for p in part.*; do zstd -qc "$p"; done; } >many.zstd
	zstd -qc --long=27 --ultra -20 plain >long.zstd
	gzip -nc <plain >one.gzip
	printf '\0\0\0\0' | cat one.gzip - >padded.gzip
	xz -c --lzma2=dict=64MiB plain >dict.xz
	{ xz -c part.aa; for p in part.a[b-z]; do xz -c "$p"; done; } >many.xz
	zstd -qc --long=31 plain >toolong.zstd
	for file in many.gzip many.zstd long.zstd padded.gzip dict.xz many.xz toolong.zstd; do
		rm -rf other && cp -r oci other
		digest=$(sha256sum "$file" | cut -d' ' -f1)
		cp "$file" "other/blobs/sha256/$digest"
		jq -c --arg d "sha256:$digest" --argjson s "$(stat -c %s "$file")" --arg t "application/vnd.oci.image.layer.v1.tar+${file##*.}" \
			'.layers[0] |= (.digest = $d | .size = $s | .mediaType = $t)' "oci/blobs/${manifest/://}" >m
		digest=$(sha256sum m | cut -d' ' -f1)
		cp m "other/blobs/sha256/$digest"
		jq -c --arg d "sha256:$digest" --argjson s "$(stat -c %s m)" '.manifests[0] |= (.digest = $d | .size = $s)' oci/index.json >other/index.json
		run gpuimg lint oci:other:t --output json=have
		if [ "$file" = toolong.zstd ] && [ "$status" -eq 3 ]; then
			[[ $output == *"window is larger than 128 MiB"* ]]
			continue
		fi
		[ "$status" -eq 1 ]
		jq -c '[.findings[] | select(.rule | startswith("OCI") | not)]' have | diff - <(jq -c '[.findings[] | select(.rule | startswith("OCI") | not)]' want) || { echo "$file"; false; }
	done
}

@test "lint: all platforms of an index" {
	need umoci jq
	umoci init --layout oci
	for arch in amd64 arm64; do
		mkdir -p "r$arch"
		echo "$arch" >"r$arch/arch"
		umoci new --image "oci:$arch"
		umoci insert --rootless --image "oci:$arch" "r$arch" /
		umoci config --image "oci:$arch" --architecture $arch --config.env "NVIDIA_REQUIRE_X=$arch"
	done
	jq -c '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: [.manifests[] | . as $m |
		{mediaType, digest, size, platform: {os: "linux", architecture: $m.annotations["org.opencontainers.image.ref.name"]}}]}' oci/index.json >index
	digest=$(sha256sum index | cut -d' ' -f1)
	cp index "oci/blobs/sha256/$digest"
	jq -c --arg d "sha256:$digest" --argjson s "$(stat -c %s index)" '.manifests += [{mediaType: "application/vnd.oci.image.index.v1+json",
		digest: $d, size: $s, annotations: {"org.opencontainers.image.ref.name": "both"}}]' oci/index.json >new
	mv new oci/index.json
	run -0 gpuimg lint oci:oci:both --all-platforms --output json=r.json --fail-on never
	[ "$(jq -r '[.[].image.platform] | join(" ")' r.json)" = "linux/amd64 linux/arm64" ]
	run -0 gpuimg lint oci:oci:both --platform linux/arm64 --output json=r.json --fail-on never
	[ "$(jq -r .image.platform r.json)" = linux/arm64 ]
	run -2 gpuimg lint oci:oci:both --platform linux/arm64 --all-platforms
}

@test "lint: an image in podman's store, and a tool that is missing" {
	need podman umoci skopeo
	library a/$lib/libcuda.so.535.54.03 libcuda.so.1
	umoci init --layout oci
	umoci new --image oci:t
	umoci insert --rootless --image oci:t a /
	umoci config --image oci:t --architecture amd64 --config.env NVIDIA_VISIBLE_DEVICES=all
	mkdir bin
	cat >bin/docker <<-S
		#!/bin/sh
		[ "\$1" = save ] && [ "\$2" = example/app:t ] || { echo "no such image: \$2" >&2; exit 1; }
		exec cat "$WORK/d.tar"
	S
	cp bin/docker bin/podman
	chmod +x bin/*
	skopeo copy -q oci:oci:t docker-archive:d.tar:example/app:t
	for name in docker-daemon:example/app:t containers-storage:example/app:t; do
		PATH=$WORK/bin:$PATH run -1 gpuimg lint "$name" --output json=r.json
		[ "$(jq -r '.findings[0].rule' r.json)" = DRV001 ]
	done
	PATH=$WORK/bin:$PATH run -3 gpuimg lint docker-daemon:example/other:t
	[[ $output == *"no such image: example/other:t"* ]]
	mkdir none
	PATH=$WORK/none run -3 "$GPUIMG" lint containers-storage:example/app:t
	[[ $output == *"podman is not installed"* ]]
}

@test "diff: what differs is told, and what is stored differently is not" {
	need umoci skopeo
	mkdir -p a/etc a/var/lib/dpkg b/etc
	printf 'Package: libx\nStatus: install ok installed\nVersion: 1.0\nArchitecture: amd64\n\n' >a/var/lib/dpkg/status
	echo one >a/etc/conf
	library a/$lib/libcuda.so.535.54.03 libcuda.so.1
	umoci init --layout oci
	umoci new --image oci:a
	umoci insert --rootless --image oci:a a /
	umoci config --image oci:a --architecture amd64 --config.env A=1
	skopeo copy -q oci:oci:a oci:zstd:a --dest-compress-format zstd
	run -0 gpuimg diff oci:oci:a oci:zstd:a
	[ "$output" = "no difference" ]
	sed -i 's/1.0/2.0/' a/var/lib/dpkg/status
	echo two >a/etc/conf
	rm -r a/usr
	umoci new --image oci:b
	umoci insert --rootless --image oci:b a /
	umoci config --image oci:b --architecture amd64 --config.env A=2
	run -1 gpuimg diff oci:oci:a oci:oci:b --output json=d.json --output text
	[[ $output == *"~ libx:amd64 (dpkg): 1.0  =>  2.0"* ]]
	[[ $output == *"~ Env A: 1  =>  2"* ]]
	jq -e '.findings[] | select(.what | startswith("DRV001")) | .after == null' d.json
	jq -e '.files[] | select(.what == "/etc/conf") | .before != .after' d.json
	run -3 gpuimg diff oci:oci:a oci:nothing
}

@test "diff: findings that depend on hosts appear for the hosts that are named" {
	need umoci
	mkdir a b
	echo a >a/file
	library b/$lib/libcudart.so.13.0.48 libcudart.so.13
	umoci init --layout oci
	umoci new --image oci:a
	umoci insert --rootless --image oci:a a /
	umoci config --image oci:a --architecture amd64 --config.env NVIDIA_VISIBLE_DEVICES=all
	cp -r oci other
	umoci insert --rootless --image oci:a b /
	run -1 gpuimg diff oci:other:a oci:oci:a --output json=d.json --output text
	[ "${lines[0]}" = "- oci:other:a" ]
	[ "${lines[1]}" = "+ oci:oci:a" ]
	jq -e '[.findings[].what] | any(startswith("VER006")) | not' d.json
	run -1 gpuimg diff oci:other:a oci:oci:a --driver 550.54.15 --output json=d.json
	jq -e '[.findings[] | select(.before == null and (.after | contains("550.54.15")))] | length == 1' d.json
	run -2 gpuimg diff oci:other:a oci:oci:a --driver newest
	run -2 gpuimg diff oci:other:a oci:oci:a --gpu sm_0
}

@test "reports: findings at the line of the Dockerfile that made their layer" {
	need umoci xmllint
	library a/$lib/libcuda.so.535.54.03 libcuda.so.1
	umoci init --layout oci
	umoci new --image oci:t
	umoci insert --rootless --image oci:t --history.created_by 'RUN /bin/sh -c apt-get install -y driver # buildkit' a /
	umoci config --image oci:t --architecture amd64 --config.env NVIDIA_VISIBLE_DEVICES=all
	printf 'FROM scratch\nENV A=1\nRUN apt-get install \\\n  -y driver\n' >Dockerfile
	run -1 gpuimg lint oci:oci:t --dockerfile Dockerfile --output github=g.txt --output gitlab=g.json --output sarif=r.sarif --output checkstyle=c.xml
	grep -q '^::error file=Dockerfile,line=3,title=DRV001 ' g.txt
	jq -e '.[] | select(.check_name | startswith("DRV001")) | .location == {path: "Dockerfile", lines: {begin: 3}}' g.json
	jq -e '.runs[0].results[] | select(.ruleId == "DRV001") | .locations[0].physicalLocation.region.startLine == 3' r.sarif
	xmllint --noout --schema "$ROOT/tests/fixtures/reports/checkstyle.xsd" c.xml
	[ "$(xmllint --xpath 'string(//file[@name="Dockerfile"]/error/@line)' c.xml)" = 3 ]
}
