"""The origin in the tests: one thread per connection. h11 checks every request, and the origin keeps it unchanged.

    origin.py PKI_FOLDER

The first line on standard output is JSON: the port of each listener. `http` and `http6` are clear text; `https`, `wrong_host`, `expired`,
`self_signed` serve the certificate of that name; `control` is for the test itself. It ends with its standard input.

The path decides the answer:
    /echo               the received request, as JSON
    /bytes/N            N bytes of the pattern with Content-Length; /chunked/N in chunks; /close/N until the close
    /upload             compares the body with the pattern
    /status/N           that status, with a short body
    /encoded/CODING/N   N bytes of the pattern in gzip, deflate or raw-deflate if Accept-Encoding has gzip or deflate, else uncoded
    /bomb               a gigabyte of zeros in gzip
    /slowly/N           N bytes, one each 50 ms, in chunks
    /issue/..., /object/...   signed URLs and what they are for (signed_urls.py)
    /oauth/NAME/token   a token endpoint; /api/NAME/... requires one of its tokens (oauth.py)
    Upgrade: websocket  101, then every byte back
    anything else       200 and "ok\\n"
A query `id=X` names the exchange, so that the test can ask for it afterwards, or give it a script before. A query
`authorization=V` answers 401 unless there is exactly one Authorization field and its value is V; `field=F&value=V` likewise.
"""

import gzip
import hashlib
import json
import os
import pathlib
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse
import zlib

import h11

import oauth
import signed_urls
from pattern import PATTERN, PERIOD

KEPT_BODY = 256 << 10
KEPT_SCRIPTS = 64 << 20
HOP_BY_HOP = {
    b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"proxy-authenticate", b"te", b"upgrade",
    b"transfer-encoding", b"trailer",
}

lock = threading.RLock()
changed = threading.Condition(lock)
# The same lock: an exchange that waits at a gate is not woken by every other one.
opened = threading.Condition(lock)
exchanges = {}  # id: list of exchanges
scripts = {}  # id: list of scripts, each used once, the last one for ever
gates = {}  # (id, gate): how often it was opened and not yet passed
connections = {}  # listener: set of open sockets
accepted = {}  # listener: how many ever
violations = []  # what no proxy should ever send
more_steps = {}  # name of a step: what does it; hostile.py's
more_controls = {}  # path below the control port: what answers it, under `changed`


def violate(text):
    with changed:
        violations.append(text)
        changed.notify_all()


class Gone(Exception):
    """The peer closed or broke the connection, or the script did."""


class Connection:
    def __init__(self, sock, listener, number):
        self.sock, self.listener, self.number = sock, listener, number
        self.left = b""  # received, and belonging to the next request
        self.requests = 0
        self.parser = None
        self.head = b""
        self.handed_on = None
        self.tls = None
        try:
            self.peer = sock.getpeername()[0]
        except OSError:
            self.peer = None
        if hasattr(sock, "selected_alpn_protocol"):
            self.tls = {
                "sni": getattr(sock, "wanted_name", None),
                "alpn": sock.selected_alpn_protocol(),
                "version": sock.version(),
                "resumed": sock.session_reused,
                "client": (sock.getpeercert() or {}).get("subject"),
            }

    def receive(self):
        try:
            return self.sock.recv(256 << 10)
        except (OSError, ssl.SSLError) as error:
            raise Gone(f"receive: {error}") from error

    def send(self, data):
        try:
            self.sock.sendall(data)
        except (OSError, ssl.SSLError) as error:
            raise Gone(f"send: {error}") from error

    def feed(self):
        data = self.receive()
        if self.collecting_head:
            self.head += data
        self.parser.receive_data(data)
        return data

    def event(self):
        while True:
            event = self.parser.next_event()
            if event is not h11.NEED_DATA:
                return event
            self.feed()

    def request(self):
        """The next request's head as an exchange; None at a clean end."""
        self.parser = h11.Connection(h11.SERVER, max_incomplete_event_size=1 << 20)
        self.collecting_head = True
        self.head = self.left
        if self.left:
            self.parser.receive_data(self.left)
        try:
            event = self.event()
        except Gone:
            if self.head:
                raise
            return None
        if not isinstance(event, h11.Request):
            return None
        self.collecting_head = False
        self.requests += 1
        raw = self.head[: self.head.index(b"\r\n\r\n") + 4] if b"\r\n\r\n" in self.head else self.head
        if raw.replace(b"\r\n", b"").count(b"\n") or raw.replace(b"\r\n", b"").count(b"\r"):
            violate(f"bare CR or LF in {raw!r}")
        target = event.target.decode("latin-1")
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(target).query, keep_blank_values=True))
        exchange = {
            "id": query.get("id", ""),
            "query": query,
            "method": event.method.decode("latin-1"),
            "target": target,
            "version": event.http_version.decode("latin-1"),
            "fields": [[n.decode("latin-1"), v.decode("latin-1")] for n, v in event.headers.raw_items()],
            "raw_head": raw.decode("latin-1"),
            "body_length": 0,
            "body": "",
            "sha256": "",
            "matches_pattern": True,
            "trailers": [],
            "state": "head",
            "connection": self.number,
            "index": self.requests,
            "peer": self.peer,
            "listener": self.listener,
            "tls": self.tls,
        }
        judge(exchange, event)
        self.digest = hashlib.sha256()
        self.current = exchange
        with changed:
            exchanges.setdefault(exchange["id"], []).append(exchange)
            changed.notify_all()
        return exchange

    def read_body(self, exchange, at_least=None):
        """Reads the body to its end, or until `at_least` bytes of it have come."""
        while exchange["state"] == "head" and (at_least is None or exchange["body_length"] < at_least):
            event = self.event()
            if isinstance(event, h11.Data):
                data = event.data
                start = exchange["body_length"] % PERIOD
                if exchange["matches_pattern"] and bytes(data) != PATTERN[start : start + len(data)]:
                    exchange["matches_pattern"] = False
                kept = KEPT_SCRIPTS if self.listener == "control" else KEPT_BODY
                if exchange["body_length"] < kept:
                    exchange["body"] += bytes(data[: kept - exchange["body_length"]]).decode("latin-1")
                if exchange["body_length"] < 64 << 20:
                    self.digest.update(data)
                with changed:
                    exchange["body_length"] += len(data)
                    changed.notify_all()
            elif isinstance(event, h11.EndOfMessage):
                self.left = self.parser.trailing_data[0]
                with changed:
                    exchange["trailers"] = [
                        [n.decode("latin-1"), v.decode("latin-1")] for n, v in event.headers.raw_items()
                    ]
                    exchange["sha256"] = self.digest.hexdigest()
                    exchange["state"] = "complete"
                    changed.notify_all()
            else:
                raise Gone(f"unexpected {event!r}")

    def shut(self, how):
        """close: FIN after close_notify. abort: FIN without it. reset: RST."""
        try:
            if how == "reset":
                self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif how == "close" and hasattr(self.sock, "unwrap"):
                self.sock.settimeout(2)
                try:
                    # Sends close_notify; the peer's answer does not matter.
                    self.sock.unwrap()
                except (OSError, ValueError):
                    pass
            elif how == "abort" and hasattr(self.sock, "unwrap"):
                os.close(self.sock.detach())
                return
            if how != "reset":
                try:
                    self.sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            self.sock.close()
        except OSError:
            pass


def judge(exchange, event):
    """What is wrong with a request from a proxy."""
    names = [n for n, _ in event.headers]
    where = f"{exchange['method']} {exchange['target']}"
    if names.count(b"host") != 1:
        violate(f"{names.count(b'host')} Host fields: {where}")
    if exchange["listener"] == "control":
        return
    upgrading = b"upgrade" in names
    for name, value in event.headers:
        if name not in HOP_BY_HOP:
            continue
        low = value.lower()
        fine = (
            (name == b"transfer-encoding" and low == b"chunked")
            or name == b"trailer"
            or (name == b"te" and low == b"trailers")
            or (name == b"connection" and low.replace(b" ", b"") in {b"te", b"close", b"keep-alive"})
            or (upgrading and name in {b"connection", b"upgrade"})
        )
        if not fine:
            violate(f"hop-by-hop field {name!r}: {value!r} in {where}")
    if not exchange["target"].startswith("/") and exchange["target"] != "*":
        violate(f"target {where}")


def head(status, fields, reason="Reason"):
    lines = [f"HTTP/1.1 {status} {reason}"] + [f"{n}: {v}" for n, v in fields]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def answer(connection, exchange, status, body, fields=()):
    if isinstance(body, str):
        body = body.encode()
    fields = [*fields, ("Content-Length", str(len(body)))]
    connection.send(head(status, fields) + (b"" if exchange["method"] == "HEAD" else body))


def pattern_pieces(count):
    position = 0
    while position < count:
        size = min(256 << 10, count - position)
        start = position % PERIOD
        yield PATTERN[start : start + size]
        position += size


def wait_for_gate(connection, exchange, gate):
    """Waits until the test opens the gate; gives up when the peer leaves."""
    key = (exchange["id"], gate)
    deadline = time.monotonic() + 60
    with changed:
        exchange["waiting_at"] = gate
        changed.notify_all()
        while not gates.get(key):
            if time.monotonic() > deadline:
                raise Gone(f"gate {gate} was never opened")
            opened.wait(1)
        gates[key] -= 1
        exchange["waiting_at"] = None


def play(connection, exchange, script):
    for step in script:
        (action, value), *_ = step.items()
        if action == "send":
            connection.send(value.encode("latin-1"))
        elif action == "pattern":
            for piece in pattern_pieces(value):
                connection.send(piece)
        elif action == "read":
            connection.read_body(exchange, None if value == "body" else value)
        elif action == "gate":
            wait_for_gate(connection, exchange, value)
        elif action == "pause":
            time.sleep(value)
        elif action == "echo":
            echo(connection)
        elif action == "await_close":
            await_close(connection, exchange)
        elif action in ("close", "abort", "reset"):
            connection.shut(action)
            raise Gone(action)
        elif action in more_steps:
            more_steps[action](connection, exchange, value)
        else:
            raise ValueError(f"no such step: {step}")


def await_close(connection, exchange):
    """Reads and drops until the peer is gone."""
    try:
        while connection.receive():
            pass
    except Gone:
        pass
    raise Gone("closed by the peer")


def echo(connection):
    data = connection.parser.trailing_data[0] if connection.parser else b""
    if data:
        connection.send(bytes(data))
    while True:
        data = connection.receive()
        if not data:
            raise Gone("end of the echo")
        connection.send(data)


def serve(connection, exchange):
    path = urllib.parse.urlsplit(exchange["target"]).path
    query = exchange["query"]
    parts = path.strip("/").split("/")

    with changed:
        waiting = scripts.get(exchange["id"])
        script = None
        if waiting:
            script = waiting.pop(0) if len(waiting) > 1 else waiting[0]
    if script is not None:
        play(connection, exchange, script)
        connection.read_body(exchange)
        return

    for wanted, value in (("authorization", query.get("authorization")), (query.get("field"), query.get("value"))):
        if wanted is None or value is None:
            continue
        got = [v for n, v in exchange["fields"] if n.lower() == wanted.lower()]
        if got != [value]:
            continue_if_asked(connection)
            connection.read_body(exchange)
            answer(connection, exchange, 401, "not you\n", [("WWW-Authenticate", 'Bearer realm="origin"')])
            return

    upgrade = [v for n, v in exchange["fields"] if n.lower() == "upgrade"]
    if upgrade == ["websocket"]:
        connection.read_body(exchange)
        connection.send(head(101, [("Upgrade", "websocket"), ("Connection", "Upgrade")]))
        echo(connection)

    if parts[0] == "api" and oauth.refuses_early(exchange, parts):
        oauth.serve(connection, exchange, parts, answer, None)
        if exchange["state"] != "complete":
            if not connection.parser.they_are_waiting_for_100_continue:
                connection.read_body(exchange)
            connection.shut("close")
            raise Gone("refused")
        return
    continue_if_asked(connection)
    if parts[0] in ("oauth", "api"):
        connection.read_body(exchange)
        oauth.serve(connection, exchange, parts, answer, lambda gate: wait_for_gate(connection, exchange, gate))
        return
    connection.read_body(exchange)
    if parts[0] in ("issue", "object"):
        signed_urls.serve(connection, exchange, parts, answer)
        return
    bodiless = exchange["method"] == "HEAD"
    if parts[0] == "echo":
        answer(connection, exchange, 200, json.dumps(exchange), [("Content-Type", "application/json")])
    elif parts[0] == "bytes":
        count = int(parts[1])
        connection.send(head(200, [("Content-Length", str(count)), ("ETag", '"v1"')]))
        if not bodiless:
            for piece in pattern_pieces(count):
                connection.send(piece)
    elif parts[0] == "chunked":
        connection.send(head(200, [("Transfer-Encoding", "chunked")]))
        if not bodiless:
            for piece in pattern_pieces(int(parts[1])):
                connection.send(b"%x\r\n" % len(piece) + piece + b"\r\n")
            connection.send(b"0\r\n\r\n")
    elif parts[0] == "close":
        connection.send(head(200, [("Connection", "close")]))
        if not bodiless:
            for piece in pattern_pieces(int(parts[1])):
                connection.send(piece)
        connection.shut("close")
        raise Gone("close")
    elif parts[0] == "upload":
        seen = {k: exchange[k] for k in ("body_length", "matches_pattern", "sha256")}
        answer(connection, exchange, 200, json.dumps(seen))
    elif parts[0] == "status":
        status = int(parts[1])
        if status in (204, 304):
            connection.send(head(status, []))
        else:
            answer(connection, exchange, status, f"status {status}\n")
    elif parts[0] == "encoded":
        body = b"".join(pattern_pieces(int(parts[2])))
        accepted = " ".join(v for n, v in exchange["fields"] if n.lower() == "accept-encoding")
        fields = [("ETag", '"v1"'), ("Vary", "Accept-Language"), ("Accept-Ranges", "bytes")]
        if "gzip" in accepted or "deflate" in accepted:
            body, coding = encoded(parts[1], body)
            fields.append(("Content-Encoding", coding))
        if "chunked" in query:
            connection.send(head(200, [*fields, ("Transfer-Encoding", "chunked")]))
            for start in range(0, len(body), 1000):
                piece = body[start : start + 1000]
                connection.send(b"%x\r\n" % len(piece) + piece + b"\r\n")
            connection.send(b"0\r\n\r\n")
        else:
            answer(connection, exchange, 200, body, fields)
    elif parts[0] == "bomb":
        answer(connection, exchange, 200, bomb(), [("Content-Encoding", "gzip")])
    elif parts[0] == "slowly":
        connection.send(head(200, [("Transfer-Encoding", "chunked")]))
        for _ in range(int(parts[1])):
            connection.send(b"1\r\n.\r\n")
            time.sleep(0.05)
        connection.send(b"0\r\n\r\n")
    else:
        answer(connection, exchange, 200, "ok\n")


def encoded(coding, body):
    if coding == "gzip":
        return gzip.compress(body), "gzip"
    if coding == "deflate":
        return zlib.compress(body), "deflate"
    # The form that many servers call deflate: without zlib's frame.
    squeezer = zlib.compressobj(wbits=-15)
    return squeezer.compress(body) + squeezer.flush(), "deflate"


def bomb():
    squeezer = zlib.compressobj(9, wbits=31)
    zeros = bytes(1 << 20)
    return b"".join([squeezer.compress(zeros) for _ in range(1024)] + [squeezer.flush()])


def continue_if_asked(connection):
    if connection.parser.they_are_waiting_for_100_continue:
        connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")


# States of an exchange. `broken`: it ended before its request was complete.
RANK = {"head": 0, "complete": 1, "closed": 2, "broken": 2}


def control(connection, exchange):
    url = urllib.parse.urlsplit(exchange["target"])
    query = exchange["query"]
    name = query.get("name", "")
    connection.read_body(exchange)
    given = json.loads(exchange["body"].encode("latin-1")) if exchange["body"] else None
    deadline = time.monotonic() + float(query.get("timeout", "15"))
    reply = {}
    with changed:
        if url.path == "/script":
            scripts[name] = given
        elif url.path == "/gate":
            gates[(name, query["gate"])] = gates.get((name, query["gate"]), 0) + int(query.get("count", "1"))
            opened.notify_all()
        elif url.path == "/exchanges":
            # Waits until `count` exchanges of this name have reached `state`, have `body` bytes, or wait at `gate`.
            def there():
                found = [
                    e
                    for e in exchanges.get(name, [])
                    if RANK[e["state"]] >= RANK[query.get("state", "head")]
                    and e["body_length"] >= int(query.get("body", "0"))
                    and ("gate" not in query or e.get("waiting_at") == query["gate"])
                ]
                return len(found) >= int(query.get("count", "0"))

            while not there() and time.monotonic() < deadline:
                changed.wait(deadline - time.monotonic())
            reply = {"there": there(), "exchanges": exchanges.get(name, [])}
        elif url.path == "/connections":
            # Waits until this listener has exactly (or, with `most`, at most) this many open connections.
            def fits():
                n = len(connections[query["listener"]])
                return ("count" not in query or n == int(query["count"])) and ("most" not in query or n <= int(query["most"]))

            while not fits() and time.monotonic() < deadline:
                changed.wait(deadline - time.monotonic())
            reply = {"fits": fits(), "open": len(connections[query["listener"]]), "accepted": accepted[query["listener"]]}
        elif url.path == "/drop":
            # Closes every open connection of a listener, as an origin does with idle ones.
            for sock in list(connections[query["listener"]]):
                try:
                    sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        elif url.path == "/violations":
            reply = {"violations": violations}
        elif url.path == "/oauth":
            reply = oauth.control(name, given)
        elif url.path in more_controls:
            reply = more_controls[url.path](query, given, deadline)
    answer(connection, exchange, 200, json.dumps(reply))


def converse(sock, listener, number, context):
    connection = None
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context:
            sock = wrap(sock, listener, context)
        connection = Connection(sock, listener, number)
        while True:
            exchange = connection.request()
            if exchange is None:
                break
            if listener == "control":
                control(connection, exchange)
            else:
                serve(connection, exchange)
            with changed:
                if exchange["id"] == "" or listener == "control":
                    exchanges.get(exchange["id"], []).clear()
            if any(n.lower() == "connection" and v.lower() == "close" for n, v in exchange["fields"]):
                connection.shut("close")
                break
    except h11.RemoteProtocolError as error:
        # An end inside a message is an aborted request; anything else is malformed.
        if "peer unexpectedly closed" not in str(error) and "without sending complete" not in str(error):
            violate(f"h11: {error} in {connection.head[:400]!r}")
    except (Gone, OSError, ssl.SSLError):
        pass
    finally:
        with changed:
            if connection and getattr(connection, "current", None):
                connection.current["state"] = "closed" if connection.current["state"] == "complete" else "broken"
            connections[listener].discard(sock)
            changed.notify_all()
        if connection:
            connection.shut("close")
        else:
            sock.close()


def wrap(sock, listener, context):
    wrapped = context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False)
    with changed:
        connections[listener].discard(sock)
        connections[listener].add(wrapped)
    try:
        wrapped.do_handshake()
    except BaseException:
        with changed:
            connections[listener].discard(wrapped)
            changed.notify_all()
        wrapped.close()
        raise
    return wrapped


def accept(server, listener, context):
    while True:
        sock, _ = server.accept()
        with changed:
            connections[listener].add(sock)
            accepted[listener] += 1
            number = accepted[listener]
            changed.notify_all()
        threading.Thread(target=converse, args=(sock, listener, number, context), daemon=True).start()


def remember_name(sock, name, context):
    sock.wanted_name = name


def certified(folder, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{certificate}.pem", folder / f"{certificate}.key")
    context.set_alpn_protocols(["http/1.1"])
    context.sni_callback = remember_name
    return context


def main(more=None):
    """`more`: more listeners, each with a name and a function that wraps its sockets, made from the folder of certificates."""
    folder = pathlib.Path(sys.argv[1])
    threading.stack_size(256 << 10)
    ports = {}
    listeners = {"http": None, "control": None, "http6": None}
    for listener, certificate in {
        "https": "good", "wrong_host": "wrong-host", "expired": "expired", "self_signed": "self-signed",
    }.items():
        listeners[listener] = certified(folder, certificate)
    for listener, make in (more or {}).items():
        listeners[listener] = make(folder)
    for listener, context in listeners.items():
        server = socket.socket(socket.AF_INET6 if listener == "http6" else socket.AF_INET)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("::1" if listener == "http6" else "127.0.0.1", 0))
        server.listen(1024)
        connections[listener], accepted[listener] = set(), 0
        ports[listener] = server.getsockname()[1]
        threading.Thread(target=accept, args=(server, listener, context), daemon=True).start()
    print(json.dumps(ports), flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
