"""An HTTP proxy in front of a registry that breaks things: fault_proxy.py PORT DIR [RULE...].

Its own port goes to standard output; each request is a JSON line of DIR/log with "body", the bytes
of the request's body that came from the client. A rule is "METHOD REGEX WHICH ACTION [ARGUMENT]";
WHICH counts the requests that match METHOD ("-": any) and REGEX (of the path and query): "2",
"1-3", "*". Actions:

  cut N          reset the connection after N bytes of the body (N%: of its length); the registry's
                 is closed behind them
  status S [H]   answer S without reading the body, with the header line H
  lose N         read N bytes of the body, pass none of them on, and reset the connection
  drop           pass the request on, and reset the client's connection instead of answering
  stall S        wait S seconds, then pass on
  later S        pass on, and wait S seconds before the answer
  limit N        answer 413 when the body is longer than N bytes
  limitcut N     reset the connection after N bytes when the body is longer
  buffer         read the whole body before passing it on, as nginx does by default
  replace S [H]  pass the request on, and answer S, with the header line H, for the registry
  corrupt N      byte N of the body is another one
  header H       put the header line H into the answer instead of its own ("Range:" removes it)
  mute           pass on without Expect, and never say 100 Continue
  trickle        send the answer's head a byte a second
  stale          close the connection once the next request comes on it
  wait           create DIR/held, wait until there is DIR/go, then pass on
  without H      pass on without the header H ("Range", "Accept")
  early N        pass a range on that begins N bytes earlier

What happens to the answer's body:

  acut N         reset the connection after N bytes
  unsized N      do not say its length, and end after N bytes
  flip N         byte N is another one
  long           a byte more
  slow N         N bytes a second
  die N          the proxy is no more after N bytes

Options before the rules: "--hold N": once N bytes of bodies have passed in all, create DIR/held and
pass nothing on any more on that connection. "--pause N": the same, and go on when there is DIR/go.
"--cut-connections MIN MAX SEED": reset each connection
after a random number of bytes from the client. "--gateway": a backend that closes its connection
while a body is read is answered with 502, as nginx does when it does not buffer.
"""
import fcntl
import json
import os
import random
import re
import select
import socket
import struct
import sys
import termios
import threading
import time


ANSWERS = ("acut", "unsized", "flip", "long", "slow", "die")


class Reset(Exception):
    pass


class Rule:
    def __init__(self, text):
        words = text.split(" ", 4)
        self.method, self.path, self.which, self.action = words[:4]
        self.argument = words[4] if len(words) > 4 else ""
        self.seen = 0

    def takes(self, method, path):
        if self.method not in ("-", method) or not re.search(self.path, path):
            return False
        self.seen += 1
        if self.which == "*":
            return True
        first, _, last = self.which.partition("-")
        return int(first) <= self.seen <= int(last or first)


class Shared:
    def __init__(self):
        self.lock = threading.Lock()
        self.total = 0
        self.hold = None
        self.pause = False
        self.cuts = None
        self.gateway = False
        self.rules = []


shared = Shared()


def arrived(sock):
    """Wait until the other side has what was sent, of which a reset would take back some."""
    for _ in range(1000):
        if struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0] == 0:
            return
        time.sleep(0.01)


def wait_for_go():
    open(os.path.join(folder, "held"), "w").close()
    while not os.path.exists(os.path.join(folder, "go")):
        time.sleep(0.02)


def reset(*sockets):
    for s in sockets:
        try:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()
        except OSError:
            pass


class Peer:
    """A buffered socket."""

    def __init__(self, sock):
        self.sock, self.buffer = sock, b""

    def fill(self):
        data = self.sock.recv(65536)
        self.buffer += data
        return bool(data)

    def head(self):
        while b"\r\n\r\n" not in self.buffer:
            if not self.fill() or self.buffer[:1] == b"\x16":
                return None
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        return head

    def some(self, most):
        if not self.buffer and not self.fill():
            return b""
        data, self.buffer = self.buffer[:most], self.buffer[most:]
        return data


def field(head, name):
    found = re.search(rb"(?im)^" + name + rb":[ \t]*(.*?)\r?$", head)
    return found.group(1).decode() if found else None


def other_byte(data, at):
    if not 0 <= at < len(data):
        return data
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def without(head, name):
    return re.sub(rb"(?im)\r\n" + name + rb":[^\r]*", b"", head)


class Connection:
    def __init__(self, client, port):
        self.client, self.port = Peer(client), port
        self.server = None
        self.range = self.corrupt = self.scheme = None
        self.allowance = shared.cuts() if shared.cuts else None

    def connect(self):
        if not self.server:
            self.server = Peer(socket.create_connection(("127.0.0.1", self.port)))

    def log(self, method, path, body, what, began):
        line = json.dumps({"method": method, "path": path.partition("?")[0], "body": body,
                           "what": what, "connection": id(self), "began": began, "ended": time.time(),
                           "range": self.range, "authorization": self.scheme})
        with shared.lock, open(os.path.join(folder, "log"), "a") as log:
            log.write(line + "\n")

    def count(self, n):
        with shared.lock:
            shared.total += n
            held = shared.hold is not None and shared.total >= shared.hold
            if held:
                shared.hold = None
        if held and shared.pause:
            wait_for_go()
        elif held:
            open(os.path.join(folder, "held"), "w").close()
            while self.client.sock.recv(65536):
                pass
            raise Reset
        if self.allowance is not None:
            self.allowance -= n
            if self.allowance <= 0:
                raise Reset

    def early(self):
        """Whether the server answers already."""
        return self.server.buffer or select.select([self.server.sock], [], [], 0)[0]

    def pump(self, length, cut, sent):
        left = length
        while left and not (cut is None and self.early()):
            room = min(left, 65536, cut - sent[0] if cut is not None else left)
            if room <= 0:
                raise Reset
            data = self.client.some(room)
            if not data:
                raise Reset
            if self.corrupt is not None:
                data = other_byte(data, self.corrupt - sent[0])
            sent[0] += len(data)
            left -= len(data)
            self.server.sock.sendall(data)
            self.count(len(data))
        if cut is not None and sent[0] >= cut:
            raise Reset
        return left

    def line(self):
        while b"\r\n" not in self.client.buffer:
            if not self.client.fill():
                raise Reset
        text, _, self.client.buffer = self.client.buffer.partition(b"\r\n")
        return text

    def pump_chunks(self, sent):
        """A body whose length is not said beforehand, as skopeo sends them."""
        while True:
            head = self.line()
            self.server.sock.sendall(head + b"\r\n")
            left = int(head.split(b";")[0], 16)
            last = left == 0
            left += 2
            while left:
                data = self.client.some(min(left, 65536))
                if not data:
                    raise Reset
                left -= len(data)
                sent[0] += len(data)
                self.server.sock.sendall(data)
                self.count(len(data))
            if last:
                return

    def answer(self, text, extra=b""):
        self.client.sock.sendall(b"HTTP/1.1 " + text + b"\r\n" + extra +
                                 b"Content-Length: 0\r\nConnection: close\r\n\r\n")
        self.client.sock.shutdown(socket.SHUT_WR)
        self.client.sock.settimeout(10)
        try:
            while self.client.sock.recv(65536):
                pass
        except OSError:
            pass

    def relay(self, method, rule):
        head = self.server.head()
        if head is None:
            raise Reset
        status = int(head.split(b" ")[1])
        if rule and rule.action == "later" and status != 100:
            time.sleep(float(rule.argument))
        self.said = head
        if rule and rule.action == "header":
            name, _, value = rule.argument.partition(":")
            head = without(head, name.encode())
            if value:
                head += b"\r\n" + rule.argument.encode()
        if rule and rule.action == "unsized":
            head = without(head, b"Content-Length") + b"\r\nConnection: close"
        if rule and rule.action == "long" and field(head, b"Content-Length"):
            head = without(head, b"Content-Length") + b"\r\nContent-Length: %d" % (
                int(field(self.said, b"Content-Length")) + 1)
        if rule and rule.action == "trickle":
            for byte in head + b"\r\n\r\n":
                self.client.sock.sendall(bytes([byte]))
                time.sleep(1)
        else:
            self.client.sock.sendall(head + b"\r\n\r\n")
        if status == 100 or method == "HEAD" or status in (204, 304):
            return status
        if not self.relay_chunks(self.said):
            self.relay_body(int(field(self.said, b"Content-Length") or 0), rule)
        return status

    def relay_chunks(self, head):
        if field(head, b"Content-Length") or (field(head, b"Transfer-Encoding") or "").lower() != "chunked":
            return False
        tail = b""
        while not tail.endswith(b"0\r\n\r\n"):
            data = self.server.some(65536)
            if not data:
                raise Reset
            tail = (tail + data)[-5:]
            self.client.sock.sendall(data)
        return True

    def relay_body(self, length, rule):
        action, n = (rule.action, int(rule.argument or 0)) if rule and rule.action in ANSWERS else ("", 0)
        most = n if action in ("acut", "unsized", "die") else length
        at = 0
        while at < min(length, most):
            data = self.server.some(min(min(length, most) - at, 65536))
            if not data:
                raise Reset
            if action == "flip":
                data = other_byte(data, n - at)
            if action == "slow":
                time.sleep(len(data) / n)
            at += len(data)
            self.client.sock.sendall(data)
        if action == "long":
            self.client.sock.sendall(b" ")
        if at < length or action == "unsized":
            if action == "die":
                os._exit(0)
            if action == "unsized":
                self.client.sock.shutdown(socket.SHUT_WR)
            arrived(self.client.sock)
            raise Reset

    def request(self):
        head = self.client.head()
        if head is None:
            return False
        method, path = head.split(b"\r\n")[0].decode().split(" ")[:2]
        sent = [0]
        began = time.time()
        try:
            what, go_on = self.serve(head, method, path, sent)
        except (Reset, OSError) as e:
            self.log(method, path, sent[0], "reset", began)
            if shared.gateway and isinstance(e, OSError):
                self.answer(b"502 Bad Gateway")
            else:
                reset(self.client.sock)
            return False
        self.log(method, path, sent[0], what, began)
        return go_on

    def serve(self, head, method, path, sent):
        length = int(field(head, b"Content-Length") or 0)
        self.range = field(head, b"Content-Range") or field(head, b"Range")
        self.scheme = (field(head, b"Authorization") or "").partition(" ")[0]
        with shared.lock:
            rule = next((r for r in shared.rules if r.takes(method, path)), None)
        action = rule.action if rule else ""
        expect = field(head, b"Expect") is not None
        cut = None
        if action == "status" or (action == "limit" and length > int(rule.argument)):
            status, _, extra = (rule.argument if action == "status" else "413").partition(" ")
            self.answer(status.encode() + b" Fault", extra.encode() + b"\r\n" if extra else b"")
            return "fault " + status, False
        if action == "cut":
            n = rule.argument
            cut = length * int(n[:-1]) // 100 if n.endswith("%") else int(n)
            if not length:
                raise Reset
        if action == "limitcut" and length > int(rule.argument):
            cut = int(rule.argument)
        if action == "lose":
            if expect:
                self.client.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            while sent[0] < min(int(rule.argument), length):
                sent[0] += len(self.client.some(65536)) or 1 << 40
            raise Reset
        if action == "wait":
            wait_for_go()
        if action == "stall":
            time.sleep(float(rule.argument))
        self.connect()
        if cut == 0:
            raise Reset
        if action in ("buffer", "mute"):
            head = without(head, b"Expect")
        if action == "without":
            head = without(head, rule.argument.encode())
        if action == "early":
            head = re.sub(rb"(?im)^Range: bytes=(\d+)-",
                          lambda m: b"Range: bytes=%d-" % (int(m[1]) - int(rule.argument)), head)
        self.corrupt = int(rule.argument) if action == "corrupt" else None
        if action == "buffer":
            if expect:
                self.client.sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            held = b""
            while len(held) < length:
                data = self.client.some(length - len(held))
                if not data:
                    raise Reset
                held += data
                sent[0] += len(data)
                self.count(len(data))
            self.server.sock.sendall(head + b"\r\n\r\n" + held)
            length = 0
        else:
            self.server.sock.sendall(head + b"\r\n\r\n")
            if expect and action != "mute":
                status = self.relay(method, rule)
                if status != 100:
                    return status, False
        left = 0
        if (field(head, b"Transfer-Encoding") or "").lower() == "chunked":
            self.pump_chunks(sent)
        else:
            left = self.pump(length, cut, sent)
        if action == "drop":
            self.server.head()
            raise Reset
        if action == "replace":
            self.server.head()
            status, _, extra = rule.argument.partition(" ")
            self.answer(status.encode() + b" Fault", extra.encode() + b"\r\n" if extra else b"")
            return "fault " + status, False
        status = self.relay(method, rule)
        if action == "stale":
            self.client.fill()
            reset(self.client.sock)
            return status, False
        return status, not left

    def run(self):
        try:
            while self.request():
                pass
        except OSError:
            pass
        for peer in (self.client, self.server):
            if peer:
                peer.sock.close()


def main(arguments):
    port = int(arguments.pop(0))
    global folder
    folder = arguments.pop(0)
    while arguments and arguments[0].startswith("--"):
        option = arguments.pop(0)
        if option in ("--hold", "--pause"):
            shared.hold = int(arguments.pop(0))
            shared.pause = option == "--pause"
        elif option == "--gateway":
            shared.gateway = True
        elif option == "--cut-connections":
            least, most, seed = (int(arguments.pop(0)) for _ in range(3))
            dice = random.Random(seed)
            shared.cuts = lambda: dice.randint(least, most)
    shared.rules = [Rule(text) for text in arguments]
    listener = socket.create_server(("127.0.0.1", 0), backlog=32)
    if shared.pause:  # little may lie in between
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 131072)
    print(listener.getsockname()[1], flush=True)
    while True:
        client, _ = listener.accept()
        threading.Thread(target=Connection(client, port).run, daemon=True).start()


main(sys.argv[1:])
