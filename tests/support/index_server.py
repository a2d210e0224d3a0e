"""A private package index: the wheels of a folder, for who shows user and password.

index_server.py FOLDER USER PASSWORD
Prints its port, and serves until it is ended. /simple/NAME/ lists the wheels of a name.
"""
import base64
import hashlib
import http.server
import os
import re
import sys

folder, user, password = sys.argv[1:4]
wanted = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def normalized(name):
    return re.sub(r"[-_.]+", "-", name).lower()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", kind="text/html"):
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="index"')
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0]
        if self.headers.get("Authorization") != wanted:
            return self.answer(401)
        if path.startswith("/files/"):
            file = os.path.join(folder, os.path.basename(path))
            if not os.path.exists(file):
                return self.answer(404)
            with open(file, "rb") as f:
                return self.answer(200, f.read(), "application/zip")
        name = path.rstrip("/").split("/")[-1]
        links = []
        for file in sorted(os.listdir(folder)):
            if file.endswith(".whl") and normalized(file.split("-")[0]) == normalized(name):
                with open(os.path.join(folder, file), "rb") as f:
                    digest = hashlib.sha256(f.read()).hexdigest()
                links.append(f'<a href="/files/{file}#sha256={digest}">{file}</a>')
        self.answer(200 if links else 404, "".join(links).encode())

    do_HEAD = do_GET

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
