#!/usr/bin/env python3
"""An API on loopback that verifies JWTs (PyJWT), HTTP message signatures (http-message-signatures) and HMACs (Python's hmac).

    signing_server.py

Prints its port; ends with its standard input. POST /set changes settings and returns the log; every key is optional:
    keys        {key id: PEM text or secret}: public keys, or secrets of jwt and http_signature
    venues      {X-Key: secret}, for /hmac
    skew        seconds by which this server's clock is ahead: of its Date and of what it accepts
    apns        a reason: requests to /jwt get 403 with it until `revoke`d JWTs are gone
    revoke      true: no JWT seen so far is valid
    status      of refusals (401)
    gather      no request is answered before the log has as many
    forget      true: drops the log
/jwt, /signed and /hmac judge a request: 200 or the refusal. The log: [{"why", "path", "method", "kid", "iat", "exp", "jwt", "length", "fields"}].
"""

import datetime
import hashlib
import hmac
import http.server
import json
import sys
import threading
import time
from email.utils import formatdate

import http_message_signatures as hms
import jwt
from http_message_signatures import algorithms

ALGORITHMS = {a.algorithm_id: a for a in (
    algorithms.ED25519, algorithms.ECDSA_P256_SHA256, algorithms.ECDSA_P384_SHA384, algorithms.RSA_PSS_SHA512,
    algorithms.RSA_V1_5_SHA256, algorithms.HMAC_SHA256)}


class Bad(Exception):
    """What is wrong with a request."""


class World:
    def __init__(self):
        self.lock = threading.Lock()
        self.arrived = threading.Condition(self.lock)
        self.keys, self.venues, self.skew, self.apns, self.status, self.log, self.gather = {}, {}, 0, None, 401, [], 0
        self.seen, self.revoked = set(), set()

    def set(self, given):
        with self.lock:
            for key, value in given.items():
                if key == "forget":
                    self.log = []
                elif key == "revoke":
                    self.revoked |= self.seen
                else:
                    setattr(self, key, value)
            self.arrived.notify_all()
            return self.log


world = World()


class Request:
    """As http-message-signatures wants it."""

    def __init__(self, method, url, target, headers):
        self.method, self.url, self.request_target, self.headers = method, url, target, headers


class Fields:
    def __init__(self, lines):
        self.lines = lines

    def items(self):
        return self.lines

    def __iter__(self):
        return iter(dict(self.lines))

    def __contains__(self, name):
        return any(n.lower() == name.lower() for n, _ in self.lines)


def judge_jwt(use, one, _body):
    text = one("authorization").removeprefix("Bearer ")
    header = jwt.get_unverified_header(text)
    use["kid"], use["jwt"] = header.get("kid", ""), hashlib.sha256(text.encode()).hexdigest()
    key = world.keys.get(use["kid"])
    if key is None:
        raise Bad("no key " + use["kid"])
    try:
        claims = jwt.decode(text, key, algorithms=[header["alg"]], options={"verify_exp": False, "verify_iat": False, "verify_aud": False})
    except jwt.InvalidTokenError as error:
        raise Bad(f"jwt: {error!r}") from error
    use["iat"], use["exp"] = claims["iat"], claims.get("exp", 0)
    use["claims"] = json.dumps({k: v for k, v in claims.items() if k not in ("iat", "exp")}, sort_keys=True)
    now = time.time() + world.skew
    if claims["iat"] > now or "exp" in claims and claims["exp"] < now:
        raise Bad("time")
    with world.lock:
        world.seen.add(text)
        if text in world.revoked:
            raise Bad("revoked")


def judge_hmac(use, one, body):
    key, sent, nonce = one("x-key"), one("x-time"), one("x-nonce")
    secret = world.venues.get(key)
    if secret is None:
        raise Bad("no key " + key)
    target = use["path"]
    message = f"{sent}{use['method']}{target}{nonce}".encode() + body
    if one("x-pass") != "pass-" + secret:
        raise Bad("values of another key")
    if abs(float(sent) / 1000 - time.time() - world.skew) > 60:
        raise Bad("time")
    if not hmac.compare_digest(hmac.new(secret.encode(), message, hashlib.sha512).hexdigest(), one("x-sign")):
        raise Bad("signature")


def judge_signed(use, one, body, request):
    inputs = one("signature-input")
    if not inputs.startswith("sig1="):
        raise Bad("label")
    algorithm = ALGORITHMS[inputs.split(';alg="')[1].split('"')[0]]
    keys = {name: key.encode() for name, key in world.keys.items()}
    resolver = hms.resolvers.MappingKeyResolver(public_keys=keys, private_keys={})
    verifier = hms.HTTPMessageVerifier(signature_algorithm=algorithm, key_resolver=resolver)
    try:
        results = verifier.verify(request, max_age=datetime.timedelta(seconds=60), body=body)
    except hms.HTTPMessageSignaturesException as error:
        raise Bad(f"signature: {error}") from error
    use["kid"] = results[0].parameters["keyid"]
    use["covered"] = " ".join(str(name).strip('"') for name in results[0].covered_components if not str(name).startswith('"@signature-params'))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def date_time_string(self, timestamp=None):
        return formatdate((timestamp or time.time()) + world.skew, usegmt=True)

    def body(self):
        if (self.headers.get("Transfer-Encoding") or "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        whole = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return whole

    def one(self, name):
        values = self.headers.get_all(name) or []
        if len(values) != 1:
            raise Bad(f"{len(values)} fields {name}")
        return values[0]

    def judge(self, body):
        lines = list(self.headers.items())
        use = {"why": "", "path": self.path, "method": self.command, "kid": "", "jwt": "", "iat": 0, "exp": 0, "length": len(body),
               "claims": "", "covered": "", "fields": [list(line) for line in lines]}
        try:
            if self.path.startswith("/jwt"):
                judge_jwt(use, self.one, body)
            elif self.path.startswith("/hmac"):
                judge_hmac(use, self.one, body)
            else:
                path = "" if self.path == "*" else self.path
                request = Request(self.command, f"http://{self.headers['Host']}{path}", self.path, Fields(lines))
                judge_signed(use, self.one, body, request)
        except Bad as bad:
            use["why"] = str(bad)
        except Exception as error:
            use["why"] = repr(error)
        with world.lock:
            world.log.append(use)
            world.arrived.notify_all()
            world.arrived.wait_for(lambda: len(world.log) >= world.gather, 20)
        return use["why"]

    def serve(self):
        body = self.body()
        if self.path == "/set":
            return self.reply(200, json.dumps(world.set(json.loads(body or b"{}"))))
        why = self.judge(body)
        if not why:
            return self.reply(200, "ok\n")
        if world.apns:
            return self.reply(403, json.dumps({"reason": world.apns}))
        self.reply(world.status, "no: " + why + "\n")

    def reply(self, status, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = do_PATCH = serve


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 1024
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
