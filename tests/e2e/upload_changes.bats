#!/usr/bin/env bats
# Uploads while the world changes: tokens that end, pushes that are killed and run again, sources,
# registries and tags that are not what they were.

load common
load registry
load upload

setup_file() { upload_setup_file; }
teardown_file() { upload_teardown_file; }
setup() { upload_setup; }
teardown() {
	stop_servers
	stop_registry
}

# Tokens.

INVALID='status 401 WWW-Authenticate: Bearer realm="REALM",service="svc",error="invalid_token"'

@test "U11 401 at the PUT costs one token, and not the layer again" {
	for kind in docker-registry tokens; do
		serve_by_token $kind -- "PUT uploads 1 $INVALID"
		push
		stored
		[ "$(token_calls)" = 2 ]
		sent_at_most 0
	done
}

@test "U15 401 for ever, whatever the token: two tokens for a request, and then advice" {
	for kind in docker-registry tokens; do
		serve_by_token $kind -- "PATCH . * $INVALID"
		refused
		echo "$output"
		[[ "$output" == *401*"check the user name"* ]]
		[ "$(requests PATCH .)" -le 9 ] # thrice, each with two tokens more
		[ "$(token_calls)" -le 7 ]
	done
}

@test "U12 401 at a PATCH costs no byte of its body" {
	for kind in docker-registry tokens; do
		serve_by_token $kind -- "PATCH . 1 $INVALID"
		push
		stored
		[ "$(jq -s 'map(select(.method == "PATCH"))[0].body' "$PROXY/log")" = 0 ]
		[ "$(token_calls)" = 2 ]
		sent_at_most 0
	done
}

@test "U13 tokens that live 5 seconds are renewed before they end, part by part" {
	for kind in docker-registry brief; do
		serve_by_token $kind 5 -- "PATCH . * later 0.7"
		known '"body_max":1048576,"resume":true'
		push -j 1
		stored
		[ "$(requests PATCH .)" -ge 9 ]
		[ "$(token_calls)" -ge 2 ]
		[ "$(token_calls)" -le 10 ]
		[ "$(jq -s 'map(select(.what == 401 and .path != "/v2/")) | length' "$PROXY/log")" = 0 ]
	done
}

@test "a refresh token goes to the token server in a form, and nowhere else" {
	for kind in docker-registry tokens; do
		serve_by_token $kind
		printf '{"auths":{"%s":{"identitytoken":"s3cret-canary"}}}' "$REGISTRY" >"$DOCKER_CONFIG/config.json"
		push -vv
		[[ "$output" != *canary* ]]
		stored
		[ "$(token_calls)" -ge 1 ]
		sed -i s/s3cret/wrong/ "$DOCKER_CONFIG/config.json"
		refused
		[[ "$output" == *"the token server"*401*"check the user name and the password or token"* ]]
		[[ "$output" != *canary* ]]
	done
	# Where the token server has no form, it is the password of docker's user for such tokens.
	for status in 400 401 404 405; do
		TOKEN_USER='<token>' TOKEN_FAULTS=("POST ^/ * status $status")
		serve_by_token docker-registry
		printf '{"auths":{"%s":{"identitytoken":"s3cret-canary"}}}' "$REGISTRY" >"$DOCKER_CONFIG/config.json"
		push -vv
		[[ "$output" != *canary* ]]
		stored
	done
}

@test "a scope that is missing is asked for too" {
	for kind in docker-registry tokens; do
		serve_by_token $kind -- 'PATCH . 1 status 401 WWW-Authenticate: Bearer realm="REALM",service="svc",scope="repository:other/app:pull",error="insufficient_scope"'
		push
		stored
		[ "$(token_calls)" = 2 ]
		[ $kind = tokens ] || [[ "$(tail -n 1 "$TOKEN_LOG")" == "repository:$NAME:pull,push repository:other/app:pull" ]]
	done
}

@test "U14 a token server that is down for a while is asked again" {
	TOKEN_FAULTS=("GET token 1 cut 0" "GET token 1-2 status 503")
	for kind in docker-registry tokens; do
		serve_by_token $kind
		push
		stored
	done
}

@test "U17 a token server of another's, without TLS, or inside the network learns nothing" {
	local realm
	for kind in docker-registry v3; do
		for realm in http://token.example.org/t https://token.example.org/t http://169.254.169.254/latest file:///etc/passwd; do
			serve_by $kind
			start_proxy "GET /v2/ 1-9 status 401 WWW-Authenticate: Bearer realm=\"$realm\""
			docker_config joe s3cret-canary
			refused -v
			[[ "$output" == *"gets no credentials"* ]]
			[[ "$output" != *canary* ]]
		done
	done
}

@test "U47 clocks that are 10 minutes apart make no loop of tokens" {
	local kind
	for kind in "docker-registry 300 -600" "docker-registry 300 600" early late; do
		serve_by_token $kind
		push
		stored
		[ "$(token_calls)" -le 2 ]
	done
}

# Killed, and run again.

@test "U39 killed at any byte, a push goes on where it was: a registry that keeps what it got" {
	RULES=()
	for position in 1500000 $((RANDOM * 200 + 1000000)) 8500000; do
		serve_by v3
		killed_at $position
		push
		arrived
		[[ "$output" == *"resumed at"* ]]
		# what was under way in the connections, no more
		sent_at_most 600000
	done
}

@test "U39 killed at any byte: distribution 2.8 behind a buffering proxy repeats one part at most" {
	RULES=("PATCH . * buffer") KNOWN='"body_max":2097152,"resume":true'
	serve_by docker-registry
	killed_at 6000000
	push
	arrived
	[[ "$output" == *"resumed at"* ]]
	sent_at_most 2200000
}

@test "U39 killed at any byte: where a cut ends the session one blob is repeated at most" {
	RULES=()
	for kind in docker-registry dead; do
		serve_by $kind
		killed_at 5000000
		push
		arrived
		sent_at_most 5200000
	done
}

@test "U40 a journal that is damaged, cut, another's or no file is passed over" {
	local journal damage
	RULES=()
	for kind in docker-registry v3; do
		for damage in "truncate -s 100" "truncate -s 0" "sed -i s/sha256:/sha256:0/" "sed -i s/version.:.1/version\":99/"; do
			serve_by $kind
			NAME=$NAME-$RANDOM
			killed_at 3000000
			journal=$(journals)
			[ "$(stat -c %a "$journal")" = 600 ]
			$damage "$journal"
			push
			arrived
			[[ "$output" != *"resumed"* ]]
		done
	done
}

@test "U48 a journal whose session the registry has forgotten, or that is old: the registry is asked" {
	RULES=()
	for kind in docker-registry v3; do
		serve_by $kind
		killed_at 3000000
		case $kind in
		docker-registry) # as its own purge does; it may still be writing what had come
			until rm -rf "$SHARED_REGISTRY_DIR/data/docker/registry/v2/repositories/$NAME/_uploads" 2>/dev/null; do sleep 0.1; done ;;
		*) curl -sfX DELETE "$(jq -r .location "$(journals)")" ;;
		esac
		push
		arrived
		[[ "$output" != *"resumed"* ]]
	done
	serve_by v3
	killed_at 3000000
	sed -i -E "s/\"written\": [0-9]+/\"written\": $(($(date +%s) - 30 * 3600))/" "$(journals)"
	push
	arrived
	[[ "$output" == *"resumed at"* ]]
}

@test "U41 two pushes of one image at once both end well" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy
		push_aside
		push
		ended 0
		arrived
	done
}

@test "U46 an interrupted push says how to go on, and does" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy --pause 4000000
		(trap - INT; exec "$GPUIMG" push "oci:$LAYOUT:v1" "docker://$REGISTRY/$NAME:1") >aside 2>&1 3>&- &
		PUSH_PID=$!
		wait_held
		kill -INT $PUSH_PID
		ended 130
		grep -q "interrupted: what arrived is kept; the same call goes on there" aside
		[ -n "$(journals)" ]
		go_on
		push
		arrived
		[ $kind = docker-registry ] || [[ "$output" == *"resumed at"* ]]
	done
}

@test "a home that cannot be written costs the journal only" {
	start_proxy
	XDG_STATE_HOME=/proc/nowhere push
	[ "$(grep -c "no journal of the upload, so a push that is broken off .*/proc/nowhere" <<<"$output")" = 1 ]
	curl -sfo got "http://$REGISTRY/v2/$NAME/manifests/1" -H "Accept: application/vnd.oci.image.manifest.v1+json"
}

# What changes meanwhile.

@test "U23 a source that is cut or changed while it is sent never becomes a blob" {
	local file way
	for kind in docker-registry v3; do
		for way in cut change; do
			serve_by $kind
			NAME=$way/$kind
			rm -rf copy
			cp -r "$LAYOUT" copy
			file=$(big copy)
			chmod u+w "$file"
			start_proxy --pause 1500000
			LAYOUT=copy push_aside
			wait_held
			[ $way = change ] || truncate -s 5000000 "$file"
			[ $way = cut ] || printf X | dd of="$file" bs=1 seek=8900000 conv=notrunc status=none
			go_on
			ended 3
			grep -q "sha256:" aside
			[ "$(requests DELETE uploads)" = 1 ]
			no_journal
			[ "$(big_status)" = 404 ]
		done
	done
}

@test "U35 a registry that was started anew, with another secret, lost the session" {
	local server
	for kind in docker-registry v3; do
		serve_by $kind
		if [ $kind = docker-registry ]; then
			start_registry_with
			DIRECT=$REGISTRY
			sed -i '/secret:/d' "$REGISTRY_DIR/config.yml"
			end_servers "$REGISTRY_PID"
			serve_registry
			server=$REGISTRY_PID
		else
			server=$SERVER_PID
		fi
		start_proxy --pause 3000000
		known '"body_max":1048576,"resume":true'
		push_aside
		wait_held
		end_servers "$server"
		case $kind in
		docker-registry) serve_registry ;;
		*) PERSONA_PORT=${DIRECT##*:} start_server persona_server.py "$PERSONA" $kind ;;
		esac
		go_on
		ended 0
		grep -q "lost the session" aside
		arrived
	done
}

@test "U38 a blob that somebody else brought meanwhile is not sent again" {
	for kind in docker-registry dead; do
		serve_by $kind
		start_proxy --pause 3000000 "PATCH . 1 cut 4000000"
		push_aside
		wait_held
		run -0 env XDG_STATE_HOME="$WORK/other" "$GPUIMG" push "oci:$LAYOUT:v1" "docker://$DIRECT/$NAME:2"
		go_on
		ended 0
		arrived
		[ "$(sent)" -le 4300000 ]
	done
}

# A layout with another image than $LAYOUT's, whose digest is $OTHER.
make_other() {
	[ ! -e layout ] || return 0
	cp -r "$LAYOUT" layout
	jq -c '.annotations.other = "yes"' "$(dirname "$LAYOUT")/manifest.json" >manifest.json
	OTHER=sha256:$(sha256sum manifest.json | cut -d' ' -f1)
	printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json",%s,"annotations":{"org.opencontainers.image.ref.name":"v1"}}]}' \
		"$(blob manifest.json)" >layout/index.json
}

tag_stands_for() { # DIGEST
	curl -sfo got -H "Accept: application/vnd.oci.image.manifest.v1+json" "http://$DIRECT/v2/$NAME/manifests/1"
	[ "sha256:$(sha256sum got | cut -d' ' -f1)" = "$1" ]
}

@test "U42 two pushes of different images to one tag: the last counts, and both say what they pushed" {
	make_other
	for kind in docker-registry v3; do
		serve_by $kind
		push_aside
		run --separate-stderr gpuimg push oci:layout:v1 "docker://$REGISTRY/$NAME:1"
		echo "$status: $stderr"
		[ "$status" -eq 0 ]
		[ "$output" = "$REGISTRY/$NAME:1@$OTHER" ]
		ended 0
		grep -q "$REGISTRY/$NAME:1@$DIGEST" aside
		tag_stands_for "$OTHER" || tag_stands_for "$DIGEST"
	done
}

@test "U42 --if-unchanged: a tag that somebody else moves during the push stays as they left it" {
	make_other
	for kind in docker-registry v3; do
		serve_by $kind
		push --if-unchanged # a tag that is new
		push --if-unchanged # and one that stands for it already
		tag_stands_for "$DIGEST"
		start_proxy --pause 1 "PUT manifests 1 wait"
		"$GPUIMG" push --if-unchanged oci:layout:v1 "docker://$REGISTRY/$NAME:1" >aside 2>&1 3>&- &
		PUSH_PID=$!
		wait_held # the other image's own manifest
		go_on
		ended 0
		tag_stands_for "$OTHER"
		# moved before the manifest is put, and right after
		REGISTRY=$DIRECT
		rm -rf state
		start_proxy "GET manifests 2 wait"
		push_aside --if-unchanged
		wait_held
		jq -c '.annotations.third = "yes"' manifest.json >third.json
		curl -sfX PUT -H "Content-Type: application/vnd.oci.image.manifest.v1+json" --data-binary @third.json \
			"http://$DIRECT/v2/$NAME/manifests/1"
		go_on
		ended 3
		grep -q "changed by somebody else during this push: it stood for $OTHER and stands for sha256:$(sha256sum third.json | cut -d' ' -f1) now" aside
		tag_stands_for "sha256:$(sha256sum third.json | cut -d' ' -f1)"
		REGISTRY=$DIRECT
		start_proxy "GET manifests 3 wait"
		push_aside --if-unchanged
		wait_held
		run -0 gpuimg push -q oci:layout:v1 "docker://$DIRECT/$NAME:1"
		go_on
		ended 3
		grep -q "it stood for $DIGEST and stands for $OTHER now" aside
	done
}

@test "U43 a blob that is gone when the manifest comes is sent again" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy "PUT manifests 1 wait"
		push_aside
		wait_held
		curl -sfX DELETE "http://$DIRECT/v2/$NAME/blobs/sha256:$(basename "$(big)")"
		go_on
		ended 0
		arrived
		[ "$(big_status)" = 200 ]
	done
}

@test "U44 a manifest that is too large for registries is refused before anything is sent" {
	cp -r "$LAYOUT" layout
	python3 -c 'import json, sys; m = json.load(open(sys.argv[1])); m["annotations"] = {"x": "y" * 4300000}; json.dump(m, open("manifest.json", "w"))' "$(dirname "$LAYOUT")/manifest.json"
	printf '{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json",%s,"annotations":{"org.opencontainers.image.ref.name":"v1"}}]}' \
		"$(blob manifest.json)" >layout/index.json
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy
		run -3 gpuimg push oci:layout:v1 "docker://$REGISTRY/$NAME:1"
		[[ "$output" == *"4194304"* || "$output" == *"4 MiB"* ]]
		[ ! -e "$PROXY/log" ]
	done
}
