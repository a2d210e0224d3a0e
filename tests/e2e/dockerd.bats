#!/usr/bin/env bats
# What gpuimg pushed, pulled by Docker's own daemon, started by hand with folders of its own.

load common
load registry

setup() { work; }

start_dockerd() {
	need dockerd docker
	[ "$(id -u)" -eq 0 ] || skip "dockerd needs root"
	DOCKER=$(mktemp -d /tmp/gpuimg-dockerd.XXXXXX) # socket paths are short
	dockerd --data-root "$DOCKER/data" --exec-root "$DOCKER/exec" --pidfile "$DOCKER/pid" \
		-H "unix://$DOCKER/sock" --storage-driver vfs --iptables=false --ip6tables=false \
		--bridge=none >"$DOCKER/log" 2>&1 3>&- &
	DOCKERD_PID=$!
	export DOCKER_HOST=unix://$DOCKER/sock
	for _ in $(seq 300); do
		docker info >/dev/null 2>&1 && return 0
		sleep 0.1
	done
	tail -n 20 "$DOCKER/log" >&2
	return 1
}

teardown() {
	if [ -n "${DOCKERD_PID:-}" ]; then
		kill "$DOCKERD_PID" 2>/dev/null || true
		wait "$DOCKERD_PID" 2>/dev/null || true
		rm -rf "$DOCKER"
	fi
	stop_registry
}

@test "dockerd pulls from docker-registry what gpuimg pushed, with the same digest" {
	stack=$(library_stack cuda13-runtime)
	gpuimg build --offline --no-lint --to "oci:$WORK/image:t" "$stack"
	start_registry
	run -0 gpuimg push "oci:$WORK/image:t" "docker://$REGISTRY/cuda13-runtime:t"
	start_dockerd
	run -0 docker pull "$REGISTRY/cuda13-runtime:t"
	[[ $output == *"$(digest_of "$WORK/image" t)"* ]]
	run -0 docker image inspect --format '{{json .Config.Env}}' "$REGISTRY/cuda13-runtime:t"
	[[ $output == *NVIDIA_REQUIRE_CUDA=cuda* ]]
	run -0 docker save -o "$WORK/saved.tar" "$REGISTRY/cuda13-runtime:t"
	run -0 gpuimg lint "$WORK/saved.tar"
}

@test "docker-daemon: hands the image to Docker, with the same diff_ids" {
	stack=$(library_stack cuda13-runtime)
	start_dockerd
	run -0 gpuimg build --offline --no-lint --to docker-daemon:acme/cuda:9 --to "oci:$WORK/image:t" "$stack"
	run -0 docker image inspect --format '{{json .RootFS.Layers}}' acme/cuda:9
	[ "$output" = "$(skopeo inspect --config "oci:$WORK/image:t" | jq -c .rootfs.diff_ids)" ]

	# the linter reads it back out of Docker, and by docker save on standard input
	run gpuimg lint docker-daemon:acme/cuda:9 --output json=daemon
	[ "$status" -le 1 ]
	docker save acme/cuda:9 >saved
	run gpuimg lint - --output json=input <saved
	run gpuimg lint "oci:$WORK/image:t" --output json=layout
	for f in daemon input; do
		jq -c '[.findings[] | del(.layer)]' "$f" | diff - <(jq -c '[.findings[] | del(.layer)]' layout)
		jq -e '.image.layers > 1 and (.summary.unreadable | not)' "$f"
	done
	run -3 gpuimg lint docker-daemon:acme/none:1
}
