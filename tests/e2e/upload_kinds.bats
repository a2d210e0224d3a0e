#!/usr/bin/env bats
# What registries of many kinds, and proxies before them, want of uploads.

load common
load registry
load upload

setup_file() { upload_setup_file; }
teardown_file() { upload_teardown_file; }
setup() { upload_setup; }
teardown() {
	stop_servers
	[ "$REGISTRY_PID" = "$SHARED_REGISTRY_PID" ] || stop_registry
}

@test "U27 a proxy's limit of 1 MiB: 413" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy "PATCH . * limit 1048576" "PUT uploads * limit 1048576"
		push
		arrived
		sent_at_most 0
		learned '.body_max == 1048576'
	done
}

@test "U27 a proxy's limit that shows as a cut connection" {
	local kind size
	for kind in docker-registry v3; do
		for size in 1048576 5242880; do
			serve_by $kind
			start_proxy "PATCH . * limitcut $size"
			push
			arrived
		done
	done
}

@test "U27 a limit below all parts is refused with advice" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy "PATCH . * limit 1000" "PUT uploads * limit 1000"
		refused
		[[ "$output" == *413*"limits the size"* ]]
	done
}

@test "U27 nginx as it comes, with its limit of 1 MiB" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_nginx ""
		start_proxy
		push
		arrived
		learned '.body_max == 1048576'
		sent_at_most 0
	done
}

@test "U28 Amazon's parts: none below 5 MiB but the last, which goes with the PUT" {
	serve_by ecr AWS s3cret-canary
	start_proxy "PATCH . 1 cut 2000000"
	docker_config AWS s3cret-canary
	known '"body_max":5242880,"no_single":true'
	push --persona ecr
	AUTH=AWS:s3cret-canary arrived
	[ "$(jq -s 'map(select(.method == "PATCH" and .status == 201)) | length' "$PERSONA/log")" -ge 1 ]
	[ "$(jq -s 'map(select(.status == 400)) | length' "$PERSONA/log")" = 0 ]
}

@test "U28 GitHub's limit of parts, and none on streams" {
	serve_by ghcr
	start_proxy
	known '"resume":true'
	push --persona github
	arrived
	REGISTRY=127.0.0.1:${REGISTRY##*:} NAME=other/app
	push --persona distribution-3
	[[ "$output" == *"no parts"* ]]
	arrived
}

@test "U28 a part is answered 416, whatever the registry: asked how far it is, or another way" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy "PATCH . 2 status 416"
		known '"body_max":2097152,"resume":true'
		push
		arrived
	done
}

@test "U29 a registry that knows no single PUT is asked once only" {
	serve_by artifactory
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
	serve_by gar
	start_proxy
	push --persona distribution-3
	arrived
	learned .no_chunk
	[ "$(requests PATCH .)" = 2 ]
}

@test "U30 parts are as large as the registry wants them" {
	for kind in docker-registry minimum; do
		serve_by $kind
		start_proxy "POST uploads * header OCI-Chunk-Min-Length: 2097152"
		known '"body_max":2500000,"resume":true'
		push
		arrived
		[ "$(jq -s 'map(select(.method == "PATCH") | .body) | sort | .[1] >= 2097152' "$PROXY/log")" = true ]
	done
}

@test "U31 addresses: relative ones, and queries that stay as they are" {
	for kind in zot acr; do
		serve_by $kind
		start_proxy
		push
		arrived
	done
	start_registry_with "  relativeurls: true"
	SERVER=docker-registry NAME=relative/app
	start_proxy
	push
	arrived
}

@test "U31 an address of another host or port gets no credentials" {
	local foreign
	for kind in docker-registry ecr; do
		serve_by ecr AWS s3cret-canary
		[ $kind = ecr ] || start_registry_auth AWS s3cret-canary
		foreign=$WORK/foreign-$kind
		mkdir "$foreign"
		start_server fault_proxy.py "${REGISTRY##*:}" "$foreign"
		start_proxy "POST uploads * header Location: http://127.0.0.1:$PORT/v2/x/blobs/uploads/1?a=b"
		docker_config AWS s3cret-canary
		refused
		[ "$(jq -s 'map(select(.authorization != "")) | length' "$PROXY/log")" -ge 1 ]
		[ "$(jq -s 'length > 0 and all(.authorization == "")' "$foreign/log")" = true ]
	done
}

@test "U16 Harbor answers Basic once it saw a token; the password goes to the token server only" {
	serve_by harbor joe s3cret-canary
	start_proxy
	docker_config joe s3cret-canary
	push -v
	[[ "$output" != *canary* ]]
	[ "$(jq -s 'map(select(.authorization == "Basic" and .path != "/token")) | length' "$PERSONA/log")" = 0 ]
	# refused before the body: only small ones are sent without asking
	[ "$(jq -s 'map(select(.status == 401)) | length' "$PERSONA/log")" -ge 1 ]
	sent_at_most 1000
	stored
	serve_by_token docker-registry -- 'PATCH . 1 status 401 WWW-Authenticate: Basic realm="harbor"' \
		'PUT uploads 1 status 401 WWW-Authenticate: Basic realm="harbor"'
	push
	[ "$(token_calls)" -ge 2 ]
	[ "$(jq -s 'map(select(.authorization == "Basic")) | length' "$PROXY/log")" = 0 ]
	sent_at_most 1000
	stored
}

@test "A4 NGC's challenge: no service, and a realm that has a query" {
	serve_by ngc '$oauthtoken' key-canary
	start_proxy
	docker_config '$oauthtoken' key-canary
	push -v
	[[ "$output" != *canary* ]]
	stored
}

@test "Quay counts one too many in its status answers" {
	serve_by quay
	start_proxy "PATCH . 1 cut 4000000"
	push --persona quay
	arrived
	sent_at_most 300000
}

@test "a registry that stores something else is found out" {
	serve_by liar
	refused
	[[ "$output" == *"says that it stored sha256:0000"* ]]
	serve_by docker-registry
	start_proxy "PUT manifests 1 header Docker-Content-Digest: sha256:$(printf '0%.0s' $(seq 64))"
	refused
	[[ "$output" == *"sha256:0000"* ]]
}

# Taking over from another repository.

@test "U37 blobs are mounted; where that is refused they are sent" {
	local mount code
	for kind in docker-registry v3; do
		serve_by $kind
		mount=$NAME
		push
		start_proxy
		NAME=mounted/$kind
		push -v --mount-from "$mount"
		[[ "$output" == *"3 blobs taken over"* ]]
		arrived
		sent_at_most -$SIZE
		REGISTRY=$DIRECT
		for code in 400 401 403 404 405 500; do
			rm -rf state
			start_proxy "POST mount=.*from * status $code"
			NAME=unmounted-$code/$kind
			push --mount-from "$mount"
			arrived
			sent_at_most 0
			[ "$(requests POST uploads)" -le 9 ] # with what was tried again at 500
			REGISTRY=$DIRECT
		done
		start_proxy
		NAME=nothing/$kind
		push --mount-from not/there
		arrived
		[ "$(requests POST uploads)" = 3 ]
	done
}
