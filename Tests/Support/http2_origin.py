"""An origin that speaks HTTP/2 as the test says, and keeps what it receives. HPACK is hpack's; what it sends is not checked.

    http2_origin.py CERTIFICATE KEY [ALPN...]

ALPN: the protocols that it chooses from, `h2 http/1.1` if there are none, `none` to have no ALPN. The first line on standard output is its port. Each
line on standard input is an order, one JSON object with `do`; its answer is one line of JSON:

| do | needs | |
| --- | --- | --- |
| script | name, plays | what it does with requests whose query has `id=NAME`: one list of steps for each in turn, the last for all others |
| open | gate | steps that wait at the gate go on, also later ones |
| set | any of: alpn, settings (id: value), holds (no WINDOW_UPDATE), ignores (no answer to PING), cipher (of TLS 1.2), late (gate before the first SETTINGS), farewell (GOAWAY right behind them, as for `goaway`) | for connections that begin from now on |
| await | what, count, seconds; perhaps name | waits until so many `requests` (of the name) have a head, or `bodies` are whole, `closed` connections are gone, `standing` steps are at the gate `name` |
| tell | | `connections` and `requests` since the last `forget` |
| forget | | what was noted until now |
| play | steps, connection | plays steps on a connection, by its number (0: the newest) |

Requests without a script get 200 and what was received, as JSON. A step is `{NAME: ARGUMENT}`:

| step | argument |
| --- | --- |
| head | fields, as [name, value]; sent as they are |
| data | text |
| zeros | number of bytes, paced by the peer's windows |
| end | fields of trailers; none: an empty DATA frame with END_STREAM |
| last | text of DATA with END_STREAM |
| only | fields of a head with END_STREAM |
| frame | [type, flags, stream, payload as latin-1 text]; stream -1: this one |
| frames | [count, type, flags, stream, payload]: many of them |
| cut | number of bytes: of all that follows only so many are sent |
| continued | number of CONTINUATION frames behind a HEADERS frame without its end |
| reset | code of RST_STREAM |
| goaway | [last stream (-1: this one), code, text] |
| settings | {id: value} |
| await | "end" of the request, or how many bytes of its body |
| gate | name |
| mute | reads and sends nothing any more |
| close | FIN behind close_notify |
| abort | RST |
It ends with its standard input.
"""

import asyncio
import json
import re
import ssl
import sys

import hpack
from hpack.struct import NeverIndexedHeaderTuple

HEADERS, CONTINUATION, DATA = 1, 9, 0
changed = None
scripts, gates, standing = {}, {}, {}
connections, requests = [], []
current = {"alpn": None, "settings": {}, "holds": False, "ignores": False, "late": None, "farewell": None}


def touch():
    global changed
    changed.set()
    changed = asyncio.Event()


def text(data):
    return bytes(data).decode("latin-1")


def integer(value, bits, first):
    """RFC 7541 section 5.1."""
    limit = (1 << bits) - 1
    if value < limit:
        return bytes([first | value])
    out, value = [first | limit], value - limit
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    return bytes(out + [value])


def block(fields):
    """Literals that nobody checks."""
    out = b""
    for name, value in fields:
        name, value = name.encode("latin-1"), value.encode("latin-1")
        out += b"\x00" + integer(len(name), 7, 0) + name + integer(len(value), 7, 0) + value
    return out


def raw(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


async def wait_gate(name):
    standing[name] = standing.get(name, 0) + 1
    touch()
    while name not in gates:
        await changed.wait()


class Stream:
    def __init__(self, connection, number, request):
        self.connection, self.number, self.request = connection, number, request
        self.window = connection.first_window
        self.task = None

    async def play(self, steps):
        connection = self.connection
        for step in steps:
            (name, value), = step.items()
            await getattr(self, "do_" + name)(value)
            await connection.drain()

    def send(self, kind, flags, payload=b""):
        # Longer blocks are cut into frames.
        if kind == HEADERS and len(payload) > 16000:
            self.connection.send(raw(kind, flags & ~4, self.number, payload[:16000]))
            rest = payload[16000:]
            while rest:
                self.connection.send(raw(CONTINUATION, 4 if len(rest) <= 16000 else 0, self.number, rest[:16000]))
                rest = rest[16000:]
            return
        self.connection.send(raw(kind, flags, self.number, payload))

    async def do_head(self, fields):
        self.send(HEADERS, 4, block(fields))

    async def do_only(self, fields):
        self.send(HEADERS, 5, block(fields))

    async def do_data(self, data):
        self.spend(len(data))
        self.send(DATA, 0, data.encode("latin-1"))

    async def do_last(self, data):
        self.spend(len(data))
        self.send(DATA, 1, data.encode("latin-1"))

    def spend(self, count):
        """Without it, zeros behind data would overrun the peer's windows."""
        self.window -= count
        self.connection.window -= count

    async def do_zeros(self, count):
        connection = self.connection
        while count and not connection.ended:
            size = min(count, 16384, self.window, connection.window)
            if size <= 0:
                await changed.wait()
                continue
            self.spend(size)
            count -= size
            self.send(DATA, 0, bytes(size))
            await connection.drain()
        self.request["zeros_left"] = count

    async def do_end(self, fields):
        if fields:
            self.send(HEADERS, 5, block(fields))
        else:
            self.send(DATA, 1)

    async def do_frame(self, given):
        kind, flags, stream, payload = given
        self.connection.send(raw(kind, flags, self.number if stream < 0 else stream, payload.encode("latin-1")))

    async def do_frames(self, given):
        count, *rest = given
        for index in range(count):
            await self.do_frame(rest)
            if index % 100 == 0:
                await self.connection.drain()

    async def do_cut(self, count):
        self.connection.allowance = count

    async def do_continued(self, count):
        self.send(HEADERS, 0, block([(":status", "200")]))
        for _ in range(count):
            self.send(CONTINUATION, 0, block([("x-a", "b")]))

    async def do_reset(self, code):
        self.connection.send(raw(3, 0, self.number, code.to_bytes(4, "big")))

    async def do_goaway(self, given):
        last, code, words = given
        last = self.number if last < 0 else last
        self.connection.send(raw(7, 0, 0, last.to_bytes(4, "big") + code.to_bytes(4, "big") + words.encode("latin-1")))

    async def do_settings(self, values):
        self.connection.send_settings(values)

    async def do_await(self, what):
        while not (self.request["ended"] if what == "end" else self.request["size"] >= what):
            if self.connection.ended:
                return
            await changed.wait()

    async def do_gate(self, name):
        await wait_gate(name)

    async def do_mute(self, _):
        self.connection.muted = True
        self.connection.writer.transport.pause_reading()

    async def do_close(self, _):
        self.connection.writer.close()

    async def do_abort(self, _):
        self.connection.writer.transport.abort()


class Connection:
    def __init__(self, reader, writer, config):
        self.reader, self.writer, self.config = reader, writer, config
        self.decoder = hpack.Decoder()
        self.decoder.max_header_list_size = 1 << 22
        self.streams = {}
        self.window = self.first_window = 65535
        self.muted = self.ended = False
        self.allowance = None
        self.note = {
            "number": len(connections) + 1, "protocol": None, "settings": {}, "frames": {}, "resets": [], "goaways": [],
            "closed": False, "bytes": 0, "table": [], "most": 0, "resumed": False, "cut": False,
        }
        self.open = 0
        connections.append(self)

    def send(self, data):
        if self.muted:
            return
        if self.allowance is not None:
            data = data[: self.allowance]
            self.allowance -= len(data)
        try:
            self.writer.write(data)
        except (OSError, RuntimeError):
            pass

    async def drain(self):
        try:
            await self.writer.drain()
        except (OSError, ConnectionError):
            pass

    def send_settings(self, values):
        payload = b"".join(int(key).to_bytes(2, "big") + value.to_bytes(4, "big") for key, value in values.items())
        self.send(raw(4, 0, 0, payload))

    async def serve(self):
        tls = self.writer.get_extra_info("ssl_object")
        self.note["protocol"] = tls.selected_alpn_protocol()
        self.note["resumed"] = bool(tls.session_reused)
        touch()
        try:
            if self.note["protocol"] == "h2":
                await self.serve_frames()
            else:
                await self.serve_lines()
        except (asyncio.IncompleteReadError, OSError, ConnectionError):
            pass
        self.ended = self.note["closed"] = True
        touch()
        self.writer.close()

    # HTTP/1.1

    async def serve_lines(self):
        while True:
            head = await self.reader.readuntil(b"\r\n\r\n")
            self.note["bytes"] += len(head)
            lines = text(head).split("\r\n")[:-2]
            method, target, _ = lines[0].split(" ")
            fields = [[name.lower(), value.strip(), False] for name, value in (line.split(":", 1) for line in lines[1:])]
            names = {name: value for name, value, _ in fields}
            body = b""
            if "content-length" in names:
                body = await self.reader.readexactly(int(names["content-length"]))
            elif names.get("transfer-encoding") == "chunked":
                while size := int(await self.reader.readline(), 16):
                    body += await self.reader.readexactly(size)
                    await self.reader.readline()
                await self.reader.readline()
            request = self.request(0, [[":method", method, False], [":path", target, False], *fields])
            request.update(size=len(body), body=text(body[:4096]), ended=True, protocol="http/1.1")
            touch()
            if names.get("upgrade") == "websocket":
                self.send(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n")
                while data := await self.reader.read(4096):
                    self.send(data)
                return
            answer = json.dumps(request).encode()
            self.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
            await self.drain()

    def request(self, stream, fields):
        path = next((value for name, value, _ in fields if name == ":path"), "")
        found = re.search(r"[?&]id=([^&]*)", path)
        request = {
            "id": found[1] if found else "", "connection": self.note["number"], "stream": stream, "protocol": "h2", "fields": fields,
            "size": 0, "body": "", "trailers": [], "ended": False, "reset": None, "zeros_left": 0,
        }
        requests.append(request)
        return request

    # HTTP/2

    async def serve_frames(self):
        preface = await self.reader.readexactly(24)
        self.note["bytes"] += 24
        if preface != b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n":
            return
        if self.config["late"]:
            await wait_gate(self.config["late"])
        self.send_settings(self.config["settings"])
        if self.config["farewell"]:
            await Stream(self, 0, {}).do_goaway(self.config["farewell"])
        while True:
            head = await self.reader.readexactly(9)
            kind = head[3]
            length = int.from_bytes(head[:3], "big")
            payload = await self.reader.readexactly(length)
            self.note["bytes"] += 9 + length
            self.received(kind, head[4], int.from_bytes(head[5:], "big") & 0x7FFFFFFF, payload)
            touch()

    def received(self, kind, flags, number, payload):
        name = {0: "DATA", 1: "HEADERS", 3: "RST_STREAM", 4: "SETTINGS", 6: "PING", 7: "GOAWAY", 8: "WINDOW_UPDATE", 9: "CONTINUATION"}
        name = name.get(kind, str(kind)) + (".ACK" if kind in (4, 6) and flags & 1 else "")
        self.note["frames"][name] = self.note["frames"].get(name, 0) + 1
        stream = self.streams.get(number)
        if kind == HEADERS:
            # The proxy sends neither padding nor priorities.
            self.flags, self.block = flags, payload
            if flags & 4:
                self.take_block(number)
        elif kind == CONTINUATION:
            self.block += payload
            if flags & 4:
                self.take_block(number)
        elif kind == DATA:
            if stream:
                # The answer that tells of it is sent without looking at windows.
                if (room := 60_000 - len(stream.request["body"])) > 0:
                    stream.request["body"] += text(payload[:room])
                stream.request["size"] += len(payload)
            if not self.config["holds"] and payload:
                update = len(payload).to_bytes(4, "big")
                self.send(raw(8, 0, 0, update))
                if not flags & 1:
                    self.send(raw(8, 0, number, update))
            if flags & 1:
                self.end(stream)
        elif kind == 3:
            code = int.from_bytes(payload, "big")
            self.note["resets"].append([number, code])
            if stream:
                stream.request["reset"] = code
                if stream.task and code:
                    stream.task.cancel()
                self.open -= 1
        elif kind == 4 and not flags & 1:
            for at in range(0, len(payload), 6):
                key, value = int.from_bytes(payload[at : at + 2], "big"), int.from_bytes(payload[at + 2 : at + 6], "big")
                self.note["settings"][key] = value
                if key == 4:
                    for other in self.streams.values():
                        other.window += value - self.first_window
                    self.first_window = value
            self.send(raw(4, 1, 0))
        elif kind == 6 and not flags & 1 and not self.config["ignores"]:
            self.send(raw(6, 1, 0, payload))
        elif kind == 7:
            self.note["goaways"].append(int.from_bytes(payload[4:8], "big"))
        elif kind == 8:
            step = int.from_bytes(payload, "big")
            if number == 0:
                self.window += step
            elif stream:
                stream.window += step

    def take_block(self, number):
        fields = [
            [text(field[0]), text(field[1]), isinstance(field, NeverIndexedHeaderTuple)]
            for field in self.decoder.decode(self.block, raw=True)
        ]
        self.note["table"] = [[text(name), text(value)] for name, value in self.decoder.header_table.dynamic_entries]
        stream = self.streams.get(number)
        if stream:
            stream.request["trailers"] = fields
        else:
            stream = self.streams[number] = Stream(self, number, self.request(number, fields))
            self.open += 1
            self.note["most"] = max(self.note["most"], self.open)
            plays = scripts.get(stream.request["id"])
            if plays:
                steps = plays.pop(0) if len(plays) > 1 else plays[0]
                stream.task = asyncio.ensure_future(self.run(stream, steps))
        if self.flags & 1:
            self.end(stream)

    async def run(self, stream, steps):
        try:
            await stream.play(steps)
        except asyncio.CancelledError:
            return
        except Exception as error:
            print("a step failed: %r" % error, file=sys.stderr, flush=True)
        self.open -= 1
        touch()

    def end(self, stream):
        if not stream:
            return
        stream.request["ended"] = True
        if stream.task is None and stream.request["reset"] is None:
            body = json.dumps(stream.request).encode()
            stream.send(HEADERS, 4, block([(":status", "200"), ("content-length", str(len(body)))]))
            for at in range(0, len(body), 16384):
                part = body[at : at + 16384]
                stream.send(DATA, 1 if at + 16384 >= len(body) else 0, part)
            self.open -= 1


async def accept(reader, writer):
    await Connection(reader, writer, dict(current)).serve()


def fits(order):
    name = order.get("name")
    match order["what"]:
        case "requests": count = sum(name is None or one["id"] == name for one in requests)
        case "bodies": count = sum((name is None or one["id"] == name) and one["ended"] for one in requests)
        case "resets": count = sum((name is None or one["id"] == name) and one["reset"] is not None for one in requests)
        case "closed": count = sum(one.ended for one in connections)
        case "connections": count = sum(one.note["protocol"] is not None for one in connections)
        case "standing": count = standing.get(name, 0)
    return count if count >= order["count"] else -1 - count


async def obey(order):
    match order["do"]:
        case "script": scripts[order["name"]] = order["plays"]
        case "open":
            gates[order["gate"]] = True
            touch()
        case "set":
            current.update(order["values"])
            if "alpn" in order["values"]:
                context.set_alpn_protocols(order["values"]["alpn"])
            if "cipher" in order["values"]:
                context.maximum_version = ssl.TLSVersion.TLSv1_2
                context.set_ciphers(order["values"]["cipher"])
        case "await":
            end = asyncio.get_running_loop().time() + order["seconds"]
            while (count := fits(order)) < 0 and (left := end - asyncio.get_running_loop().time()) > 0:
                try:
                    await asyncio.wait_for(changed.wait(), left)
                except asyncio.TimeoutError:
                    break
            return {"fits": count >= 0, "count": count if count >= 0 else -1 - count}
        case "tell": return {"connections": [one.note for one in connections], "requests": requests}
        case "forget":
            requests.clear()
        case "play":
            number = order["connection"]
            connection = connections[number - 1]
            await Stream(connection, 0, {"ended": True, "size": 0}).play(order["steps"])
    return {}


async def main():
    global changed
    changed = asyncio.Event()
    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    lines = asyncio.StreamReader(limit=1 << 26)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        print(json.dumps(await obey(json.loads(line))), flush=True)


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
offered = sys.argv[3:] or ["h2", "http/1.1"]
if offered != ["none"]:
    context.set_alpn_protocols(offered)
try:
    asyncio.run(main())
except KeyboardInterrupt:
    pass
