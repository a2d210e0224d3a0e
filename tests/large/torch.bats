#!/usr/bin/env bats
# The torch stack from the wheels that people install, some gigabytes, in the order of a user's day.

load common

teardown_file() { rm -rf "${GPUIMG_LARGE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gpuimg-large}/work"; }

setup() { STACKS=$LARGE/stacks; }

@test "torch: locked and fetched" {
	locked torch
}

@test "torch: built twice without network from its lock, with one digest; lint lets it pass" {
	built_twice torch
}

@test "torch: built again, no layer is made" {
	run -0 gpuimg build --store "$LARGE/work/s2" --offline --to "oci:$LARGE/work/a:t" "$STACKS/torch.yaml"
	[[ $output == *"nothing changed"* ]]
}

@test "torch: umoci unpacks it" {
	unpacked torch
}

@test "torch: says the versions of CUDA, cuDNN and NCCL that the lock says" {
	run -0 --separate-stderr in_image /usr/bin/python3 -c \
		"import torch; print(torch.version.cuda, torch.backends.cudnn.version(), *torch.cuda.nccl.version())"
	read -r cuda cudnn nccl_major nccl_minor nccl_patch <<<"$output"
	[ "$cuda" = "$(jq -r '.stack.cuda | split(".")[:2] | join(".")' "$STACKS/torch.lock.json")" ]
	[ "$cudnn" = "$(jq -r '.stack.cudnn | split(".") | map(tonumber) | .[0] * 10000 + .[1] * 100 + .[2]' "$STACKS/torch.lock.json")" ]
	[ "$nccl_major.$nccl_minor.$nccl_patch" = "$(jq -r .stack.nccl "$STACKS/torch.lock.json")" ]
}

@test "torch: numpy is at hand, numbers come out right, and nothing is complained of" {
	run -0 --separate-stderr in_image /usr/bin/python3 -W error -c \
		"import torch; a = torch.arange(6.).reshape(2, 3); print((a @ a.T).numpy().tolist())"
	[ "$output" = "[[5.0, 14.0], [14.0, 50.0]]" ]
	[ -z "$stderr" ]
}

@test "torch: the manifest's own test says what it expects" {
	expect=$(jq -r '.stack | "\(.cuda | split(".")[:2] | join("."))"' "$STACKS/torch.lock.json")
	mapfile -t cmd < <(python3 - "$STACKS/torch.yaml" <<'PY'
import re, sys
text = open(sys.argv[1]).read()
print("\n".join(re.search(r'cmd: \[python3, (-c), "([^"]*)"\]\n\s*expect: "', text).groups()))
PY
)
	wanted=$(sed -n 's/^ *expect: "\(.*\)"$/\1/p' "$STACKS/torch.yaml")
	run -0 --separate-stderr in_image /usr/bin/python3 "${cmd[@]}"
	[[ $output == *"$wanted"* ]]
	[[ $output == "$expect"* ]]
}

@test "torch: its user is who the manifest says, at home" {
	run -0 in_image /bin/sh -c 'id -u; id -g; id -un; pwd; echo $HOME; touch file && rm file'
	[ "$output" = "$(printf '1000\n1000\napp\n/home/app\n/home/app')" ]
}

@test "torch: pip check is content" {
	run -0 in_image /usr/bin/env PYTHONPATH=/opt/pip PYTHONDONTWRITEBYTECODE=1 python3 -m pip check
	[[ $output == *"No broken requirements found."* ]]
}

@test "torch: package lists of dpkg, of Python and of inspect are those of the lock" {
	packages_are_those_of torch
}

@test "torch: the files of every wheel are those of its RECORD" {
	records_hold
}

@test "torch: the load tier passes" {
	run -0 gpuimg test --require load --gpu sm_90 --gpu sm_100 "rootfs:$LARGE/work/bundle/rootfs"
	[[ $output != *"fail "* ]]
	[[ $output == *"load.cudnn-set"* ]]
}

@test "torch: lint has no error and one warning, the one that the manifest accepts" {
	run -0 gpuimg lint --fail-on never "oci:$LARGE/work/a:t"
	[[ $output == *"0 errors, 1 warning"* ]]
	[[ $output == *RUN006* ]]
}
