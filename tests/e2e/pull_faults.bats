#!/usr/bin/env bats
# Pulls when something breaks or lies: each fault between us and docker-registry, and a small
# registry of another kind (v3 of tests/support/persona_server.py).

load common
load registry

setup_file() {
	export BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR HOME=$BATS_FILE_TMPDIR
	cd "$BATS_FILE_TMPDIR" || return 1
	make_layout
	start_registry
	export REAL=$REGISTRY REAL_PID=$REGISTRY_PID LAYOUT=$BATS_FILE_TMPDIR/layout DIGEST
	start_persona v3
	export V3=$REGISTRY V3_PID=$SERVER_PIDS V3_DIR=$PERSONA
	for registry in "$REAL" "$V3"; do
		gpuimg push -q oci:layout:v1 "docker://$registry/app:v1" "docker://$registry/copies/app:v1" || return 1
	done
	BIG=$(basename "$(find layout/blobs -size +1M)")
	export BIG
}

teardown_file() { kill "$REAL_PID" $V3_PID 2>/dev/null || true; }

setup() {
	work
	export HOME=$WORK XDG_RUNTIME_DIR=$WORK/run DOCKER_CONFIG=$WORK/.docker GPUIMG_STORE=$WORK/store
	unset REGISTRY_AUTH_FILE DOCKER_AUTH_CONFIG GPUIMG_AUTH_FILE SSL_CERT_FILE XDG_STATE_HOME XDG_CONFIG_HOME
	export CONTAINERS_REGISTRIES_CONF=$WORK/registries.conf
	: >"$WORK/registries.conf"
}

teardown() {
	stop_servers
	stop_registry
}

# behind KIND [RULE...]: $REGISTRY is that registry ($DIRECT) behind a proxy with these rules, in which
# BIG is the large blob. Nothing was pulled yet.
behind() {
	rm -rf got store
	REGISTRY=$REAL
	[ "$1" = docker-registry ] || REGISTRY=$V3
	DIRECT=$REGISTRY
	shift
	start_proxy "${@//BIG/blobs/sha256:$BIG}"
}

pulls() { run -0 gpuimg pull "$@" "$REGISTRY/app:v1" oci:got:v1 && whole; }
refused() { run -3 gpuimg pull "$@" "$REGISTRY/app:v1" oci:got:v1; }
whole() { diff -r "$LAYOUT/blobs" got/blobs && [ -z "$(ls store/partials)" ]; }
# Nothing of the large blob, no tag. Of small ones that were under way, what came is kept.
nothing() {
	[ ! -e "got/blobs/sha256/$BIG" ]
	[ "$(jq '.manifests | length' got/index.json 2>/dev/null || echo 0)" = 0 ]
	[ -z "$(find store/partials -name "*$BIG*")" ]
}

# What was asked of the large blob, in order.
ranges() { jq -rs --arg d "$BIG" '[.[] | select(.path | endswith($d)) | .range // "all"] | join(" ")' "$PROXY/log"; }

@test "P1 P4 a line that is cut again and again, or ends without saying how much was to come, delays only" {
	for kind in docker-registry v3; do
		behind $kind "GET BIG * acut 2500000"
		pulls
		[[ "$(ranges)" == all\ bytes=*-\ bytes=*-\ bytes=*- ]]
		behind $kind "GET BIG 1 unsized 2500000"
		pulls
		[[ "$(ranges)" == all\ bytes=*- ]]
	done
}

@test "P2 P3 ranges that are ignored or misread cost time, not correctness" {
	for kind in docker-registry v3; do
		behind $kind "GET BIG 1 acut 2500000" "GET BIG * without Range"
		pulls
		behind $kind "GET BIG 1 acut 2500000" "GET BIG 1 early 7"
		pulls
		[[ "$(ranges)" == all\ bytes=*-\ all ]]
	done
}

@test "P5 P6 P15 P17 what lies about bytes, sizes, encodings or digests is found out" {
	local rule
	for kind in docker-registry v3; do
		behind $kind "GET BIG 1 flip 500000"
		pulls
		for rule in "flip 500000" long "header Content-Encoding: gzip"; do
			behind $kind "GET BIG * $rule"
			refused
			echo "$rule: $output"
			[[ "$output" == *"$REGISTRY/app"* ]]
			[[ "$output" == *"GET blob sha256:"* ]]
			nothing
		done
		behind $kind "GET manifests * long"
		run -3 gpuimg pull "$REGISTRY/app@$DIGEST" oci:got:v1
		[[ "$output" == *"another digest"* ]]
		nothing
	done
}

@test "P7 credentials do not follow a redirect to another host" {
	for kind in docker-registry ecr; do
		if [ $kind = ecr ]; then start_persona ecr AWS s3cret-canary; else start_registry_auth AWS s3cret-canary; fi
		docker_config AWS s3cret-canary
		gpuimg push -q --persona ecr "oci:$LAYOUT:v1" "docker://$REGISTRY/app:v1"
		start_server pull_server.py "$LAYOUT" "$WORK/foreign-$kind" good 1
		rm -rf got store
		start_proxy "GET blobs/sha256:$BIG * status 307 Location: http://127.0.0.2:$PORT/v2/app/blobs/sha256:$BIG"
		docker_config AWS s3cret-canary
		pulls
		[ "$(jq -s 'map(.authorization == "Basic") | any' "$PROXY/log")" = true ]
		[ "$(jq -s 'length > 0 and all(.credentials | not)' "$WORK/foreign-$kind")" = true ]
	done
}

@test "P8 redirects in a circle, and to files, are refused" {
	local to
	for kind in docker-registry v3; do
		for to in "/v2/app/blobs/sha256:$BIG" file:///etc/passwd gopher://127.0.0.1/; do
			behind $kind "GET BIG * status 307 Location: $to"
			refused
			[ ! -e "got/blobs/sha256/$BIG" ]
		done
	done
}

@test "P9 storage whose addresses run out is not the end: the registry gives another" {
	for kind in docker-registry v3; do
		start_server pull_server.py "$LAYOUT" "$WORK/foreign-$kind" expired
		behind $kind "GET BIG * status 307 Location: http://127.0.0.2:$PORT/v2/app/blobs/sha256:$BIG"
		pulls
		[ "$(grep -c "$BIG" "$WORK/foreign-$kind")" = 2 ]
	done
}

@test "P10 P12 what came before is hashed, and the rest asked for, if there is a rest" {
	for kind in docker-registry v3; do
		behind $kind
		mkdir -p store/partials
		cp "$LAYOUT/blobs/sha256/$BIG" "store/partials/sha256-$BIG"
		pulls
		[ "$(ranges)" = "" ]
		behind $kind
		mkdir -p store/partials
		head -c 4000000 "$LAYOUT/blobs/sha256/$BIG" >"store/partials/sha256-$BIG"
		pulls
		[[ "$output" == *"resumed at"* ]]
		[[ "$(ranges)" == bytes=4000000-* ]]
		behind $kind # something else
		mkdir -p store/partials
		head -c 4000000 /dev/zero >"store/partials/sha256-$BIG"
		pulls
	done
}

pieces_have_come() { # RECORD COUNT
	[ -s "$1" ] && [ "$(jq '.have | map(select(. == 1048576)) | length' "$1")" -ge "$2" ]
}

@test "P12 a pull in pieces that is killed goes on with what it has" {
	local pid record=store/partials/sha256-$BIG.ranges
	for kind in docker-registry v3; do
		behind $kind "GET BIG * slow 1000000"
		"$GPUIMG" pull --range-size 1 "$REGISTRY/app:v1" oci:got:v1 >killed 2>&1 3>&- &
		pid=$!
		wait_for pieces_have_come "$record" 2
		kill -9 $pid
		wait $pid || true
		[ ! -e "got/blobs/sha256/$BIG" ]
		REGISTRY=$DIRECT
		start_proxy
		pulls --range-size 1
		[[ "$output" == *"resumed at"* ]]
		[ "$(ranges | wc -w)" -le 7 ]
		# A record that says too much, or nothing that can be read, is worth a new start.
		printf x >"store/partials/sha256-$BIG"
		echo '{"version":1,"size":9000000,"piece":1048576,"have":[5]}' >"$record"
		rm -rf got
		pulls --range-size 1
	done
}

@test "P19 of the pieces only the one that broke off goes on" {
	for kind in docker-registry v3; do
		behind $kind "GET BIG 2 acut 300000"
		pulls --range-size 1
		[ "$(ranges | wc -w)" = 10 ]
	done
}

@test "P13 a tag that moves during a pull: all is of the image that it stood for at first" {
	local other
	jq -c '.annotations.moved = "yes"' "$LAYOUT/blobs/sha256/${DIGEST#*:}" >other.json
	other=sha256:$(sha256sum other.json | cut -d' ' -f1)
	for kind in docker-registry v3; do
		behind $kind "GET blobs 1 wait"
		"$GPUIMG" pull "$REGISTRY/copies/app:v1" oci:got:v1 >aside 2>&1 3>&- &
		local pid=$!
		wait_for test -e "$PROXY/held"
		curl -sfX PUT -H "Content-Type: application/vnd.oci.image.manifest.v1+json" --data-binary @other.json \
			"http://$DIRECT/v2/copies/app/manifests/v1"
		touch "$PROXY/go"
		wait $pid
		[ "$(digest_of got v1)" = "$DIGEST" ]
		whole
		gpuimg pull -q "$DIRECT/copies/app:v1" oci:moved:v1
		[ "$(digest_of moved v1)" = "$other" ]
		curl -sfX PUT -H "Content-Type: application/vnd.oci.image.manifest.v1+json" \
			--data-binary @"$LAYOUT/blobs/sha256/${DIGEST#*:}" "http://$DIRECT/v2/copies/app/manifests/v1"
	done
}

@test "P14 a mirror that dies in a blob, lacks it, is in trouble or lies: the registry goes on" {
	local rule mirror
	for kind in docker-registry v3; do
		for rule in "die 3000000" "status 404" "status 503" "flip 500000" long; do
			behind $kind "GET BIG * $rule"
			mirror=$REGISTRY
			REGISTRY=$DIRECT
			start_proxy
			cat >registries.conf <<-END
				[[registry]]
				prefix = "images.example.org/team"
				location = "$REGISTRY"
				[[registry.mirror]]
				location = "$mirror/copies"
			END
			run -0 gpuimg pull images.example.org/team/app:v1 oci:got:v1
			whole
			[ "$(ranges)" != "" ]
			[ "$rule" != "die 3000000" ] || [[ "$(ranges)" == bytes=*- ]]
		done
	done
}

# nested LEVELS: indexes within each other over the image; prints the digest of the outermost.
nested() {
	python3 - "$DIRECT" "$1" "$LAYOUT/blobs/sha256/${DIGEST#*:}" <<-'END'
		import hashlib, json, sys, urllib.request
		registry, levels, inner = sys.argv[1], int(sys.argv[2]), open(sys.argv[3], "rb").read()
		kind = "application/vnd.oci.image.manifest.v1+json"
		for level in range(levels):
		    digest = "sha256:" + hashlib.sha256(inner).hexdigest()
		    entry = {"mediaType": kind, "digest": digest, "size": len(inner)}
		    kind = "application/vnd.oci.image.index.v1+json"
		    inner = json.dumps({"schemaVersion": 2, "mediaType": kind, "manifests": [entry]}).encode()
		    digest = "sha256:" + hashlib.sha256(inner).hexdigest()
		    urllib.request.urlopen(urllib.request.Request("http://%s/v2/app/manifests/%s" % (registry, digest),
		                                                  inner, {"Content-Type": kind}, method="PUT"))
		print(digest)
	END
}

@test "P16 indexes nested too deep and documents too large are refused" {
	for kind in docker-registry v3; do
		behind $kind
		run -3 gpuimg pull --all-platforms "$REGISTRY/app@$(nested 9)" oci:got:v1
		[[ "$output" == *level* || "$output" == *deep* ]]
		[ "$(ranges)" = "" ]
	done
	# docker-registry takes none of more than 4 MiB
	python3 -c 'import json; print(json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [], "annotations": {"x": "y" * 9000000}}))' \
		>"$V3_DIR/manifests/app.large"
	run -3 gpuimg pull "$REGISTRY/app:large" oci:got:v1
	rm "$V3_DIR/manifests/app.large"
	[[ "$output" == *8388608* || "$output" == *"8 MiB"* || "$output" == *"8.0 MiB"* ]]
}

@test "P18 Docker's first kind of manifest is refused by its name" {
	# docker-registry as Debian has it answers 500 to one
	echo '{"schemaVersion":1,"name":"old","tag":"v1","fsLayers":[],"history":[],"signatures":[]}' >"$V3_DIR/manifests/old.v1"
	run -3 gpuimg pull "$V3/old:v1" oci:got:v1
	[[ "$output" == *"schema"*1* ]]
}

# A name space for mounts; root needs none for users, and in a chroot gets none.
need_mounts() {
	need unshare
	OWN=-rm
	[ "$(id -u)" -ne 0 ] || OWN=-m
	unshare $OWN true 2>/dev/null || skip "no name space for mounts here"
}

@test "P11 a disk that fills up meanwhile: what came is kept, and the layout stays whole" {
	need_mounts
	for kind in docker-registry v3; do
		behind $kind "GET BIG * slow 2000000"
		mkdir -p disk
		: >printed
		cat >fill.sh <<-END
			set -e
			mount -t tmpfs -o size=12m none disk
			GPUIMG_STORE=$WORK/disk/store '$GPUIMG' pull --progress none $REGISTRY/app:v1 oci:disk/got:v1 2>printed &
			pid=\$!
			while [ ! -e disk/store/partials/sha256-$BIG ]; do sleep 0.02; done
			head -c 8000000 /dev/zero >disk/filler || true
			wait \$pid && exit 1
			[ -z "\$(ls disk/got/blobs/sha256/$BIG 2>/dev/null)" ]
			rm disk/filler
			GPUIMG_STORE=$WORK/disk/store '$GPUIMG' pull --progress none $REGISTRY/app:v1 oci:disk/got:v1 2>>printed
			diff -r $LAYOUT/blobs disk/got/blobs
		END
		run -0 unshare $OWN bash fill.sh
		grep -q "the disk is full; what came is kept" printed
		grep -q "resumed at" printed
	done
}

@test "P11 too small a disk is said before anything comes" {
	need_mounts
	mkdir small-disk
	for kind in docker-registry v3; do
		behind $kind
		run -3 unshare $OWN sh -c "mount -t tmpfs -o size=4m none small-disk && GPUIMG_STORE=$WORK/small-disk/store '$GPUIMG' pull $REGISTRY/app:v1 oci:small-disk/got:v1"
		[[ "$output" == *"are to come, and there is room for"* ]]
		[ "$(ranges)" = "" ]
	done
}
