#!/usr/bin/env bats
# Faults of registries that take minutes to give up on: make check-slow.

load ../e2e/common
load ../e2e/registry

setup() {
	work
	export HOME=$WORK XDG_RUNTIME_DIR=$WORK/run DOCKER_CONFIG=$WORK/.docker XDG_STATE_HOME=$WORK/state
	unset REGISTRY_AUTH_FILE DOCKER_AUTH_CONFIG GPUIMG_AUTH_FILE SSL_CERT_FILE XDG_CONFIG_HOME CONTAINERS_REGISTRIES_CONF
	start_registry
	make_layout
	DIRECT=$REGISTRY
}

teardown() {
	stop_registry
	stop_servers
}

requests() { # METHOD REGEX
	jq -s --arg m "$1" --arg r "$2" 'map(select(.method == $m and (.path | test($r)))) | length' "$PROXY/log"
}

@test "U6 a line that is cut at 70 % every time ends with network trouble, in some minutes" {
	start_proxy "PATCH . * cut 70%" "PUT uploads * cut 70%"
	SECONDS=0
	run -3 gpuimg push oci:layout:v1 "docker://$REGISTRY/a:1"
	[[ "$output" == *"upload sessions were lost"* ]]
	[ $SECONDS -lt 300 ]
	[ "$(requests PATCH .)" -le 20 ]
}

@test "U9 trouble for ever ends, whatever the request: few tries, bounded waits" {
	local rule
	for rule in "HEAD blobs" "POST uploads" "PATCH ." "PUT manifests"; do
		REGISTRY=$DIRECT
		start_proxy "$rule * status 503"
		SECONDS=0
		run -3 gpuimg push oci:layout:v1 "docker://$REGISTRY/a$RANDOM:1"
		[[ "$output" == *"answers 503"* ]]
		[ $SECONDS -lt 300 ]
		[ "$(requests ${rule% *} .)" -le 30 ]
	done
}

@test "U34 a registry that stops reading is left after a minute, and asked how far it is" {
	start_proxy "PATCH . 1 stall 90"
	SECONDS=0
	run -0 gpuimg push oci:layout:v1 "docker://$REGISTRY/a:1"
	[ $SECONDS -lt 88 ] # the proxy would have gone on
}

@test "U36 registries behind one name with different secrets: the advice names http.secret" {
	start_persona replicas
	run -3 gpuimg push oci:layout:v1 "docker://$REGISTRY/a:1"
	echo "$output"
	[[ "$output" == *"need a common http.secret"* ]]
}
