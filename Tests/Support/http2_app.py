"""An app that speaks HTTP/2 inside of a CONNECT, and may read badly.

    http2_app.py PORT AUTHORITY CA --path PATH [--requests N] [--fields JSON ...] [--upload JSON ...] [--window BYTES] [--deaf] [--pings N] [--ping-every SECONDS]
        [--flood HEX --times N | --resets N | --provoked N] [--half-close | --cut] [--until-answered] [--patience SECONDS]

Begins so many GETs at once, then one request for each list of fields ([name, value], or [name, value, true]
if nobody may index it), which is sent as it is, then one for each upload: {"fields": [...], "data": [text, ...], "settles": bool, "trailers": [...]},
whose trailers, if it settles, wait until the proxy has taken all before them. --window: of each stream, never made larger. --deaf: reads nothing at all.
--pings: so many, once the requests are sent. --ping-every: one whenever nothing comes for so long. --flood: these bytes, so often.
--resets: so many requests more, each given up at once. --provoked: so many that the proxy must reset, by a WINDOW_UPDATE of 0. --half-close: sends close_notify and FIN
behind the requests, once a line comes on standard input; --cut: FIN alone. Then waits for the connection's end, or until each stream has ended, and prints one line of JSON:
how it ended (eof, reset or open), after how many seconds, how many answers had a head, how many streams were reset, and by stream what
came for it: ["head", fields], ["data", bytes], ["end"] or ["reset", code].
"""

import argparse
import json
import socket
import ssl
import struct
import sys
import time

import hpack

DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE = 0, 1, 3, 4, 6, 8
END_STREAM, END_HEADERS, END_STREAM_AND_HEADERS, ACK, INITIAL_WINDOW_SIZE = 1, 4, 5, 1, 4


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def connect(options):
    client = socket.socket()
    if options.deaf:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.connect(("127.0.0.1", options.port))
    client.sendall(f"CONNECT {options.authority} HTTP/1.1\r\nHost: {options.authority}\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += client.recv(1)
    context = ssl.create_default_context(cafile=options.ca)
    context.set_alpn_protocols(["h2"])
    client = context.wrap_socket(client, server_hostname=options.authority.split(":")[0])
    assert client.selected_alpn_protocol() == "h2"
    return client


def note(seen, decoder, kind, flags, stream, payload):
    """Notes a frame of a stream."""
    came = seen["streams"].setdefault(stream, [])
    if kind == HEADERS:
        seen["answers"] += 1
        came.append(["head", [[name, value] for name, value in decoder.decode(payload)]])
    elif kind == RST_STREAM:
        seen["resets"] += 1
        came.append(["reset", int.from_bytes(payload, "big")])
    elif kind == DATA and payload:
        came.append(["data", len(payload)])
    if kind in (DATA, HEADERS) and flags & END_STREAM:
        came.append(["end"])


def read(client, seen, patience, wanted, data, pause):
    """Notes what comes, until the connection ends, so many streams have ended, or the time is up."""
    decoder = hpack.Decoder()
    began = time.monotonic()
    while time.monotonic() - began < patience:
        while len(data) >= 9 and len(data) >= 9 + int.from_bytes(data[:3], "big"):
            size = int.from_bytes(data[:3], "big")
            kind, flags, stream = data[3], data[4], int.from_bytes(data[5:9], "big")
            if stream:
                note(seen, decoder, kind, flags, stream, data[9:9 + size])
            data = data[9 + size:]
        if wanted and sum(came[-1][0] in ("end", "reset") for came in seen["streams"].values() if came) == wanted:
            break
        client.settimeout(max(min(patience - (time.monotonic() - began), pause), 0.01))
        try:
            more = client.recv(65536)
        except TimeoutError:
            try:
                if pause < patience:
                    client.sendall(frame(PING, 0, 0, b"are you?"))
            except OSError:
                return "reset"
            continue
        except (ConnectionError, ssl.SSLError):
            return "reset"
        if not more:
            return "eof"
        data += more
    return "open"


def settled(client):
    """What has come until the proxy has taken all that was sent: then it answers a PING."""
    client.sendall(frame(PING, 0, 0, b"so far? "))
    came, position = b"", 0
    while True:
        more = client.recv(65536)
        if not more:
            raise ConnectionError("the proxy has closed")
        came += more
        while len(came) >= position + 9 and len(came) >= position + 9 + int.from_bytes(came[position:position + 3], "big"):
            kind, flags = came[position + 3], came[position + 4]
            position += 9 + int.from_bytes(came[position:position + 3], "big")
            if kind == PING and flags & ACK:
                return came


def ended(client, patience):
    """Whether the proxy has closed: an app that reads nothing sees it when it writes."""
    began = time.monotonic()
    while time.monotonic() - began < patience:
        try:
            client.sendall(frame(PING, 0, 0, b"are you?"))
        except OSError:
            return "reset"
        time.sleep(0.5)
    return "open"


def flood(options, first, fields, encoder):
    """The pieces of a flood, in order. `first`: the number of the next stream."""
    if options.flood:
        yield from [bytes.fromhex(options.flood)] * options.times
    for stream in range(first, first + 2 * (options.resets + options.provoked), 2):
        head = frame(HEADERS, 4 if options.provoked else END_STREAM_AND_HEADERS, stream, encoder.encode(fields))
        yield head + (frame(WINDOW_UPDATE, 0, stream, bytes(4)) if options.provoked else frame(RST_STREAM, 0, stream, struct.pack(">I", 8)))


def half_close(client, notifies):
    """Ends our side. Returns what had come before: OpenSSL takes nothing for granted behind its own close_notify."""
    came = b""
    if notifies:
        client.setblocking(False)
        try:
            while True:
                came += client.recv(65536)
        except ssl.SSLWantReadError:
            pass
        try:
            client.unwrap()
        except ssl.SSLWantReadError:
            pass
        client.setblocking(True)
    socket.socket.shutdown(client, socket.SHUT_WR)
    return came


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("authority")
    parser.add_argument("ca")
    parser.add_argument("--path", default="/")
    parser.add_argument("--requests", type=int, default=0)
    parser.add_argument("--fields", action="append", default=[])
    parser.add_argument("--upload", action="append", default=[])
    parser.add_argument("--half-close", action="store_true")
    parser.add_argument("--cut", action="store_true")
    parser.add_argument("--until-answered", action="store_true")
    parser.add_argument("--window", type=int, default=65535)
    parser.add_argument("--deaf", action="store_true")
    parser.add_argument("--pings", type=int, default=0)
    parser.add_argument("--ping-every", type=float, default=1000)
    parser.add_argument("--flood", default="")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--resets", type=int, default=0)
    parser.add_argument("--provoked", type=int, default=0)
    parser.add_argument("--patience", type=float, default=30)
    options = parser.parse_args()
    client = connect(options)
    encoder = hpack.Encoder()
    fields = [(":method", "GET"), (":scheme", "https"), (":authority", options.authority), (":path", options.path)]
    sent = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    sent += frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, options.window)) + frame(SETTINGS, 1, 0)
    if options.deaf:
        # Only TCP holds back what it does not read.
        sent += frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 28))
    requests = [fields] * options.requests + [json.loads(text) for text in options.fields]
    for index, fields in enumerate(requests):
        sent += frame(HEADERS, END_STREAM_AND_HEADERS, 2 * index + 1, encoder.encode([tuple(field) for field in fields]))
    came = b""
    for text in options.upload:
        upload, stream = json.loads(text), 2 * len(requests) + 1
        requests.append(upload["fields"])
        sent += frame(HEADERS, END_HEADERS, stream, encoder.encode([tuple(field) for field in upload["fields"]]))
        for piece in upload["data"]:
            sent += frame(DATA, 0, stream, piece.encode())
        if upload["settles"]:
            client.sendall(sent)
            sent = b""
            came += settled(client)
        sent += frame(HEADERS, END_STREAM_AND_HEADERS, stream, encoder.encode([tuple(field) for field in upload["trailers"]]))
    client.sendall(sent)
    if options.half_close or options.cut:
        sys.stdin.readline()
        came += half_close(client, options.half_close)
    began = time.monotonic()
    seen = {"answers": 0, "resets": 0, "streams": {}}
    if options.pings:
        try:
            for _ in range(options.pings // 100):
                client.sendall(frame(PING, 0, 0, b"12345678") * 100)
        except OSError:
            pass
    pieces = list(flood(options, 2 * len(requests) + 1, requests[0] if requests else fields, encoder))
    try:
        for start in range(0, len(pieces), 50):
            client.sendall(b"".join(pieces[start:start + 50]))
    except OSError:
        pass
    end = ended(client, options.patience) if options.deaf else read(
        client, seen, options.patience, len(requests) if options.until_answered else 0, came, options.ping_every)
    print(json.dumps({"end": end, "seconds": time.monotonic() - began, **seen}))


main()
