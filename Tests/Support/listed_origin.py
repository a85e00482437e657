"""One origin of a list: on a port of its own, which it can take again after it was killed.

    listed_origin.py PKI_FOLDER SCHEME PORT

SCHEME is http or https (certificate of localhost). The first line on standard output is the port; PORT 0: any. Each line on standard input is a
mode, and its answer how many connections it has taken so far:
    serve     answers each request with JSON: method, target, fields (by lower-case name), size of the body; and as many bytes more as X-Pad says,
              with the Cache-Control that X-Cache-Control says
    close     closes each connection at once
    hang      takes connections, and sends nothing
    swallow   reads a request's head, and closes
    mute      reads a request's head, and sends nothing
    garbage   answers a request with what is no HTTP, and closes
    half      answers a request with half a head, and closes
    early     answers a request with 103, and closes
    hint      answers a request with 103, and sends nothing more
    picky     serves, but closes instead of answering a request whose target has "bad"
    wrong     serves, with a certificate of another name
    busy      serves, but answers 503
It ends with its standard input.
"""

import json
import pathlib
import socket
import ssl
import sys
import threading

pki, scheme, port = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
mode = "serve"
taken = 0
kept = []
HINTS = b"HTTP/1.1 103 Early Hints\r\n\r\n"
# What is sent instead of an answer.
PIECES = {"swallow": b"", "garbage": b"SSH-2.0-x\r\n\r\n", "half": b"HTTP/1.1 200 OK\r\nConte", "early": HINTS}


def context(name):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(pki / f"{name}.pem", pki / f"{name}.key")
    return made


def read_request(file):
    line = file.readline().decode("latin-1")
    if not line:
        return None
    method, target, _ = line.split(" ", 2)
    fields = {}
    while (line := file.readline().decode("latin-1").rstrip("\r\n")):
        name, value = line.split(":", 1)
        fields[name.lower()] = value.strip()
    return method, target, fields


def read_body(file, fields):
    if "content-length" in fields:
        return len(file.read(int(fields["content-length"])))
    size = 0
    while fields.get("transfer-encoding") == "chunked":
        count = int(file.readline(), 16)
        size += len(file.read(count))
        file.readline()
        if not count:
            break
    return size


def serve(client, how):
    if how == "hang":
        kept.append(client)
        return
    try:
        if how == "close":
            client.close()
            return
        if scheme == "https":
            client = context("wrong-host" if how == "wrong" else "good").wrap_socket(client, server_side=True)
        file = client.makefile("rb")
        while request := read_request(file):
            if how in ("mute", "hint"):
                client.sendall(HINTS if how == "hint" else b"")
                kept.append(client)
                return
            if how == "picky" and "bad" in request[1]:
                break
            if how in PIECES:
                client.sendall(PIECES[how])
                break
            method, target, fields = request
            if fields.get("upgrade") == "websocket":
                client.sendall(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n")
                while data := file.read1(4096):
                    client.sendall(data)
                break
            size = read_body(file, fields)
            said = {"method": method, "target": target, "fields": fields, "size": size, "port": port}
            body = json.dumps(said | {"pad": "x" * int(fields.get("x-pad", "0"))}).encode()
            status = b"503 Busy" if how == "busy" else b"200 OK"
            place = fields.get("x-location", "").encode()
            more = b"Location: " + place + b"\r\n" if place else b""
            if "x-cache-control" in fields:
                more += b"Cache-Control: %s\r\n" % fields["x-cache-control"].encode()
            client.sendall(b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, more, len(body), body))
        file.close()
        client.close()
    except (OSError, ValueError):
        client.close()


def accept(listener):
    global taken
    while True:
        client, _ = listener.accept()
        taken += 1
        threading.Thread(target=serve, args=(client, mode), daemon=True).start()


listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", port))
listener.listen(1024)
port = listener.getsockname()[1]
threading.Thread(target=accept, args=(listener,), daemon=True).start()
print(port, flush=True)
for line in sys.stdin:
    if line.strip():
        mode = line.strip()
    print(taken, flush=True)
