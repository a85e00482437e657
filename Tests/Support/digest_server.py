#!/usr/bin/env python3
"""An API that requires Digest (RFC 7616), on loopback. It verifies every answer with code of its own, and is strict: no count twice, nothing
unquoted that is quoted, no field twice.

    digest_server.py

Prints its port; ends with its standard input. POST /set changes settings and returns the log; every key is optional:
    user, password      svc, pw-5ecret-digest
    algorithms          one challenge for each, in this order (["SHA-256"]); "" is one that names none
    qop                 of all challenges ("auth"); "" is none (RFC 2069)
    realm               text, as it is; "path": each first segment below /api has its own
    userhash, charset   true: in the challenges
    others              challenges by other schemes, before those of Digest, in the same field
    apart               true: a field for each challenge
    raw                 fields instead of good ones: a list of texts, each a value in latin-1
    next                true: every answer names the only nonce that is valid next
    uses                a nonce is too old after as many uses
    stale               "always": every answer has a nonce that is too old; "same": and its nonce is named again
    reject              true: a right answer to a good nonce is refused
    trusting            true: any answer is right, and is not logged
    spoil               true: no nonce named so far is valid
    delay               seconds before each answer to an API request
    late                true: a request that expects 100 is judged behind its body
    forget              true: drops the log after the answer
The log: {"uses": [...], "faults": [...]}: requests to the API, and what a client must never send.
"""

import asyncio
import hashlib
import json
import re
import secrets
import sys
import urllib.parse

HASHES = {"MD5": "md5", "SHA-256": "sha256", "SHA-512-256": "sha512_256"}
PARAMETER = re.compile(r'([A-Za-z*-]+)=(?:"((?:[^"\\]|\\.)*)"|([A-Za-z0-9.+/*\'%_~=-]+))(?:, |$)')
QUOTED = {"username", "realm", "nonce", "uri", "cnonce", "response", "opaque"}


class Bad(Exception):
    """What is wrong with an answer."""


class World:
    def __init__(self):
        self.user, self.password, self.algorithms, self.qop, self.realm = "svc", "pw-5ecret-digest", ["SHA-256"], "auth", "the realm"
        self.userhash = self.charset = self.next = self.apart = self.reject = self.late = self.trusting = False
        self.others, self.raw, self.uses_limit, self.stale, self.delay = [], None, None, "", 0
        self.uses, self.faults, self.nonces = [], [], {}

    def set(self, given):
        seen = {"uses": self.uses, "faults": self.faults}
        for key, value in given.items():
            if key == "spoil":
                for nonce in self.nonces.values():
                    nonce["old"] = True
            elif key == "forget":
                self.uses, self.faults = [], []
            elif key == "uses":
                self.uses_limit = value
            else:
                setattr(self, key, value)
        return seen


world = World()


def wire(text):
    """Heads are written and read as latin-1; a realm is UTF-8."""
    return text.encode().decode("latin-1")


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def realm_of(path):
    return path.split("/")[2] if world.realm == "path" else world.realm


def new_nonce(algorithm, realm, session=None):
    nonce = secrets.token_urlsafe(12) + "="
    session = session or {"opaque": secrets.token_hex(4), "a1": None, "cnonce": None}
    rules = {"algorithm": algorithm, "realm": realm, "qop": world.qop, "userhash": world.userhash, "charset": world.charset}
    world.nonces[nonce] = {**rules, "session": session, "counts": set(), "old": False}
    return nonce


def challenges(path, stale=None):
    """WWW-Authenticate fields. `stale` is what is known of the nonce that was too old."""
    if world.raw is not None:
        return [("WWW-Authenticate", value) for value in world.raw]
    texts = list(world.others)
    for algorithm in world.algorithms:
        realm = realm_of(path)
        if stale and world.stale == "same":
            nonce, session = stale
        else:
            nonce = new_nonce(algorithm, realm)
            session = world.nonces[nonce]["session"]
        parts = [f"realm={quoted(wire(realm))}", f"nonce={quoted(nonce)}", f"opaque={quoted(session['opaque'])}"]
        if algorithm:
            parts.append(f"algorithm={algorithm}")
        if world.qop:
            parts.append(f"qop={quoted(world.qop)}")
        parts += ["userhash=true"] if world.userhash else []
        parts += ["charset=UTF-8"] if world.charset else []
        parts += ["stale=TRUE"] if stale else []
        texts.append("Digest " + ", ".join(parts))
    texts = texts if world.apart else [", ".join(texts)]
    return [("WWW-Authenticate", text) for text in texts]


def parse(value):
    if not value.startswith("Digest "):
        raise Bad("scheme")
    rest, answer = value[7:], {}
    while rest:
        match = PARAMETER.match(rest)
        if not match:
            raise Bad("syntax")
        name, text, plain = match.groups()
        if name in answer:
            raise Bad(f"{name} twice")
        if (text is not None) != (name in QUOTED):
            raise Bad(f"quotation marks of {name}")
        answer[name] = plain if text is None else re.sub(r"\\(.)", r"\1", text)
        rest = rest[match.end():]
    return answer


def hashed(algorithm, data):
    data = data if isinstance(data, bytes) else data.encode()
    return hashlib.new(HASHES[algorithm], data).hexdigest()


def check_user(answer, plain, realm, known):
    if known["userhash"]:
        if answer.get("userhash") != "true" or answer.get("username") != hashed(plain, f"{world.user}:{realm}"):
            raise Bad("userhash")
    elif known["charset"] and not world.user.isascii():
        if answer.get("username*") != "UTF-8''" + urllib.parse.quote(world.user, safe="!#$&+-.^_`|~") or "username" in answer:
            raise Bad("username*")
    elif answer.get("username") != wire(world.user) or "userhash" in answer or "username*" in answer:
        raise Bad("username")


def judge(method, target, fields, body, use):
    """Whether the answer is right: "good", "stale", "wrong" or "none". The known nonce, too."""
    values = [value for name, value in fields if name.lower() == "authorization"]
    if not values:
        return "none", None
    if len(values) > 1:
        raise Bad("several fields")
    answer = parse(values[0])
    use.update(nonce=answer.get("nonce"), nc=answer.get("nc"), cnonce=answer.get("cnonce"), algorithm=answer.get("algorithm") or "")
    use["qop"] = answer.get("qop") or ""
    known = world.nonces.get(answer.get("nonce"))
    if not known:
        raise Bad("a nonce that was never named")
    algorithm, session = known["algorithm"], known["session"]
    plain, realm = (algorithm or "MD5").removesuffix("-sess"), known["realm"]
    is_session = algorithm.endswith("-sess")
    if answer.get("realm") != wire(realm) or answer.get("opaque") != session["opaque"] or answer.get("algorithm", "") != algorithm:
        raise Bad("realm, opaque or algorithm")
    if answer.get("uri") != target:
        raise Bad(f"uri {answer.get('uri')}")
    if realm != realm_of(target.split("?")[0]):
        return "wrong", None
    check_user(answer, plain, realm, known)
    qop = answer.get("qop", "")
    offered = re.split(", ?", known["qop"])
    if qop not in offered or (qop != "auth" and "auth" in offered):
        raise Bad(f"qop {qop}")
    nc, cnonce = answer.get("nc"), answer.get("cnonce")
    if qop:
        if not re.fullmatch("[0-9a-f]{8}", nc or "") or nc == "00000000" or len(cnonce or "") < 16:
            raise Bad("nc or cnonce")
        if nc in known["counts"]:
            raise Bad("nc twice")
        known["counts"].add(nc)
    elif nc is not None or (cnonce is not None) != is_session:
        raise Bad("nc or cnonce without qop")
    a1 = hashed(plain, f"{world.user}:{realm}:{world.password}")
    if is_session:
        # RFC 7616 section 3.4.2: computed once, on the first request that follows the challenge.
        session["a1"] = session["a1"] or hashed(plain, f"{a1}:{answer['nonce']}:{cnonce}")
        a1 = session["a1"]
    a2 = f"{method}:{target}" + (":" + hashed(plain, body) if qop == "auth-int" else "")
    middle = f"{answer['nonce']}:{nc}:{cnonce}:{qop}" if qop else answer["nonce"]
    if answer.get("response") != hashed(plain, f"{a1}:{middle}:{hashed(plain, a2)}"):
        return "wrong", (answer["nonce"], session)
    if world.uses_limit and len(known["counts"]) > world.uses_limit:
        known["old"] = True
    if known["old"] or world.stale:
        return "stale", (answer["nonce"], session)
    return "wrong" if world.reject else "good", (answer["nonce"], session)


def api(method, target, fields, body):
    """Status and fields of the API's answer."""
    path = target.split("?")[0]
    use = {"path": target, "method": method, "status": 401, "why": "", "length": len(body), "nonce": None, "nc": None, "cnonce": None,
           "algorithm": "", "qop": ""}
    world.uses.append(use)
    try:
        verdict, nonce = judge(method, target, fields, body, use)
    except Bad as bad:
        use["why"] = str(bad)
        world.faults.append(f"{method} {target}: {bad}")
        return 400, []
    use["why"] = verdict
    info = []
    if world.next and verdict == "good":
        known = world.nonces[nonce[0]]
        known["old"] = True
        info = [("Authentication-Info", f"nextnonce={quoted(new_nonce(known['algorithm'], known['realm'], known['session']))}, qop=auth")]
    if verdict != "good":
        return 401, challenges(path, nonce if verdict == "stale" else None)
    use["status"] = 200
    return 200, info


async def read_body(reader, fields):
    by_name = {name.lower(): value for name, value in fields}
    if "transfer-encoding" not in by_name:
        return await reader.readexactly(int(by_name.get("content-length", 0)))
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readline()
    while (await reader.readline()).strip():
        pass
    return body


def write(writer, status, body, more=(), close=False):
    lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}", *(f"{n}: {v}" for n, v in more)]
    lines += ["Connection: close"] if close else []
    writer.write(("\r\n".join(lines) + "\r\n\r\n" + body).encode("latin-1"))


async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            line, *lines = head[:-4].split("\r\n")
            method, target, _ = line.split(" ")
            fields = [tuple(part.strip() for part in text.split(":", 1)) for text in lines]
            if target == "/set":
                answer = world.set(json.loads(await read_body(reader, fields) or b"{}"))
                write(writer, 200, json.dumps(answer))
                continue
            if world.trusting and any(name == "Authorization" for name, _ in fields):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")
                continue
            expects = any(name.lower() == "expect" for name, _ in fields)
            if expects and not world.late:
                # Of auth-int it could not judge the body.
                status, more = api(method, target, fields, b"")
                if status != 200:
                    write(writer, status, "no\n", more, close=True)
                    return
                use = world.uses[-1]
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                use["length"] = len(await read_body(reader, fields))
                write(writer, 200, "ok\n", more)
                continue
            if expects:
                writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            body = await read_body(reader, fields)
            if world.delay:
                await asyncio.sleep(world.delay)
            status, more = api(method, target, fields, body)
            write(writer, status, "ok\n" if status == 200 else "no\n", more)
            if ("connection", "close") in [(name.lower(), value.lower()) for name, value in fields]:
                return
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    loop = asyncio.get_running_loop()
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


asyncio.run(main())
