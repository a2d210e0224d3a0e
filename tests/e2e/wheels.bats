#!/usr/bin/env bats
# Wheels as we install them, beside what pip makes of the same files.

load common

setup() { work; }

setup_file() {
	export IMAGE=$BATS_FILE_TMPDIR/image WHEELS=$BATS_FILE_TMPDIR/wheels
}

# Pure and platform wheels, entry points, scripts, headers, data, a dependency; and pip itself.
REQUESTED='"six", "jmespath==1.0.1", "greenlet", "fonttools", "requests", "nvidia-cuda-runtime==13.0.*", "pip"'

# The image's root file system, and the wheels it was made of in $WHEELS; built once.
built() {
	local lock=$IMAGE/stack.lock.json digest url hex
	[ ! -d "$IMAGE/bundle/rootfs/usr" ] || return 0
	mkdir -p "$IMAGE" "$WHEELS"
	cat >"$IMAGE/stack.yaml" <<-END
		gpuimg: 1
		name: test/wheels
		platforms: [linux/amd64]
		sources:
		  - { id: os, type: apt, from: host }
		  - { id: pip, type: wheels, from: host }
		stages:
		  runtime:
		    profile: base
		    packages:
		      os: [base-files, base-passwd, bash, coreutils, dash, libc-bin, libstdc++6, python3]
		      pip: [$REQUESTED]
	END
	gpuimg lock "$IMAGE/stack.yaml" >&2
	gpuimg build --no-lint --to "oci:$IMAGE/oci:t" "$IMAGE/stack.yaml" >&2
	umoci unpack --image "$IMAGE/oci:t" "$IMAGE/bundle" >&2
	jq -r '.platforms[].inputs[]? | select(.kind == "wheel") | "\(.digest) \(.url)"' "$lock" |
		while read -r digest url; do
			hex=${digest#sha256:}
			url=${url##*/}
			cp "$GPUIMG_STORE/objects/sha256/${hex:0:2}/$hex" "$WHEELS/${url//%2B/+}"
		done
}

need_oracle() {
	need umoci
	[ "$(id -u)" -eq 0 ] || skip "umoci and chroot want root"
	/usr/bin/python3 -m pip --version >/dev/null 2>&1 || skip "the system's python3 has no pip"
}

# What pip installs below ./theirs; the names are those of the manifest.
install_with_pip() {
	local names
	mapfile -t names < <(tr ',' '\n' <<<"$REQUESTED" | tr -d ' "')
	PIP_CONFIG_FILE=/dev/null /usr/bin/python3 -m pip --isolated install --quiet --root "$WORK/theirs" --break-system-packages \
		--no-index --find-links "$WHEELS" --no-compile --ignore-installed --no-warn-script-location \
		--root-user-action=ignore "${names[@]}" >&2
	# a program that pip adds for itself alone
	rm theirs/usr/local/bin/pip3.11
	sed -i '/bin\/pip3\.11,/d' theirs/usr/local/lib/python3.11/dist-packages/pip-*.dist-info/RECORD
}

# One line a file below usr/local and of the headers: mode, SHA-256, path. INSTALLER, RECORD, byte-code and the
# scripts have tests of their own.
listing() { # ROOT
	(cd "$1/usr" && find ./local ./include -type f -not -path './local/cuda-*' -not -name '*.pyc' -not -name INSTALLER -not -name RECORD -not -path './local/bin/*' \
		-exec stat -c '%a %n' {} + -exec sha256sum {} + | sort)
}

# The rows of every RECORD, sorted, without hash and size where they must differ: made scripts
# (another template), INSTALLER.
records() { # ROOT
	(cd "$1/usr/local/lib" && for f in python3*/dist-packages/*.dist-info/RECORD; do
		echo "== $f"
		tr -d '\r' <"$f" | grep -v '\.pyc,' | sed -E 's#^((\.\./)+bin/[^,]*),.*#\1#; s#^([^,]*/INSTALLER),.*#\1#' | sort
	done)
}

# The scripts as what they import and call, or verbatim but for the interpreter.
scripts() { # ROOT
	(cd "$1/usr/local/bin" && for f in *; do
		echo "== $f $(stat -c %a "$f")"
		if grep -q 'sys.exit(' "$f" && [ "$(grep -c . "$f")" -le 8 ]; then
			sed -nE 's/^(from .*)/\1/p; s/^ *(sys\.exit\(.*)/\1/p' "$f"
		else
			sed '1s,^#!.*python.*,#!python,' "$f"
		fi
	done)
}

@test "the files are those pip installs, with the same modes" {
	need_oracle
	built
	install_with_pip
	listing "$IMAGE/bundle/rootfs" >ours
	listing theirs >pips
	[ "$(wc -l <ours)" -gt 500 ]
	diff pips ours
}

@test "RECORD names the same files with the same hashes as pip's" {
	need_oracle
	built
	install_with_pip
	records "$IMAGE/bundle/rootfs" >ours
	records theirs >pips
	[ "$(grep -c '^==' ours)" -ge 10 ]
	diff pips ours
}

@test "scripts and entry points do what pip's do" {
	need_oracle
	built
	install_with_pip
	scripts "$IMAGE/bundle/rootfs" >ours
	scripts theirs >pips
	[ "$(grep -c '^==' ours)" -ge 5 ]
	diff pips ours
}

@test "the site directory is the one the image's Python says" {
	need_oracle
	built
	run -0 chroot "$IMAGE/bundle/rootfs" /usr/bin/python3 -Bc 'import sysconfig as s; p = s.get_paths(s.get_default_scheme()); print(p["purelib"], p["platlib"], p["scripts"])'
	[ "$output" = "/usr/local/lib/python3.11/dist-packages /usr/local/lib/python3.11/dist-packages /usr/local/bin" ]
}

@test "importlib.metadata finds every distribution, and each file is what its RECORD says" {
	need_oracle
	built
	cat >check.py <<-'END'
		import base64, hashlib, importlib.metadata as m
		names = []
		for d in m.distributions():
		    if "/usr/local/" not in str(d.locate_file("")):
		        continue
		    names.append(d.metadata["Name"].lower())
		    assert d.read_text("INSTALLER") == "gpuimg\n"
		    for f in d.files:
		        data = f.locate().read_bytes()
		        if f.hash is None:
		            assert f.name == "RECORD", f
		            continue
		        got = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
		        assert (f.hash.mode, f.hash.value, f.size) == ("sha256", got, len(data)), f
		print(*sorted(names))
	END
	cp check.py "$IMAGE/bundle/rootfs/tmp/check.py"
	run -0 chroot "$IMAGE/bundle/rootfs" /usr/bin/python3 -B /tmp/check.py
	[ "$output" = "certifi charset-normalizer fonttools greenlet idna jmespath nvidia-cuda-runtime pip requests six urllib3" ]
}

@test "pip in the image is content, and the programs run" {
	need_oracle
	built
	run -0 chroot "$IMAGE/bundle/rootfs" /usr/bin/python3 -B -m pip check
	[ "$output" = "No broken requirements found." ]
	run -0 chroot "$IMAGE/bundle/rootfs" /usr/bin/env PYTHONDONTWRITEBYTECODE=1 /usr/local/bin/pip --version
	run -0 chroot "$IMAGE/bundle/rootfs" /usr/bin/env PYTHONDONTWRITEBYTECODE=1 /usr/local/bin/fonttools help
	run -0 chroot "$IMAGE/bundle/rootfs" /usr/bin/python3 -B -c 'import greenlet, requests, fontTools; print("ok")'
	[ "$output" = ok ]
}

# A manifest of nothing but a folder of wheels.
folder_stack() { # PACKAGES
	mkdir -p wheels
	cat >stack.yaml <<-END
		gpuimg: 1
		name: test/folder
		platforms: [linux/amd64]
		stack: { python: "3.11" }
		sources: [ { id: local, type: wheels, path: wheels } ]
		stages: { image: { profile: base, packages: { local: [$1] } } }
	END
}

# A small wheel in ./wheels.
make_wheel() { # NAME VERSION TAG [REQUIRES…]
	mkdir -p wheels
	python3 - "$@" <<-'END'
		import base64, hashlib, sys, zipfile
		name, version, tag, *requires = sys.argv[1:]
		info, rows = f"{name}-{version}.dist-info", []
		files = {f"{name}.py": "x = 1\n",
		         f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + "".join(f"Requires-Dist: {r}\n" for r in requires),
		         f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n"}
		with zipfile.ZipFile(f"wheels/{name}-{version}-{tag}.whl", "w") as z:
		    for path, text in files.items():
		        z.writestr(zipfile.ZipInfo(path), text)
		        rows.append(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')},{len(text)}")
		    z.writestr(zipfile.ZipInfo(f"{info}/RECORD"), "\n".join(rows + [f"{info}/RECORD,,", ""]))
	END
}

need_pip() { python3 -m pip --version >/dev/null 2>&1 || skip "python3 has no pip"; }

@test "a folder of wheels is locked and built without any index" {
	need_pip
	folder_stack '"one"'
	make_wheel one 1.0 py3-none-any two
	make_wheel two 2.0 cp37-abi3-manylinux_2_17_x86_64
	run -0 gpuimg lock stack.yaml
	run -0 jq -r '.platforms[].inputs[] | "\(.name) \(.version) \(.requested // false)"' stack.lock.json
	[ "$output" = $'one 1.0 true\ntwo 2.0 false' ]
	run -0 gpuimg build --offline --no-lint --to oci:out:t stack.yaml
}

@test "hashes of a requirements file are held to" {
	need_pip
	folder_stack '{ requirements: req.txt }'
	make_wheel one 1.0 py3-none-any
	sum=$(sha256sum wheels/one-1.0-py3-none-any.whl | cut -d' ' -f1)
	echo "one==1.0 --hash=sha256:$sum" >req.txt
	run -0 gpuimg lock stack.yaml
	run -0 jq -r '.platforms[].inputs[].digest' stack.lock.json
	[ "$output" = "sha256:$sum" ]
	printf 'one==1.0 \\\n  --hash=sha256:%064d\n' 0 >req.txt
	run -3 gpuimg lock stack.yaml
	[[ $output == *"DO NOT MATCH THE HASHES"* ]]
	make_wheel two 2.0 py3-none-any
	printf 'one==1.0 --hash=sha256:%s\ntwo==2.0\n' "$sum" >req.txt
	run -1 gpuimg lock stack.yaml
	[[ $output == *"Hashes are required"* ]]
}

@test "a requirements file that is missing, or asks for what must be built, is an error with its place" {
	need_pip
	folder_stack '{ requirements: req.txt }'
	run -2 gpuimg lock stack.yaml
	[[ $output == *stack.yaml:6:*requirements:*req.txt* ]]
	printf 'six\n-e .\n' >req.txt
	run -2 gpuimg lock stack.yaml
	[[ $output == *stack.yaml:6:*req.txt:2:*"has to be built"* ]]
}

@test "when no wheel fits, the tags that are offered are named" {
	need_pip
	folder_stack '"one"'
	make_wheel one 1.0 cp310-cp310-win_amd64
	make_wheel one 1.1 cp311-cp311-manylinux_2_39_x86_64
	run -1 gpuimg lock stack.yaml
	[[ $output == *"offered are only"* ]]
	[[ $output == *cp310-cp310-win_amd64* ]]
	[[ $output == *cp311-cp311-manylinux_2_39_x86_64* ]]
}

@test "a conflict names who wants what" {
	need_pip
	folder_stack '"one", "two<2"'
	make_wheel one 1.0 py3-none-any 'two>=2'
	make_wheel two 1.0 py3-none-any
	make_wheel two 2.0 py3-none-any
	run -1 gpuimg lock stack.yaml
	[[ $output == *"one 1.0 depends on two>=2"* ]]
}

@test "an index that cannot be reached is no verdict" {
	need_pip
	folder_stack '"one"'
	sed -i 's|path: wheels|url: "http://127.0.0.1:1/simple"|' stack.yaml
	PIP_RETRIES=0 run -3 gpuimg lock stack.yaml
}
