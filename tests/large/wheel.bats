#!/usr/bin/env bats
# A wheel with a file of more than 4 GiB, where 32 bits end: in the zip directory (zip64), in the
# length that a gzip member ends with, and in whatever counts bytes on the way.

load common

setup() {
	WORK=$LARGE/wheel
	rm -rf "$WORK"
	mkdir -p "$WORK/wheels"
	cd "$WORK" || return 1
}

teardown() { rm -rf "$WORK"; }

# Zeros, as deflate blocks that stand for 64 MiB each and one that is the end: made in seconds.
make_wheel() { # PIECES: prints the size of nvidia/big/lib/libbig.so
	python3 - "$1" <<'PY'
import base64, hashlib, struct, sys, zlib
pieces, piece = int(sys.argv[1]), bytes(64 << 20)
packer = zlib.compressobj(1, zlib.DEFLATED, -15)
block = packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH)
crc, sha = 0, hashlib.sha256()
for _ in range(pieces): crc = zlib.crc32(piece, crc); sha.update(piece)
tail = b"the end"
crc = zlib.crc32(tail, crc); sha.update(tail)
last = zlib.compressobj(1, zlib.DEFLATED, -15)
end = last.compress(tail) + last.flush()
size = pieces * len(piece) + len(tail)
files = [("nvidia/big/lib/libbig.so", size, pieces * len(block) + len(end), crc, 8, [block] * pieces + [end])]
def small(name, text): files.append((name, len(text), len(text), zlib.crc32(text), 0, [text]))
info = "big-1.0.dist-info/"
meta = b"Metadata-Version: 2.1\nName: big\nVersion: 1.0\n"
kind = b"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
def row(name, digest, size): return "%s,sha256=%s,%d\n" % (name, base64.urlsafe_b64encode(digest).rstrip(b"=").decode(), size)
small(info + "METADATA", meta); small(info + "WHEEL", kind)
record = row(files[0][0], sha.digest(), size) + row(info + "METADATA", hashlib.sha256(meta).digest(), len(meta)) + row(info + "WHEEL", hashlib.sha256(kind).digest(), len(kind)) + info + "RECORD,,\n"
small(info + "RECORD", record.encode())
with open("wheels/big-1.0-py3-none-any.whl", "wb") as f:
    directory = b""
    for name, size, packed, crc, method, bodies in files:
        offset, wide = f.tell(), size > 0xffffffff
        extra = struct.pack("<HHQQ", 1, 16, size, packed) if wide else b""
        sizes = (0xffffffff, 0xffffffff) if wide else (packed, size)
        version, at = 45 if wide else 20, name.encode()
        f.write(struct.pack("<4sHHHHHIIIHH", b"PK\3\4", version, 0, method, 0, 33, crc, *sizes, len(at), len(extra)) + at + extra)
        for b in bodies: f.write(b)
        directory += struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 3 << 8 | version, version, 0, method, 0, 33, crc, *sizes, len(at), len(extra), 0, 0, 0, 0o100644 << 16, offset) + at + extra
    start = f.tell()
    f.write(directory + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, len(files), len(files), len(directory), start, 0))
print(files[0][1])
PY
}

@test "wheel: a file over 4 GiB is moved into its layer, and others read it with its length" {
	size=$(make_wheel 66)
	[ "$size" -gt $((1 << 32)) ]
	cat >stack.yaml <<-END
	gpuimg: 1
	name: test/big
	platforms: [linux/amd64]
	stack: { python: "3.11" }
	sources: [ { id: w, type: wheels, path: wheels } ]
	stages: { runtime: { profile: base, packages: { w: [big] } } }
	END
	run -0 gpuimg lock --store store stack.yaml
	run -0 gpuimg build --store store --offline --to oci:out:1 stack.yaml
	# nothing was compressed anew: the layer is about as small as the wheel
	layer=$(find out/blobs -type f -size +1024k)
	[ "$(wc -l <<<"$layer")" -eq 1 ]
	[ "$(stat -c %s "$layer")" -lt $(($(stat -c %s wheels/big-1.0-py3-none-any.whl) + (1 << 20))) ]
	run -0 tar -tvzf "$layer" --wildcards '*/libbig.so'
	read -r _ _ length _ <<<"$output"
	[ "$length" = "$size" ]
	[ "$(tar -xOzf "$layer" --wildcards '*/libbig.so' | tail -c 9 | od -An -tx1 | tr -d ' \n')" = 0000"$(printf 'the end' | od -An -tx1 | tr -d ' \n')" ]
	run -0 --separate-stderr gpuimg lint --store store --fail-on never -o json oci:out:1
	[ "$(jq .image.bytes <<<"$output")" -ge "$size" ]
}
