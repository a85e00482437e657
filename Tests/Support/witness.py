"""An origin and token server that keeps every byte it receives, after TLS.

    witness.py PKI_FOLDER

The first line on standard output is JSON: the ports `http` and `https` (certificate of localhost). After each line on standard input it
prints one with what has come to each so far, as latin-1 text. It ends with its standard input. Any request is answered 200, below /token with
an access token.
"""

import json
import pathlib
import socket
import ssl
import sys
import threading

TOKEN = "tok-5ecret-of-the-server"
kept = {"http": bytearray(), "https": bytearray()}
lock = threading.Lock()
tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
pki = pathlib.Path(sys.argv[1])
tls.load_cert_chain(pki / "good.pem", pki / "good.key")


def serve(client, kind):
    try:
        if kind == "https":
            client = tls.wrap_socket(client, server_side=True)
        data = b""
        while more := client.recv(65536):
            with lock:
                kept[kind].extend(more)
            data += more
            while b"\r\n\r\n" in data:
                head, _, rest = data.partition(b"\r\n\r\n")
                length = next((int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
                if len(rest) < length:
                    break
                data = rest[length:]
                body = b"ok"
                if head.split(b" ")[1].startswith(b"/token"):
                    body = json.dumps({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600}).encode()
                ends = b"connection: close" in head.lower()
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                if ends:
                    return
    except OSError:
        pass
    finally:
        client.close()


def listen(kind):
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)

    def run():
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client, kind), daemon=True).start()

    threading.Thread(target=run, daemon=True).start()
    return listener.getsockname()[1]


print(json.dumps({kind: listen(kind) for kind in kept}), flush=True)
for _ in sys.stdin:
    with lock:
        print(json.dumps({kind: bytes(text).decode("latin-1") for kind, text in kept.items()}), flush=True)
