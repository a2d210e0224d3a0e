#!/usr/bin/env bats
# init: what it writes is a manifest that resolves, whatever it was made from.

load common

setup() { work; }

@test "a stack.yaml for a framework, a driver and GPUs" {
	run --separate-stderr gpuimg init --framework torch --driver 535 --gpu h100,a100 --name acme/trainer
	[ "$status" -eq 0 ]
	[[ $output == "stack.yaml: torch "*"next: gpuimg lock stack.yaml" ]]
	grep -q '^name: "acme/trainer" ' stack.yaml
	grep -q '^  driver: ">=535" ' stack.yaml
	grep -q '^  gpus: \[h100, a100\] ' stack.yaml
	grep -qE '^  framework: \{ torch: "[0-9]+\.[0-9]+\.\*" \} ' stack.yaml
	gpuimg resolve stack.yaml
}

@test "without anything: the newest CUDA, the folder's name, in a folder that is made" {
	run --separate-stderr gpuimg init "My App"
	[ "$status" -eq 0 ]
	grep -q '^name: "my-app" ' "My App/stack.yaml"
	grep -qE '^  cuda: "[0-9]+\.[0-9]+" ' "My App/stack.yaml"
	gpuimg resolve "My App/stack.yaml"
}

@test "versions are kept as they were asked for" {
	gpuimg init --framework 'torch==2.7.1' --python 3.12 --cuda 12.6
	grep -q '^  framework: { torch: "==2.7.1" } ' stack.yaml
	grep -q '^  python: "3.12" ' stack.yaml
	grep -q '^  cuda: "12.6" ' stack.yaml
	gpuimg resolve stack.yaml | grep -q 'torch  *2.7.1 (cu126)'
}

@test "a stack.yaml that is there stays, unless forced" {
	echo mine >stack.yaml
	run --separate-stderr gpuimg init
	[ "$status" -eq 2 ]
	[[ $stderr == *"stack.yaml: is there already; --force replaces it"* ]]
	[ "$(cat stack.yaml)" = mine ]
	gpuimg init --force
	gpuimg resolve stack.yaml
}

@test "what cannot be is explained, and nothing is written" {
	run --separate-stderr gpuimg init --framework torch=2.9.* --driver 470
	[ "$status" -eq 1 ]
	[[ $output == *"framework.torch"* && $output == *"set driver to"* ]]
	[ ! -e stack.yaml ]
}

@test "what cannot be read is the user's mistake" {
	for wrong in "--framework torhc" "--framework =2" "--framework torch=" "--gpu h1000" "--driver new" "--name Bad/" "--cuda twelve" \
		"--requirements none.txt" "--framework torch --framework torch=2.7.1"; do
		# shellcheck disable=SC2086 # several words
		run --separate-stderr gpuimg init $wrong
		[ "$status" -eq 2 ] || [[ $wrong == *none.txt && $status -eq 3 ]]
		[ -n "$stderr" ]
		[ ! -e stack.yaml ]
	done
}

@test "the frameworks of a requirements file, which is installed" {
	mkdir app
	printf '# needs\nnumpy>=1.26\ntorch == 2.7.1+cu126 ; python_version > "3.8"  # pinned\ntorchvision\n' >app/requirements.txt
	gpuimg init app --requirements app/requirements.txt --driver 535
	grep -q '^  framework: { torch: "==2.7.1" } ' app/stack.yaml
	grep -qE '^ +- \{ requirements: "requirements.txt" \} ' app/stack.yaml
	gpuimg resolve app/stack.yaml | grep -q '^torch  *2.7.1'
}

@test "extras and ranges of a requirements file; an option goes before it" {
	printf 'jax[cuda12]>=0.5,<0.7\ntorch>=2.6\n' >requirements.txt
	gpuimg init --requirements requirements.txt --framework torch=2.7.*
	grep -q 'torch: "2.7.\*", jax: ">=0.5,<0.7"' stack.yaml
	gpuimg resolve stack.yaml
}

@test "a requirements file with hashes pins alone" {
	printf 'torch==2.7.1 \\\n    --hash=sha256:%064d\n' 0 >requirements.txt
	gpuimg init --requirements requirements.txt
	grep -q '^  # framework: { torch: "==2.7.1" } ' stack.yaml
	gpuimg resolve stack.yaml
}

@test "a requirements file elsewhere has to be copied" {
	mkdir app
	echo torch >requirements.txt
	run --separate-stderr gpuimg init app --requirements requirements.txt
	[ "$status" -eq 2 ]
	[[ $stderr == *"lies outside of app"* ]]
}

# An unpacked root with wheels of Python 3.11.
root_with() { # NAME VERSION …
	local dir
	while [ $# -gt 0 ]; do
		dir=root/usr/local/lib/python3.11/dist-packages/$1-$2.dist-info
		mkdir -p "$dir"
		printf 'Metadata-Version: 2.1\nName: %s\nVersion: %s\n' "${1//_/-}" "$2" >"$dir/METADATA"
		shift 2
	done
}

@test "the stack of an unpacked root" {
	root_with torch 2.7.1+cu126 nvidia_cuda_runtime_cu12 12.6.77 numpy 1.26.4
	gpuimg init --from rootfs:root
	grep -q '^  framework: { torch: "2.7.1" } ' stack.yaml
	grep -q '^  python: "3.11" ' stack.yaml
	gpuimg resolve stack.yaml | grep -q '^torch  *2.7.1 (cu126)'
}

@test "the stack of an image: labels, wheels and its command" {
	need umoci
	root_with torch 2.7.1 nvidia_cudnn_cu12 9.5.1.17
	umoci init --layout oci
	umoci new --image oci:t
	umoci config --image oci:t --config.label io.gpuimg.driver='>=535.183.06' --config.label io.gpuimg.gpus=h100,sm_80 \
		--config.cmd python3 --config.cmd train.py
	umoci insert --rootless --image oci:t root /
	gpuimg init --from oci:oci:t
	grep -q '^  driver: ">=535.183.06" ' stack.yaml
	grep -q '^  gpus: \[h100, sm_80\] ' stack.yaml
	grep -q '^  # cudnn: "9.5.1.17" ' stack.yaml
	grep -q '^  # cmd: \["python3", "train.py"\] ' stack.yaml || grep -q '^  # cmd: \[python3, "train.py"\] ' stack.yaml
	gpuimg resolve stack.yaml
}

@test "an image that is not there" {
	run --separate-stderr gpuimg init --from oci:nothing
	[ "$status" -eq 3 ]
	[ ! -e stack.yaml ]
}
