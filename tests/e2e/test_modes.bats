# gpuimg test: every way of starting the probe, what is injected, and who is blamed.

load common
load kernels

setup() {
	work
	need cc jq runc bwrap
	[ -e /lib64/ld-linux-x86-64.so.2 ] || skip "made for x86-64, and no GPU either"
	export GPUIMG_STORE=$WORK/store
	DOUBLE=$(dirname "$GPUIMG")/libcuda-double.so
	# no shell, no passwd, no /tmp, /dev, /proc
	mkdir -p root/lib root/lib64
	cp -L /lib64/ld-linux-x86-64.so.2 root/lib64/
	local libc cudart
	libc=$(dirname "$(cc -print-file-name=libc.so.6)")
	for l in libc.so.6 libdl.so.2 libm.so.6 libpthread.so.0 librt.so.1; do cp -L "$libc/$l" root/lib/; done
	cudart=$(ls /usr/local/cuda/lib64/libcudart.so.1[0-9] 2>/dev/null | tail -n 1)
	if [ -n "$cudart" ]; then
		cp -L "$cudart" root/lib/
	else
		make_cudart
	fi
	CUDART=$(basename root/lib/libcudart.so.*)
}

# A specification for the stand-in of the driver; its nodes are /dev/null.
specification() { # FILE DEVICE-NAME [ENV]
	mkdir -p "$(dirname "$1")"
	cp -n "$DOUBLE" libcuda.so.580.95.05
	cat >"$1" <<-END
		cdiVersion: "0.5.0"
		kind: nvidia.com/gpu
		devices:
		- name: "$2"
		  containerEdits:
		    deviceNodes: [ { path: /dev/nvidia0, hostPath: /dev/null } ]
		containerEdits:
		  env: [ "NVIDIA_VISIBLE_DEVICES=void", "${3:-A=b}" ]
		  deviceNodes: [ { path: /dev/nvidiactl, hostPath: /dev/null } ]
		  mounts:
		  - hostPath: $PWD/libcuda.so.580.95.05
		    containerPath: /usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.580.95.05
		    options: [ ro, nosuid, nodev, rbind, rprivate ]
		  hooks:
		  - hookName: createContainer
		    path: /usr/bin/nvidia-cdi-hook
		    args: [ nvidia-cdi-hook, create-symlinks, --link, "libcuda.so.1::/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so" ]
		  - hookName: createContainer
		    path: /usr/bin/nvidia-cdi-hook
		    args: [ nvidia-cdi-hook, update-ldcache, --folder, /usr/lib/x86_64-linux-gnu/nvidia/current ]
	END
}

status_of() { # ID
	jq -r --arg id "$1" '.tests[] | select(.id == $id) | .status' report.json
}
blame_of() { # ID
	jq -r --arg id "$1" '.tests[] | select(.id == $id) | "\(.code) \(.code_name) \(.blame)"' report.json
}

# A library that is opened because of its name, with a constructor of our choice.
hostile() { # CODE
	printf '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>\n#include <sys/wait.h>\n#include <signal.h>\n__attribute__((constructor)) static void begin(void) { %s }\nint ncclGetVersion(int *v) { *v = 22809; return 0; }\n' "$1" |
		cc -shared -fPIC -w -Wl,-soname,libnccl.so.2 -x c -o root/lib/libnccl.so.2 -
}

@test "test modes: runc, bubblewrap and loader each do it, as root and as a plain user" {
	local m user=
	if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
		user=$(mktemp -d)
		cp -r root "$GPUIMG" "$user/"
		chown -R 1000:1000 "$user"
	fi
	for m in runc bwrap loader; do
		run -0 gpuimg test --mode $m -o json=report.json rootfs:root
		[ "$(jq -r .mode report.json)" = $m ]
		[ "$(status_of "load.version.$CUDART")" = pass ]
		[ -n "$user" ] || continue
		run setpriv --reuid=1000 --regid=1000 --clear-groups env HOME="$user" TMPDIR="$user" GPUIMG_STORE="$user/store" \
			"$user/gpuimg" test --mode $m -o json="$user/report.json" "rootfs:$user/root"
		[ "$status" -eq 0 ] && [ "$(jq -r .mode "$user/report.json")" = $m ] || {
			echo "$m as a plain user: $output"
			rm -rf "$user"
			return 1
		}
	done
	[ -z "$user" ] || rm -rf "$user"
	run -0 gpuimg test -v -o text -o json=report.json rootfs:root
	[ "$(jq -r .mode report.json)" = runc ]
	# nothing of the tree was changed, nor anything left
	[ "$(ls root)" = $'lib\nlib64' ]
}

@test "test modes: what is not possible is said, and the next way is taken" {
	mkdir bin
	printf '#!/bin/sh\necho "this runtime refuses" >&2; exit 1\n' >bin/runc
	chmod +x bin/runc
	PATH=$PWD/bin:$PATH run -0 gpuimg test -v -o text -o json=report.json rootfs:root
	[ "$(jq -r '.passed_over[] | select(.mode == "runc") | .reason' report.json)" = "this runtime refuses" ]
	[[ $output == *"not in mode runc: this runtime refuses"* ]]
	PATH=$PWD/bin:$PATH run -3 gpuimg test --mode runc rootfs:root
	[[ $output == *"mode runc: this runtime refuses"* ]]
}

@test "test modes: podman, on request" {
	[ "$(id -u)" -eq 0 ] || skip "needs root, as a GPU's engine does"
	need podman
	run -0 gpuimg test --engine podman --engine-option=--runtime=runc --engine-option=--ulimit=nofile=1024:1024 \
		--engine-option=--ulimit=nproc=1024:1024 -o json=report.json rootfs:root
	[ "$(jq -r .mode report.json)" = podman ]
	[ "$(status_of "load.$CUDART")" = pass ]
	run -3 gpuimg test --engine docker rootfs:root
	[[ $output == *"docker"* ]]
}

@test "test inject: a specification gives nodes, library, links and cache in every mode" {
	local m
	specification cdi/nvidia.yaml 0
	for m in runc bwrap loader; do
		run gpuimg test --mode $m --cdi-dir cdi -o json=report.json rootfs:root
		[ "$(status_of run.inject)" = pass ]
		[ "$(jq -r '.inject | "\(.method) \(.driver)"' report.json)" = "cdi 580.95.05" ]
		[ $m = loader ] || [ "$(status_of run.nodes)" = pass ]
		jq -e '.tests[] | select(.id == "run.init") | .evidence.library | test("libcuda.so")' report.json
	done
}

@test "test inject: a driver of the image's own that answers is the image's fault" {
	specification cdi/nvidia.yaml 0 GPUIMG_DOUBLE_INIT=803
	mkdir -p root/usr/lib/x86_64-linux-gnu
	cp "$DOUBLE" root/lib/libcuda.so.1
	for m in bwrap loader; do
		run -1 gpuimg test --mode $m --cdi-dir cdi -o json=report.json rootfs:root
		[ "$(status_of load.no-driver)" = fail ]
	done
}

@test "test inject: stale, malformed, too new and doubled specifications" {
	specification cdi/nvidia.yaml 0
	mv libcuda.so.580.95.05 libcuda.so.581.0.0
	run -3 gpuimg test --mode bwrap --cdi-dir cdi -o text -o json=report.json rootfs:root
	[ "$(blame_of run.inject)" = "null stale-spec injection" ]
	[[ $output == *"libcuda.so.580.95.05, which does not exist"* ]]
	mv libcuda.so.581.0.0 libcuda.so.580.95.05
	cp cdi/nvidia.yaml cdi/other.yaml
	run -3 gpuimg test --mode bwrap --cdi-dir cdi rootfs:root
	[[ $output == *"is in cdi/nvidia.yaml and in cdi/other.yaml"* ]]
	run -2 gpuimg test --mode bwrap --cdi-dir cdi --device nvidia.com/gpu=0 rootfs:root
	[[ $output == *"other.yaml"* ]]
	rm cdi/other.yaml
	sed -i 's/0.5.0/1.2.0/' cdi/nvidia.yaml
	run -2 gpuimg test --cdi-dir cdi --device nvidia.com/gpu=0 rootfs:root
	[[ $output == *"cdiVersion 1.2.0 is newer"* ]]
	echo 'kind: [' >cdi/nvidia.yaml
	run -2 gpuimg test --cdi-dir cdi --inject cdi rootfs:root
	[[ $output == *"cdi/nvidia.yaml:"* ]]
	run -2 gpuimg test --cdi-dir cdi --device nonsense rootfs:root
}

@test "test inject: another vendor's devices, by name" {
	mkdir cdi
	echo '{"cdiVersion":"0.6.0","kind":"amd.com/gpu","devices":[{"name":"all","containerEdits":{"deviceNodes":[{"path":"/dev/kfd","hostPath":"/dev/null"}]}}]}' >cdi/amd.json
	# as CDI's own schema has it
	local schema=/usr/share/gocode/src/github.com/container-orchestrated-devices/container-device-interface/schema
	if [ -d "$schema" ]; then
		run -0 python3 -c '
import json, sys, jsonschema
d = sys.argv[1]
schema = json.load(open(d + "/schema.json"))
resolver = jsonschema.RefResolver("file://" + d + "/", schema)
for f in sys.argv[2:]: jsonschema.Draft7Validator(schema, resolver=resolver).validate(json.load(open(f)))' "$schema" cdi/amd.json "$ROOT/tests/fuzz/corpus/cdi/example.json"
	fi
	run -0 gpuimg test --mode bwrap --cdi-dir cdi --device amd.com/gpu=all -o json=report.json rootfs:root
	[ "$(status_of run.nodes)" = pass ]
	[ -z "$(status_of run.init)" ]
}

@test "test: would the image accept that driver?" {
	for m in runc loader; do
		run -1 gpuimg test --mode $m --driver 12.4 -o json=report.json rootfs:root
		[ "$(blame_of "load.driver-what-if.$CUDART")" = "35 CUDA_ERROR_INSUFFICIENT_DRIVER image" ]
		run -0 gpuimg test --mode $m --driver 13.1 rootfs:root
	done
	run -2 gpuimg test --driver 535.104.05 rootfs:root
}

@test "test: commands of the manifest run in the image, and only with its own root" {
	cat >hello.c <<-'END'
		#include <stdio.h>
		int main(int c, char **v) { printf("hello %s\n", c > 1 ? v[1] : "nobody"); return c > 2; }
	END
	mkdir -p root/bin
	cc -o root/bin/hello hello.c
	cat >stack.yaml <<-'END'
		gpuimg: 1
		name: test/it
		platforms: [ linux/amd64 ]
		stages: { runtime: { profile: base } }
		test:
		  require: load
		  run:
		  - { cmd: [ hello, world ], expect: "hello world" }
		  - { cmd: [ hello, world ], expect: "hello moon" }
		  - { cmd: [ hello, a, b ] }
		  - { cmd: [ missing ] }
		  - { cmd: [ hello ], gpu: true }
	END
	for m in runc bwrap; do
		run -1 gpuimg test --mode $m --stack stack.yaml -o json=report.json rootfs:root
		[ "$(for n in 1 2 3 4 5; do status_of run.user.$n; done | tr '\n' ' ')" = "pass fail fail fail skip " ]
		[ "$(blame_of run.user.4)" = "null command-not-found image" ]
	done
	run -3 gpuimg test --mode loader --stack stack.yaml -o json=report.json rootfs:root
	[ "$(jq -r '.tests[] | select(.id == "run.user.1") | .reason' report.json)" = mode-cannot ]
}

@test "test: hostile constructors spoil their own test and no other" {
	local m row code want limit
	for m in bwrap loader; do
		while IFS='|' read -r want code; do
			[[ $m = bwrap || $code = *setsid* || $code = *dprintf* || $code = *"20; i++"* ]] || continue
			hostile "$code"
			limit=60
			[ "$want" != time-limit ] || limit=5 # the other tests have it as well
			run gpuimg test --mode $m --timeout $limit -o json=report.json rootfs:root
			[ "$(jq -r '.tests[] | select(.id == "load.libnccl.so.2") | .code_name // .status' report.json)" = "$want" ] ||
				{ echo "$m: $code"; jq '.tests[] | select(.id == "load.libnccl.so.2")' report.json; return 1; }
			[ "$(status_of "load.version.$CUDART")" = pass ]
			[ "$(status_of load.no-driver)" = pass ]
		done <<-'END'
			time-limit|for (;;) pause();
			crashed|abort();
			ended-early|_exit(0);
			pass|if (fork() == 0) { setsid(); if (fork() == 0) for (;;) sleep(1); _exit(0); }
			pass|static char b[1 << 20]; memset(b, 'x', sizeof(b)); for (int i = 0; i < 1024; i++) write(1, b, sizeof(b));
			ended-early|close(3);
			pass|dprintf(3, "{\"test\":\"load.no-driver\",\"event\":\"result\",\"status\":\"fail\"}\n{\"event\":\"done\"}\nrubbish\n");
			several-results|dprintf(3, "{\"test\":\"load.libnccl.so.2\",\"event\":\"result\",\"status\":\"pass\"}\n");
			time-limit|for (int i = 0; i < 20; i++) if (fork() == 0) for (;;) write(3, "garbage\n", 8); for (;;) pause();
			crashed|kill(0, 9);
		END
	done
	# strays of loader mode are gone too
	! pgrep -f "$WORK.*probe-dir/probe"
}

@test "test: an unpacked image is kept in the store, used again, and made anew when something wrote into it" {
	need umoci
	umoci init --layout image
	umoci new --image image:t
	umoci unpack --rootless --image image:t bundle
	mkdir -p bundle/rootfs/opt
	cp -a root/. bundle/rootfs/
	cp /bin/true bundle/rootfs/opt/setuid
	chmod 4755 bundle/rootfs/opt/setuid
	umoci repack --image image:t bundle
	umoci config --image image:t --config.entrypoint /bin/sleep --config.entrypoint infinity --config.user app
	run -0 gpuimg test -o json=report.json oci:image:t
	[[ $(jq -r '.tests[] | select(.id == "load.loader") | .message' report.json) == *"user 'app' is not in its /etc/passwd"* ]]
	tree=$(echo store/trees/*/root)
	[ -d "$tree" ]
	[ -z "$(find "$tree" -perm -4000)" ]
	before=$(stat -c %Z "$tree/opt/setuid")
	run -0 gpuimg test oci:image:t
	[ "$(stat -c %Z "$tree/opt/setuid")" = "$before" ]
	echo changed >>"$tree/opt/setuid"
	run -0 gpuimg test oci:image:t
	cmp "$tree/opt/setuid" bundle/rootfs/opt/setuid
	run -0 gpuimg store ls
	[[ $output == *"trees "*"images unpacked for gpuimg test"* ]]
	run -0 gpuimg store gc --older-than 0
	[ -z "$(ls store/trees)" ]
	run -0 gpuimg test --no-cache oci:image:t
	[ -z "$(ls store/trees)" ]
}

@test "test: JUnit, against its schema" {
	need xmllint
	hostile 'abort();'
	run -1 gpuimg test -o junit=report.xml -o json=report.json rootfs:root
	xmllint --noout --schema "$ROOT/tests/fixtures/reports/junit.xsd" report.xml
	[ "$(xmllint --xpath 'count(//testcase)' report.xml)" = "$(jq '.tests | length' report.json)" ]
	[ "$(xmllint --xpath 'count(//failure)' report.xml)" = "$(jq .summary.fail report.json)" ]
}
