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

# serve_by KIND: docker-registry, or a persona; nothing is known of it.
serve_by() {
	rm -rf state
	REGISTRY=$DIRECT
	[ "$1" = docker-registry ] || start_persona "$1"
}

@test "U6 a line that is cut at 70 % every time ends with network trouble, in some minutes" {
	for kind in docker-registry dead v3; do
		serve_by $kind
		start_proxy "PATCH . * cut 70%" "PUT uploads * cut 70%"
		SECONDS=0
		run -3 gpuimg push oci:layout:v1 "docker://$REGISTRY/a$RANDOM:1"
		echo "$output"
		[ $SECONDS -lt 300 ]
		if [ $kind = v3 ]; then # all arrives but the last bytes: 70 % of one byte are none
			[[ "$output" == *"what arrived is kept, the same call goes on there"* ]]
			[ "$(requests PATCH .)" -le 90 ] # three blobs, each 8 times without a byte more
		else
			[[ "$output" == *"upload sessions were lost"* ]]
			[ "$(requests PATCH .)" -le 20 ]
		fi
	done
}

@test "U9 trouble for ever ends, whatever the request: few tries, bounded waits" {
	local rule
	for kind in docker-registry v3; do
		for rule in "HEAD blobs" "POST uploads" "PATCH ." "PUT manifests"; do
			serve_by $kind
			start_proxy "$rule * status 503"
			SECONDS=0
			run -3 gpuimg push oci:layout:v1 "docker://$REGISTRY/a$RANDOM:1"
			[[ "$output" == *"answers 503"* ]]
			[ $SECONDS -lt 300 ]
			[ "$(requests ${rule% *} .)" -le 30 ]
		done
	done
}

@test "U34 a registry that stops reading is left after a minute, and asked how far it is" {
	for kind in docker-registry v3; do
		serve_by $kind
		start_proxy "PATCH . 1 stall 90"
		SECONDS=0
		run -0 gpuimg push oci:layout:v1 "docker://$REGISTRY/a$RANDOM:1"
		[ $SECONDS -lt 88 ] # the proxy would have gone on
	done
}

@test "U36 registries behind one name with different secrets: the advice names http.secret" {
	serve_by replicas
	run -3 gpuimg push -j 1 oci:layout:v1 "docker://$REGISTRY/a:1"
	[[ "$output" == *"need a common http.secret"* ]]
	# docker-registry itself: two of them with one storage, which nginx asks in turn
	stop_registry
	sed -i "s|rootdirectory: [^}]*}|rootdirectory: $WORK/common}|; s/secret: x/secret: one/" "$REGISTRY_DIR/config.yml"
	start_two
	run -3 gpuimg push -j 1 oci:layout:v1 "docker://$REGISTRY/b:1"
	echo "$output"
	[[ "$output" == *"need a common http.secret"* ]]
}

# Two registries of $REGISTRY_DIR/config.yml with different secrets, and nginx before them: $REGISTRY.
start_two() {
	local n port upstream=
	for n in 1 2; do
		port=$(free_port)
		sed "s/addr: .*/addr: 127.0.0.1:$port/; s/secret: .*/secret: s$n/" "$REGISTRY_DIR/config.yml" >"$WORK/$n.yml"
		docker-registry serve "$WORK/$n.yml" >"$WORK/$n.log" 2>&1 3>&- &
		SERVER_PIDS="${SERVER_PIDS:-} $!"
		wait_for curl -so ping "http://127.0.0.1:$port/v2/"
		upstream+="server 127.0.0.1:$port max_fails=0; "
	done
	REGISTRY=two port=$(free_port)
	# the upstream goes between an empty server and the one with the location
	start_nginx "} upstream two { $upstream } server { listen 127.0.0.1:$port; client_max_body_size 0; proxy_request_buffering off; proxy_http_version 1.1;"
	REGISTRY=127.0.0.1:$port
}

@test "T5 a proxy that takes connections and says nothing is told as the proxy, after half a minute" {
	start_server tcp_relay.py 0 proxy 0
	SECONDS=0
	HTTPS_PROXY=http://127.0.0.1:$PORT run -3 gpuimg push oci:layout:v1 docker://registry.example.org/a:1
	echo "$output"
	[[ "$output" == *roxy* ]]
	[ $SECONDS -lt 45 ]
}

@test "T6 an address that takes no connection and refuses none is left after half a minute" {
	start_server tcp_relay.py 0 full 4
	SECONDS=0
	run -3 gpuimg push oci:layout:v1 "docker://127.0.0.1:$PORT/a:1"
	echo "$output"
	[[ "$output" == *"127.0.0.1 port $PORT"* ]]
	[ $SECONDS -ge 20 ] # the way to it was as it is meant
	[ $SECONDS -lt 45 ]
}

@test "A1 a helper that gives no answer is left after half a minute" {
	mkdir -p .docker bin
	echo '{"credsStore":"test"}' >.docker/config.json
	printf '#!/bin/sh\nexec sleep 100\n' >bin/docker-credential-test
	chmod +x bin/docker-credential-test
	SECONDS=0
	PATH=$WORK/bin:$PATH run -3 gpuimg push oci:layout:v1 "docker://$REGISTRY/a:1"
	echo "$output"
	[[ "$output" == *"docker-credential-test: gave no answer in 30 s"* ]]
	[ $SECONDS -lt 45 ]
}
