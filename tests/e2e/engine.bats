#!/usr/bin/env bats
# Layers: the same bytes however they come about, and a store that survives what happens to it.

load common

setup() {
	work
	export GPUIMG_STORE=$WORK/store
	mkdir -p tree/sub
	# 12 MiB that do not shrink in three files, and text that does in forty
	for i in 1 2 3; do
		openssl enc -aes-128-ctr -K 0000000000000000000000000000000$i -iv 00000000000000000000000000000000 \
			-in /dev/zero 2>/dev/null | head -c 4M >tree/dense$i || true
	done
	for i in $(seq 40); do seq "$i" 20000 >"tree/sub/text$i"; done
	cat >stack.yaml <<-'END'
		gpuimg: 1
		name: test/engine
		tag: t
		platforms: [linux/amd64]
		stages:
		  runtime:
		    profile: base
		    files: [ { from: tree/, to: /opt/tree } ]
	END
	gpuimg lock stack.yaml
}

build() { # LAYOUT [OPTION…]
	local to=$1
	shift
	gpuimg build --offline --no-lint "$@" --to "oci:$to:t" stack.yaml
}

# The objects of the store that are layers of more than 1 MiB.
big_objects() { find "${1:-$GPUIMG_STORE}/objects" -type f -size +1024k; }

whole() { # LAYOUT: every blob has its digest
	local blob
	for blob in "$1"/blobs/sha256/*; do
		[ "$(sha256sum "$blob" | cut -d' ' -f1)" = "${blob##*/}" ] || {
			echo "$blob is damaged"
			return 1
		}
	done
}

spoil() { # FILE: in the middle, as its owner could
	chmod u+w "$1"
	printf 'damage' | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") / 2)) conv=notrunc status=none
	chmod a-w "$1"
}

@test "an edited file: what is taken from stored layers and what is made anew are the same bytes" {
	build a
	echo edited >tree/sub/text7
	build b
	GPUIMG_STORE=$WORK/fresh build c
	[ "$(digest_of b t)" = "$(digest_of c t)" ]
	[ "$(digest_of a t)" != "$(digest_of b t)" ]
	whole b
}

@test "threads do not show: one, two and five give one image" {
	for n in 1 2 5; do GPUIMG_STORE=$WORK/s$n build "i$n" -j "$n"; done
	[ "$(digest_of i1 t)" = "$(digest_of i2 t)" ]
	[ "$(digest_of i1 t)" = "$(digest_of i5 t)" ]
}

@test "gzip, python, skopeo and umoci read layers of many members" {
	need skopeo umoci
	build a
	for blob in $(find a/blobs -size +1000k); do
		gzip -t <"$blob"
		python3 -c 'import sys, tarfile; print(len(tarfile.open(sys.argv[1]).getmembers()))' "$blob"
	done
	skopeo copy -q oci:a:t oci:copied:t
	umoci unpack --rootless --image copied:t bundle
	diff -r tree bundle/rootfs/opt/tree
}

@test "an unchanged file is not read again; one that was written to is" {
	build a
	sleep 0.2
	build a
	strace -f -o trace -e trace=openat "$GPUIMG" build --offline --no-lint --to oci:a:t stack.yaml
	run -1 grep -q 'tree/dense' trace
	printf 'x' | dd of=tree/dense1 bs=1 seek=99 conv=notrunc status=none
	before=$(digest_of a t)
	build a
	[ "$before" != "$(digest_of a t)" ]
}

@test "a damaged layer in the store is found before it is linked, and made again" {
	build a
	want=$(digest_of a t)
	rm -rf a
	for object in $(big_objects); do spoil "$object"; done
	build b
	[ "$want" = "$(digest_of b t)" ]
	whole b
}

@test "a damaged blob of the layout is replaced, be it a layer, the manifest or the index" {
	build a
	for blob in a/blobs/sha256/*; do
		cp "$blob" copy && mv copy "$blob" # no link of the store's any more
		spoil "$blob"
	done
	build a
	whole a
}

@test "store verify reads everything, names what is damaged and removes it" {
	build a
	run -0 gpuimg store verify
	[[ $output == *": 0 damaged"* ]]
	object=$(big_objects | head -n 1)
	seal=$(stat -c %Y "$object")
	spoil "$object"
	touch -d "@$seal" "$object" # as a disk would: no time tells
	run -1 gpuimg store verify
	[[ $output == *"${object##*/}"* ]]
	[ ! -e "$object" ]
	run -0 gpuimg store ls --output json
	jq -e '.schema == "gpuimg-store/1" and (.places | length > 2)' <<<"$output"
	run -0 gpuimg store gc --dry-run
	run -2 gpuimg store mend
}

@test "two builds at once on one store" {
	build one &
	first=$!
	build two
	wait "$first"
	[ "$(digest_of one t)" = "$(digest_of two t)" ]
	whole one
	whole two
	run -0 gpuimg store verify
	[ -z "$(find "$GPUIMG_STORE/tmp" -type f)" ]
}

@test "the disk is full in the middle of a layer: said, and nothing is left" {
	[ "$(id -u)" -eq 0 ] || skip "needs root to mount a small file system"
	mkdir small
	mount -t tmpfs -o size=6m tmpfs small
	run --separate-stderr gpuimg build --store "$WORK/small" --offline --no-lint --to "oci:$WORK/a:t" stack.yaml
	left=$(find small/tmp -type f | wc -l)
	verified=0
	gpuimg store verify --store "$WORK/small" || verified=$?
	umount small
	echo "$status $stderr"
	[ "$status" -eq 3 ]
	[[ $stderr == *"No space left"* ]]
	[ "$left" -eq 0 ]
	[ "$verified" -eq 0 ]
	[ ! -e a/index.json ]
}

@test "killed at random moments: the store is whole and the next build gives the same" {
	"$ROOT/tests/tools/kill-moments" 4
}

@test "plan says what goes where, and what an edit costs a node" {
	cp stack.lock.json old.lock.json
	run -0 gpuimg plan stack.yaml
	[[ $output == *"about "*"files"* ]]
	build a
	run -0 --separate-stderr gpuimg plan --output json --diff old.lock.json stack.yaml
	jq -e '.schema == "gpuimg-plan/1" and .images[0].pull_bytes == 0 and
		([.images[0].layers[].size] | add) == .images[0].size and
		(.images[0].layers | all(.reason != "" and (.estimated | not))) and
		(.images[0].pulls | length) == 4' <<<"$output"
	# as a gate: the image has 12 MiB that do not shrink, a node with it pulls nothing
	run -0 --separate-stderr gpuimg plan --budget 20MiB -o json stack.yaml
	jq -e '.budget == 20971520 and (.images[0].over_budget | not)' <<<"$output"
	run -1 gpuimg plan --budget 12MiB stack.yaml
	[[ $output == *"over the budget of 12.0 MiB by "* ]]
	run -1 --separate-stderr gpuimg plan --budget 12MiB -o json stack.yaml
	jq -e '.images[0].over_budget' <<<"$output"
	run -0 gpuimg plan --diff old.lock.json --budget 1 stack.yaml
	run -2 gpuimg plan --budget many stack.yaml
	[[ $output == *"--budget: 'many' is not a size"* ]]
	run -2 gpuimg plan
	run -3 gpuimg plan --diff none.lock.json stack.yaml
}

# A wheel whose large file is deflated: its stream goes into the layer as it is.
make_wheel() { # CRC: "good" or "bad"
	python3 - "$1" <<-'END'
		import base64, hashlib, os, struct, sys, zipfile
		data = b"".join(b"%d library\n" % (i * i) for i in range(200000))
		def row(name, b): return "%s,sha256=%s,%d" % (name, base64.urlsafe_b64encode(hashlib.sha256(b).digest()).rstrip(b"=").decode(), len(b))
		files = {"nvidia/big/lib/libbig.so": data,
		         "nvidia_big-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: nvidia-big\nVersion: 1.0\n",
		         "nvidia_big-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
		record = "\n".join(row(n, b) for n, b in files.items()) + "\nnvidia_big-1.0.dist-info/RECORD,,\n"
		os.makedirs("wheels", exist_ok=True)
		path = "wheels/nvidia_big-1.0-py3-none-any.whl"
		with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
		    for n, b in files.items(): z.writestr(n, b)
		    z.writestr("nvidia_big-1.0.dist-info/RECORD", record)
		if sys.argv[1] == "bad":
		    with zipfile.ZipFile(path) as z: crc = z.getinfo("nvidia/big/lib/libbig.so").CRC
		    b = open(path, "rb").read()
		    open(path, "wb").write(b.replace(struct.pack("<I", crc), struct.pack("<I", crc ^ 1)))
	END
	cat >wheel.yaml <<-'END'
		gpuimg: 1
		name: test/wheel
		tag: t
		platforms: [linux/amd64]
		sources: [ { id: pip, type: wheels, path: wheels } ]
		stages:
		  runtime:
		    profile: base
		    packages: { pip: [nvidia-big] }
	END
}

@test "a wheel's deflate stream is moved into the layer and read by everybody" {
	need skopeo umoci
	make_wheel good
	gpuimg lock wheel.yaml
	run -0 gpuimg build --no-lint --to oci:a:t wheel.yaml
	python3 - <<-'END'
		import glob, zipfile
		w = zipfile.ZipFile(glob.glob("wheels/*.whl")[0])
		i = w.getinfo("nvidia/big/lib/libbig.so")
		raw = open(w.filename, "rb").read()
		at = i.header_offset + 30 + int.from_bytes(raw[i.header_offset + 26:i.header_offset + 28], "little") + int.from_bytes(raw[i.header_offset + 28:i.header_offset + 30], "little")
		stream = raw[at:at + i.compress_size]
		assert any(stream in open(f, "rb").read() for f in glob.glob("a/blobs/sha256/*")), "the stream is in no layer"
	END
	skopeo copy -q oci:a:t oci:copied:t
	umoci unpack --rootless --image copied:t bundle
	[ "$(find bundle/rootfs -name libbig.so -exec sha256sum {} + | cut -d' ' -f1)" = "$(unzip -p wheels/*.whl nvidia/big/lib/libbig.so | sha256sum | cut -d' ' -f1)" ]
}

@test "a wheel that lies about a CRC is refused by the file's name" {
	make_wheel bad
	gpuimg lock wheel.yaml
	run -3 --separate-stderr gpuimg build --no-lint --to oci:a:t wheel.yaml
	[[ $stderr == *"libbig.so"* ]]
	[ ! -e a/index.json ]
}
