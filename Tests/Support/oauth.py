"""A token server that does as it is told, and the API that wants its tokens. One realm a NAME; made by its first use.

The test sets a realm by POST /oauth?name=NAME on the control port; every key is optional:
    queue         answers for the next token requests, each used once: {"status", "body", "fields", "gate", "drop"}; then the default
    expires_in    of the default answer (3600); null = left out
    rotate        each refresh gives a new refresh token, and an old one is invalid_grant (false)
    refresh_token the one that is valid now
    revoke        true: no token issued so far is valid any more
    accept        tokens that are valid beside the issued ones
It answers what has happened: {"requests": [...], "issued": [...], "concurrent": the most requests at one time}.
"""

import json
import threading
import urllib.parse

lock = threading.RLock()
realms = {}


class Realm:
    def __init__(self):
        self.queue, self.requests, self.issued, self.valid = [], [], [], set()
        self.expires_in, self.rotate, self.refresh_token = 3600, False, None
        self.now, self.concurrent = 0, 0


def realm(name):
    with lock:
        return realms.setdefault(name, Realm())


def control(name, given):
    it = realm(name)
    with lock:
        for key, value in (given or {}).items():
            if key == "revoke":
                it.valid.clear()
            elif key == "accept":
                it.valid.update(value)
            else:
                setattr(it, key, value)
        return {"requests": it.requests, "issued": it.issued, "concurrent": it.concurrent, "refresh_token": it.refresh_token}


def serve(connection, exchange, parts, answer, wait_for_gate):
    it = realm(parts[1])
    if parts[0] == "api":
        got = [v for n, v in exchange["fields"] if n.lower() == "authorization"]
        with lock:
            fine = len(got) == 1 and got[0].startswith("Bearer ") and got[0][7:] in it.valid
        if fine:
            answer(connection, exchange, 200, json.dumps(exchange), [("Content-Type", "application/json")])
        else:
            answer(connection, exchange, 401, "no\n", [("WWW-Authenticate", 'Bearer error="invalid_token"')])
        return

    form = dict(urllib.parse.parse_qsl(exchange["body"], keep_blank_values=True))
    with lock:
        it.requests.append({"form": form, "fields": exchange["fields"], "method": exchange["method"]})
        it.now += 1
        it.concurrent = max(it.concurrent, it.now)
        step = it.queue.pop(0) if it.queue else {}
    try:
        if "gate" in step:
            wait_for_gate(step["gate"])
        if step.get("drop"):
            connection.shut("reset")
            return
        fields = [("Content-Type", "application/json"), ("Cache-Control", "no-store"), *step.get("fields", {}).items()]
        if "body" in step or "status" in step:
            body = step.get("body", "")
            answer(connection, exchange, step.get("status", 200), body if isinstance(body, str) else json.dumps(body), fields)
            return
        with lock:
            status, body = token(it, parts[1], form)
        answer(connection, exchange, status, json.dumps(body), fields)
    finally:
        with lock:
            it.now -= 1


def token(it, name, form):
    body = {"token_type": "Bearer"}
    if form.get("grant_type") == "refresh_token":
        if it.refresh_token is not None and form.get("refresh_token") != it.refresh_token:
            return 400, {"error": "invalid_grant"}
        if it.rotate:
            it.refresh_token = f"{name}-refresh-{len(it.issued) + 1}"
            body["refresh_token"] = it.refresh_token
    body["access_token"] = f"{name}-token-{len(it.issued) + 1}"
    it.issued.append(body["access_token"])
    it.valid.add(body["access_token"])
    if it.expires_in is not None:
        body["expires_in"] = it.expires_in
    return 200, body
