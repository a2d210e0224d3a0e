#!/usr/bin/env bats
# The torch stack from the wheels that people install, some gigabytes, in the order of a user's day.

load common

@test "torch: built twice offline from its lock with one digest, unpacked, scanned, linted" {
	whole_stack torch
	# the one warning is that which the manifest accepts
	[[ $output == *"0 errors, 1 warning"* ]]
	[[ $output == *RUN006* ]]
}

@test "torch: built again, no layer is made" {
	run -0 gpuimg build --store "$LARGE/work/s2" --offline --to "oci:$LARGE/work/a:t" "$STACKS/torch.yaml"
	[[ $output == *"nothing changed"* ]]
}

# CUDA, cuDNN and NCCL, by torch itself.
says_what_the_lock_says() { # RUNNER
	run -0 --separate-stderr "$1" /usr/bin/python3 -c \
		"import torch; print(torch.version.cuda, torch.backends.cudnn.version(), *torch.cuda.nccl.version())"
	read -r cuda cudnn nccl_major nccl_minor nccl_patch <<<"$output"
	[ "$cuda" = "$(jq -r '.stack.cuda | split(".")[:2] | join(".")' "$STACKS/torch.lock.json")" ]
	[ "$cudnn" = "$(number torch cudnn)" ]
	[ "$nccl_major.$nccl_minor.$nccl_patch" = "$(jq -r .stack.nccl "$STACKS/torch.lock.json")" ]
}

@test "torch: says in runc the versions of CUDA, cuDNN and NCCL that the lock says" {
	says_what_the_lock_says in_image
}

@test "torch: numpy is at hand, numbers come out right, and nothing is complained of" {
	run -0 --separate-stderr in_image /usr/bin/python3 -W error -c \
		"import torch; a = torch.arange(6.).reshape(2, 3); print((a @ a.T).numpy().tolist())"
	[ "$output" = "[[5.0, 14.0], [14.0, 50.0]]" ]
	[ -z "$stderr" ]
}

@test "torch: its user is who the manifest says, at home" {
	run -0 in_image /bin/sh -c 'id -u; id -g; id -un; pwd; echo $HOME; touch file && rm file'
	[ "$output" = "$(printf '1000\n1000\napp\n/home/app\n/home/app')" ]
}

@test "torch: pip check is content" {
	pip_is_content
}

@test "torch: the files of every wheel are those of its RECORD" {
	records_hold
}

@test "torch: the load tier passes" {
	load_tier_passes --gpu sm_90 --gpu sm_100
	[[ $output == *"load.cudnn-set"* ]]
}

# From the image as it lies there, as its user; importing torch takes a minute on a busy machine.
@test "torch: the load tier and the commands of the manifest's test.run pass, from the image" {
	run gpuimg test --no-cache --timeout 600 --stack "$STACKS/torch.yaml" -o "json=$LARGE/work/test.json" "oci:$LARGE/work/a:t"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(jq -r '.tests[] | select(.id | startswith("run.user.")) | .status' "$LARGE/work/test.json")" = pass ]
	[ "$(jq '[.tests[] | select(.tier == "load" and .status == "fail")] | length' "$LARGE/work/test.json")" -eq 0 ]
	[ "$(jq '[.tests[] | select(.tier == "load" and .status == "pass")] | length' "$LARGE/work/test.json")" -gt 20 ]
}

@test "torch: says in podman the versions of CUDA, cuDNN and NCCL that the lock says, as the image's user" {
	[ "$(id -u)" -eq 0 ] || skip "needs root for podman's overlay"
	says_what_the_lock_says in_podman
	run -0 --separate-stderr in_podman /bin/sh -c 'id -un; pwd; python3 -c "import torch; print(torch.ones(2, 3).sum().item())"'
	[ "$output" = "$(printf 'app\n/home/app\n6.0')" ]
}
