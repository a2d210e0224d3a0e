"""A relay of bytes: tcp_relay.py PORT MODE [ARGUMENT]. Its own port goes to standard output.

  reset N      the first N connections are reset once something came; the others are passed on
  proxy [S]    an HTTP proxy that knows CONNECT only; with S it answers that status instead. Each
               request's first line goes to standard error.
"""
import socket
import struct
import sys
import threading

PORT, MODE = int(sys.argv[1]), sys.argv[2]
ARGUMENT = int(sys.argv[3]) if len(sys.argv) > 3 else 0
count = [0]


def pass_on(source, target):
    try:
        while True:
            data = source.recv(65536)
            if not data:
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
        if ARGUMENT or not line.startswith("CONNECT "):
            client.sendall(b"HTTP/1.1 %d No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % (ARGUMENT or 405))
            client.close()
            return
        port = int(line.split(" ")[1].rsplit(":", 1)[1])
        client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
    server = socket.create_connection(("127.0.0.1", port))
    threading.Thread(target=pass_on, args=(client, server), daemon=True).start()
    pass_on(server, client)


listener = socket.create_server(("127.0.0.1", 0), backlog=32)
print(listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    count[0] += 1
    threading.Thread(target=serve, args=(connection, count[0]), daemon=True).start()
