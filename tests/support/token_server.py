"""A token server for docker-registry: token_server.py DIR USER PASSWORD LIFE_S [SKEW_S].

With SKEW_S it says that it gave the token so many seconds later than it did. DIR holds key.pem and cert.pem; each call is a line of DIR/log. The port goes to standard output.
The registry forgives 60 seconds, so tokens are signed to end that much earlier.
"""
import base64
import http.server
import json
import math
import subprocess
import sys
import time
import urllib.parse

folder, user, password, life = sys.argv[1:4] + [int(sys.argv[4])]
skew = int(sys.argv[5]) if len(sys.argv) > 5 else None


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def certificate():
    lines = open(folder + "/cert.pem").read().split("\n")
    return "".join(line for line in lines if line and not line.startswith("-"))


def sign(scopes):
    now = math.ceil(time.time())
    access = []
    for scope in scopes:
        kind, name, actions = scope.split(":")
        access.append({"type": kind, "name": name, "actions": actions.split(",")})
    claims = {"iss": "iss", "sub": user, "aud": "svc", "exp": now - 60 + life, "nbf": now - 120,
              "iat": now - 120, "jti": str(time.time()), "access": access}
    head = {"typ": "JWT", "alg": "RS256", "x5c": [certificate()]}
    text = b64(json.dumps(head).encode()) + "." + b64(json.dumps(claims).encode())
    made = subprocess.run(["openssl", "dgst", "-sha256", "-sign", folder + "/key.pem"],
                          input=text.encode(), stdout=subprocess.PIPE, check=True)
    return text + "." + b64(made.stdout)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        want = "Basic " + base64.b64encode((user + ":" + password).encode()).decode()
        self.give(query.get("scope", []), self.headers.get("Authorization") == want)

    def do_POST(self):
        """A refresh token, which is the password here, in a form."""
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        good = form.get("grant_type") == ["refresh_token"] and form.get("refresh_token") == [password]
        self.give(form.get("scope", [""])[0].split(), good)

    def give(self, scopes, good):
        with open(folder + "/log", "a") as log:
            log.write(" ".join(scopes) + "\n")
        if not good:
            self.answer(401, {"details": "incorrect username or password"})
        else:
            answer = {"token": sign(scopes), "expires_in": life}
            if skew is not None:
                answer["issued_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + skew))
            self.answer(200, answer)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
