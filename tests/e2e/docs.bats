# The commands of the guides run, in their order, in a fresh folder. A page's blocks: ```yaml whose
# first line is "# NAME" is the file NAME; ```sh are commands; of ```console the lines after "$ ", and
# what "$ cat NAME" shows is the file NAME. A command whose comment says "status N" ends with N.

load common
load registry

setup() {
	work
	mkdir bin && ln -s "$GPUIMG" bin/gpuimg
	PATH=$WORK/bin:$PATH
	export HOME=$WORK XDG_RUNTIME_DIR=$WORK/run DOCKER_CONFIG=$WORK/.docker XDG_STATE_HOME=$WORK/state
	unset REGISTRY_AUTH_FILE DOCKER_AUTH_CONFIG GPUIMG_AUTH_FILE
}

teardown() {
	stop_registry
	[ -z "${MIRROR_PID:-}" ] || kill "$MIRROR_PID" 2>/dev/null || true
}

# A page as a script; hosts that stand for anybody's are the registry of this test.
script_of() { # PAGE.md
	awk '/^```/ { if (file != "") { print "GUIDE-END"; file = "" } block = block == "" ? substr($0, 4) : ""; first = 1; next }
	     block == "yaml" && first { first = 0; if ($0 ~ /^# [a-z0-9.-]+$/) { file = $2; print "cat >" file " <<\"GUIDE-END\"" } }
	     block == "yaml" && file != "" { print }
	     block == "console" && file != "" { if ($0 != "") { print; next } print "GUIDE-END"; file = "" }
	     block == "console" && /^\$ / {
	         print "cat <<\"GUIDE-END\"\n" $0 "\nGUIDE-END"; sub(/^\$ /, "")
	         if ($1 == "cat") { file = $2; print "cat >" file " <<\"GUIDE-END\"" } else command($0) }
	     block == "sh" { command($0) }
	     function command(line) {
	         if (line !~ /# .*status [123]/) { print line; return }
	         want = line; sub(/.*status /, "", want); sub(/[^0-9].*/, "", want); sub(/ *# .*/, "", line)
	         print "code=0; " line " || code=$?; [ $code -eq " want " ] || [ -e /dev/nvidiactl ]" }' "$ROOT/$1" |
		sed -E "s/registry\.example\.org|127\.0\.0\.1:5000|nvcr\.io|ghcr\.io|quay\.io|harbor\.example\.org|[a-z0-9.-]+\.(pkg\.dev|azurecr\.io|amazonaws\.com)/$REGISTRY/g; s/mirror\.example\.org/${MIRROR:-}/g"
}

runs() { # PAGE.md COMMANDS-AT-LEAST
	script_of "$1" >guide.sh
	[ "$(grep -cE '\<gpuimg [a-z-]|^(code=0; )?(tar|cp) ' guide.sh)" -ge "$2" ]
	sh -eux guide.sh
}

# The image that guides speak of: oci:out/app:1.0, app.tar, the folder "image", and its manifest.
made() {
	script_of docs/quick-start.md | sed -n '/^cat >stack.yaml/,/^GUIDE-END/p' >stack.sh
	sh stack.sh
	printf 'test:\n  run: [ { cmd: [bash, -c, echo hello], expect: hello } ]\n' >>stack.yaml
	gpuimg lock stack.yaml
	gpuimg fetch stack.yaml
	gpuimg build --offline --to oci:out/app:1.0 --to oci:out/trainer:2.3 --to oci-archive:app.tar --to docker-archive:saved.tar --to rootfs:image stack.yaml
}

program() { # NAME TEXT: in place of one that is not here
	printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"
	chmod +x "bin/$1"
}

@test "docs: the session of the README runs, and prints what stands there" {
	start_registry
	export GPUIMG_STORE=$WORK/store # as on the first day
	script_of README.md >guide.sh
	awk '/^```/ { block = block == "" ? substr($0, 4) : ""; next } block == "console" { print }' "$ROOT/README.md" >shown
	[ "$(grep -c '^\$ gpuimg' shown)" -ge 6 ]
	sh -eu guide.sh >printed 2>&1 || { cat printed; return 1; }
	# Numbers, digests and columns differ; "…" is whatever follows.
	python3 - shown printed "$REGISTRY" <<-'END'
		import os, re, sys
		shown, printed = (open(name).read() for name in sys.argv[1:3])
		def plain(text):
		    text = re.sub(r"(?m)^\w+: .* [0-9]+%$", "", text)  # how far it is, where that takes seconds
		    text = text.replace(sys.argv[3], "registry.example.org")
		    text = re.sub(r"sha256:[0-9a-f]+", "DIGEST", re.sub(r"sha256:[0-9a-f]+…(?=\s)", "DIGEST", text))
		    text = re.sub(r"[0-9]+(\.[0-9]+)? (KiB|MiB|B)\b", "SIZE", text)
		    text = re.sub(r"in [0-9.]+ s\b", "in TIME", text)
		    text = re.sub(r"\b[0-9]+ (inputs|fetched|actions|of|skipped|rules|layers)", r"N \1", text)
		    text = re.sub(r"(fetched now|N of|ran|the) [0-9]+\b", r"\1 N", text)
		    return [re.sub(r" +", " ", line).strip() for line in text.split("\n") if line.strip()]
		shown, printed = plain(re.sub(r"(?s)(\$ cat \S+\n).*?\n\n", r"\1\n", shown)), plain(printed)
		if os.path.exists("/dev/nvidiactl"):  # there "test" says more
		    cut = lambda lines: [l for i, l in enumerate(lines) if not any(w.startswith("$ gpuimg test") for w in lines[:i]) or l.startswith("$")]
		    shown, printed = cut(shown), cut(printed)
		assert len(shown) == len(printed), (shown, printed)
		for want, got in zip(shown, printed):
		    if got != want and not (want.endswith("…") and got.startswith(want[:-1])):
		        sys.exit(f"the README shows: {want}\nprinted was:       {got}")
	END
}

@test "docs: the quick start runs as it stands" {
	start_registry
	runs docs/quick-start.md 14
	[ -s out/index.json ]
}

@test "docs: the guide to building without a network runs as it stands" {
	start_registry
	runs docs/air-gapped.md 10
	[ -s again.tar ]
}

@test "docs: the guide to signing runs as it stands" {
	start_registry
	runs docs/signing.md 16
	[ -s tool.spdx.json ]
}

@test "docs: the commands for sources, layers, SBOMs, lint, its policy and what fits run as they stand" {
	REGISTRY=
	made
	program docker '[ "$1" = save ] && cat saved.tar'
	runs docs/compatibility.md 4
	runs docs/layers.md 2
	runs docs/building.md 5
	[ -s app.cdx.json ]
	awk '/^```/ { block = block == "" ? substr($0, 4) : ""; next } block == "yaml" { print }' "$ROOT/docs/lint-policy.md" >policy.yaml
	grep -q gpuimg-policy policy.yaml
	run -1 gpuimg lint --policy policy.yaml oci:out/app:1.0
	[[ $output == *POL001* ]]
	runs docs/lint.md 8
	[ -s app.sarif ]
}

@test "docs: the guide to testing runs as it stands" {
	need bwrap jq xmllint
	start_registry
	made
	gpuimg push oci:out/app:1.0 "docker://$REGISTRY/app:1.0"
	# the nodes of a cluster: the job's probe runs in the image's files, by what stands in for kubectl
	gpuimg test emit oci:out/app:1.0 --for docker-compose --image-name app:1 --to nodes
	program kubectl 'case $1 in
		apply) [ -s "$3" ] ;;
		logs) for node in a b c d; do
			bwrap --bind image / --ro-bind nodes /mnt --proc /proc --dev /dev --setenv GPUIMG_NODE $node \
				/lib64/ld-linux-x86-64.so.2 /mnt/gpuimg/probe run /mnt/gpuimg/plan "" "gpuimg-probe "
			done; exit 0 ;;
		esac'
	runs docs/testing.md 7
	[ "$(jq -r '.tests[] | select(.id == "load.loader") | .status' report.json)" = pass ]
	xmllint --noout report.xml fleet.xml
}

@test "docs: the commands for registries run as they stand, each service played by one of ours" {
	start_registry
	MIRROR=$REGISTRY MIRROR_PID=$REGISTRY_PID
	start_registry
	made
	runs docs/registry.md 7
	[ -n "$(digest_of trainer 2.3)" ]
	# one by one, with users as the services want them
	stop_registry
	start_registry_auth '$oauthtoken' s3cret-canary
	for user in 'robot$ml+ci' AWS oauth2accesstoken _json_key ci acme+ci 00000000-0000-0000-0000-000000000000; do
		htpasswd -Bb "$BATS_TEST_TMPDIR/htpasswd" "$user" s3cret-canary 2>/dev/null
	done
	export NGC_API_KEY=s3cret-canary GITHUB_TOKEN=s3cret-canary
	for tool in aws gcloud az; do program $tool 'echo s3cret-canary'; done
	for file in robot-secret key.json token; do echo s3cret-canary >$file; done
	script_of docs/registries.md >guide.sh # not -x, which would print the password
	[ "$(grep -c 'gpuimg ' guide.sh)" -ge 9 ]
	sh -eu guide.sh
}

@test "docs: commands, options and make targets that pages name are there" {
	python3 - "$ROOT" "$GPUIMG" <<-'END'
		import glob, os, re, subprocess, sys
		root, gpuimg = sys.argv[1:3]
		help_of = {}
		def help(*words):
		    if words not in help_of:
		        done = subprocess.run([gpuimg, *words, "--help"], stdout=subprocess.PIPE, text=True)
		        help_of[words] = done.stdout if done.returncode == 0 else None
		    return help_of[words]
		targets = set(re.findall(r"^([a-z][a-z0-9-]*):", open(f"{root}/Makefile").read(), re.M))
		pages = [f"{root}/{name}" for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "packaging/README.md", "integrations/README.md")]
		pages += glob.glob(f"{root}/docs/*.md") + glob.glob(f"{root}/docs/formats/*.md")
		wrong, seen = [], 0
		for page in pages:
		    name = os.path.relpath(page, root)
		    text = open(page).read()
		    code = re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)
		    code = "\n".join(code) + "\n" + "\n".join(re.findall(r"(?<!`)`([^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)))
		    for line in re.sub(r"\\\n", " ", code).split("\n"):
		        line = re.sub(r" #.*", "", line)
		        for words in re.findall(r"(?:^|[|;&$] *)gpuimg +((?:--store \S+ +)?[a-z][^|;&]*)", line):
		            words = [w for w in words.split() if not w.startswith("…")]
		            if words[0] == "--store": words = words[2:]
		            command = [words[0]] + [w for w in words[1:2] if words[0] in ("store", "test") and w in ("emit", "collect", "ls", "gc", "verify")]
		            if help(*command) is None:
		                wrong.append(f"{name}: gpuimg {' '.join(command)}: no such command")
		                continue
		            seen += 1
		            for option in words:
		                option = option.split("=")[0]
		                if re.fullmatch(r"--[a-z][a-z-]+|-[a-zA-Z]", option) and not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", help(*command)):
		                    wrong.append(f"{name}: gpuimg {' '.join(command)} has no option {option}")
		        for words in re.findall(r"(?:^|[|;&$] *)make((?: +[A-Za-z][^ |;&]*)+)", line):
		            for word in words.split():
		                if "=" not in word and re.fullmatch(r"[a-z-]+", word) and word not in targets:
		                    wrong.append(f"{name}: make has no target {word}")
		    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
		        if not os.path.exists(os.path.join(os.path.dirname(page), link)):
		            wrong.append(f"{name}: links to {link}, which is not there")
		print("\n".join(wrong))
		assert seen > 150, seen
		sys.exit(bool(wrong))
	END
}
