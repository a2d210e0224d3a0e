"""A registry that serves a layout, and misbehaves: pull_server.py LAYOUT LOG MODE [ARGUMENT].

Any tag is the layout's first image. Its port goes to standard output; each request is a JSON line
of LOG with method, path, range and whether credentials came. Modes for blobs of more than 1 MB:

  good [1]       none; with 1 on 127.0.0.2
  expired        on 127.0.0.2; answers every second request with 403, as storage does to old addresses
  schema1        the manifest is of Docker's first kind
  cut N          reset after N bytes of each answer
  cut-once N     reset after N bytes of the second answer
  ignore N       the same, and ranges are ignored once asked for
  misread N      the same, and the answer to a range is another range, the first time
  flip           a byte in the middle is wrong
  flip-once      the same, the first time
  long           a byte too many
  wrong-manifest the manifest has a blank too many
  encoded        in an encoding that nobody asked for
  die N          the server is no more after N bytes
  slow N         N bytes a second
  busy           503
  missing        404
  redirect PORT  is to be fetched from http://127.0.0.2:PORT; asks for Basic credentials itself
"""
import http.server
import json
import os
import re
import socket
import struct
import sys
import threading
import time

LAYOUT, LOG, MODE = sys.argv[1:4]
ARGUMENT = int(sys.argv[4]) if len(sys.argv) > 4 else 0
TAGS = ["a", "b", "c", "sha256-" + 64 * "0" + ".sig", "z"]
seen = {}
lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def document(self, digest):
        try:
            with open(os.path.join(LAYOUT, "blobs", *digest.split(":")), "rb") as f:
                return f.read()
        except OSError:
            return None

    def do_GET(self):
        with lock, open(LOG, "a") as log:
            log.write(json.dumps({"method": self.command, "path": self.path, "range": self.headers.get("Range"),
                                  "credentials": bool(self.headers.get("Authorization"))}) + "\n")
        if MODE == "redirect" and not self.headers.get("Authorization"):
            return self.answer(401, b"{}", [("WWW-Authenticate", 'Basic realm="x"')])
        if self.path == "/v2/":
            return self.answer(200, b"{}")
        if "/tags/list" in self.path:
            return self.tags()
        if "/manifests/" in self.path:
            return self.manifest(self.path.rsplit("/", 1)[1])
        if "/blobs/" in self.path:
            return self.blob(self.path.rsplit("/", 1)[1])
        return self.answer(404, b'{"errors":[{"code":"NAME_UNKNOWN"}]}')

    do_HEAD = do_GET

    def tags(self):
        last = re.search("last=([^&]*)", self.path)
        at = TAGS.index(last.group(1)) + 1 if last else 0
        link = []
        if at + 2 < len(TAGS):
            link = [("Link", '</v2/app/tags/list?n=2&last=%s>; rel="next"' % TAGS[at + 1])]
        self.answer(200, json.dumps({"name": "app", "tags": TAGS[at:at + 2]}).encode(), link)

    def manifest(self, name):
        with open(os.path.join(LAYOUT, "index.json")) as f:
            first = json.load(f)["manifests"][0]
        if not name.startswith("sha256:"):
            name = first["digest"]
        body = self.document(name)
        if body is None:
            return self.answer(404, b'{"errors":[{"code":"MANIFEST_UNKNOWN"}]}')
        if MODE == "wrong-manifest":
            body += b" "
        if MODE == "schema1":
            body = b'{"schemaVersion":1,"name":"app","tag":"v1","fsLayers":[],"history":[],"signatures":[]}'
            return self.answer(200, body, [("Content-Type", "application/vnd.docker.distribution.manifest.v1+prettyjws")])
        kind = json.loads(body)["mediaType"]
        return self.answer(200, body, [("Content-Type", kind), ("Docker-Content-Digest", name)])

    def reset(self):
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def blob(self, digest):
        body = self.document(digest)
        if body is None:
            return self.answer(404, b'{"errors":[{"code":"BLOB_UNKNOWN"}]}')
        with lock:
            count = seen[digest] = seen.get(digest, 0) + 1
        wanted = re.match(r"bytes=(\d+)-(\d*)$", self.headers.get("Range") or "")
        big = len(body) > 1000000
        if big and MODE == "redirect":
            return self.answer(307, b"", [("Location", "http://127.0.0.2:%d%s" % (ARGUMENT, self.path))])
        if MODE == "expired" and count % 2:
            return self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        if big and MODE == "busy":
            return self.answer(503, b"{}")
        if big and MODE == "missing":
            return self.answer(404, b'{"errors":[{"code":"BLOB_UNKNOWN"}]}')
        if big and (MODE == "flip" or MODE == "flip-once" and count == 1):
            body = body[:500000] + bytes([body[500000] ^ 1]) + body[500001:]
        if big and MODE == "long":
            body += b"x"
        if big and MODE == "ignore":
            wanted = None
        start = int(wanted.group(1)) if wanted else 0
        end = min(int(wanted.group(2)) + 1, len(body)) if wanted and wanted.group(2) else len(body)
        headers = [("Content-Type", "application/octet-stream")]
        if big and MODE == "encoded":
            headers.append(("Content-Encoding", "gzip"))
        shift = 7 if start and big and MODE == "misread" and count == 2 else 0
        if wanted:
            headers.append(("Content-Range", "bytes %d-%d/%d" % (start - shift, end - 1, len(body))))
        part = body[start - shift:end]
        if big and MODE == "slow":
            time.sleep(len(part) / ARGUMENT)
        cut = big and len(part) > ARGUMENT and (
            MODE in ("cut", "die") or MODE == "cut-once" and count == 2 or
            MODE in ("ignore", "misread") and (count == 1 or shift))
        if not cut:
            return self.answer(206 if wanted else 200, part, headers)
        self.send_response(206 if wanted else 200)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part[:ARGUMENT])
        if MODE == "die":
            self.wfile.flush()
            os._exit(0)
        return self.reset()


server = http.server.ThreadingHTTPServer(("127.0.0.2" if MODE == "expired" or MODE == "good" and ARGUMENT else "127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
