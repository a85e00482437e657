"""HTTP servers on a unix socket.

unix_server.py PATH [BACKLOG]: refuses a Host that is no host, as Docker's does, and answers what it received. With BACKLOG it accepts
connections only after a line on standard input. Ends when standard input does.
"""

import json
import os
import socket
import sys
import threading


def fields_of(head):
    lines = head.decode("latin-1").split("\r\n")
    return lines[0], [line.split(": ", 1) for line in lines[1:] if line]


def serve(connection, number):
    data = b""
    served = 0
    while True:
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return
            data += more
        head, data = data.split(b"\r\n\r\n", 1)
        line, fields = fields_of(head)
        method, target, _ = line.split(" ")
        found = {name.lower(): value for name, value in fields}
        length = int(found.get("content-length", "0"))
        while len(data) < length:
            data += connection.recv(65536)
        body, data = data[:length], data[length:]
        served += 1
        # Go's net/http, and so Docker: "malformed Host header".
        host = found.get("host", "")
        status = "400 Bad Request" if not host or "/" in host else "200 OK"
        told = {
            "method": method, "target": target, "host": host, "authorization": found.get("authorization"),
            "connection": number, "index": served, "body": body.decode("latin-1"),
        }
        answer = json.dumps(told).encode()
        more = "Location: http://localhost/v1.41/next\r\n" if target.startswith("/redirect") else ""
        connection.sendall(f"HTTP/1.1 {status}\r\n{more}Content-Length: {len(answer)}\r\n\r\n".encode() + answer)


def main():
    path = sys.argv[1]
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(int(sys.argv[2]) if len(sys.argv) > 2 else 128)
    print("ready", flush=True)
    if len(sys.argv) > 2:
        sys.stdin.readline()

    def accept():
        number = 0
        while True:
            connection, _ = listener.accept()
            number += 1
            threading.Thread(target=serve, args=(connection, number), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


main()
