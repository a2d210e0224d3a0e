#!/usr/bin/env bats
# What gpuimg pushed, pulled by Docker's own daemon, started by hand with folders of its own, and what
# that pushed, pulled by gpuimg.

load common
load registry
load kernels

setup() { work; }

answers() { docker info >/dev/null 2>&1; }

start_dockerd() {
	need dockerd docker
	[ "$(id -u)" -eq 0 ] || skip "dockerd needs root"
	DOCKER=$(mktemp -d /tmp/gpuimg-dockerd.XXXXXX) # socket paths are short
	dockerd --data-root "$DOCKER/data" --exec-root "$DOCKER/exec" --pidfile "$DOCKER/pid" \
		-H "unix://$DOCKER/sock" --storage-driver vfs --iptables=false --ip6tables=false \
		--bridge=none >"$DOCKER/log" 2>&1 3>&- &
	DOCKERD_PID=$!
	export DOCKER_HOST=unix://$DOCKER/sock
	wait_for said_or_ended $DOCKERD_PID answers
	answers || { tail -n 20 "$DOCKER/log" >&2; return 1; }
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

	# what it pushes is ours byte for byte, and goes on as it is
	docker tag "$REGISTRY/cuda13-runtime:t" "$REGISTRY/theirs:t"
	run -0 docker push -q "$REGISTRY/theirs:t"
	curl -sf -o theirs.json -H 'Accept: application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json' "http://$REGISTRY/v2/theirs/manifests/t"
	run -0 --separate-stderr gpuimg pull "$REGISTRY/theirs:t" "oci:$WORK/theirs:t"
	[ "$output" = "sha256:$(sha256sum <theirs.json | cut -d' ' -f1)" ]
	[ "$(jq -c .rootfs.diff_ids "$WORK/theirs/blobs/sha256/$(jq -r .config.digest theirs.json | cut -d: -f2)")" = "$(skopeo inspect --config "oci:$WORK/image:t" | jq -c .rootfs.diff_ids)" ]
	for blob in $(jq -r '.config.digest, .layers[].digest' theirs.json); do
		[ "$(sha256sum <"$WORK/theirs/blobs/sha256/${blob#sha256:}" | cut -d' ' -f1)" = "${blob#sha256:}" ]
	done
	run -0 gpuimg push "oci:$WORK/theirs:t" "docker://$REGISTRY/again:t"
	curl -sf -H 'Accept: application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json' "http://$REGISTRY/v2/again/manifests/t" | cmp - theirs.json
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

@test "docker: an image that it holds is tested by gpuimg test, also one that misbehaves" {
	need cc jq
	[ -e /lib64/ld-linux-x86-64.so.2 ] || skip "made for x86-64, and no GPU either"
	start_dockerd
	make_root
	echo 'int cudaRuntimeGetVersion(int *v) { *v = 12060; return 0; }' |
		cc -shared -fPIC -nostdlib -Wl,-soname,libcudart.so.12 -x c -o root/lib/libcudart.so.12 -
	# prints what looks like results, and leaves a process behind
	printf '#include <stdio.h>\n#include <unistd.h>\n__attribute__((constructor)) static void begin(void) { puts("gpuimg-probe {\\"test\\":\\"load.libcudart.so.12\\",\\"event\\":\\"result\\",\\"status\\":\\"fail\\"}"); fflush(stdout); if (!fork()) { setsid(); for (;;) sleep(1); } }\nint ncclGetVersion(int *v) { *v = 22809; return 0; }\n' |
		cc -shared -fPIC -w -Wl,-soname,libnccl.so.2 -x c -o root/lib/libnccl.so.2 -
	tar -C root -c . | docker import --change 'ENTRYPOINT ["/bin/sleep","infinity"]' - acme/root:1
	run -0 gpuimg test --engine docker --driver 12.4 -o json=report.json docker-daemon:acme/root:1
	[ "$(jq -r .mode report.json)" = docker ]
	[ "$(status_of load.version.libcudart.so.12)" = pass ]
	[ "$(status_of load.libcudart.so.12)" = pass ]
	[ "$(status_of load.libnccl.so.2)" = pass ]
	[ "$(jq -r '.tests[] | select(.id == "load.driver-what-if") | .reason' report.json)" = mode-cannot ]
	[ -z "$(docker ps -aq)" ]
	# what docker does not hold, it cannot run
	run -3 gpuimg test --engine docker rootfs:root
	[[ $output == *"docker runs only images that it holds"* ]]
}
