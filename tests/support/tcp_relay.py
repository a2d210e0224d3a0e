"""A relay of bytes: tcp_relay.py PORT MODE [ARGUMENT]. Its own port goes to standard output.

  reset N      the first N connections are reset once something came; the others are passed on
  alert N      the first connection that sent more than N bytes gets a TLS alert that nobody signed,
               and ends
  proxy [S]    an HTTP proxy that knows CONNECT only, to PORT of 127.0.0.1 or, when that is 0, the
               port asked for, whatever the host's name; with S it answers that status instead, with
               S 0 nothing at all. Each request's first line goes to standard error.
  full 4|6     nobody, at PORT of 127.0.0.1 or ::1: connections get no answer, not even a refusal
"""
import socket
import struct
import sys
import threading

PORT, MODE = int(sys.argv[1]), sys.argv[2]
ARGUMENT = int(sys.argv[3]) if len(sys.argv) > 3 else None
ALERT = b"\x15\x03\x03\x00\x02\x02\x50"  # fatal, internal error
count = [0]
alerted = []


def pass_on(source, target, alert=False):
    passed = 0
    try:
        while True:
            data = source.recv(65536)
            if not data:
                break
            passed += len(data)
            if alert and passed > ARGUMENT and not alerted:
                alerted.append(True)
                source.sendall(ALERT)
                break
            target.sendall(data)
    except OSError:
        pass
    for s in (source, target):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(client, number):
    if MODE == "reset" and number <= ARGUMENT:
        client.recv(1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        return
    port = PORT
    if MODE == "proxy":
        head = b""
        while b"\r\n\r\n" not in head:
            data = client.recv(65536)
            if not data:
                return
            head += data
        line = head.split(b"\r\n")[0].decode()
        print(line, file=sys.stderr, flush=True)
        if ARGUMENT == 0:
            client.recv(1)
            return
        if ARGUMENT or not line.startswith("CONNECT "):
            client.sendall(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % (ARGUMENT or 405))
            client.close()
            return
        port = PORT or int(line.split(" ")[1].rsplit(":", 1)[1])
        client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
    server = socket.create_connection(("127.0.0.1", port))
    threading.Thread(target=pass_on, args=(client, server, MODE == "alert"), daemon=True).start()
    pass_on(server, client)


def be_full():
    """A queue of connections that is full, which takes no more and refuses none."""
    family, host = (socket.AF_INET6, "::1") if ARGUMENT == 6 else (socket.AF_INET, "127.0.0.1")
    with socket.socket(family) as s:
        s.bind((host, PORT))
        s.listen(0)
        waiting = [socket.socket(family) for _ in range(8)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(s.getsockname())
        print(s.getsockname()[1], flush=True)
        threading.Event().wait()


if MODE == "full":
    be_full()
listener = socket.create_server(("127.0.0.1", 0), backlog=32)
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    count[0] += 1
    threading.Thread(target=serve, args=(connection, count[0]), daemon=True).start()
