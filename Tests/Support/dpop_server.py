#!/usr/bin/env python3
"""An authorization server and an API that require DPoP (RFC 9449), on loopback. It verifies every proof with code of its own.

    dpop_server.py

Prints its port; ends with its standard input. Anybody may log in: the authorization endpoint agrees at once. POST /set changes settings and
returns the log; every key is optional:
    nonce       of the API: off | fixed | each (every answer names the only nonce that is valid next) | always (asks again and again)
    as_nonce    the same for PAR and token endpoint
    raw_nonce   the API's DPoP-Nonce lines instead of good ones: a list of texts, each a field's value in latin-1
    token_type  of issued tokens (DPoP)
    expires_in  of issued tokens (3600)
    revoke      true: no token issued so far is valid
    nonce_after true: after the next refused token the API wants its nonce
    spoil       true: no nonce named so far is valid
    recorded    a file: API requests are appended to it, unjudged, and get 200. `dpop_server.py FILE` judges them afterwards
    forget      true: drops the log
The log: {"uses": [...], "tokens": [...], "jkts": [...]}: requests to the API, to PAR and token endpoint, and the keys to which tokens were bound.
"""

import asyncio
import base64
import hashlib
import json
import secrets
import sys
import time
import urllib.parse

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils


class Bad(Exception):
    """What is wrong with a proof."""


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


keys = {}  # thumbprint: public key


def verify(proof, method, uri, token, used):
    """The thumbprint of the proof's key, and its claims."""
    try:
        head, body, signature = proof.split(".")
        header, claims, signature = json.loads(decode(head)), json.loads(decode(body)), decode(signature)
        jwk = header["jwk"]
    except (ValueError, KeyError) as error:
        raise Bad("unreadable") from error
    if header.get("typ") != "dpop+jwt" or header.get("alg") != "ES256" or set(header) != {"typ", "alg", "jwk"}:
        raise Bad("header")
    if set(jwk) != {"kty", "crv", "x", "y"} or jwk["kty"] != "EC" or jwk["crv"] != "P-256" or len(signature) != 64:
        raise Bad("jwk")
    thumbprint = encode(hashlib.sha256(json.dumps(jwk, sort_keys=True, separators=(",", ":")).encode()).digest())
    if thumbprint not in keys:
        x, y = (int.from_bytes(decode(jwk[name]), "big") for name in "xy")
        keys[thumbprint] = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1()).public_key()
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    try:
        keys[thumbprint].verify(utils.encode_dss_signature(r, s), f"{head}.{body}".encode(), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature as error:
        raise Bad("signature") from error
    if claims.get("htm") != method:
        raise Bad("htm")
    if claims.get("htu") != uri:
        raise Bad(f"htu {claims.get('htu')}")
    if abs(claims.get("iat", 0) - time.time()) > 60 + 600 * (used is recorded):
        raise Bad("iat")
    if len(decode(claims.get("jti", ""))) < 16 or claims["jti"] in used:
        raise Bad("jti")
    used.add(claims["jti"])
    wanted = encode(hashlib.sha256(token.encode()).digest()) if token else None
    if claims.get("ath") != wanted:
        raise Bad("ath")
    if set(claims) - {"jti", "htm", "htu", "iat", "ath", "nonce"}:
        raise Bad("claims")
    return thumbprint, claims


recorded = set()


def judge_record(path):
    """Judges a recorded file: how many requests, how many good ones, the first faults."""
    count, faults, tokens = 0, [], set()
    with open(path, encoding="latin-1") as file:
        for line in file:
            count += 1
            method, target, host, authorization, proof = line.rstrip("\n").split("\t")
            try:
                if not authorization.startswith("DPoP "):
                    raise Bad("scheme")
                verify(proof, method, f"http://{host}{target.split('?')[0]}", authorization[5:], recorded)
                tokens.add(authorization)
            except Bad as bad:
                faults.append(str(bad))
    print(json.dumps({"requests": count, "identifiers": len(recorded), "keys": len(keys), "faults": faults[:5], "bad": len(faults)}))


class World:
    def __init__(self):
        self.nonce, self.as_nonce, self.raw_nonce, self.token_type, self.expires_in = "off", "off", None, "DPoP", 3600
        self.uses, self.tokens, self.jkts, self.used = [], [], [], set()
        self.access, self.refresh, self.codes, self.pushed, self.devices = {}, {}, {}, {}, {}
        self.current = {"nonce": secrets.token_urlsafe(9), "as_nonce": secrets.token_urlsafe(9)}
        self.file, self.nonce_after = None, False

    def set(self, given):
        for key, value in given.items():
            if key == "revoke":
                self.access.clear()
            elif key == "spoil":
                self.current = {kind: secrets.token_urlsafe(9) for kind in self.current}
            elif key == "forget":
                self.uses, self.tokens = [], []
            elif key == "recorded":
                self.file = open(value, "a", encoding="latin-1")
            else:
                setattr(self, key, value)
        if self.file and not given:
            self.file.flush()
        return {"uses": self.uses, "tokens": self.tokens, "jkts": self.jkts}

    def check_nonce(self, kind, claims):
        """Whether the proof has the nonce that is due; changes the nonce if it is to change."""
        mode = getattr(self, kind)
        good = mode == "off" or mode != "always" and claims.get("nonce") == self.current[kind]
        if mode in ("each", "always"):
            self.current[kind] = secrets.token_urlsafe(9)
        return good

    def nonce_lines(self, kind):
        if kind == "nonce" and self.raw_nonce is not None:
            return [("DPoP-Nonce", value) for value in self.raw_nonce]
        return [("DPoP-Nonce", self.current[kind])] if getattr(self, kind) != "off" else []


world = World()


def only(fields, name):
    values = [v for n, v in fields if n.lower() == name]
    return values[0] if len(values) == 1 else None


def api(method, target, fields, length):
    """Status and fields of the API's answer; the body's length is told when it is known."""
    authorization, proof = only(fields, "authorization") or "", only(fields, "dpop")
    use = {"path": target, "method": method, "status": 200, "why": "", "jti": "", "nonce": None, "jkt": "", "length": length,
           "proofs": sum(n.lower() == "dpop" for n, _ in fields)}
    world.uses.append(use)
    challenge = ""
    try:
        token = authorization.removeprefix("DPoP ")
        if not authorization.startswith("DPoP ") or not proof:
            raise Bad("no token or no single proof")
        uri = f"http://{only(fields, 'host')}{target.split('?')[0]}"
        use["jkt"], claims = verify(proof, method, uri, token, world.used)
        use["jti"], use["nonce"] = claims["jti"], claims.get("nonce")
        if not world.check_nonce("nonce", claims):
            challenge = "use_dpop_nonce"
        elif world.access.get(token) != use["jkt"]:
            challenge = "invalid_token"
    except Bad as bad:
        use["why"], challenge = str(bad), "invalid_dpop_proof"
    if not challenge:
        return use, 200, world.nonce_lines("nonce")
    use["status"], use["why"] = 401, use["why"] or challenge
    lines = world.nonce_lines("nonce")
    if world.nonce_after and challenge == "invalid_token":
        world.nonce, world.nonce_after = "fixed", False
    return use, 401, [("WWW-Authenticate", f'DPoP algs="ES256", error="{challenge}"'), *lines]


def issue(request, jkt):
    token, renewal = "at-5ecret-" + secrets.token_hex(8), "rt-5ecret-" + secrets.token_hex(8)
    world.access[token], world.refresh[renewal] = jkt, {**request, "jkt": jkt}
    world.jkts.append(jkt)
    return 200, {"access_token": token, "token_type": world.token_type, "expires_in": world.expires_in, "refresh_token": renewal}


def token_endpoint(path, form, proof, base):
    """PAR and token requests: status and JSON."""
    note = {"path": path, "grant": form.get("grant_type", ""), "why": "", "nonce": None, "jkt": ""}
    world.tokens.append(note)
    try:
        if not proof:
            raise Bad("no single proof")
        jkt, claims = verify(proof, "POST", base + path, None, world.used)
        note["nonce"], note["jkt"] = claims.get("nonce"), jkt
    except Bad as bad:
        note["why"] = str(bad)
        return 400, {"error": "invalid_dpop_proof", "error_description": str(bad)}
    if not world.check_nonce("as_nonce", claims):
        note["why"] = "use_dpop_nonce"
        return 400, {"error": "use_dpop_nonce"}
    if path == "/par":
        if form.get("dpop_jkt") != jkt:
            return 400, {"error": "invalid_request"}
        uri = "urn:example:" + secrets.token_hex(8)
        world.pushed[uri] = form
        return 201, {"request_uri": uri, "expires_in": 60}
    kind = form.get("grant_type", "")
    if kind == "client_credentials":
        return issue({}, jkt)
    if kind == "authorization_code":
        request = world.codes.pop(form.get("code"), None)
        challenge = encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if not request or request.get("code_challenge") != challenge or request.get("dpop_jkt") != jkt:
            return 400, {"error": "invalid_grant"}
        return issue(request, jkt)
    if kind == "refresh_token":
        request = world.refresh.get(form.get("refresh_token"))
        # A public client's token is bound to its key.
        if not request or request["jkt"] != jkt:
            return 400, {"error": "invalid_grant"}
        del world.refresh[form["refresh_token"]]
        return issue(request, jkt)
    if kind.endswith("device_code"):
        return issue({}, jkt) if form.get("device_code") in world.devices else (400, {"error": "invalid_grant"})
    return 400, {"error": "unsupported_grant_type"}


def dechunk(data):
    """The body of a chunked message without trailers, and what follows it; None: it is not complete."""
    body = b""
    while True:
        end = data.find(b"\r\n")
        if end < 0:
            return None
        size = int(data[:end].split(b";")[0], 16)
        if len(data) < end + 4 + size:
            return None
        body, data = body + data[end + 2:end + 2 + size], data[end + 4 + size:]
        if size == 0:
            return body, data


class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.buffer, self.base = transport, b"", f"http://127.0.0.1:{transport.get_extra_info('sockname')[1]}"
        # Fields of the request whose body is awaited, and what becomes of it.
        self.awaited = None

    def data_received(self, data):
        self.buffer += data
        while True:
            if self.awaited:
                missing, finish = self.awaited
                if missing is None:
                    whole = dechunk(self.buffer)
                    if not whole:
                        return
                    body, self.buffer = whole
                    self.awaited = None
                    finish(body)
                    continue
                if len(self.buffer) < missing:
                    return
                body, self.buffer, self.awaited = self.buffer[:missing], self.buffer[missing:], None
                finish(body)
                continue
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head, self.buffer = self.buffer[:end].decode("latin-1"), self.buffer[end + 4:]
            self.begin(head)

    def begin(self, head):
        line, *lines = head.split("\r\n")
        method, target, _ = line.split(" ")
        fields = [tuple(part.strip() for part in text.split(":", 1)) for text in lines]
        length = int(only(fields, "content-length") or 0)
        expects = (only(fields, "expect") or "").lower() == "100-continue"
        path = target.split("?")[0]
        is_api = path.startswith("/api")
        if is_api and world.file:
            parts = [method, target, only(fields, "host"), only(fields, "authorization") or "", only(fields, "dpop") or ""]
            world.file.write("\t".join(parts) + "\n")
            self.reply(200, "ok\n")
            return
        if is_api and expects:
            use, status, more = api(method, target, fields, 0)
            if status != 200:
                self.reply(status, "no\n", more, close=True)
                return
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

            def finish(body):
                use["length"] = len(body)
                self.reply(200, "ok\n", more)
        elif is_api:
            def finish(body):
                _, status, more = api(method, target, fields, len(body))
                self.reply(status, "ok\n" if status == 200 else "no\n", more)
        else:
            def finish(body):
                self.serve(method, path, target, fields, body)
        self.awaited = (None if only(fields, "transfer-encoding") else length, finish)

    def serve(self, method, path, target, fields, body):
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(target).query))
        if path == "/set":
            self.json(200, world.set(json.loads(body or b"{}")))
        elif path == "/.well-known/openid-configuration":
            self.json(200, {
                "issuer": self.base, "authorization_endpoint": self.base + "/authorize", "token_endpoint": self.base + "/token",
                "device_authorization_endpoint": self.base + "/device", "pushed_authorization_request_endpoint": self.base + "/par",
                "code_challenge_methods_supported": ["S256"], "dpop_signing_alg_values_supported": ["ES256"]})
        elif path == "/authorize":
            request = world.pushed.pop(query.get("request_uri"), None) or query
            code = "code-5ecret-" + secrets.token_hex(8)
            world.codes[code] = request
            answer = urllib.parse.urlencode({"code": code, "state": request["state"]})
            self.reply(302, "", [("Location", request["redirect_uri"] + "?" + answer)])
        elif path == "/device":
            code = "dc-5ecret-" + secrets.token_hex(8)
            world.devices[code] = True
            self.json(200, {
                "device_code": code, "user_code": "ABCD-EFGH", "verification_uri": self.base + "/enter", "expires_in": 60, "interval": 1})
        elif path in ("/par", "/token"):
            form = dict(urllib.parse.parse_qsl(body.decode()))
            status, answer = token_endpoint(path, form, only(fields, "dpop"), self.base)
            self.json(status, answer, world.nonce_lines("as_nonce"))
        elif path == "/revoke":
            self.json(200, {})
        else:
            self.json(404, {})

    def json(self, status, value, more=()):
        self.reply(status, json.dumps(value), [("Content-Type", "application/json"), *more])

    def reply(self, status, body, more=(), close=False):
        lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(body)}", *(f"{n}: {v}" for n, v in more)]
        if close:
            lines.append("Connection: close")
        self.transport.write(("\r\n".join(lines) + "\r\n\r\n" + body).encode("latin-1"))
        if close:
            self.transport.close()


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if len(sys.argv) > 1:
    judge_record(sys.argv[1])
else:
    asyncio.run(main())
