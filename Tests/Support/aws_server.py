#!/usr/bin/env python3
"""A service that verifies AWS signatures (Signature Version 4) with botocore, on loopback.

    aws_server.py FOLDER        (good.pem and good.key in it)

Prints its ports for http and https; ends with its standard input. Every request is judged and answered with 200 and what was received, or
with 403. POST /set changes settings and returns the log; every key is optional:
    keys     {access key id: [secret, session token or null]}
    clock    seconds that this clock is ahead of the true one
    age      an Age field for every answer
    date     a Date field in place of the right one; "" for none
    answers  a list of [status, content type, body, fields] for the next requests, whatever they are
    cut      {"bytes": N, "answer": one of `answers` or null}: after N bytes of the next body it answers, or not, and closes
    forget   true: drops the log
    gather   no request is answered before the log has as many
The log: a list of {method, target, fields, why, service, region, signed, payload, length, sha256, data}. `why` is empty if the signature is
good; `data` is the body's SHA-256 without its chunks' heads and trailers.
"""

import asyncio
import calendar
import hashlib
import json
import ssl
import sys
import time
import urllib.parse
from email.utils import formatdate

from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

AS_WRITTEN = {"s3", "s3-object-lambda", "s3-outposts", "s3express"}
settings = {"keys": {"AKIDEXAMPLE": ["shh-5ecret-key", None]}, "clock": 0, "answers": [], "gather": 0}
log = []


class Bad(Exception):
    """What is wrong with a request."""


class Request:
    def __init__(self, method, target, fields, body, secure):
        self.method, self.target, self.fields, self.body, self.secure = method, target, fields, body, secure
        self.service = self.region = self.signed = ""
        self.data = body

    def all(self, name):
        return [value for field, value in self.fields if field.lower() == name]

    def one(self, name):
        values = self.all(name)
        if len(values) != 1:
            raise Bad(f"{len(values)} of {name}")
        return values[0]

    def verify(self):
        """As AWS does: path and query are decoded, whatever way they are written."""
        scheme, _, rest = self.one("authorization").partition(" ")
        if scheme != "AWS4-HMAC-SHA256":
            raise Bad("scheme")
        parts = dict(part.strip().split("=", 1) for part in rest.split(","))
        key_id, day, self.region, self.service, end = parts["Credential"].rsplit("/", 4)
        names = parts["SignedHeaders"].split(";")
        self.signed = parts["SignedHeaders"]
        if end != "aws4_request" or names != sorted(names):
            raise Bad("credential")
        if key_id not in settings["keys"]:
            raise Bad("key")
        secret, token = settings["keys"][key_id]
        if (self.all("x-amz-security-token") or [None]) != [token]:
            raise Bad("token")
        for field, _ in self.fields:
            if (field.lower().startswith("x-amz-") or field.lower() in ("host", "content-type")) and field.lower() not in names:
                raise Bad(f"{field} is not signed")
        stamp = self.one("x-amz-date")
        now = time.time() + settings["clock"]
        if stamp[:8] != day or abs(calendar.timegm(time.strptime(stamp, "%Y%m%dT%H%M%SZ")) - now) > 300:
            raise Bad("time")
        path, _, query = self.target.partition("?")
        if "X-Amz-Signature" in query:
            raise Bad("two signatures")
        s3 = self.service in AS_WRITTEN
        if s3:
            path = urllib.parse.quote(urllib.parse.unquote_to_bytes(path), safe="/~")
        params = [pair.partition("=")[::2] for pair in query.split("&") if pair]
        request = AWSRequest(
            self.method, f"http://{self.one('host')}{path}",
            params=[tuple(urllib.parse.unquote(text) for text in pair) for pair in params] or {})
        for field, value in self.fields:
            if field.lower() in names:
                request.headers.add_header(field, value)
        request.context["timestamp"] = stamp
        request.data = self.body
        credentials = Credentials(key_id, secret, token)
        auth = (S3SigV4Auth if s3 else SigV4Auth)(credentials, self.service, self.region)
        payload = self.all("x-amz-content-sha256")
        if len(payload) > 1 or (s3 and not payload):
            raise Bad("x-amz-content-sha256")
        if not payload:
            request.headers["X-Amz-Content-SHA256"] = hashlib.sha256(self.body).hexdigest()
            names_of = auth.headers_to_sign

            def without(given):
                headers = names_of(given)
                del headers["X-Amz-Content-SHA256"]
                return headers

            auth.headers_to_sign = without
        canonical = auth.canonical_request(request)
        if auth.signature(auth.string_to_sign(request, canonical), request) != parts["Signature"]:
            raise Bad("signature of " + canonical)
        if payload:
            self.verify_payload(payload[0], auth, request, parts["Signature"])

    def verify_payload(self, payload, auth, request, signature):
        if payload.startswith("STREAMING-AWS4-HMAC-SHA256-PAYLOAD"):
            self.verify_chunks(auth, request, signature, payload.endswith("TRAILER"))
        elif len(payload) == 64:
            if payload.lower() != hashlib.sha256(self.body).hexdigest():
                raise Bad("hash")
        elif payload not in ("UNSIGNED-PAYLOAD", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"):
            raise Bad("payload")

    def verify_chunks(self, auth, request, previous, has_trailer):
        """With botocore's signing keys, by the rules of the S3 API Reference."""
        rest, data = self.body, b""
        empty = hashlib.sha256(b"").hexdigest()

        def sign(*lines):
            text = "\n".join([lines[0], request.context["timestamp"], auth.credential_scope(request), *lines[1:]])
            return auth.signature(text, request)

        while True:
            head, _, rest = rest.partition(b"\r\n")
            size, _, given = head.partition(b";chunk-signature=")
            size = int(size, 16)
            piece, rest = rest[:size], rest[size:]
            previous = sign("AWS4-HMAC-SHA256-PAYLOAD", previous, empty, hashlib.sha256(piece).hexdigest())
            if given.decode() != previous:
                raise Bad(f"signature of the chunk at {len(data)}")
            data += piece
            if size == 0:
                break
            if rest[:2] != b"\r\n":
                raise Bad("chunk")
            rest = rest[2:]
        if has_trailer:
            lines, _, end = rest.partition(b"x-amz-trailer-signature:")
            if end != sign("AWS4-HMAC-SHA256-TRAILER", previous, hashlib.sha256(lines.replace(b"\n\r\n", b"\n").replace(b"\r\n", b"\n")).hexdigest()).encode() + b"\r\n\r\n":
                raise Bad("signature of the trailers")
        elif rest != b"\r\n":
            raise Bad("end")
        if len(data) != int(self.one("x-amz-decoded-content-length")):
            raise Bad("decoded length")
        self.data = data

    def entry(self, why):
        return {
            "method": self.method, "target": self.target, "fields": self.fields, "why": why, "service": self.service,
            "region": self.region, "signed": self.signed, "payload": ",".join(self.all("x-amz-content-sha256")),
            "length": len(self.body), "sha256": hashlib.sha256(self.body).hexdigest(),
            "data": hashlib.sha256(self.data).hexdigest(),
        }


class Cut(Exception):
    """The body is not read to its end."""


async def read_cut(reader, cut):
    """Chunked or not: bytes are counted as they come."""
    await reader.readexactly(cut["bytes"])
    raise Cut


async def read_body(reader, fields):
    values = {name.lower(): value for name, value in fields}
    if values.get("transfer-encoding", "").lower() == "chunked":
        body = b""
        while size := int((await reader.readline()).strip(), 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        while (await reader.readline()).strip():
            pass
        return body
    return await reader.readexactly(int(values.get("content-length", 0)))


def judge(request):
    """Status, content type, body and more fields of the answer."""
    try:
        request.verify()
        why = ""
    except (Bad, KeyError, ValueError) as error:
        why = str(error) if isinstance(error, Bad) else repr(error)
    log.append(request.entry(why))
    if settings["answers"]:
        return settings["answers"].pop(0)
    if why == "time":
        return [403, "application/xml", "<Error><Code>RequestTimeTooSkewed</Code></Error>", []]
    if why:
        return [403, "application/xml", f"<Error><Code>SignatureDoesNotMatch</Code><Message>{why}</Message></Error>", []]
    return [200, "text/plain", "good", []]


async def serve(reader, writer):
    secure = writer.get_extra_info("ssl_object") is not None
    try:
        while line := await reader.readline():
            method, target, _ = line.decode("latin-1").split(" ")
            fields = []
            while (line := (await reader.readline()).decode("latin-1").rstrip("\r\n")) != "":
                name, _, value = line.partition(":")
                fields.append([name, value.strip()])
            if any(name.lower() == "expect" for name, _ in fields):
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            cut = settings.pop("cut", None) if target != "/set" else None
            if cut:
                try:
                    await read_cut(reader, cut)
                except Cut:
                    request = Request(method, target, fields, b"", secure)
                    log.append(request.entry("cut"))
                if cut.get("answer"):
                    status, kind, text, _ = cut["answer"]
                    writer.write(f"HTTP/1.1 {status} x\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\n"
                                 f"Connection: close\r\n\r\n{text}".encode())
                    await writer.drain()
                return
            body = await read_body(reader, fields)
            if target == "/set":
                answer = [200, "application/json", json.dumps(log), []]
                given = json.loads(body)
                settings.update(given)
                if given.get("forget"):
                    log.clear()
            else:
                answer = judge(Request(method, target, fields, body, secure))
                while len(log) < settings["gather"]:
                    await asyncio.sleep(0.01)
            status, kind, text, more = answer
            lines = [f"HTTP/1.1 {status} x", f"Content-Type: {kind}", f"Content-Length: {len(text.encode())}", *more]
            date = settings.get("date", formatdate(time.time() + settings["clock"], usegmt=True))
            if date:
                lines.append(f"Date: {date}")
            if "age" in settings:
                lines.append(f"Age: {settings['age']}")
            writer.write(("\r\n".join(lines) + "\r\n\r\n").encode() + (b"" if method == "HEAD" else text.encode()))
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError, ValueError, ssl.SSLError):
        pass
    finally:
        writer.close()


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1] + "/good.pem", sys.argv[1] + "/good.key")
    clear = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 20)
    secure = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 20, ssl=context)
    print(*(server.sockets[0].getsockname()[1] for server in (clear, secure)), flush=True)
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
