#!/usr/bin/env bats
# Uploads over bad lines, to registries of many kinds: each test breaks something in its own way.
# docker-registry (2.8) is started once; every test pushes to a repository of its own.

load common
load registry

setup_file() {
	export BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR
	start_registry
	export SHARED_REGISTRY=$REGISTRY SHARED_REGISTRY_PID=$REGISTRY_PID
	cd "$BATS_FILE_TMPDIR" || return 1
	make_layout
	export LAYOUT=$BATS_FILE_TMPDIR/layout DIGEST
	SIZE=$(cat layout/blobs/sha256/* | wc -c)
	SIZE=$((SIZE - $(stat -c %s "layout/blobs/sha256/${DIGEST#sha256:}")))
	export SIZE # of all blobs
}

teardown_file() { kill "$SHARED_REGISTRY_PID" 2>/dev/null || true; }

setup() {
	work
	export HOME=$WORK XDG_RUNTIME_DIR=$WORK/run DOCKER_CONFIG=$WORK/.docker XDG_STATE_HOME=$WORK/state
	unset REGISTRY_AUTH_FILE DOCKER_AUTH_CONFIG GPUIMG_AUTH_FILE SSL_CERT_FILE
	REGISTRY=$SHARED_REGISTRY
	NAME=r$BATS_TEST_NUMBER/app
}

teardown() { stop_servers; }

push() { run -0 gpuimg push "$@" "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1"; }

# The blob bytes that left us, as the proxy counted them.
sent() { jq -s 'map(select(.path | contains("/uploads/")) | .body) | add // 0' "$PROXY/log"; }
requests() { # METHOD REGEX
	jq -s --arg m "$1" --arg r "$2" 'map(select(.method == $m and (.path | test($r)))) | length' "$PROXY/log"
}
# Sent at most the blobs and so many bytes more; curl hands some to a connection that is no more.
sent_at_most() { # BYTES
	[ "$(sent)" -le $((SIZE + $1)) ] || { echo "sent $(sent) of $SIZE + $1"; return 1; }
}
arrived() {
	curl -sfo got ${AUTH:+-u "$AUTH"} -H "Accept: application/vnd.oci.image.manifest.v1+json" "http://$REGISTRY/v2/$NAME/manifests/1"
	[ "sha256:$(sha256sum got | cut -d' ' -f1)" = "$DIGEST" ]
	# no session is under way any more
	[ -z "$(find state -name '*.json' -path '*uploads*')" ]
}
# What is known of $REGISTRY before the push, as JSON members.
known() {
	mkdir -p state/gpuimg/hosts
	printf '{"version":1,"learned":%s,%s}' "$(date +%s)" "$1" >"state/gpuimg/hosts/$REGISTRY.json"
}
learned() { jq -e "$1" "state/gpuimg/hosts/$REGISTRY.json" >/dev/null; }

# Cut connections.

@test "U1 a PATCH is cut half-way: distribution 2.8 loses the session, and the blob is sent again" {
	start_proxy "PATCH . 1 cut 50%"
	push
	[[ "$output" == *"lost the session"* ]]
	arrived
	sent_at_most 4700000
}

@test "U2 a PATCH is cut before a buffering proxy: the session lives and goes on" {
	start_proxy "PATCH . 1 lose 3000000"
	push
	[[ "$output" != *"lost the session"* ]]
	arrived
	sent_at_most 3200000
	[ "$(requests POST uploads)" = 3 ]
	learned .resume
}

@test "U4 a PATCH is cut before its body: the same session goes on" {
	start_proxy "PATCH . 1 cut 0"
	push
	arrived
	[ "$(requests POST uploads)" = 3 ]
	sent_at_most 100000
}

@test "U5 the third part is cut: goes on where the registry stands" {
	start_persona v3
	start_proxy "PATCH . 3 cut 1000000"
	known '"body_max":2097152,"resume":true'
	push
	arrived
	sent_at_most 300000
}

@test "U7 every request is cut, but each brings something: ends well" {
	start_persona v3
	start_proxy "PATCH . * cut 2600000"
	push
	arrived
	sent_at_most 1500000
}

@test "U18 the answer to a PATCH is lost: 2.8 starts over, others go on" {
	start_proxy "PATCH . 1 drop"
	push
	arrived
	REGISTRY=$SHARED_REGISTRY
	start_persona v3
	start_proxy "PATCH . 1 drop"
	push
	arrived
	sent_at_most 100000
}

@test "U19 the answer to the PUT is lost: the blob is there, nothing is sent again" {
	start_proxy "PUT uploads 1-3 drop"
	push
	arrived
	sent_at_most 0
}

@test "connections that are cut after so many bytes let parts through that are small enough" {
	start_proxy --cut-connections 5000000 7000000 1
	push
	arrived
	learned '.cut_bytes > 0 and .resume == false'
}

# Answers that pass.

@test "U8 500, 502, 503 and 504, once at each kind of request" {
	start_proxy "HEAD . 1 status 500" "POST . 1 status 503" "PATCH . 1 status 502" \
		"PUT uploads 1 status 500" "PUT manifests 1 status 504" "GET uploads 1 status 503"
	push
	arrived
	sent_at_most 0
}

@test "U9 U10 what the registry says to one connection counts for all" {
	start_proxy "PATCH . 1 status 429 Retry-After: 2"
	push
	arrived
	jq -se '(map(select(.what == "fault 429"))[0].ended) as $t | map(select(.began > $t + 0.3 and .began < $t + 1.8)) == []' "$PROXY/log" >/dev/null
}

@test "U10 429 at a PATCH: Retry-After in seconds, in no time, in words" {
	start_proxy "PATCH . 1 status 429 Retry-After: 1" "PATCH . 1 status 429 Retry-After: 0" \
		"PATCH . 1 status 429 Retry-After: soon"
	push
	arrived
	sent_at_most 0
	[ "$(requests PATCH .)" = 4 ]
}

@test "U15 401 for ever ends with advice" {
	start_proxy "PATCH . * status 401"
	run -3 gpuimg push "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1"
	[[ "$output" == *401*"log in"* ]]
}

@test "U20 a commit that is answered 504 and shows later counts" {
	start_persona ghcr
	start_proxy
	push --persona github
	arrived
	sent_at_most 0
}

# What registries and proxies want.

@test "U27 a proxy's limit of 1 MiB: 413" {
	start_proxy "PATCH . * limit 1048576" "PUT uploads * limit 1048576"
	push
	arrived
	sent_at_most 0
	learned '.body_max == 1048576'
}

@test "U27 a proxy's limit of 3 MiB that shows as a cut connection" {
	start_persona v3
	start_proxy "PATCH . * limitcut 3145728"
	push
	arrived
}

@test "U27 a limit below all parts is refused with advice" {
	start_proxy "PATCH . * limit 1000" "PUT uploads * limit 1000"
	run -3 gpuimg push "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1"
	[[ "$output" == *413* ]]
}

@test "U28 Amazon's parts: none below 5 MiB but the last, which goes with the PUT" {
	start_persona ecr AWS s3cret-canary
	start_proxy "PATCH . 1 cut 2000000"
	docker_config AWS s3cret-canary
	known '"body_max":5242880,"no_single":true'
	push --persona ecr
	AUTH=AWS:s3cret-canary arrived
	[ "$(jq -s 'map(select(.method == "PATCH" and .status == 201)) | length' "$PERSONA/log")" -ge 1 ]
	[ "$(jq -s 'map(select(.status == 400)) | length' "$PERSONA/log")" = 0 ]
}

@test "U28 GitHub's limit of parts, and none on streams" {
	start_persona ghcr
	start_proxy
	known '"resume":true'
	push --persona github
	arrived
	REGISTRY=127.0.0.1:${REGISTRY##*:} NAME=other/app
	push --persona distribution-3
	[[ "$output" == *"no parts"* ]]
	arrived
}

@test "U29 a registry that knows no single PUT is asked once only" {
	start_persona artifactory
	start_proxy
	push
	arrived
	learned .no_single
	NAME=other/app
	push
	arrived
	[ "$(jq -s 'map(select(.method == "PUT" and .what == 404)) | length' "$PROXY/log")" -le 3 ]
}

@test "U29 a registry without parts gets streams" {
	start_persona gar
	start_proxy
	push --persona distribution-3
	arrived
	learned .no_chunk
	[ "$(requests PATCH .)" = 2 ]
}

@test "U30 parts are as large as the registry wants them" {
	start_persona minimum
	start_proxy
	known '"body_max":2500000,"resume":true'
	push
	arrived
	[ "$(jq -s 'map(select(.method == "PATCH") | .body) | sort | .[1] >= 2097152' "$PROXY/log")" = true ]
}

@test "U31 addresses: relative ones, and queries that stay as they are" {
	for kind in zot acr; do
		start_persona $kind
		start_proxy
		push
		arrived
	done
}

@test "U32 a server that never says 100 Continue, and one that answers 417" {
	start_proxy "PATCH . 1 mute" "PATCH . 2 status 417"
	push
	arrived
	NAME=again/app
	push
	arrived
}

@test "Quay counts one too many in its status answers" {
	start_persona quay
	start_proxy "PATCH . 1 cut 4000000"
	push --persona quay
	arrived
	sent_at_most 300000
}

@test "U16 Harbor answers Basic once it saw a token; the password goes to the token server only" {
	start_persona harbor joe s3cret-canary
	docker_config joe s3cret-canary
	start_proxy
	docker_config joe s3cret-canary
	push -v
	[[ "$output" != *canary* ]]
	[ "$(jq -s 'map(select(.authorization == "Basic" and .path != "/token")) | length' "$PERSONA/log")" = 0 ]
	# refused before the body: only small ones are sent without asking
	[ "$(jq -s 'map(select(.status == 401)) | length' "$PERSONA/log")" -ge 1 ]
	sent_at_most 1000
}

@test "A4 NGC's challenge: no service, and a realm that has a query" {
	start_persona ngc '$oauthtoken' key-canary
	start_proxy
	docker_config '$oauthtoken' key-canary
	push -v
	[[ "$output" != *canary* ]]
}

@test "a registry that stores something else is found out" {
	start_persona liar
	run -3 gpuimg push "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1"
	[[ "$output" == *"says that it stored sha256:0000"* ]]
}

@test "U24 U25 answers whose Range is less, more, or not there" {
	start_persona v3
	start_proxy "PATCH . 1 header Range: 0-999" "PATCH . 3 header Range: 0-99999999" "PATCH . 4 header Range:"
	known '"body_max":2097152,"resume":true'
	push
	arrived
}

# Taking over from another repository.

@test "U37 blobs are mounted; where that is refused they are sent" {
	start_proxy
	push
	NAME=mounted/app
	run -0 gpuimg push -v --mount-from "r$BATS_TEST_NUMBER/app" "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1"
	[[ "$output" == *"3 blobs taken over"* ]]
	arrived
	sent_at_most 0
	REGISTRY=$SHARED_REGISTRY
	start_proxy "POST mount=.*from 1 status 405" "POST mount=.*from 1 status 500" "POST mount=.*from 1 status 404"
	NAME=unmounted/app
	run -0 gpuimg push --mount-from "r$BATS_TEST_NUMBER/app" "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1"
	arrived
	sent_at_most 0
	REGISTRY=$SHARED_REGISTRY
	start_proxy
	NAME=nothing/app
	run -0 gpuimg push --mount-from not/there "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1"
	arrived
	[ "$(requests POST uploads)" = 3 ]
}

# Killed, and run again.

# killed_at BYTES [PUSH OPTIONS]: SIGKILL when so many bytes have passed, then the same push again.
killed_at() {
	start_proxy --hold "$1" "${RULES[@]}"
	local pid
	"$GPUIMG" push "${@:2}" "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1" >killed 2>&1 3>&- &
	pid=$!
	for _ in $(seq 400); do
		[ -e "$PROXY/held" ] && break
		sleep 0.02
	done
	[ -e "$PROXY/held" ]
	kill -9 $pid
	wait $pid || true
	push "${@:2}"
	arrived
}

@test "U39 killed at any byte, a push goes on where it was: a registry that keeps what it got" {
	RULES=()
	for position in 1500000 $((RANDOM * 200 + 1000000)) 8500000; do
		start_persona v3
		rm -rf state
		killed_at $position
		[[ "$output" == *"resumed at"* ]]
		# what was under way in the connections, no more
		sent_at_most 600000
	done
}

@test "U39 killed at any byte: distribution 2.8 behind a buffering proxy repeats one part at most" {
	RULES=("PATCH . * buffer")
	start_proxy
	known '"body_max":2097152,"resume":true'
	cp "state/gpuimg/hosts/$REGISTRY.json" facts
	NAME=k/app
	REGISTRY=$SHARED_REGISTRY
	start_proxy --hold 6000000 "${RULES[@]}"
	cp facts "state/gpuimg/hosts/$REGISTRY.json"
	"$GPUIMG" push "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1" >killed 2>&1 3>&- &
	pid=$!
	while [ ! -e "$PROXY/held" ]; do sleep 0.02; done
	kill -9 $pid
	wait $pid || true
	push
	arrived
	[[ "$output" == *"resumed at"* ]]
	sent_at_most 2200000
}

@test "U39 killed at any byte: distribution 2.8 alone repeats one blob at most" {
	RULES=()
	killed_at 5000000
	sent_at_most 5200000
}

@test "U40 a journal that is damaged, cut or another's is passed over" {
	start_persona v3
	start_proxy --hold 3000000
	"$GPUIMG" push "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1" >killed 2>&1 3>&- &
	pid=$!
	while [ ! -e "$PROXY/held" ]; do sleep 0.02; done
	kill -9 $pid
	wait $pid || true
	journal=$(find state -name '*.json' -path '*uploads*')
	[ "$(stat -c %a "$journal")" = 600 ]
	truncate -s 100 "$journal"
	push
	arrived
	[[ "$output" != *"resumed"* ]]
}

@test "U41 two pushes of one image at once both end well" {
	start_persona v3
	start_proxy
	gpuimg push "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1" >first 2>&1 3>&- &
	pid=$!
	push
	wait $pid
	arrived
}

@test "A3 no credential in what is printed, in the journal, or in what is remembered" {
	start_persona harbor joe s3cret-canary
	start_proxy --hold 3000000
	docker_config joe s3cret-canary
	"$GPUIMG" push -vv "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1" >printed 2>&1 3>&- &
	pid=$!
	while [ ! -e "$PROXY/held" ]; do sleep 0.02; done
	! tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q canary
	grep -qE '^Max core file size +0 ' "/proc/$pid/limits"
	kill -9 $pid
	wait $pid || true
	[ -n "$(find state -name '*.json' -path '*uploads*')" ]
	! grep -rE 'canary|token[0-9]|Bearer' printed state
	run gpuimg push -vv --persona quay "oci:$LAYOUT:v1" "docker://$REGISTRY/nowhere:1"
	[[ "$output" != *canary* ]]
}

@test "a home that cannot be written costs the journal only" {
	start_proxy
	XDG_STATE_HOME=/proc/nowhere push
	curl -sfo got "http://$REGISTRY/v2/$NAME/manifests/1" -H "Accept: application/vnd.oci.image.manifest.v1+json"
}

# Tokens.

@test "U11 401 at the PUT costs one token, and not the layer again" {
	start_registry_token joe s3cret-canary 300
	docker_config joe s3cret-canary
	start_proxy "PUT uploads 1 status 401 WWW-Authenticate: Bearer realm=\"$TOKEN_REALM\",service=\"svc\",error=\"invalid_token\""
	docker_config joe s3cret-canary
	push
	AUTH=joe:s3cret-canary
	[ "$(wc -l <"$TOKEN_LOG")" = 2 ]
	sent_at_most 0
	stop_registry
}

@test "U12 401 at a PATCH costs no byte of its body" {
	start_registry_token joe s3cret-canary 300
	docker_config joe s3cret-canary
	start_proxy "PATCH . 1 status 401 WWW-Authenticate: Bearer realm=\"$TOKEN_REALM\",service=\"svc\",error=\"invalid_token\""
	docker_config joe s3cret-canary
	push
	[ "$(jq -s 'map(select(.method == "PATCH"))[0].body' "$PROXY/log")" = 0 ]
	[ "$(wc -l <"$TOKEN_LOG")" = 2 ]
	sent_at_most 0
	stop_registry
}

@test "U13 tokens that live 3 seconds are renewed before they end, part by part" {
	start_registry_token joe s3cret-canary 3
	docker_config joe s3cret-canary
	start_proxy "PATCH . * stall 0.5"
	docker_config joe s3cret-canary
	known '"body_max":1048576,"resume":true'
	push -j 1
	[ "$(requests PATCH .)" -ge 9 ]
	[ "$(wc -l <"$TOKEN_LOG")" -le 10 ]
	[ "$(jq -s 'map(select(.what == 401 and .path != "/v2/")) | length' "$PROXY/log")" = 0 ]
	stop_registry
}

@test "U14 a token server that is down for a while is asked again" {
	TOKEN_FAULTS=("GET token 1 cut 0" "GET token 1-2 status 503")
	start_registry_token joe s3cret-canary 300
	TOKEN_FAULTS=()
	docker_config joe s3cret-canary
	start_proxy
	docker_config joe s3cret-canary
	push
	stop_registry
}

@test "U17 a token server of another's, without TLS, or inside the network learns nothing" {
	local realm
	docker_config joe s3cret-canary
	for realm in http://token.example.org/t https://token.example.org/t http://169.254.169.254/latest file:///etc/passwd; do
		REGISTRY=$SHARED_REGISTRY
		start_proxy "GET /v2/ 1-9 status 401 WWW-Authenticate: Bearer realm=\"$realm\""
		docker_config joe s3cret-canary
		run -3 gpuimg push -v "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1"
		[[ "$output" == *"gets no credentials"* ]]
		[[ "$output" != *canary* ]]
	done
}

@test "U47 clocks that are 10 minutes apart make no loop of tokens" {
	local kind
	for kind in early late; do
		start_persona $kind joe s3cret-canary
		docker_config joe s3cret-canary
		start_proxy
		docker_config joe s3cret-canary
		push
		[ "$(jq -s 'map(select(.path == "/token")) | length' "$PERSONA/log")" -le 2 ]
	done
}

# What changes meanwhile.

# go_on: what the proxy held back passes.
go_on() { touch "$PROXY/go"; }
wait_held() {
	for _ in $(seq 400); do
		[ -e "$PROXY/held" ] && return 0
		sleep 0.02
	done
	return 1
}

# A push in the background: $PUSH_PID.
push_aside() {
	"$GPUIMG" push "$@" "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1" >aside 2>&1 3>&- &
	PUSH_PID=$!
}

ended() { # STATUS
	local status=0
	wait "$PUSH_PID" || status=$?
	cat aside
	[ $status = "$1" ]
}

@test "U21 a PUT that is answered 404: the blob is looked for, then sent anew" {
	start_proxy "PUT uploads 1-2 status 404"
	push
	arrived
}

@test "U23 a source that is cut or changed while it is sent never becomes a blob" {
	local big way
	for way in cut change; do
		REGISTRY=$SHARED_REGISTRY
		rm -rf copy state
		cp -r "$LAYOUT" copy
		big=$(find copy/blobs -size +1M)
		chmod u+w "$big"
		start_proxy --pause 1500000
		"$GPUIMG" push "oci:copy:v1" "docker://$REGISTRY/$way/app:1" >aside 2>&1 3>&- &
		PUSH_PID=$!
		wait_held
		[ $way = change ] || truncate -s 5000000 "$big"
		[ $way = cut ] || printf X | dd of="$big" bs=1 seek=8900000 conv=notrunc status=none
		go_on
		ended 3
		cat aside
		grep -q "sha256:" aside
		[ "$(requests DELETE uploads)" = 1 ]
		[ -z "$(find state -path '*uploads*.json')" ]
		[ "$(curl -so ignored -w '%{http_code}' -I "http://$SHARED_REGISTRY/v2/$way/app/blobs/sha256:$(basename "$big")")" = 404 ]
	done
}

@test "U26 parts are never sent out of order, for registries do not look" {
	start_persona acr
	start_proxy "PATCH . 3 cut 1000000" "PATCH . 5 drop"
	known '"body_max":2097152,"resume":true'
	push
	arrived
	[ "$(jq -s 'map(select(.method == "PATCH" and .range)) | map(.range | split("-")[0] | tonumber) | . == sort' "$PERSONA/log")" = true ]
}

@test "U35 a registry that was started anew, with another secret, lost the session" {
	start_registry_with
	sed -i '/secret:/d' "$REGISTRY_DIR/config.yml"
	local address=$REGISTRY
	kill "$REGISTRY_PID"
	wait "$REGISTRY_PID" || true
	docker-registry serve "$REGISTRY_DIR/config.yml" >"$REGISTRY_DIR/log" 2>&1 3>&- &
	REGISTRY_PID=$!
	start_proxy --pause 3000000
	known '"body_max":1048576,"resume":true'
	push_aside
	wait_held
	kill "$REGISTRY_PID"
	wait "$REGISTRY_PID" || true
	docker-registry serve "$REGISTRY_DIR/config.yml" >"$REGISTRY_DIR/log" 2>&1 3>&- &
	REGISTRY_PID=$!
	while ! curl -so ping "http://$address/v2/"; do sleep 0.05; done
	go_on
	ended 0
	grep -q "lost the session" aside
	arrived
	stop_registry
}

@test "U38 a blob that somebody else brought meanwhile is not sent again" {
	start_proxy --pause 3000000 "PATCH . 1 cut 4000000"
	push_aside
	wait_held
	run -0 env XDG_STATE_HOME="$WORK/other" "$GPUIMG" push "oci:$LAYOUT:v1" "docker://$SHARED_REGISTRY/$NAME:2"
	go_on
	ended 0
	arrived
	[ "$(sent)" -le 4300000 ]
}

@test "U42 two pushes of different images to one tag: the last counts, and both say what they pushed" {
	cp -r "$LAYOUT" layout
	jq -c '.annotations.other = "yes"' "$(dirname "$LAYOUT")/manifest.json" >manifest.json
	local other=sha256:$(sha256sum manifest.json | cut -d' ' -f1) now
	printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json",%s,"annotations":{"org.opencontainers.image.ref.name":"v1"}}]}' \
		"$(blob manifest.json)" >layout/index.json
	push_aside
	run -0 --separate-stderr gpuimg push oci:layout:v1 "docker://$REGISTRY/$NAME:1"
	[ "$output" = "$REGISTRY/$NAME:1@$other" ]
	ended 0
	grep -q "$REGISTRY/$NAME:1@$DIGEST" aside
	curl -sfo got -H "Accept: application/vnd.oci.image.manifest.v1+json" "http://$REGISTRY/v2/$NAME/manifests/1"
	now=sha256:$(sha256sum got | cut -d' ' -f1)
	[ "$now" = "$other" ] || [ "$now" = "$DIGEST" ]
}

@test "U43 a blob that is gone when the manifest comes is sent again" {
	start_proxy "PUT manifests 1 wait"
	push_aside
	wait_held
	curl -sfX DELETE "http://$SHARED_REGISTRY/v2/$NAME/blobs/sha256:$(basename "$(find "$LAYOUT/blobs" -size +1M)")"
	go_on
	ended 0
	arrived
}

@test "U44 a manifest that is too large for registries is refused before anything is sent" {
	cp -r "$LAYOUT" layout
	python3 -c 'import json, sys; m = json.load(open(sys.argv[1])); m["annotations"] = {"x": "y" * 4300000}; json.dump(m, open("manifest.json", "w"))' "$(dirname "$LAYOUT")/manifest.json"
	printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json",%s,"annotations":{"org.opencontainers.image.ref.name":"v1"}}]}' \
		"$(blob manifest.json)" >layout/index.json
	start_proxy
	run -3 gpuimg push oci:layout:v1 "docker://$REGISTRY/$NAME:1"
	[[ "$output" == *"4194304"* || "$output" == *"4 MiB"* ]]
	[ ! -e "$PROXY/log" ]
}

@test "U45 a registry that is full, or forbids it: its words and what to do, at once" {
	local code
	for code in 402 403 412 507; do
		REGISTRY=$SHARED_REGISTRY
		start_proxy "PATCH . 1-9 status $code"
		run -3 gpuimg push "oci:$LAYOUT:v1" "docker://$REGISTRY/full$code/app:1"
		[[ "$output" == *"the registry answers $code"* ]]
		[ "$(requests PATCH .)" = 1 ]
	done
}

@test "U46 an interrupted push says how to go on, and does" {
	start_persona v3
	start_proxy --pause 4000000
	(trap - INT; exec "$GPUIMG" push "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1") >aside 2>&1 3>&- &
	PUSH_PID=$!
	wait_held
	kill -INT $PUSH_PID
	ended 130
	grep -q "interrupted: what arrived is kept; the same call goes on there" aside
	[ -n "$(find state -path '*uploads*.json')" ]
	go_on
	push
	arrived
	[[ "$output" == *"resumed at"* ]]
}

# nginx in front.

@test "U2 nginx as it comes, without its limit: a cut upload never reaches the registry, and goes on" {
	start_nginx "client_max_body_size 0;"
	start_proxy "PATCH . 1 cut 4000000"
	push
	arrived
	[[ "$output" != *"lost the session"* ]]
	sent_at_most 4200000
}

@test "U3 nginx that does not buffer: the lost session shows as 502" {
	start_nginx "client_max_body_size 0; proxy_request_buffering off; proxy_http_version 1.1;"
	start_proxy "PATCH . 1 cut 4000000"
	push
	arrived
	[[ "$output" == *"lost the session"* ]]
	sent_at_most 4200000
}

@test "U27 nginx as it comes, with its limit of 1 MiB" {
	start_nginx ""
	start_proxy
	push
	arrived
	learned '.body_max == 1048576'
	sent_at_most 0
}
