#!/usr/bin/env bats
# Uploads over bad lines, and answers that pass: each test breaks something in its own way, at
# docker-registry and at registries of other kinds.

load common
load registry
load upload

setup_file() { upload_setup_file; }
teardown_file() { upload_teardown_file; }
setup() { upload_setup; }
teardown() { stop_servers; }

# Cut connections.

@test "U1 a PATCH is cut half-way where that ends the session: the blob is sent again" {
	for kind in docker-registry dead zot; do
		serve_by $kind
		start_proxy "PATCH . 1 cut 50%"
		push
		[[ "$output" == *"lost the session"* ]]
		arrived
		sent_at_most 4700000
	done
}

@test "U2 a PATCH is cut before a buffering proxy: the session lives and goes on" {
	for kind in docker-registry dead v3; do
		serve_by $kind
		start_proxy "PATCH . 1 lose 3000000"
		push
		[[ "$output" != *"lost the session"* ]]
		arrived
		sent_at_most 3200000
		[ "$(requests POST uploads)" = 3 ]
		learned .resume
	done
}

@test "U2 nginx as it comes, without its limit: a cut upload never reaches the registry, and goes on" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_nginx "client_max_body_size 0;"
		start_proxy "PATCH . 1 cut 4000000"
		push
		arrived
		[[ "$output" != *"lost the session"* ]]
		sent_at_most 4200000
	done
}

@test "U3 nginx that does not buffer: the lost session shows as 502, or as unknown" {
	for kind in docker-registry dead; do
		serve_by $kind
		start_nginx "client_max_body_size 0; proxy_request_buffering off; proxy_http_version 1.1;"
		start_proxy "PATCH . 1 cut 4000000"
		push
		arrived
		[[ "$output" == *"lost the session"* ]]
		sent_at_most 4200000
	done
}

@test "U4 a PATCH is cut before its body: the same session goes on" {
	for kind in docker-registry dead v3 quay; do
		serve_by $kind
		start_proxy "PATCH . 1 cut 0"
		push
		arrived
		[ "$(requests POST uploads)" = 3 ]
		sent_at_most 100000
	done
}

@test "U5 the third part is cut: goes on where the registry stands, which for 2.8 is the start" {
	local kind
	for kind in docker-registry:5400000 v3:300000 acr:300000; do
		serve_by ${kind%:*}
		start_proxy "PATCH . 3 cut 1000000"
		known '"body_max":2097152,"resume":true'
		push
		arrived
		sent_at_most ${kind#*:}
	done
}

@test "U7 every request is cut, but each brings something, or small parts do: ends well" {
	serve_by v3
	start_proxy "PATCH . * cut 2600000"
	push
	arrived
	sent_at_most 1500000
	serve_by docker-registry
	start_proxy "PATCH . * cut 5200000"
	push
	arrived
}

@test "U7 connections that are cut after so many bytes let parts through that are small enough" {
	for kind in docker-registry dead; do
		serve_by $kind
		start_proxy --cut-connections 5000000 7000000 1
		push
		arrived
		learned '.cut_bytes > 0 and .resume == false'
	done
}

@test "U18 the answer to a PATCH is lost: 2.8 starts over, others go on" {
	serve_by docker-registry
	start_proxy "PATCH . 1 drop"
	push
	arrived
	for kind in v3 acr; do
		serve_by $kind
		start_proxy "PATCH . 1 drop"
		push
		arrived
		sent_at_most 100000
	done
}

@test "U19 the answer to the PUT is lost: the blob is there, nothing is sent again" {
	for kind in docker-registry dead v3; do
		serve_by $kind
		start_proxy "PUT uploads 1-3 drop"
		push
		arrived
		sent_at_most 0
	done
}

@test "U20 a commit that is answered 504 and shows later counts" {
	serve_by ghcr
	start_proxy
	push --persona github
	arrived
	sent_at_most 0
	serve_by docker-registry
	start_proxy "PUT uploads 3 replace 504" "HEAD blobs 4-5 status 404"
	push -j 1
	arrived
	sent_at_most 0
}

@test "U21 a PUT that is answered 404: the blob is looked for, then sent anew" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy "PUT uploads 1-2 status 404"
		push
		arrived
	done
}

@test "U22 bytes that arrive as others: sent once more, then it ends, and there is no blob" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy "PATCH . 1 corrupt 3000000"
		push
		arrived
		NAME=twice/$kind REGISTRY=$DIRECT
		start_proxy "PATCH . * corrupt 3000000"
		refused
		[[ "$output" == *"DIGEST_INVALID"* || "$output" == *"digest"* ]]
		[ "$(big_status)" = 404 ]
		[ "$(requests PATCH .)" = 2 ]
	done
}

@test "U24 U25 answers whose Range is less, more, or not there" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy "PATCH . 1 header Range: 0-999" "PATCH . 3 header Range: 0-99999999" "PATCH . 4 header Range:"
		known '"body_max":2097152,"resume":true'
		push
		arrived
	done
}

@test "U26 parts are never sent out of order, for registries do not look" {
	for kind in docker-registry acr; do
		serve_by $kind
		start_proxy "PATCH . 3 cut 1000000" "PATCH . 5 drop"
		known '"body_max":2097152,"resume":true'
		push
		arrived
		# within a session, whose address begins alike, each part begins behind the one before
		[ "$(jq -s 'map(select(.method == "PATCH" and .range)) | group_by(.path | split("/")[0:7]) |
			all(map(.range | split("-")[0] | tonumber) | . == sort)' "$PROXY/log")" = true ]
	done
}

@test "T7 a connection that the server has closed when the next request comes: nothing is lost" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy "POST uploads 1-3 stale" "PATCH . 1 stale"
		push
		arrived
		[ "$(requests POST uploads)" = 3 ]
		sent_at_most 100000
	done
}

@test "a registry that is gone in the middle: what arrived is kept, and the push says so" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy --pause 3000000
		local proxy=${SERVER_PIDS##* }
		push_aside
		wait_held
		kill "$proxy"
		ended 3
		grep -q "what arrived is kept, the same call goes on there" aside
	done
}

# Answers that pass.

@test "U8 500, 502, 503 and 504, each once at each kind of request" {
	local n codes=(500 502 503 504 500 502 503 504)
	for kind in docker-registry v3; do
		for n in 0 1 2 3; do
			serve_by $kind
			NAME=$NAME-$n
			start_proxy "HEAD . 1 status ${codes[n]}" "POST . 1 status ${codes[n + 1]}" "PATCH . 1 status ${codes[n + 2]}" \
				"PUT uploads 1 status ${codes[n + 3]}" "PUT manifests 1 status ${codes[n]}" "GET uploads 1 status ${codes[n + 1]}"
			push
			arrived
			sent_at_most 0
		done
	done
}

@test "U9 U10 what the registry says to one connection counts for all" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy "PATCH . 1 status 429 Retry-After: 3"
		push
		arrived
		jq -se '(map(select(.what == "fault 429"))[0].ended) as $t | map(select(.began > $t + 1 and .began < $t + 2)) == []' "$PROXY/log" >/dev/null
	done
}

@test "U10 429 at a PATCH: Retry-After in seconds, as a date, in no time, in words" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy "PATCH . 1 status 429 Retry-After: 1" "PATCH . 1 status 429 Retry-After: 0" \
			"PATCH . 1 status 429 Retry-After: soon" "PATCH . 1 status 429" \
			"PATCH . 1 status 429 Retry-After: $(LC_ALL=C TZ=GMT date '+%a, %d %b %Y %H:%M:%S GMT')"
		push
		arrived
		sent_at_most 0
		[ "$(requests PATCH .)" = 6 ]
	done
}

@test "U10 a date that is to come is waited for; of more than 10 minutes it is said that they are too many" {
	local then
	for kind in docker-registry v3; do
		serve_by $kind
		then=$(($(date +%s) + 5))
		start_proxy "PATCH . 1 status 429 Retry-After: $(LC_ALL=C TZ=GMT date -d "@$then" '+%a, %d %b %Y %H:%M:%S GMT')"
		push
		arrived
		# the client counts in whole seconds
		jq -se --argjson until $((then - 1)) 'map(select(.method == "PATCH"))[1].began >= $until' "$PROXY/log"
		NAME=$NAME-long REGISTRY=$DIRECT
		start_proxy "PATCH . 1 status 429 Retry-After: 100000"
		push_aside
		wait_for said_or_ended $PUSH_PID grep -q "wants to be left alone for longer than 10 minutes" aside
		kill $PUSH_PID
		wait $PUSH_PID || true
		[ "$(requests PATCH .)" = 1 ]
	done
}

@test "U15 401 for ever ends with advice" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy "PATCH . * status 401"
		refused
		[[ "$output" == *401*"log in"* ]]
	done
}

@test "U32 a server that never says 100 Continue, and one that answers 417" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy "PATCH . 1 mute" "PATCH . 2 status 417"
		push
		arrived
		NAME=again/$kind
		push
		arrived
	done
}

@test "U45 a registry that is full, or forbids it: its words and what to do, at once" {
	local code
	for kind in docker-registry v3; do
		for code in 402 403 412 507; do
			serve_by $kind
			NAME=full/$code-$kind
			start_proxy "PATCH . 1-9 status $code"
			refused
			[[ "$output" == *"the registry answers $code"* ]]
			[ "$(requests PATCH .)" = 1 ]
		done
	done
}
