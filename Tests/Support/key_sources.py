#!/usr/bin/env python3
"""Everything that hands out keys and tokens without OAuth 2.0, and the APIs that take them. Prints its port; ends with its standard input.

    STS                /sts                  AssumeRole, whose signature it verifies, and AssumeRoleWithWebIdentity
    a container's      /container            Authorization must be `container_token`
    EC2's metadata     /latest/...           version 2 only
    Google's           /computeMetadata/v1/instance/service-accounts/default/{token,identity}
    Azure's            /metadata/identity/oauth2/token, and /msi/token with X-IDENTITY-HEADER: azure-5ecret
    GitHub's           /app/installations/678/access_tokens, JWTs verified by the key at `github_key`
    /api/...           200 if the request has a valid token, or names a valid key as AWS does; otherwise 401, or 403 with ExpiredToken
    GET  /state        {"asked": [...], "uses": [...], "peak": token requests at a time}
    POST /set          JSON: lifetime (seconds, 3600; below 0: expired on arrival), delay (seconds before each token), offset (of its clock),
                       keys ({id: secret} that STS knows beside its own), revoke (what was issued so far), forget, github_key, hold (requests
                       wait until it is false), faults: used once each, in this order: 500, garbage, empty, half, redirect, close, denied,
                       throttled, status:N, retry:N (403 with Retry-After: N); "" is none; date (a Date in place of the right one;
                       "" for none), age (an Age field for every answer)
"""

import base64
import hashlib
import hmac
import http.server
import json
import sys
import threading
import time
import urllib.parse

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

lock = threading.Condition()


class State:
    lifetime, delay, offset, number, peak, now, hold = 3600, 0, 0, 0, 0, 0, False
    github_key, container_token = None, "container-5ecret"
    date, age = None, None
    keys, issued, valid, asked, uses, faults, sessions = {}, {}, set(), [], [], [], set()


state = State()


def now():
    return int(time.time()) + state.offset


def iso(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def issue(prefix):
    """A new key: its id, secret and session token."""
    state.number += 1
    name = f"{prefix}{state.number}"
    state.issued[name] = (f"secret-5ecret-{state.number}", f"session-5ecret-{state.number}")
    state.valid.add(name)
    return name, *state.issued[name]


def endpoint_keys(prefix):
    name, secret, session = issue(prefix)
    return {"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": name, "SecretAccessKey": secret, "Token": session,
            "Expiration": iso(now() + state.lifetime), "LastUpdated": iso(now())}


def token(prefix):
    state.number += 1
    text = f"{prefix}-5ecret-{state.number}"
    state.valid.add(text)
    return text


def sign(secret, day, region, service, text):
    key = ("AWS4" + secret).encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def judge_signature(request, body):
    """Why the signature of a request to STS is not valid; None: it is. The key's id."""
    authorization = request.headers.get("Authorization", "")
    if not authorization.startswith("AWS4-HMAC-SHA256 "):
        return "MissingAuthenticationToken", None
    parts = dict(part.strip().split("=", 1) for part in authorization[17:].split(","))
    name, day, region, service, _ = parts["Credential"].split("/")
    secret, session = state.issued.get(name, (state.keys.get(name), None))
    if secret is None:
        return "InvalidClientTokenId", None
    if session != request.headers.get("X-Amz-Security-Token"):
        return "InvalidClientTokenId", None
    moment = request.headers["X-Amz-Date"]
    if abs(now() - time.mktime(time.strptime(moment, "%Y%m%dT%H%M%SZ")) + time.timezone) > 300:
        return "SignatureDoesNotMatch", None
    names = parts["SignedHeaders"].split(";")
    if "host" not in names or "x-amz-date" not in names or (session and "x-amz-security-token" not in names) or service != "sts":
        return "IncompleteSignature", None
    path, _, query = request.path.partition("?")
    canonical = "\n".join([request.command, path, query] + [f"{n}:{request.headers[n].strip()}" for n in names]
                          + ["", ";".join(names), hashlib.sha256(body).hexdigest()])
    text = "\n".join(["AWS4-HMAC-SHA256", moment, f"{day}/{region}/sts/aws4_request", hashlib.sha256(canonical.encode()).hexdigest()])
    good = hmac.compare_digest(sign(secret, day, region, "sts", text), parts["Signature"])
    return (None if good else "SignatureDoesNotMatch"), name


def sts_error(status, code, message="an error with 5ecret"):
    return status, (f"<ErrorResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><Error><Type>Sender</Type><Code>{code}</Code>"
                    f"<Message>{message}</Message></Error><RequestId>x</RequestId></ErrorResponse>"), {"Content-Type": "text/xml"}


def sts(request, body):
    form = dict(urllib.parse.parse_qsl(body.decode()))
    action = form["Action"]
    if action == "AssumeRole":
        fault, _ = judge_signature(request, body)
        if fault:
            return sts_error(403, fault, "no")
    elif "5ecret" not in form["WebIdentityToken"]:
        return sts_error(400, "InvalidIdentityToken", "no")
    name, secret, session = issue("ASIASTS")
    return 200, (f"<{action}Response xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\"><{action}Result><AssumedRoleUser><Arn>x</Arn>"
                 f"</AssumedRoleUser><Credentials><AccessKeyId>{name}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey><SessionToken>"
                 f"{session}</SessionToken><Expiration>{iso(now() + state.lifetime)}</Expiration></Credentials></{action}Result>"
                 f"<ResponseMetadata><RequestId>x</RequestId></ResponseMetadata></{action}Response>"), {"Content-Type": "text/xml"}


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def github(request, body):
    head, claims, signature = request.headers["Authorization"].removeprefix("Bearer ").split(".")
    padded = signature + "=" * (-len(signature) % 4)
    key = serialization.load_pem_public_key(state.github_key.encode())
    try:
        key.verify(base64.urlsafe_b64decode(padded), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256())
    except Exception:
        return 401, {"message": "A JSON web token could not be decoded"}, {}
    said = json.loads(base64.urlsafe_b64decode(claims + "=="))
    if said["iat"] > now() or not now() < said["exp"] <= now() + 600 or said["iss"] != "12345":
        return 401, {"message": "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"}, {}
    return 201, {"token": token("ghs"), "expires_at": iso(now() + state.lifetime)}, {}


def hand_out(request, path, query, body):
    """Status, body and fields."""
    json_fields = {"Content-Type": "application/json"}
    if path.startswith("/sts"):
        return sts(request, body)
    if path == "/container":
        if request.headers.get("Authorization") != state.container_token:
            return 401, {"code": "InvalidToken"}, json_fields
        return 200, endpoint_keys("ASIACON"), json_fields
    if path == "/latest/api/token":
        if request.command != "PUT" or not request.headers.get("X-aws-ec2-metadata-token-ttl-seconds") or "X-Forwarded-For" in request.headers:
            return 403, "", {}
        state.number += 1
        state.sessions.add(f"imds-5ecret-{state.number}")
        return 200, f"imds-5ecret-{state.number}", {}
    if path.startswith("/latest/"):
        if request.headers.get("X-aws-ec2-metadata-token") not in state.sessions:
            return 401, "", {}
        if path.endswith("/security-credentials/"):
            return 200, "my-role", {}
        if not path.endswith("/security-credentials/my-role"):
            return 404, "", {}
        return 200, endpoint_keys("ASIAIMDS"), json_fields
    if path.startswith("/computeMetadata/"):
        if request.headers.get("Metadata-Flavor") != "Google":
            return 403, "", {}
        fields = {"Metadata-Flavor": "Google", **json_fields}
        if path.endswith("/identity"):
            claims = {"iss": "https://accounts.google.com", "sub": "1", "aud": query["audience"], "exp": now() + state.lifetime}
            state.number += 1
            text = f"{encoded(b'{}')}.{encoded(json.dumps(claims).encode())}.5ecret-{state.number}"
            state.valid.add(text)
            return 200, text, fields
        return 200, {"access_token": token("ya29"), "expires_in": state.lifetime, "token_type": "Bearer"}, fields
    if path == "/metadata/identity/oauth2/token":
        if request.headers.get("Metadata") != "true":
            return 400, {"error": "invalid_request"}, json_fields
        return 200, {"access_token": token("azure"), "expires_in": str(state.lifetime), "token_type": "Bearer"}, json_fields
    if path == "/msi/token":
        if request.headers.get("X-IDENTITY-HEADER") != "azure-5ecret":
            return 401, {"error": "unauthorized"}, json_fields
        return 200, {"access_token": token("msi"), "expires_on": str(now() + state.lifetime), "token_type": "Bearer"}, json_fields
    if path == "/app/installations/678/access_tokens":
        return github(request, body)
    return 404, "", {}


def api(request, path):
    authorization = request.headers.get("Authorization", "")
    if authorization.startswith("AWS4-HMAC-SHA256 "):
        name = authorization.split("Credential=")[1].split("/")[0]
        session = state.issued.get(name, (None, None))[1]
        good = name in state.valid and request.headers.get("X-Amz-Security-Token") == session or name in state.keys
        status, used = 200 if good else 403, name
    else:
        used = authorization.removeprefix("Bearer ")
        if authorization.startswith("Basic "):
            used = base64.b64decode(authorization[6:]).decode().removeprefix("x-access-token:")
        status = 200 if used in state.valid else 401
    state.uses.append({"path": path, "status": status, "used": used, "scheme": authorization.split(" ")[0]})
    if status == 403:
        return status, "<Error><Code>ExpiredToken</Code><Message>x</Message></Error>", {"Content-Type": "application/xml"}
    return status, "", {} if status == 200 else {"WWW-Authenticate": "Bearer"}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def date_time_string(self, timestamp=None):
        return super().date_time_string(now())

    def answer(self, status, body, fields):
        data = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response_only(status)
        date = self.date_time_string() if state.date is None else state.date
        for name, value in {"Date": date, "Age": state.age, **fields}.items():
            if not value:
                continue
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/state":
            with lock:
                return self.answer(200, {"asked": state.asked, "uses": state.uses, "peak": state.peak}, {})
        if url.path == "/set":
            return self.answer(200, set_state(json.loads(body)), {})
        if url.path.startswith("/api/"):
            with lock:
                status, text, fields = api(self, url.path)
            return self.answer(status, text, fields)
        with lock:
            state.asked.append({"line": f"{self.command} {self.path}", "body": body.decode(), "fields": [list(f) for f in self.headers.items()]})
            state.now += 1
            state.peak = max(state.peak, state.now)
            lock.wait_for(lambda: not state.hold)
            fault = state.faults.pop(0) if state.faults else None
        time.sleep(state.delay)
        try:
            self.hand_out(fault, url, query, body)
        finally:
            with lock:
                state.now -= 1

    def hand_out(self, fault, url, query, body):
        google = {"Metadata-Flavor": "Google"} if url.path.startswith("/computeMetadata/") else {}
        if fault == "close":
            self.close_connection = True
            return None
        if fault in ("500", "garbage", "empty", "redirect") or (fault or "").startswith(("status:", "retry:")):
            kind, _, number = fault.partition(":")
            status = {"500": 500, "redirect": 302, "retry": 403, "status": int(number or 0)}.get(kind, 200)
            fields = {"Location": f"http://{self.headers['Host']}/api/redirected"} if fault == "redirect" else {}
            fields |= {"Retry-After": number} if kind == "retry" else {}
            text = "" if fault == "empty" else "<5ecret {garbage"
            return self.answer(status, text, google | fields)
        if fault in ("denied", "throttled"):
            return self.answer(*sts_error(403 if fault == "denied" else 400, {"denied": "AccessDenied", "throttled": "Throttling"}[fault], "no"))
        with lock:
            status, text, fields = hand_out(self, url.path, query, body)
        if fault == "half":
            text = text if isinstance(text, str) else json.dumps(text)
            text = text[:len(text) // 2]
        return self.answer(status, text, fields)

    do_GET = do_POST = do_PUT = handle_one


def set_state(given):
    with lock:
        for key, value in given.items():
            if key == "revoke":
                state.valid.clear()
            elif key == "forget":
                state.asked, state.uses, state.peak = [], [], 0
            else:
                setattr(state, key, value)
        lock.notify_all()
    return {}


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.read()
