#!/usr/bin/env python3
"""A client that does one step after the other, as told on its standard input: one JSON object a line, `do` and what it needs. After each step it
prints one JSON object; the first one when it is connected.

    steps.py PORT

| do | needs | prints |
| --- | --- | --- |
| tls | name, ca; perhaps cert, key, version ("1.2") | version, resumed; TLS over what there is, so a second one is TLS in TLS |
| send | text | |
| read | | head and body of one response |
| end | | what came until the end, and how that came: "close_notify", "cut" (TLS without it), "closed" (TCP), "reset" |
| fin | | half-closes TCP |
| keep | | keeps the session of the innermost TLS: the next one of the same name, ca, cert and version offers it |
| begin | port | closes the connection, and opens another one |

A step that fails prints `error`."""

import json
import socket
import ssl
import sys

from tls_layer import Layer

contexts, sessions = {}, {}


class Plain:
    def send(self, data):
        wire.sendall(data)

    def receive(self):
        return wire.recv(65536)


def half_close():
    layer = top
    while isinstance(layer, Layer):
        layer.is_mute = True
        layer = layer.below
    wire.shutdown(socket.SHUT_WR)
    return {}


def start_tls(step):
    global top
    key = tuple(step.get(word) for word in ("name", "ca", "cert", "version"))
    # Python's sessions belong to their context.
    context = contexts.get(key) or ssl.create_default_context(cafile=step["ca"])
    if key not in contexts and "cert" in step:
        context.load_cert_chain(step["cert"], step["key"])
    if "version" in step:
        context.minimum_version = context.maximum_version = ssl.TLSVersion["TLSv" + step["version"].replace(".", "_")]
    contexts[key] = context
    top = Layer(top, context, step["name"], sessions.get(key))
    top.handshake()
    top.key = key
    return {"version": top.tls.version(), "resumed": top.tls.session_reused}


def begin(port):
    global wire, top, rest
    if wire:
        wire.close()
    wire = socket.create_connection(("127.0.0.1", port), timeout=20)
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    top, rest = Plain(), b""
    return {}


def keep():
    sessions[top.key] = top.tls.session
    return {}


def read():
    global rest
    while b"\r\n\r\n" not in rest:
        data = top.receive()
        if not data:
            raise EOFError("the connection ended: %r" % rest)
        rest += data
    head, rest = rest.split(b"\r\n\r\n", 1)
    fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:])
    size = int(fields.get(b"content-length", b"0"))
    while len(rest) < size:
        data = top.receive()
        if not data:
            raise EOFError("the body is cut")
        rest += data
    body, rest = rest[:size], rest[size:]
    return {"head": head.decode("latin-1"), "body": body.decode("latin-1")}


def read_to_end():
    global rest
    received, rest = rest, b""
    try:
        while data := top.receive():
            received += data
        end = "closed" if isinstance(top, Plain) else "close_notify"
    except ssl.SSLError:
        end = "cut"
    except ConnectionResetError:
        end = "reset"
    return {"received": received.decode("latin-1"), "end": end}


wire = None
print(json.dumps(begin(int(sys.argv[1]))), flush=True)
for line in sys.stdin:
    step = json.loads(line)
    try:
        match step["do"]:
            case "tls": result = start_tls(step)
            case "send": result = top.send(step["text"].encode("latin-1")) or {}
            case "read": result = read()
            case "end": result = read_to_end()
            case "fin": result = half_close()
            case "keep": result = keep()
            case "begin": result = begin(int(step["port"]))
    except (OSError, EOFError) as error:
        result = {"error": "%s: %s" % (type(error).__name__, error)}
    print(json.dumps(result), flush=True)
