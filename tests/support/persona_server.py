"""A small registry that behaves as one of several kinds: persona_server.py DIR KIND [USER PASSWORD].

Its port (PERSONA_PORT, if that is set) goes to standard output. With PERSONA_TLS, a folder that has
tls.pem and tls.key, it speaks TLS, and wants a certificate of the client's that clients.pem there
knows. With PERSONA_DENIES it gives that status for tokens. Blobs are files of DIR/blobs, manifests of DIR/manifests; each
request is a JSON line of DIR/log: method, path, status, body (bytes read), authorization (its
scheme). KINDs, as far as uploads of the real ones are known:

  v3           distribution 3: partial bodies are kept, fresh addresses, Content-Range is checked
  dead         distribution 2.8: a cut request ends its session
  quay         partial bodies are kept; the status answer is a count
  ecr          Basic; PATCH answers 201; parts below 5 MiB are refused, except with the PUT; a
               wrong start is 416 with the wanted byte
  ghcr         416 for parts above 4 MiB with Content-Range; a commit takes 2 s to show
  gar          parts are refused
  acr          413 for a single PUT above 20 MiB; "bytes" in Content-Range is refused; an address
               with a query that has to stay as it is
  zot          relative addresses; a cut part ends the session; strict about Content-Range; lists
               referrers, two a page
  harbor       Bearer; answers Basic once it saw a token that is not good; here after 4 requests
  ngc          Bearer without a service, the realm has a query; tokens of 600 s
  tokens       Bearer
  brief        the same; tokens of 5 s, which are refused afterwards
  early, late  Bearer; a clock that is 10 minutes behind, or ahead
  artifactory  a single PUT is 404; nothing may be removed
  minimum      asks for parts of 2 MiB and more
  liar         stores something else and says so
  replicas     two of them, which get requests in turn; a session is known where it was opened
"""
import base64
import hashlib
import http.server
import io
import json
import os
import re
import socket
import ssl
import sys
import tempfile
import threading
import time
import urllib.parse

MIB = 1 << 20
ZEROS = bytes(MIB)
KINDS = {
    "v3": {"keep": True, "strict": True},
    "dead": {},
    "quay": {"keep": True, "count": True},
    "ecr": {"keep": True, "basic": True, "patch": 201, "part_min": 5 * MIB, "strict": True,
            "ecr_text": True},
    "ghcr": {"range_max": 4 * MIB, "commit_delay": 2},
    "gar": {"no_parts": True},
    "acr": {"keep": True, "single_max": 20 * MIB, "query": "_nouploadcache=false&_state=a%2Bb%2f"},
    "zot": {"relative": True, "strict": True, "referrers": True},
    "harbor": {"bearer": "harbor-registry", "basic_later": True, "uses": 4},
    "ngc": {"bearer": "", "life": 600},
    "tokens": {"bearer": "svc", "life": 300},
    "brief": {"bearer": "svc", "life": 5},
    "early": {"bearer": "svc", "life": 300, "skew": -600},
    "late": {"bearer": "svc", "life": 300, "skew": 600},
    "artifactory": {"no_single": True, "no_delete": True},
    "minimum": {"keep": True, "announce": 2 * MIB},
    "liar": {"lie": True},
    "replicas": {"forgetful": True},
}

folder, kind = sys.argv[1:3]
TLS = os.environ.get("PERSONA_TLS")
SCHEME = "https://" if TLS else "http://"
user, password = (sys.argv[3:5] + ["", ""])[:2]
is_ = KINDS[kind]
lock = threading.Lock()
sessions = {}  # name -> [state number, bytes, busy, digest of them]
appears = {}   # repository and digest -> time
tokens = {}    # token -> requests it is good for, and until when
counter = [0]
turn = [0]      # of several servers behind one name
opened_at = {}  # name of a session -> which of them


def path_of(*parts):
    return os.path.join(folder, *parts)


def blob_path(repository, digest):
    return path_of("blobs", repository.replace("/", "_") + "." + digest)


for name in ("blobs", "manifests", "uploads"):
    os.makedirs(path_of(name), exist_ok=True)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    body = 0

    def log_message(self, *arguments):
        pass

    def finish_with(self, status, headers=(), content=b"", size=None):
        scheme = (self.headers.get("Authorization") or "").partition(" ")[0]
        line = {"method": self.command, "path": self.path.partition("?")[0], "status": status,
                "body": self.body, "authorization": scheme,
                "range": self.headers.get("Content-Range")}
        with lock, open(path_of("log"), "a") as log:
            log.write(json.dumps(line) + "\n")
        self.send_response(status)
        for header in headers:
            self.send_header(*header)
        if status != 204:
            self.send_header("Content-Length", str(len(content) if size is None else size))
        left = int(self.headers.get("Content-Length") or 0) - self.body
        if left:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def refuse(self, status, code, message="", headers=()):
        text = json.dumps({"errors": [{"code": code, "message": message}]}).encode()
        self.finish_with(status, [("Content-Type", "application/json"), *headers], text)

    def handle_expect_100(self):
        return True  # said once the body is wanted

    def take(self, out, digest=None):
        """The body into a file, and into a digest; whether all of it came."""
        left = int(self.headers.get("Content-Length") or 0)
        if left and (self.headers.get("Expect") or "").lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        block = memoryview(bytearray(min(left, MIB)))
        while left:
            try:
                count = self.rfile.readinto1(block[:left])
            except OSError:
                count = 0
            if not count:
                self.close_connection = True
                return False
            data = block[:count]
            if ZEROS.startswith(data):  # large test images are nearly all holes
                out.seek(count, os.SEEK_CUR)
                out.truncate(max(out.tell(), os.fstat(out.fileno()).st_size))
            else:
                out.write(data)
            out.flush()
            if digest:
                digest.update(data)
            self.body += count
            left -= count
        return True

    # Who is it?

    def welcome(self):
        sent = self.headers.get("Authorization") or ""
        if "bearer" in is_:
            good = tokens.get(sent[7:]) if sent.startswith("Bearer ") else None
            if good and good[0] > 0 and good[1] > time.time():
                good[0] -= 1
                return True
            host = SCHEME + self.headers["Host"]
            query = "?via=proxy" if kind == "ngc" else ""
            challenge = 'Bearer realm="%s/token%s"' % (host, query)
            if is_["bearer"]:
                challenge += ',service="%s"' % is_["bearer"]
            if is_.get("basic_later") and sent:
                challenge = 'Basic realm="harbor"'
        elif is_.get("basic"):
            want = base64.b64encode((user + ":" + password).encode()).decode()
            if sent == "Basic " + want:
                return True
            challenge = 'Basic realm="registry"'
        else:
            return True
        self.refuse(401, "UNAUTHORIZED", headers=[("WWW-Authenticate", challenge)])
        return False

    def give_token(self, query):
        want = "Basic " + base64.b64encode((user + ":" + password).encode()).decode()
        if "PERSONA_DENIES" in os.environ:
            return self.refuse(int(os.environ["PERSONA_DENIES"]), "DENIED")
        if self.command == "POST":  # a refresh token in a form
            form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.body = int(self.headers["Content-Length"])
            if form.get("grant_type") != ["refresh_token"] or form.get("refresh_token") != [password]:
                return self.refuse(401, "DENIED")
        elif self.headers.get("Authorization") != want or (kind == "ngc" and "via" not in query):
            return self.refuse(401, "DENIED")
        with lock:
            counter[0] += 1
            token = "token%d" % counter[0]
            tokens[token] = [is_.get("uses", 1 << 30), time.time() + is_.get("life", 1 << 30)]
        answer = {"token": token}
        if "life" in is_:
            answer["expires_in"] = is_["life"]
        if "skew" in is_:
            answer["issued_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + is_["skew"]))
        return self.finish_with(200, content=json.dumps(answer).encode())

    # Requests.

    def serve(self):
        self.body = 0
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
        if url.path == "/token":
            return self.give_token(query)
        if not self.welcome():
            return None
        if url.path == "/v2/":
            return self.finish_with(200)
        for pattern, does in ((r"/v2/(.+)/blobs/uploads/$", self.open_upload),
                              (r"/v2/(.+)/blobs/uploads/([0-9]+)/([0-9]+)$", self.upload),
                              (r"/v2/(.+)/blobs/(sha256:[0-9a-f]{64})$", self.blob),
                              (r"/v2/(.+)/referrers/(sha256:[0-9a-f]{64})$", self.referrers),
                              (r"/v2/(.+)/tags/list$", self.tags),
                              (r"/v2/(.+)/manifests/([^/]+)$", self.manifest)):
            found = re.match(pattern, url.path)
            if found:
                return does(query, *found.groups())
        return self.refuse(404, "NAME_UNKNOWN")

    do_GET = do_HEAD = do_POST = do_PATCH = do_PUT = do_DELETE = serve

    def location(self, repository, name):
        state = sessions[name][0]
        path = "/v2/%s/blobs/uploads/%s/%d" % (repository, name, state)
        if "query" in is_:
            path += "?" + is_["query"]
        if not is_.get("relative"):
            path = SCHEME + self.headers["Host"] + path
        return ("Location", path)

    def mounted(self, query, repository):
        digest = query.get("mount", [""])[0]
        if "from" not in query or not re.match("sha256:[0-9a-f]{64}$", digest):
            return False
        source = blob_path(query["from"][0], digest)
        if not os.path.exists(source):
            return False
        if not os.path.exists(blob_path(repository, digest)):
            os.link(source, blob_path(repository, digest))
        self.finish_with(201, [("Docker-Content-Digest", digest)])
        return True

    def open_upload(self, query, repository):
        if self.mounted(query, repository):
            return
        with lock:
            counter[0] += 1
            turn[0] += 1
            name = str(counter[0])
            sessions[name] = [0, 0, 0, hashlib.sha256()]
            opened_at[name] = turn[0] % 2
        open(path_of("uploads", name), "wb").close()
        headers = [self.location(repository, name),
                   ("Range", "bytes=0--1" if is_.get("count") else "0-0")]
        if "announce" in is_:
            headers.append(("OCI-Chunk-Min-Length", str(is_["announce"])))
        self.finish_with(202, headers)

    def range_of(self, name, status):
        count = sessions[name][1]
        if is_.get("count") and status:
            return ("Range", "bytes=0-%d" % count)
        return ("Range", "0-%d" % max(count - 1, 0))

    def upload(self, query, repository, name, state):
        session = sessions.get(name)
        if is_.get("forgetful"):
            with lock:
                turn[0] += 1
                if turn[0] % 2 != opened_at[name]:
                    session = None
        if not session or (self.command != "GET" and int(state) != session[0]) or (
                "query" in is_ and not self.path.partition("?")[2].startswith(is_["query"])):
            return self.refuse(404, "BLOB_UPLOAD_UNKNOWN")
        if self.command == "GET":
            self.settle(session)
            return self.finish_with(204, [self.location(repository, name),
                                          self.range_of(name, True)])
        if self.command == "DELETE":
            sessions.pop(name, None)
            return self.finish_with(204)
        return self.receive(query, repository, name, session)

    def settle(self, session):
        """A request that was cut may still be read: wait for its end."""
        for _ in range(1000):
            if not session[2]:
                return
            time.sleep(0.02)

    def check_part(self, session, length, last):
        said = self.headers.get("Content-Range")
        if said and is_.get("no_parts"):
            return 400, "UNSUPPORTED", "parts are not supported"
        if said and length > is_.get("range_max", length):
            return 416, "BLOB_UPLOAD_INVALID", "part too large"
        if said and said.startswith("bytes"):
            return 400, "CONTENT_RANGE_INVALID", ""
        if said and is_.get("strict") and int(said.partition("-")[0]) != session[1]:
            text = "First byte of the layer part is %s instead of %d" % (
                said.partition("-")[0], session[1]) if is_.get("ecr_text") else "wrong start"
            return 416, "RANGE_INVALID", text
        if said and not last and length < is_.get("part_min", 0):
            return 400, "PART_TOO_SMALL", "Layer part is too small"
        return None

    def receive(self, query, repository, name, session):
        length = int(self.headers.get("Content-Length") or 0)
        put = self.command == "PUT"
        if put and length and not session[1]:
            if is_.get("no_single"):
                return self.refuse(404, "NOT_FOUND")
            if length > is_.get("single_max", length):
                return self.refuse(413, "TOO_LARGE")
        wrong = self.check_part(session, length, put)
        if wrong:
            return self.refuse(*wrong)
        session[2] += 1
        with open(path_of("uploads", name), "r+b") as out:
            out.seek(session[1])
            digest = session[3].copy()
            complete = self.take(out, digest)
            if complete or is_.get("keep"):
                session[1], session[3] = out.tell(), digest
        session[2] -= 1
        if not complete:
            if not is_.get("keep"):
                sessions.pop(name, None)
            with lock, open(path_of("log"), "a") as log:
                log.write(json.dumps({"method": self.command, "path": self.path.partition("?")[0],
                                      "status": 0, "body": self.body}) + "\n")
            return None
        session[0] += 1
        if put:
            return self.commit(query, repository, name)
        return self.finish_with(is_.get("patch", 202), [self.location(repository, name),
                                                        self.range_of(name, False)])

    def commit(self, query, repository, name):
        digest = query.get("digest", [""])[0]
        source = path_of("uploads", name)
        have = sessions.pop(name)[3]
        if "sha256:" + have.hexdigest() != digest:
            return self.refuse(400, "DIGEST_INVALID")
        os.rename(source, blob_path(repository, digest))
        appears[repository, digest] = time.time() + is_.get("commit_delay", 0)
        if is_.get("commit_delay"):
            return self.refuse(504, "")
        said = "sha256:" + "0" * 64 if is_.get("lie") else digest
        return self.finish_with(201, [("Docker-Content-Digest", said)])

    def blob(self, query, repository, digest):
        path = blob_path(repository, digest)
        if not os.path.exists(path) or appears.get((repository, digest), 0) > time.time():
            return self.refuse(404, "BLOB_UNKNOWN")
        if self.command == "HEAD":
            return self.finish_with(200, size=os.path.getsize(path))
        if self.command == "DELETE":
            os.remove(path)
            return self.finish_with(202)
        return self.send_file(path)

    def send_file(self, path):
        size = os.path.getsize(path)
        wanted = re.match(r"bytes=(\d+)-(\d*)$", self.headers.get("Range") or "")
        first = int(wanted.group(1)) if wanted else 0
        end = min(int(wanted.group(2)) + 1, size) if wanted and wanted.group(2) else size
        headers = [("Content-Range", "bytes %d-%d/%d" % (first, end - 1, size))] if wanted else []
        self.finish_with(206 if wanted else 200, headers, size=end - first)
        with open(path, "rb") as f:
            self.wfile.flush()
            try:
                self.connection.sendfile(f, first, end - first)
            except OSError:
                self.close_connection = True

    def manifest_path(self, repository, name):
        return path_of("manifests", repository.replace("/", "_") + "." + name)

    def manifest(self, query, repository, name):
        path = self.manifest_path(repository, name)
        if self.command == "DELETE" and is_.get("no_delete"):
            return self.refuse(403, "DENIED")
        if self.command == "PUT":
            return self.put_manifest(repository, path)
        if not os.path.exists(path):
            return self.refuse(404, "MANIFEST_UNKNOWN")
        with open(path, "rb") as f:
            content = f.read()
        if self.command == "DELETE":
            os.remove(path)
            return self.finish_with(202)
        kind = json.loads(content).get("mediaType", "application/vnd.oci.image.manifest.v1+json")
        return self.finish_with(200, [("Content-Type", kind)], content)

    def wanted(self, content):
        """The blobs that a manifest speaks of."""
        try:
            document = json.loads(content)
            parts = [document["config"]] + document["layers"]
            return [part["digest"] for part in parts]
        except (ValueError, KeyError, TypeError):
            return []

    def put_manifest(self, repository, path):
        """It is there under its names whole or not at all, whoever else puts it meanwhile."""
        received = io.BytesIO()
        if not self.take(received):
            return None
        content = received.getvalue()
        for wanted in self.wanted(content):
            if not os.path.exists(blob_path(repository, wanted)):
                return self.refuse(404, "MANIFEST_BLOB_UNKNOWN", wanted)
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        for name in (self.manifest_path(repository, digest), path):
            with tempfile.NamedTemporaryFile(dir=path_of("uploads"), delete=False) as out:
                out.write(content)
            os.replace(out.name, name)
        headers = [("Docker-Content-Digest", digest)]
        try:
            document = json.loads(content)
        except ValueError:
            document = {}
        subject = document.get("subject", {}).get("digest")
        if subject and is_.get("referrers"):
            headers.append(("OCI-Subject", subject))
            entry = {"mediaType": document["mediaType"], "digest": digest, "size": len(content),
                     "artifactType": document.get("artifactType", document["config"]["mediaType"]),
                     "annotations": document.get("annotations", {})}
            with lock, open(self.manifest_path(repository, "of-" + subject), "a") as out:
                out.write(json.dumps(entry) + "\n")
        return self.finish_with(201, headers)

    def tags(self, query, repository):
        """Two a page."""
        start = repository.replace("/", "_") + "."
        names = sorted(name[len(start):] for name in os.listdir(path_of("manifests"))
                       if name.startswith(start) and ":" not in name)
        at = sum(name <= query["last"][0] for name in names) if "last" in query else 0
        headers = []
        if at + 2 < len(names):
            headers.append(("Link", '</v2/%s/tags/list?n=2&last=%s>; rel="next"' % (repository, names[at + 1])))
        text = json.dumps({"name": repository, "tags": names[at:at + 2]})
        return self.finish_with(200, headers, text.encode())

    def referrers(self, query, repository, digest):
        if not is_.get("referrers"):
            return self.refuse(404, "NOT_FOUND")
        try:
            with open(self.manifest_path(repository, "of-" + digest)) as f:
                entries = [json.loads(line) for line in f]
        except FileNotFoundError:
            entries = []
        at = int(query.get("at", ["0"])[0])
        headers = [("Content-Type", "application/vnd.oci.image.index.v1+json")]
        if at + 2 < len(entries):
            headers.append(("Link", '</v2/%s/referrers/%s?at=%d>; rel="next"' % (
                repository, digest, at + 2)))
        index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                 "manifests": entries[at:at + 2]}
        return self.finish_with(200, headers, json.dumps(index).encode())


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, address):
        """Nothing is said of it here; what was said to the client in TLS is to arrive there."""
        if not TLS:
            return
        with socket.socket(fileno=os.dup(request.fileno())) as raw:
            try:
                raw.settimeout(1)
                raw.shutdown(socket.SHUT_WR)
                while raw.recv(65536):
                    pass
            except OSError:
                pass


def encrypted(listener):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(TLS, "tls.pem"), os.path.join(TLS, "tls.key"))
    clients = os.path.join(TLS, "clients.pem")
    if os.path.exists(clients):
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
    return context.wrap_socket(listener, server_side=True, do_handshake_on_connect=False)


server = Server(("127.0.0.1", int(os.environ.get("PERSONA_PORT", "0"))), Handler)
if TLS:
    server.socket = encrypted(server.socket)
print(server.server_address[1], flush=True)
server.serve_forever()
