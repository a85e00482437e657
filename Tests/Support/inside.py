#!/usr/bin/env python3
"""A client that sends CONNECT to the proxy, then TLS, then what stands on its standard input.

    inside.py PROXY TARGET CA [--sni NAME] [--alpn NAME,...] [--tls 1.2|1.3] [--password NAME:PASSWORD] [--together] [--bytewise]
              [--repeat N] [--then TARGET] [--other NAME:PASSWORD] [--half-close] [--reset] [--over HOST:CA] [--header HEX]

Prints one JSON object: connect (status of the CONNECT), handshake ("" or OpenSSL's reason), version, alpn, resumed (of each turn), received
(what came inside, as Latin-1), end ("close_notify", "cut" or "open" after a second of silence).

--together sends the ClientHello in the CONNECT's packet. --bytewise sends each byte of TLS in a packet of its own until the handshake is
done. --repeat makes the connection N times with the session of the one before; --then and --other from the second on to another target, as another client. --half-close sends close_notify behind the input.
--reset resets the connection after the handshake. --over speaks TLS to the proxy itself, for HOST and with the roots of CA. --header sends these bytes first, with --bytewise each alone."""

import argparse
import base64
import json
import socket
import ssl
import struct
import sys

from tls_layer import Layer


class Wire:
    def __init__(self, port, header, bytewise):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.first = header
        if bytewise:
            self.first = b""
            for byte in header:
                self.socket.sendall(bytes([byte]))

    def send(self, data):
        first, self.first = self.first, b""
        self.socket.sendall(first + data)

    def receive(self):
        return self.socket.recv(65536)


def context(ca, alpn, version):
    made = ssl.create_default_context(cafile=ca)
    made.verify_flags |= ssl.VERIFY_X509_STRICT
    if alpn:
        made.set_alpn_protocols(alpn.split(","))
    if version:
        made.minimum_version = made.maximum_version = {
            "1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3, "1.1": ssl.TLSVersion.TLSv1_1}[version]
    return made


def connect(arguments, tls, session, request, result):
    wire = Wire(arguments.proxy, bytes.fromhex(arguments.header), arguments.bytewise)
    if arguments.over:
        host, ca = arguments.over.split(":", 1)
        over = Layer(wire, context(ca, None, None), host)
        over.handshake()
        transport = over
    else:
        transport = wire
    fields = ""
    if arguments.password:
        fields = "Proxy-Authorization: Basic %s\r\n" % base64.b64encode(arguments.password.encode()).decode()
    head = ("CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (arguments.target, arguments.target, fields)).encode()
    host = arguments.target.rsplit(":", 1)[0].strip("[]")
    inside = Layer(transport, tls, arguments.sni or host, session, arguments.bytewise)
    transport.send(head + (inside.hello() if arguments.together else b""))
    answer = b""
    while b"\r\n\r\n" not in answer:
        data = transport.receive()
        if not data:
            raise SystemExit("no answer to the CONNECT: %r" % answer)
        answer += data
    answer, rest = answer.split(b"\r\n\r\n", 1)
    # The ServerHello may follow the 200 at once.
    inside.inbound.write(rest)
    result["connect"] = int(answer.split()[1])
    if result["connect"] != 200:
        result["received"] = (answer + rest).decode("latin-1")
        return None
    try:
        inside.handshake()
    except (ssl.SSLError, OSError) as error:
        result["handshake"] = "%s %s" % (getattr(error, "reason", None) or "", error)
        return None
    result["version"], result["alpn"] = inside.tls.version(), inside.tls.selected_alpn_protocol() or ""
    result["resumed"].append(inside.tls.session_reused)
    received = b""
    if arguments.reset:
        # The tickets, which come when the proxy is done, too.
        wire.receive()
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.socket.close()
        return None
    try:
        if request:
            inside.send(request)
        if arguments.half_close:
            inside.half_close()
        wire.socket.settimeout(arguments.patience)
        while True:
            data = inside.receive()
            if not data:
                result["end"] = "close_notify"
                break
            received += data
    except TimeoutError:
        result["end"] = "open"
    except (ssl.SSLError, OSError):
        result["end"] = "cut"
    result["received"] = received.decode("latin-1")
    return inside.tls.session


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("proxy", type=int)
    parser.add_argument("target")
    parser.add_argument("ca")
    parser.add_argument("--sni")
    parser.add_argument("--alpn")
    parser.add_argument("--tls")
    parser.add_argument("--password")
    parser.add_argument("--over")
    parser.add_argument("--header", default="")
    parser.add_argument("--then")
    parser.add_argument("--other")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--patience", type=float, default=1)
    for flag in ("--together", "--bytewise", "--half-close", "--reset"):
        parser.add_argument(flag, action="store_true")
    arguments = parser.parse_args()
    request = sys.stdin.buffer.read()
    result = {"connect": 0, "handshake": "", "version": "", "alpn": "", "resumed": [], "received": "", "end": ""}
    tls = context(arguments.ca, arguments.alpn, arguments.tls)
    session = None
    for _ in range(arguments.repeat):
        session = connect(arguments, tls, session, request, result)
        if arguments.then:
            arguments.target = arguments.then
        if arguments.other:
            arguments.password = arguments.other
    print(json.dumps(result))


main()
