#!/usr/bin/env python3
"""Writes OCI layouts that no build tool would: make_image.py KIND DIR [NUMBER…]

  entries DIR N        one layer of N empty files in 10 000 directories
  layers DIR N         N layers of one file
  bomb DIR MIB CODER   a layer of zeros, gzip or zstd; the bytes are made once and repeated
  libraries DIR MIB    libraries of 1 GiB and less that begin as real ones, gzip
  loops DIR            links that lead to each other, and paths through them
  names DIR            names with escape sequences, quotes, invalid UTF-8, 255 bytes
  odd DIR              an unknown type, a sparse file, an attribute of overlay file systems
  depth DIR N          a configuration nested N deep
"""
import hashlib, json, os, subprocess, sys, zlib

MIB = 1 << 20


def header(name, size=0, kind=b"0", mode=0o644, link=b""):
    name = name.encode() if isinstance(name, str) else name
    prefix = b""
    if len(name) > 100:
        cut = name.rfind(b"/", 0, 155)
        prefix, name = name[:cut], name[cut + 1:]
    h = bytearray(512)
    h[0:len(name)] = name
    h[100:108] = b"%07o\0" % mode
    h[108:124] = b"0000000\0" * 2
    h[124:136] = b"%011o\0" % size if size < 1 << 33 else b"\x80" + size.to_bytes(11, "big")
    h[136:148] = b"00000000000\0"
    h[148:156] = b" " * 8
    h[156:157] = kind
    h[157:157 + len(link)] = link
    h[257:265] = b"ustar\00000"
    h[345:345 + len(prefix)] = prefix
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h)


END = b"\0" * 1024


class Member:
    """Bytes that are compressed as a member or frame of their own, once, and repeated."""

    def __init__(self, raw, coder="gzip", times=1):
        self.raw, self.times = raw, times
        if coder == "gzip":
            z = zlib.compressobj(6, zlib.DEFLATED, 31)
            self.packed = z.compress(raw) + z.flush()
        elif coder == "zstd":
            self.packed = subprocess.run(["zstd", "-q", "-c"], input=raw, stdout=subprocess.PIPE, check=True).stdout
        else:
            self.packed = raw


def layer(out, members):
    plain, packed, size = hashlib.sha256(), hashlib.sha256(), 0
    with open(out + "/blobs/sha256/new", "wb") as f:
        for m in members:
            for _ in range(m.times):
                plain.update(m.raw)
                packed.update(m.packed)
                f.write(m.packed)
                size += len(m.packed)
    os.rename(out + "/blobs/sha256/new", out + "/blobs/sha256/" + packed.hexdigest())
    return packed.hexdigest(), size, plain.hexdigest()


def blob(out, text):
    digest = hashlib.sha256(text).hexdigest()
    with open(out + "/blobs/sha256/" + digest, "wb") as f:
        f.write(text)
    return digest, len(text)


def image(out, layers, coder="gzip", config=None):
    os.makedirs(out + "/blobs/sha256")
    made = [layer(out, l) for l in layers]
    oci = "application/vnd.oci.image."
    if config is None:
        config = json.dumps({"architecture": "amd64", "os": "linux", "config": {"Env": ["PATH=/usr/bin"]},
                             "rootfs": {"type": "layers", "diff_ids": ["sha256:" + m[2] for m in made]}}).encode()
    digest, size = blob(out, config)
    manifest = {"schemaVersion": 2, "mediaType": oci + "manifest.v1+json",
                "config": {"mediaType": oci + "config.v1+json", "digest": "sha256:" + digest, "size": size},
                "layers": [{"mediaType": oci + "layer.v1.tar+" + coder, "digest": "sha256:" + m[0], "size": m[1]} for m in made]}
    digest, size = blob(out, json.dumps(manifest).encode())
    with open(out + "/index.json", "w") as f:
        json.dump({"schemaVersion": 2, "manifests": [{"mediaType": oci + "manifest.v1+json", "digest": "sha256:" + digest, "size": size,
                                                      "annotations": {"org.opencontainers.image.ref.name": "t"}}]}, f)
    with open(out + "/oci-layout", "w") as f:
        f.write('{"imageLayoutVersion":"1.0.0"}')


def entries(out, n):
    def members():
        for start in range(0, n, 4096):
            yield Member(b"".join(header("usr/lib/python3.11/site-packages/pkg%03d/sub%02d/module_%07d.py" % (i % 200, i // 200 % 50, i))
                                  for i in range(start, min(n, start + 4096))))
        yield Member(END)
    image(out, [members()])


def layers(out, n):
    image(out, [[Member(header("file%d" % i, 512) + b"%0512d" % i + END)] for i in range(n)])


def bomb(out, mib, coder):
    step = min(mib, 64)
    image(out, [[Member(header("zeros", mib * MIB), coder), Member(bytes(step * MIB), coder, mib // step), Member(END, coder)]], coder)


def libraries(out, mib):
    """What is told from the first bytes is a library; the rest are bytes in which code is looked for."""
    head = open("/proc/self/exe", "rb").read(MIB)
    body = (b"".join(hashlib.sha256(b"%d" % i).digest() for i in range(256)) * 128 + head)[:MIB].ljust(MIB, b"\0")
    body, head = Member(body), Member(head.ljust(MIB, b"\0"))
    members, left, n = [], mib, 0
    while left:
        size = min(left, 1024)
        members += [Member(header("usr/lib/lib%d.so.1" % n, size * MIB)), head]
        body = Member(body.raw)
        body.times = size - 1
        members += [body] if size > 1 else []
        left, n = left - size, n + 1
    image(out, [members + [Member(END)]])


def loops(out):
    image(out, [[Member(b"".join(header(name, 0, b"2", 0o777, link) for name, link in (
        ("self", b"self"), ("a", b"b"), ("b", b"a"), ("usr/lib", b"../usr/lib64"), ("usr/lib64", b"lib"),
        ("up", b"../../../../up/x"), ("etc/ld.so.conf", b"/etc/ld.so.conf"), ("bin", b"usr/bin/../../bin"))) +
        header("a/libcuda.so.1") + header("usr/lib/x86_64-linux-gnu/libcuda.so.1") + header("self/self/file") +
        header("hard", 0, b"1", 0o644, b"a") + header("hard2", 0, b"1", 0o644, b"hard2") + END)]])


def names(out):
    image(out, [[Member(b"".join(header(b"usr/lib/x86_64-linux-gnu/" + n) for n in (
        b"libcuda.so.1\x1b[31m", b"libcuda.so.535.1\n.1", b"libnvidia-ml.so.\xff\xfe", b"lib\"<&'>.so.1", b"libcuda.so.\x07\r\x7f",
        b"libcuda.so." + "\u202e1".encode(), b"libcuda.so.\xc2\x9b31m")) +
        header("./" + "d" * 50 + "/" + "n" * 100) + END)]])


def odd(out):
    import io, tarfile
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.PAX_FORMAT) as t:
        for name, records in (("opaque", {"SCHILY.xattr.trusted.overlay.opaque": "y"}), ("opaque2", {"SCHILY.xattr.trusted.overlay.opaque": "y"}),
                              ("capable", {"SCHILY.xattr.security.capability": "x"}),
                              ("sparse", {"GNU.sparse.numblocks": "1", "GNU.sparse.map": "0,0",
                                          "GNU.sparse.size": "4096"})):
            info = tarfile.TarInfo(name)
            info.pax_headers = records
            t.addfile(info)
    image(out, [[Member(header("strange", 0, b"Q") + header("plain") + header("plain2", 0, b"\0") + header("plain3", 0, b"7") + END)],
                [Member(tar.getvalue())]])


def depth(out, n):
    text = b'{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]},"x":' + b"[" * n + b"]" * n + b"}"
    image(out, [], config=text)


if __name__ == "__main__":
    kind, out, rest = sys.argv[1], sys.argv[2], [int(a) if a.isdigit() else a for a in sys.argv[3:]]
    {f.__name__: f for f in (entries, layers, bomb, libraries, loops, names, odd, depth)}[kind](out, *rest)
