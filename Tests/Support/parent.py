"""Parent proxies in the tests: HTTP, HTTPS and SOCKS5 on loopback, one thread per connection.

    parent.py PKI_FOLDER [CERTIFICATE]

The first line on standard output is JSON: the ports of `http`, `https` (by default the certificate of localhost), `socks` and `control`. It ends with its
standard input. POST /set to the control port changes the settings and answers with the state:
    login       "user:password" that it wants (Basic, RFC 1929); null: none
    digest      null, or what its Digest challenges say instead of Basic ones (RFC 7616): {"algorithm": ..., "qop": ..., "uses": how often
                a nonce is good, "nextnonce": whether it names the next one, "closes": whether a challenge ends its connection, "body":
                bytes of a challenge's body, "always": its nonces are stale at once, "once_stale": the first is, "rotates": each challenge has
                another realm}
    answer      what it answers to CONNECT instead of its own, as latin-1 text; `{tunnel}` at its end: the tunnel opens none the less
    late        seconds that it takes to refuse a credential
    hangs_up    closes the connection instead of refusing a credential that was presented
    piece       how many bytes of its answers leave at once; 0: all
    reply       the reply code of SOCKS
    bound       the address type in SOCKS replies: 1, 3 or 4
    closes      closes each connection at once
    silent      never answers a request whose target contains this text; "": none of them. Over SOCKS: only its host
    denied      it answers 407 to each request whose target contains this text, whatever the login; "": none
    blocked     the same with 403, before it judges the login
    drops       it closes the connection instead of answering each request whose target contains this text; null: none
    refusal     what it sends in place of each 407 to a wrong login, before it closes; "": the 407
    idle        seconds that it waits for the first head on a connection, before it answers 408 and closes; 0: long
    before      what it sends first in answer to a request in absolute-form
    pipe        port on loopback to which it passes each connection as it is; 0: none
    names       {name: address} that it resolves; others are 127.0.0.1
    forget      clears what was recorded, after the answer
    capture     keeps every byte that clients send, without the parent's own TLS
State: `broken`, what no client of Digest may do; `asked`, a list of {kind: connect|absolute|socks, target, fields: {name: [values]}, user, connection, tls, alpn,
certificate}, `open`, and `captured`, what was kept as latin-1 text.
"""

import base64
import hashlib
import http.server
import ipaddress
import itertools
import json
import pathlib
import re
import secrets
import select
import socket
import ssl
import struct
import sys
import threading
import time

pki = pathlib.Path(sys.argv[1])
lock = threading.Lock()
numbers = itertools.count(1)
settings = {"login": None, "digest": None, "answer": None, "piece": 0, "reply": 0, "bound": 1, "closes": False, "silent": None, "names": {},
            "capture": False, "before": "", "pipe": 0, "denied": "", "blocked": "", "hangs_up": False, "late": 0,
            "drops": None, "refusal": "", "idle": 0}
asked = []
captured = bytearray()
broken = []
nonces = {}  # nonce: its largest count
opened = set()


def record(kind, target, fields, user, number, tls, **more):
    with lock:
        asked.append({"kind": kind, "target": target, "fields": fields, "user": user, "connection": number, "tls": tls} | more)


def seen(client):
    """Of a TLS client: the protocol that it offered, and the name in its certificate."""
    names = dict(part[0] for part in (client.getpeercert() or {}).get("subject", ()))
    return {"alpn": client.selected_alpn_protocol(), "certificate": names.get("commonName")}


def receive(side, count=65536):
    """Of a client."""
    data = side.recv(count)
    if settings["capture"]:
        with lock:
            captured.extend(data)
    return data


def reach(host, port):
    host = settings["names"].get(host, host)
    try:
        ipaddress.ip_address(host)
    except ValueError:
        host = "127.0.0.1"
    return socket.create_connection((host, port), 5)


def send(client, data):
    piece = settings["piece"] or len(data)
    for start in range(0, len(data), max(piece, 1)):
        client.sendall(data[start : start + piece])


def relay(client, far):
    """Bytes both ways, until both have ended."""
    sides = {client: far, far: client}
    while sides:
        pending = [side for side in sides if isinstance(side, ssl.SSLSocket) and side.pending()]
        ready = pending or select.select(list(sides), [], [], 60)[0]
        if not ready:
            return
        for side in ready:
            try:
                data = receive(side) if side is client else side.recv(65536)
            except (OSError, ssl.SSLError):
                return
            other = far if side is client else client
            try:
                if data:
                    other.sendall(data)
                else:
                    del sides[side]
                    if isinstance(other, ssl.SSLSocket):
                        return
                    other.shutdown(socket.SHUT_WR)
            except OSError:
                return


def read_head(client, data=b""):
    while b"\r\n\r\n" not in data:
        more = receive(client)
        if not more:
            return None, None, data
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        fields.setdefault(name.lower(), []).append(value.strip())
    return lines[0].split(" "), fields, rest


HASHES = {"MD5": "md5", "SHA-256": "sha256", "SHA-512-256": "sha512_256"}


def new_nonce():
    nonce = secrets.token_hex(8)
    with lock:
        nonces[nonce] = 0
    return nonce


def judge(method, target, fields):
    """The fields that a challenge has, or None; and those that a welcome answer gets."""
    if settings["login"] is None:
        return None, ""
    if settings["digest"] is None:
        return (None if is_welcome(fields) else 'Proxy-Authenticate: Basic realm="parent"\r\n'), ""
    wish = settings["digest"]
    algorithm = wish.get("algorithm", "MD5")

    def challenge(stale=""):
        qop = wish.get("qop", "auth")
        realm = f"parent {next(numbers)}" if wish.get("rotates") else "parent"
        says = f'Proxy-Authenticate: Digest realm="{realm}", nonce="{new_nonce()}", algorithm={algorithm}{stale}'
        return says + (f', qop="{qop}"' if qop else "") + '\r\nProxy-Authenticate: Basic realm="parent"\r\n', ""

    sent = fields.get("proxy-authorization")
    if not sent:
        return challenge()
    scheme, _, rest = sent[0].partition(" ")
    told = {name: quoted or plain for name, quoted, plain in re.findall(r'(\w+)=(?:"([^"]*)"|([^\s,"]+))', rest)}
    user, _, password = settings["login"].partition(":")

    def hashed(text):
        return hashlib.new(HASHES[algorithm], text.encode()).hexdigest()

    wanted = ":".join([hashed(f"{user}:parent:{password}"), told.get("nonce", "")]
                      + ([told.get("nc", ""), told.get("cnonce", ""), told["qop"]] if "qop" in told else [])
                      + [hashed(f"{method}:{target}")])
    with lock:
        if scheme != "Digest" or len(sent) != 1 or told.get("uri") != target:
            broken.append(f"{method} {target}: {sent}")
        count, last = int(told.get("nc", "0"), 16), nonces.get(told.get("nonce"))
        if last is not None and "qop" in told:
            if count <= last:
                broken.append(f"count {count} after {last}")
            nonces[told["nonce"]] = count
    if told.get("response") != hashed(wanted) or told.get("username") != user:
        return challenge()
    if wish.pop("once_stale", False) or last is None or wish.get("always") or count > wish.get("uses", 1 << 30):
        return challenge(", stale=true")
    return None, f'Proxy-Authentication-Info: nextnonce="{new_nonce()}"\r\n' if wish.get("nextnonce") else ""


def is_welcome(fields):
    wanted = "Basic " + base64.b64encode(settings["login"].encode()).decode()
    return fields.get("proxy-authorization") == [wanted]


def serve_http(client, number, tls):
    rest = b""
    if settings["idle"] and not select.select([client], [], [], settings["idle"])[0]:
        return send(client, b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    while True:
        line, fields, rest = read_head(client, rest)
        if line is None:
            return
        method, target = line[0], line[1]
        record("connect" if method == "CONNECT" else "absolute", target, fields, None, number, tls,
               **(seen(client) if tls else {}))
        if settings["silent"] is not None and settings["silent"] in target:
            # Until the other side leaves.
            while client.recv(65536):
                pass
            return
        if settings["drops"] is not None and settings["drops"] in target:
            return
        if method != "CONNECT" and settings["before"]:
            client.sendall(settings["before"].encode("latin-1"))
        if settings["blocked"] and settings["blocked"] in target:
            send(client, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            continue
        challenge, info = judge(method, target, fields)
        if settings["denied"] and settings["denied"] in target:
            challenge = 'Proxy-Authenticate: Basic realm="parent"\r\n'
        if challenge is not None and "proxy-authorization" in fields:
            time.sleep(settings["late"])
            if settings["hangs_up"]:
                return
        if challenge is not None and settings["refusal"]:
            return send(client, settings["refusal"].encode("latin-1"))
        if challenge is not None:
            wish = settings["digest"] or {}
            if method != "CONNECT":
                # Its body is read, as most proxies do.
                length = int(fields.get("content-length", ["0"])[0])
                while len(rest) < length:
                    rest += client.recv(65536)
                rest = rest[length:]
            body = b"w" * wish.get("body", 4)
            closes = "Connection: close\r\n" if wish.get("closes") else ""
            send(client, f"HTTP/1.1 407 Who Are You\r\n{challenge}{closes}Content-Length: {len(body)}\r\n\r\n".encode() + body)
            if closes:
                return
            continue
        if method == "CONNECT":
            answer = settings["answer"]
            if answer is not None and not answer.endswith("{tunnel}"):
                send(client, answer.encode("latin-1"))
                return
            host, _, port = target.rpartition(":")
            try:
                far = reach(host.strip("[]"), int(port))
            except OSError:
                send(client, b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
                continue
            send(client, (answer[: -len("{tunnel}")] if answer else f"HTTP/1.1 200 Connection established\r\n{info}\r\n").encode("latin-1"))
            if rest:
                far.sendall(rest)
            return relay(client, far)
        authority, _, path = target.partition("://")[2].partition("/")
        host, _, port = authority.partition(":")
        try:
            far = reach(host, int(port or 80))
        except OSError:
            send(client, b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            continue
        head = f"{method} /{path} HTTP/1.1\r\n"
        for name, values in fields.items():
            if name not in ("proxy-authorization", "connection"):
                head += "".join(f"{name}: {value}\r\n" for value in values)
        length = int(fields.get("content-length", ["0"])[0])
        while len(rest) < length:
            rest += receive(client)
        far.sendall(head.encode("latin-1") + b"connection: close\r\n\r\n" + rest[:length])
        rest = rest[length:]
        answer = b""
        while True:
            more = far.recv(65536)
            if not more:
                break
            answer += more
        head, _, body = answer.partition(b"\r\n\r\n")
        kept = [line for line in head.split(b"\r\n") if not line.lower().startswith((b"connection:", b"content-length:", b"transfer-"))]
        send(client, b"\r\n".join(kept) + b"\r\nX-Parent: yes\r\n" + info.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def exactly(client, count):
    data = b""
    while len(data) < count:
        more = receive(client, count - len(data))
        if not more:
            raise OSError("cut")
        data += more
    return data


def serve_socks(client, number):
    version, count = exactly(client, 2)
    methods = exactly(client, count)
    user = None
    if settings["login"] is None:
        if 0 not in methods:
            return send(client, b"\x05\xff")
        send(client, b"\x05\x00")
    else:
        if 2 not in methods:
            return send(client, b"\x05\xff")
        send(client, b"\x05\x02")
        _, length = exactly(client, 2)
        user = exactly(client, length).decode()
        password = exactly(client, exactly(client, 1)[0]).decode()
        if f"{user}:{password}" != settings["login"]:
            record("socks", "", {}, user, number, False)
            time.sleep(settings["late"])
            if settings["hangs_up"]:
                return
            return send(client, b"\x01\x01")
        send(client, b"\x01\x00")
    _, _, _, kind = exactly(client, 4)
    if kind == 1:
        host = str(ipaddress.ip_address(exactly(client, 4)))
    elif kind == 4:
        host = str(ipaddress.ip_address(exactly(client, 16)))
    else:
        host = exactly(client, exactly(client, 1)[0]).decode()
    (port,) = struct.unpack(">H", exactly(client, 2))
    record("socks", f"{'name' if kind == 3 else 'address'} {host}:{port}", {}, user, number, False)
    if settings["silent"] is not None and settings["silent"] in host:
        # Until the other side leaves.
        return client.recv(1)
    bound = {1: b"\x01" + bytes(4), 3: b"\x03\x09localhost", 4: b"\x04" + bytes(16)}[settings["bound"]] + b"\x00\x00"
    if settings["reply"]:
        return send(client, b"\x05" + bytes([settings["reply"], 0]) + bound)
    try:
        far = reach(host, port)
    except OSError:
        return send(client, b"\x05\x05\x00" + bound)
    send(client, b"\x05\x00\x00" + bound)
    relay(client, far)


def handle(client, kind):
    number = next(numbers)
    with lock:
        opened.add(number)
    try:
        client.settimeout(60)
        if settings["closes"]:
            return
        if settings["pipe"]:
            return relay(client, socket.create_connection(("127.0.0.1", settings["pipe"]), 5))
        if kind == "https":
            client = tls.wrap_socket(client, server_side=True)
        if kind == "socks":
            serve_socks(client, number)
        else:
            serve_http(client, number, kind == "https")
    except (OSError, ssl.SSLError, ValueError):
        pass
    finally:
        with lock:
            opened.discard(number)
        client.close()


def listen(kind):
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)

    def run():
        while True:
            client, _ = listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=handle, args=(client, kind), daemon=True).start()

    threading.Thread(target=run, daemon=True).start()
    return listener.getsockname()[1]


class Control(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or "{}")
        with lock:
            forgets = wish.pop("forget", False)
            settings.update(wish)
            state = {"asked": asked, "open": len(opened), "broken": broken, "captured": captured.decode("latin-1")}
            body = json.dumps(state).encode()
            if forgets:
                asked.clear()
                captured.clear()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
name = sys.argv[2] if len(sys.argv) > 2 else "good"
tls.load_cert_chain(pki / f"{name}.pem", pki / f"{name}.key")
tls.set_alpn_protocols(["h2", "http/1.1"])
if (pki / "root.pem").exists():
    # It asks for a client certificate, and needs none.
    tls.load_verify_locations(pki / "root.pem")
    tls.verify_mode = ssl.CERT_OPTIONAL
control = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Control)
threading.Thread(target=control.serve_forever, daemon=True).start()
ports = {kind: listen(kind) for kind in ("http", "https", "socks")}
print(json.dumps(ports | {"control": control.server_port}), flush=True)
sys.stdin.read()
