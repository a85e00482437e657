#!/usr/bin/env python3
"""A WebSocket server by other hands that wants a credential: websocket_server.py PKI_FOLDER AUTHORIZATION

It greets, then sends every message back. The first line on standard output is the port; it serves the certificate `good`. A request
without that Authorization is 401. It ends with its standard input."""

import pathlib
import ssl
import sys
import threading

from websockets.sync.server import serve

pki, authorization = sys.argv[1:]


def converse(connection):
    connection.send("hello\n")
    for message in connection:
        connection.send(message)


def judge(connection, request):
    if request.headers.get_all("Authorization") != [authorization]:
        return connection.respond(401, "not you\n")


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(pathlib.Path(pki) / "good.pem", pathlib.Path(pki) / "good.key")
server = serve(converse, "127.0.0.1", 0, ssl=context, process_request=judge)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.socket.getsockname()[1], flush=True)
sys.stdin.buffer.read()
