#!/usr/bin/env python3
"""An authorization server for logins, on loopback: metadata, authorization (which agrees at once), PAR, device grant, tokens, revocation.

    login_server.py [--no-par] [--polls N] [--subjects A,B] [--busy-revocations N] [--misbehave HOW] [--gate]

--gate: each refresh waits for GET /open; GET /waiting answers when one waits. --misbehave: token-status:500, token-redirect, token-html, token-huge, token-cut, token-hang, no-refresh-token, foreign-issuer, plain-pkce,
foreign-http, id-token-absent, id-token:CLAIM=VALUE. Logins are those of the subjects in turn. The first N revocations are answered with 503. Prints its port. GET /valid counts valid tokens, /forget ends all access tokens. GET /log returns what it saw: one JSON object a request. GET
/secrets lists all codes, tokens and verifiers so far. GET /api answers 200 to a valid access token, else 401. Ends with its
standard input."""

import argparse
import base64
import hashlib
import http.server
import itertools
import json
import secrets
import sys
import threading
import time
import urllib.parse

parser = argparse.ArgumentParser()
parser.add_argument("--no-par", action="store_true")
parser.add_argument("--polls", type=int, default=2)
parser.add_argument("--subjects", default="user-1")
parser.add_argument("--busy-revocations", type=int, default=0)
parser.add_argument("--misbehave", default="")
parser.add_argument("--gate", action="store_true")
arguments = parser.parse_args()
misbehave, _, detail = arguments.misbehave.partition(":")
waiting, opened = threading.Semaphore(0), threading.Semaphore(0)
subjects = itertools.cycle(arguments.subjects.split(","))
log, codes, pushed, devices, access, refresh = [], {}, {}, {}, {}, {}
known = set()


def id_token(base, form):
    claims = {"iss": base, "aud": form["client_id"], "sub": form["sub"], "exp": int(time.time()) + 600, "email": "ann@example.com"}
    if form.get("nonce"):
        claims["nonce"] = form["nonce"]
    if misbehave == "id-token":
        name, _, value = detail.partition("=")
        claims[name] = int(value) if value.lstrip("-").isdigit() else value
    part = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
    return f"{part({'alg': 'RS256'})}.{part(claims)}.c2ln"


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def reply(self, status, value, **fields):
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(body)), **fields}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def issue(self, request):
        token, renewal = "at-5ecret-" + secrets.token_hex(8), "rt-5ecret-" + secrets.token_hex(8)
        known.update([token, renewal])
        request.setdefault("sub", next(subjects))
        access[token], refresh[renewal] = request, request
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": renewal, "scope": request.get("scope", "")}
        if misbehave == "no-refresh-token":
            del answer["refresh_token"]
        if "openid" in request.get("scope", "").split() and misbehave != "id-token-absent":
            answer["id_token"] = id_token(self.base, request)
        self.reply(200, answer)

    def misbehave(self):
        if misbehave == "token-status":
            return self.reply(int(detail), {"error_description": "<b>no</b>\x1b[31m"})
        if misbehave == "token-redirect":
            return self.reply(307, {}, Location=self.base + "/elsewhere")
        if misbehave == "token-html":
            body = b"<html>welcome</html>"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        if misbehave == "token-huge":
            return self.reply(200, {"access_token": "x" * 2_000_000})
        if misbehave == "token-cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b'{"access_token": "at-5ecret-')
        if misbehave == "token-hang":
            time.sleep(5)
        self.close_connection = True

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/log":
            return self.reply(200, log)
        if url.path == "/secrets":
            return self.reply(200, sorted(known))
        if url.path == "/valid":
            return self.reply(200, {"access": len(access), "refresh": len(refresh)})
        if url.path == "/forget":
            access.clear()
            return self.reply(200, {})
        if url.path == "/waiting":
            waiting.acquire()
            return self.reply(200, {})
        if url.path == "/open":
            opened.release()
            return self.reply(200, {})
        log.append({"path": url.path, "query": query})
        if url.path == "/api":
            valid = self.headers.get("Authorization", "").removeprefix("Bearer ") in access
            return self.reply(200 if valid else 401, {})
        if url.path == "/.well-known/openid-configuration":
            metadata = {
                "issuer": self.base, "authorization_endpoint": self.base + "/authorize", "token_endpoint": self.base + "/token",
                "device_authorization_endpoint": self.base + "/device", "revocation_endpoint": self.base + "/revoke",
                "code_challenge_methods_supported": ["S256"], "authorization_response_iss_parameter_supported": True,
            }
            if misbehave == "foreign-issuer":
                metadata["issuer"] += "/other"
            if misbehave == "plain-pkce":
                metadata["code_challenge_methods_supported"] = ["plain"]
            if misbehave == "foreign-http":
                metadata["token_endpoint"] = "http://login.example.com/token"
            if not arguments.no_par:
                metadata["pushed_authorization_request_endpoint"] = self.base + "/par"
            return self.reply(200, metadata)
        if url.path == "/authorize":
            request = pushed.pop(query.get("request_uri"), None) or query
            code = "code-5ecret-" + secrets.token_hex(8)
            codes[code] = request
            known.add(code)
            answer = urllib.parse.urlencode({"code": code, "state": request["state"], "iss": self.base})
            return self.reply(302, {}, Location=request["redirect_uri"] + "?" + answer)
        self.reply(404, {})

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()))
        log.append({"path": self.path, "form": form})
        known.update(form[name] for name in ["code_verifier", "client_secret"] if name in form)
        if self.path == "/par":
            uri = "urn:ietf:params:oauth:request_uri:" + secrets.token_hex(8)
            pushed[uri] = form
            return self.reply(201, {"request_uri": uri, "expires_in": 60})
        if self.path == "/device":
            code = "dc-5ecret-" + secrets.token_hex(8)
            known.add(code)
            devices[code] = {"left": arguments.polls, "request": form}
            return self.reply(200, {
                "device_code": code, "user_code": "ABCD-EFGH", "verification_uri": self.base + "/enter", "expires_in": 60, "interval": 1})
        if self.path == "/revoke":
            if arguments.busy_revocations > 0:
                arguments.busy_revocations -= 1
                return self.reply(503, {})
            access.pop(form.get("token"), None)
            refresh.pop(form.get("token"), None)
            return self.reply(200, {})
        if self.path != "/token":
            return self.reply(404, {})
        if misbehave.startswith("token-"):
            return self.misbehave()
        kind = form.get("grant_type", "")
        if kind == "authorization_code":
            request = codes.pop(form.get("code"), None)
            digest = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest()).rstrip(b"=").decode()
            if not request or digest != request.get("code_challenge") or form.get("redirect_uri") != request.get("redirect_uri"):
                return self.reply(400, {"error": "invalid_grant"})
            return self.issue(request)
        if kind == "refresh_token":
            if arguments.gate:
                waiting.release()
                opened.acquire()
            request = refresh.pop(form.get("refresh_token"), None)
            return self.issue(request) if request else self.reply(400, {"error": "invalid_grant"})
        if kind.endswith("device_code"):
            device = devices[form["device_code"]]
            device["left"] -= 1
            return self.reply(400, {"error": "authorization_pending"}) if device["left"] >= 0 else self.issue(device["request"])
        self.reply(400, {"error": "unsupported_grant_type"})


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
