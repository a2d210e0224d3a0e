#!/usr/bin/env bats
# Python packages: what the solver settled is what is locked; lock files of other tools; private indexes.

load common

setup() {
	work
	mkdir wheels
}

teardown() {
	[ -z "${SERVER_PID:-}" ] || kill "$SERVER_PID" 2>/dev/null || true
}

# An empty wheel below wheels/, with what it requires.
wheel() { # NAME VERSION TAGS [REQUIRES]...
	python3 - "$@" <<-'END'
		import sys, zipfile
		name, version, tags, *requires = sys.argv[1:]
		name = name.replace("-", "_")
		info = f"{name}-{version}.dist-info"
		meta = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
		for r in requires:
		    if "extra ==" in r:
		        extra = r.split("extra ==")[1].strip(" '\"")
		        if f"Provides-Extra: {extra}\n" not in meta:
		            meta += f"Provides-Extra: {extra}\n"
		    meta += f"Requires-Dist: {r}\n"
		with zipfile.ZipFile(f"wheels/{name}-{version}-{tags}.whl", "w") as z:
		    z.writestr(f"{info}/METADATA", meta)
		    z.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tags}\n")
		    z.writestr(f"{info}/RECORD", f"{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
	END
}

manifest() { # SOURCE STACK PACKAGES
	cat >stack.yaml <<-END
		gpuimg: 1
		name: test/python
		stack: { $2 }
		sources:
		  - { id: pip, type: wheels, $1 }
		stages:
		  runtime:
		    profile: runtime
		    packages: { pip: [$3] }
	END
}

# Wheels as JAX 0.8.3 and what it may be combined with; of each there is a newer one than the tables know.
jax_wheels() {
	wheel jax 0.8.3 py3-none-any "jax-cuda12-plugin==0.8.3; extra == 'cuda12'"
	wheel jax 0.8.99 py3-none-any "jax-cuda12-plugin==0.8.3; extra == 'cuda12'"
	wheel jax-cuda12-plugin 0.8.3 cp311-cp311-manylinux_2_27_x86_64 "nvidia-cuda-runtime-cu12>=12.1.105" "nvidia-cudnn-cu12>=9.8,<10" "nvidia-nccl-cu12>=2.18.1"
	for v in 12.8.90 12.9.79 12.10.1; do wheel nvidia-cuda-runtime-cu12 "$v" py3-none-manylinux_2_17_x86_64; done
	for v in "$1" 9.99.0.1; do wheel nvidia-cudnn-cu12 "$v" py3-none-manylinux_2_27_x86_64; done
	for v in "$2" 2.99.1; do wheel nvidia-nccl-cu12 "$v" py3-none-manylinux_2_18_x86_64; done
}

@test "the lock's stack is what resolve says, where newer packages would fit as well" {
	manifest "path: wheels" 'driver: ">=535", gpus: [a100], cuda: "12", framework: { jax: "0.8.*" }, python: "3.11"' ""
	gpuimg resolve --output json stack.yaml >resolve.json
	jax_wheels "$(jq -r '.platforms[0].cudnn' resolve.json)" "$(jq -r '.platforms[0].nccl' resolve.json)"
	gpuimg lock stack.yaml
	[ "$(jq -r '.stack.cuda' stack.lock.json)" = "$(jq -r '.platforms[0].cuda' resolve.json | cut -d. -f1,2)" ]
	for key in cudnn nccl; do
		[ "$(jq -r ".stack.$key" stack.lock.json)" = "$(jq -r ".platforms[0].$key" resolve.json)" ]
	done
	[ "$(jq -r '.platforms[].inputs[] | select(.name == "jax").version' stack.lock.json)" = 0.8.3 ]
	[ "$(jq -c '[.stack.cuda_release, .stack.frameworks]' stack.lock.json)" = '["12.9.1",{"jax":"0.8.3"}]' ]
	[ "$(jq -r '.platforms[].inputs[] | select(.name == "nvidia-cuda-runtime-cu12").version' stack.lock.json)" = 12.9.79 ]
	[ "$(jq -r '.platforms[].inputs[].name' stack.lock.json | grep -c plugin)" -eq 1 ] # the extra of the build
}

@test "a source without what the solver settled is refused, with what it has" {
	manifest "path: wheels" 'driver: ">=535", gpus: [a100], cuda: "12", framework: { jax: "0.8.*" }, python: "3.11"' ""
	jax_wheels 9.9.0.52 2.99.0
	run --separate-stderr gpuimg lock stack.yaml
	[ "$status" -eq 1 ]
	[[ $stderr == *"source pip has no set of wheels with what the solver settled: "* ]]
	[[ $stderr == *"jax 0.8.3 (without that pip would take 0.8.99)"* ]]
	[[ $stderr == *"nvidia-cudnn-cu12 9."*"(without that pip would take 9.99.0.1)"* ]]
	[ ! -e stack.lock.json ]
}

@test "another build of a framework than the solver chose is refused, and named" {
	manifest "path: wheels" 'gpus: [h100], framework: { torch: "2.7.*" }, python: "3.11"' ""
	wheel torch 2.7.1 cp311-cp311-manylinux_2_28_x86_64 "nvidia-cuda-runtime-cu11==11.8.89"
	wheel nvidia-cuda-runtime-cu11 11.8.89 py3-none-manylinux_2_17_x86_64
	run --separate-stderr gpuimg lock stack.yaml
	[ "$status" -eq 1 ]
	[[ $stderr == *'the solver says CUDA 12.8, and source pip gives nvidia-cuda-runtime-cu11 11.8.89; set stack.cuda to "11.8", or name a source that has the cu128 build'* ]]
}

@test "the Python that the packages bring decides which release of a framework is taken" {
	need gpg dpkg-deb
	mkdir -p repo tree/DEBIAN
	printf 'Package: python3.11-minimal\nVersion: 3.11.2-6\nArchitecture: amd64\nMaintainer: T <t@example.org>\nDescription: python\n' >tree/DEBIAN/control
	dpkg-deb --root-owner-group -Znone -b tree repo/python3.11-minimal_3.11.2-6_amd64.deb >/dev/null
	sign_repository repo
	cat >stack.yaml <<-END
		gpuimg: 1
		name: test/python
		stack: { driver: ">=550.54.14", cuda: "12", framework: { jax: ">=0.10.2" } }
		sources:
		  - { id: os, type: apt, url: "file://$PWD/repo/", suite: "./", signed-by: repo/key.gpg }
		  - { id: pip, type: wheels, path: wheels }
		stages: { runtime: { packages: { os: [python3.11-minimal] } } }
	END
	gpuimg resolve --output json stack.yaml >newest.json # needs Python 3.12
	[ "$(jq -r '.platforms[0].frameworks[0].version' newest.json)" != 0.10.2 ]
	gpuimg resolve --set stack.python=3.11 --output json stack.yaml >resolve.json
	wheel jax 0.10.2 py3-none-any
	wheel jax 0.11.0 py3-none-any
	wheel nvidia-cudnn-cu12 "$(jq -r '.platforms[0].cudnn' resolve.json)" py3-none-manylinux_2_27_x86_64
	run --separate-stderr -0 gpuimg lock stack.yaml
	[ "$(grep -c 'older than CUDA 12' <<<"$stderr")" -eq 1 ] # each warning once
	[ "$(jq -r '.stack.python' stack.lock.json)" = 3.11 ]
	[ "$(jq -r '.platforms[].inputs[] | select(.name == "jax").version' stack.lock.json)" = 0.10.2 ]
	[ "$(jq -r '.platforms[].inputs[].name' stack.lock.json | sort | uniq -d | wc -l)" -eq 0 ]
}

@test "a range of Pythons comes to the one that the solver chose" {
	manifest "path: wheels" 'python: ">=3.10", framework: { torch: "2.6.*" }' ""
	wheel torch 2.6.0 cp313-cp313-manylinux_2_28_x86_64
	gpuimg resolve stack.yaml | grep -qx 'python      3.13'
	gpuimg lock stack.yaml
	[ "$(jq -r '.stack.python' stack.lock.json)" = 3.13 ]
	sed -i 's/3.10/3.14/' stack.yaml
	run -1 gpuimg lock stack.yaml
}

@test "no wheel for the platform: which tags there are, and which are taken" {
	manifest "path: wheels" 'python: "3.11"' '"only==1.0"'
	wheel only 1.0 cp312-cp312-manylinux_2_17_x86_64
	wheel only 1.0 cp311-cp311-win_amd64
	run --separate-stderr gpuimg lock stack.yaml
	[ "$status" -eq 1 ]
	[[ $stderr == *"offered are only "* && $stderr == *"cp312-cp312-manylinux_2_17_x86_64"* && $stderr == *"cp311-cp311-win_amd64"* ]]
	[[ $stderr == *"taken are cp311-cp311, abi3 of cp311 and older, py3-none; manylinux_2_28_x86_64 and older"* ]]
}

# A python3 that says no, found before the real one.
without_pip() {
	mkdir -p bin
	printf '#!/bin/sh\nexit 97\n' >bin/python3
	chmod +x bin/python3
	PATH=$WORK/bin:$PATH
}

pylock_package() { # NAME VERSION FILE
	printf '[[packages]]\nname = "%s"\nversion = "%s"\n[[packages.wheels]]\npath = "wheels/%s"\nurl = "https://files.example.org/%s"\n' "$1" "$2" "$3" "$3"
	printf '[packages.wheels.hashes]\nsha256 = "%s"\n' "$(sha256sum "wheels/$3" | cut -d' ' -f1)"
}

@test "pylock.toml is taken as it stands, without pip and without a network" {
	wheel one 1.0 py3-none-any
	wheel two 2.0 cp311-abi3-manylinux_2_17_x86_64
	{
		printf 'lock-version = "1.0"\ncreated-by = "test"\nrequires-python = ">=3.9"\n'
		pylock_package one 1.0 one-1.0-py3-none-any.whl
		pylock_package two 2.0 two-2.0-cp311-abi3-manylinux_2_17_x86_64.whl
		printf '[[packages]]\nname = "three"\nmarker = "sys_platform == '"'win32'"'"\n'
	} >pylock.toml
	manifest "from: host" 'python: "3.11"' '"one>=1", { requirements: pylock.toml }'
	without_pip
	gpuimg lock --store s stack.yaml
	[ "$(jq -r '.platforms[].inputs[] | .name + " " + .version' stack.lock.json | sort | paste -sd,)" = "one 1.0,two 2.0" ]
	[ "$(jq -r '.platforms[].inputs[] | select(.name == "one").digest' stack.lock.json)" = "sha256:$(sha256sum wheels/one-* | cut -d' ' -f1)" ]
	gpuimg fetch --store s stack.yaml
	gpuimg lock --store s --check stack.yaml
	sed -i 's/created-by = "test"/created-by = "other"/' pylock.toml
	run --separate-stderr gpuimg build --store s --offline --to oci:out:t stack.yaml
	[ "$status" -eq 2 ]
	[[ $stderr == *"./pylock.toml"* ]] # the lock is stale, and says by what
}

@test "a pylock.toml that would need a build is refused with its place" {
	printf 'lock-version = "1.0"\ncreated-by = "test"\n[[packages]]\nname = "a"\nversion = "1"\nsdist = { url = "https://files.example.org/a-1.tar.gz" }\n' >pylock.toml
	manifest "from: host" 'python: "3.11"' '{ requirements: pylock.toml }'
	run --separate-stderr gpuimg lock stack.yaml
	[ "$status" -eq 2 ]
	[[ $stderr == *"pylock.toml:6:9: a would have to be built from its source (sdist)"* ]]
}

private_index() { # prints nothing; sets PORT
	python3 "$ROOT/tests/support/index_server.py" wheels me "$SECRET" >port 3>&- &
	SERVER_PID=$!
	wait_for said_or_ended $SERVER_PID test -s port
	PORT=$(cat port)
}

@test "a private index: its credentials serve pip, sizes and downloads, and are nowhere afterwards" {
	SECRET=s3cr3t-of-the-index
	wheel dep 1.0 py3-none-any
	wheel app 1.0 py3-none-any "dep>=1"
	private_index
	manifest "from: host" 'python: "3.11"' app
	unset PIP_FIND_LINKS PIP_EXTRA_INDEX_URL
	export PIP_INDEX_URL="http://me:$SECRET@127.0.0.1:$PORT/simple/" HOME=$WORK PIP_TRUSTED_HOST=127.0.0.1
	gpuimg lock -v --store s stack.yaml >said 2>&1
	gpuimg fetch -v --store s stack.yaml >>said 2>&1
	[ "$(jq -r '.platforms[].inputs[].name' stack.lock.json | paste -sd,)" = app,dep ]
	# without them, the server's refusal is told; with those of netrc it goes again
	unset PIP_INDEX_URL
	run --separate-stderr gpuimg fetch --store s2 stack.yaml
	[ "$status" -eq 3 ]
	[[ $stderr == *401* ]]
	printf 'machine 127.0.0.1 login me password %s\n' "$SECRET" >.netrc
	gpuimg fetch --store s2 stack.yaml >>said 2>&1
	# a wrong password is in no text either
	export PIP_INDEX_URL="http://me:wrong-$SECRET@127.0.0.1:$PORT/simple/"
	run gpuimg lock -v --store s3 stack.yaml
	[ "$status" -ne 0 ]
	printf '%s\n' "$output" >>said
	! grep -rqF "$SECRET" said stack.lock.json s s2 s3
}

@test "init takes the frameworks of a pylock.toml" {
	printf 'lock-version = "1.0"\ncreated-by = "test"\n[[packages]]\nname = "torch"\nversion = "2.7.1+cu126"\n[[packages]]\nname = "numpy"\nversion = "2.0"\n' >pylock.toml
	gpuimg init --requirements pylock.toml --driver 535 --gpu h100 --python 3.12
	grep -q 'requirements: "pylock.toml"' stack.yaml
	grep -qE '^  framework: \{ torch: "==2\.7\.1" \}' stack.yaml
	grep -q '^  python: "3.12"' stack.yaml
	run -0 gpuimg resolve stack.yaml
	[[ $output == *"torch       2.7.1 (cu126)"* ]]
}

@test "a pylock.toml as the argument of init" {
	printf 'lock-version = "1.0"\ncreated-by = "test"\n[[packages]]\nname = "torch"\nversion = "2.7.1"\n' >pylock.toml
	gpuimg init pylock.toml
	grep -q 'requirements: "pylock.toml"' stack.yaml
}
