#!/usr/bin/env python3
"""Serves certificates: leaf_server.py CHAIN KEY...

Each CHAIN file on a port of its own, with its KEY. The first line on standard output is a JSON list of the ports. It ends with its standard
input."""

import json
import socket
import ssl
import sys
import threading


def serve(server, context):
    while True:
        accepted, _ = server.accept()
        threading.Thread(target=converse, args=(accepted, context), daemon=True).start()


def converse(accepted, context):
    try:
        with context.wrap_socket(accepted, server_side=True) as wrapped:
            wrapped.recv(1)
    except OSError:
        pass


ports = []
for chain, key in zip(sys.argv[1::2], sys.argv[2::2]):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    server = socket.create_server(("127.0.0.1", 0))
    ports.append(server.getsockname()[1])
    threading.Thread(target=serve, args=(server, context), daemon=True).start()
print(json.dumps(ports), flush=True)
sys.stdin.buffer.read()
