# gpuimg test emit and collect: jobs that other programs accept, and one report of what comes back.
# (The job for Slurm runs on a real one in `make check-fleet`.)

load common

setup() {
	work
	need cc jq
	[ -e /lib64/ld-linux-x86-64.so.2 ] || skip "made for x86-64, and no GPU either"
	export GPUIMG_STORE=$WORK/store
	mkdir -p root/lib root/lib64
	cp -L /lib64/ld-linux-x86-64.so.2 root/lib64/
	local libc
	libc=$(dirname "$(cc -print-file-name=libc.so.6)")
	for l in libc.so.6 libdl.so.2; do cp -L "$libc/$l" root/lib/; done
	echo 'int cudaRuntimeGetVersion(int *v) { *v = 12060; return 0; } int cudaDriverGetVersion(int *v) { return *v = 0; } int cudaGetDeviceCount(int *n) { return 35; }' |
		cc -shared -fPIC -nostdlib -Wl,-soname,libcudart.so.12 -x c -o root/lib/libcudart.so.12 -
}

@test "test emit: Kubernetes' own schemas accept the job" {
	need_cached kubernetes
	gpuimg test emit rootfs:root --for kubernetes --image-name registry.example.org/app@sha256:$(printf '0%.0s' {1..64}) --nodes 3 --gpus 2 --queue users >job.yaml
	PYTHONPATH=$TEST_CACHE/tools/kubernetes run -0 python3 -m kubernetes_validate --strict job.yaml
	gpuimg test emit rootfs:root --for kubernetes --image-name a:1 --gpus 0 >job.yaml
	PYTHONPATH=$TEST_CACHE/tools/kubernetes run -0 python3 -m kubernetes_validate --strict job.yaml
	! grep -q nvidia.com/gpu: job.yaml
}

@test "test emit: the schema of the Compose specification accepts the job for docker-compose" {
	need_cached check-jsonschema
	gpuimg test emit rootfs:root --for docker-compose --image-name app:1 --gpus 2 --to job
	judged() { PYTHONPATH=$TEST_CACHE/tools/check-jsonschema python3 -m check_jsonschema --builtin-schema vendor.compose-spec "$1"; }
	judged job/compose.yaml
	sed 's/network_mode:/network-mode:/' job/compose.yaml >other.yaml
	run -1 judged other.yaml
}

@test "test emit: what the job carries runs, and its log makes the report" {
	gpuimg test emit rootfs:root --for docker-compose --image-name app:1 --to job
	grep -q 'entrypoint: \["/lib64/ld-linux-x86-64.so.2"\]' job/compose.yaml
	# as two nodes would, one line of one after a line of the other, with times before them
	status=0
	GPUIMG_NODE=a "$PWD/root/lib64/ld-linux-x86-64.so.2" --library-path "$PWD/root/lib" job/gpuimg/probe run job/gpuimg/plan "$PWD/root" 'gpuimg-probe ' >a.log || status=$?
	[ "$status" -eq 3 ] # there is no driver, which is not the image's fault
	sed 's/"node":"a"/"node":"b"/' a.log >b.log
	paste -d '\n' <(sed 's/^/2026-11-30T01:02:03.4Z pod-1 | /' a.log) <(sed 's/^/2026-11-30T01:02:03.5Z pod-2 | /' b.log) >job.log
	echo 'something else' >>job.log
	run -3 gpuimg test collect --nodes 2 -o text -o json=report.json -o junit=report.xml job.log
	[ "$(jq -r '[.nodes[].node] | join(" ")' report.json)" = "a b" ]
	[ "$(jq -r '[.nodes[].report.tests[] | select(.id == "load.version.libcudart.so.12") | .evidence.version] | join(" ")' report.json)" = "12.6 12.6" ]
	[ "$(jq -r '[.nodes[].report.tests[] | select(.id == "run.init") | .blame] | unique | join(" ")' report.json)" = injection ]
	[ "$(jq -r '[.nodes[].report.tests[] | select(.status == "error")] | length' report.json)" = 0 ]
	xmllint --noout --schema "$ROOT/tests/fixtures/reports/junit.xsd" report.xml
}

@test "test collect: reports of gpuimg, missing nodes, logs that end early, and rubbish" {
	gpuimg test --mode loader -o json=node7.json rootfs:root
	run -0 gpuimg test collect node7.json
	[[ $output == *"node7.json: "* ]]
	run -3 gpuimg test collect --nodes 2 node7.json
	[[ $output == *"1 of 2 nodes have answered"* ]]
	gpuimg test emit rootfs:root --for docker-compose --image-name app:1 --to job
	"$PWD/root/lib64/ld-linux-x86-64.so.2" --library-path "$PWD/root/lib" job/gpuimg/probe run job/gpuimg/plan "$PWD/root" 'gpuimg-probe ' >log || true
	sed '/"test":"load.version/,$d' log >cut.log
	run -3 gpuimg test collect -o json=report.json cut.log
	[ "$(jq -r '[.nodes[].report.tests[] | select(.status == "error")] | length > 0' report.json)" = true ]
	head -c 100000 /dev/urandom >rubbish
	run -3 gpuimg test collect rubbish
	echo '{"schema":"other"}' >other.json
	run -3 gpuimg test collect other.json
	run -3 gpuimg test collect absent.log
	run -2 gpuimg test collect
}

@test "test emit: what a scheduler would refuse is refused here" {
	run -2 gpuimg test emit rootfs:root
	run -2 gpuimg test emit rootfs:root --for kubernetes --name 'Not a name'
	run -2 gpuimg test emit rootfs:root --for slurm --rootfs relative/path
	run -2 gpuimg test emit rootfs:root --for slurm --queue "a b"
	run -2 gpuimg test emit --for slurm
	gpuimg test emit rootfs:root --for slurm --image-name registry.example.org/it/app:1 >job.sh
	sh -n job.sh
	grep -q "^image='registry.example.org#it/app:1'" job.sh
}

@test "test emit: the Slurm job takes pyxis where srun has its options" {
	need bwrap python3
	gpuimg test emit rootfs:root --for slurm --gpus 0 --image-name registry.example.org/it/app:1 >job.sh
	mkdir -p bin images submit
	cp -r root images/registry.example.org_it_app_1
	ln -s "$ROOT/tests/fleet/srun-pyxis" bin/srun
	export PYXIS_NODES="n1 n2" PYXIS_IMAGES=$PWD/images PYXIS_LOG=$PWD/runs SLURM_JOB_ID=7 SLURM_SUBMIT_DIR=$PWD/submit
	PATH=$PWD/bin:$PATH sh job.sh >job.log 2>job.err || status=$?
	[ "${status:-0}" -eq 3 ] || { cat job.log job.err; return 1; } # no driver
	run -3 gpuimg test collect --nodes 2 -o json=report.json job.log
	[ "$(jq -r '[.nodes[].node] | join(" ")' report.json)" = "n1 n2" ]
	[ "$(jq -r '[.nodes[].report.tests[] | select(.id == "load.version.libcudart.so.12") | .status] | join(" ")' report.json)" = "pass pass" ]
	[ "$(jq -r '[.nodes[].report.tests[] | select(.id == "run.init") | .blame] | unique | join(" ")' report.json)" = injection ]
	[ "$(jq -r '"\(.container_image) \(.container_readonly) \(.no_container_mount_home) \(.no_container_entrypoint) \(.label)"' runs)" = "registry.example.org#it/app:1 true true true true" ]
	[ -z "$(ls submit)" ]
	# an image that pyxis cannot get, and a cluster without it
	sed 's/app:1/app:2/' job.sh >other.sh
	PATH=$PWD/bin:$PATH run -1 sh other.sh
	[[ $output == *"failed to import docker image"* ]]
	printf '#!/bin/sh\necho "Usage: srun"\n' >plain
	chmod +x plain
	rm bin/srun
	mv plain bin/srun
	PATH=$PWD/bin:$PATH run -3 sh job.sh
	[[ $output == *"has no pyxis"* ]]
}
