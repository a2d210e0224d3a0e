#!/usr/bin/env bats
# gpuimg doctor measures docker-registry and small registries of other kinds; what it finds out is
# what pushes then do.

load common
load registry

setup() {
	work
	export HOME=$WORK XDG_RUNTIME_DIR=$WORK/run DOCKER_CONFIG=$WORK/.docker XDG_STATE_HOME=$WORK/state
	unset REGISTRY_AUTH_FILE DOCKER_AUTH_CONFIG GPUIMG_AUTH_FILE SSL_CERT_FILE XDG_CONFIG_HOME CONTAINERS_REGISTRIES_CONF
}

teardown() {
	stop_registry
	stop_servers
}

doctor() { run -0 --separate-stderr gpuimg doctor -o json "$@" "$REGISTRY/team/probe"; }
answer() { jq -r --arg n "$1" '.findings[] | select(.name == $n) | .answer' <<<"$output"; }
remembered() { jq -e "$1" "state/gpuimg/hosts/$REGISTRY.json" >/dev/null; }

@test "docker-registry: what its 2.8 does, and nothing is left behind" {
	start_registry
	doctor
	[ "$(jq -r .persona <<<"$output")" = distribution ]
	[ "$(for n in session parts status stream single mount referrers resume ranges; do answer $n; done | paste -sd ' ')" = "yes yes yes yes yes yes no no unknown" ]
	remembered '.resume == false and .persona == "distribution" and .referrers == false and (has("body_max") | not)'
	[ -z "$(find "$REGISTRY_DIR/data" -path '*/blobs/*' -name data)" ]
	[ -z "$(find "$REGISTRY_DIR/data" -path '*/_layers/*' -type f)" ]
	make_layout
	gpuimg push -q oci:layout:v1 "docker://$REGISTRY/team/probe:1"
	doctor --dry-run
	[ "$(answer ranges)" = yes ]
	run -0 gpuimg doctor "$REGISTRY/team/probe"
	[[ "${lines[0]}" == "http://$REGISTRY behaves like distribution" ]]
}

@test "whether images may be removed is measured, and nothing is" {
	start_registry_token joe s3cret-canary
	docker_config joe s3cret-canary
	doctor
	[ "$(answer delete)" = yes ]
	stop_registry
	start_registry_with
	sed -i 's/delete: {enabled: true}/delete: {enabled: false}/' "$REGISTRY_DIR/config.yml"
	end_servers "$REGISTRY_PID"
	serve_registry
	doctor
	[ "$(answer delete)" = no ]
	[[ "$output" == *"images cannot be removed (answers 405"* ]]
	start_persona v3
	doctor
	[ "$(answer delete)" = yes ]
	start_persona artifactory
	doctor
	[ "$(answer delete)" = no ]
	[[ "$output" == *"may not remove images (answers 403"* ]]
}

@test "kinds are told apart by what they do" {
	local kind want
	for pair in v3:distribution-3 quay:quay ecr:ecr gar:google artifactory:artifactory dead:distribution zot:distribution; do
		kind=${pair%%:*} want=${pair#*:}
		start_persona "$kind" joe s3cret-canary
		docker_config joe s3cret-canary
		doctor
		[ "$(jq -r .persona <<<"$output")" = "$want" ] || { echo "$kind: $output"; return 1; }
		remembered ".persona == \"$want\""
		# no session is left, no blob
		[ -z "$(ls "$PERSONA/blobs" "$PERSONA/manifests" | grep sha256)" ]
	done
	make_layout
	start_persona quay
	doctor
	run -0 gpuimg push -v oci:layout:v1 "docker://$REGISTRY/team/probe:1"
}

@test "a proxy's limit is found without sending what it refuses, and pushes keep to it" {
	start_registry
	start_nginx "client_max_body_size 3m;"
	doctor
	[ "$(answer limit)" = yes ]
	remembered '.body_max == 1048576'
	make_layout
	start_proxy
	mkdir -p state/gpuimg/hosts
	mv state/gpuimg/hosts/*.json "state/gpuimg/hosts/$REGISTRY.json"
	gpuimg push -q oci:layout:v1 "docker://$REGISTRY/team/probe:1"
	[ "$(jq -s 'map(select(.what == 413)) | length' "$PROXY/log")" = 0 ]
}

@test "without the right to push there is nothing to measure, and it is said" {
	start_registry_auth joe s3cret-canary
	run -3 gpuimg doctor "$REGISTRY/team/probe"
	[[ "$output" == *"log in"* ]]
	run -2 gpuimg doctor
}
