"""A token server that acts as the test says, and the API that requires its tokens. One realm per NAME, made by its first use.

The test sets a realm by POST /oauth?name=NAME on the control port; every key is optional:
    queue         answers for the next token requests, each used once: {"status", "body", "fields", "gate", "held", "drop"}; then the
                  default. The tokens change between `gate` and `held`, if it has no status or body; `drop` is in place of that change
    expires_in    of the default answer (3600); null = left out
    rotate        each refresh issues a new refresh token, and an old one is invalid_grant (false)
    reuse         the old refresh token that a client sent again, if any; it revokes all others
    lenient       it does not: the old one is refused, and that is all (false)
    refresh_token the one that is valid now
    confirm       the old refresh token is valid until a client uses an access token that came with the new one; `lost` counts how often
                  that helped (false)
    grace         every refresh token that it has issued stays valid; `lost` counts uses of old ones (false)
    delay         seconds before each token request is answered (0)
    same          every token is the first one again (false)
    prefix        first part of its tokens (NAME)
    issuer        the issuer in the discovery document
    revoke        true: revokes all tokens issued so far
    accept        valid tokens in addition to the issued ones
    refused       paths below /api/NAME that answer 401 to any token
    scoped        paths whose answer is 403, or `status`, with insufficient_scope
    status        of a refusal (401)
    size          bytes of a refusal's body (3)
    early         a refusal neither waits for the request's body nor reads it (false)
    forget        drops the records so far
It returns the records: {"requests": [..., "at" in seconds], "issued": [...], "concurrent": most requests at one time, "uses": [...]}. A use is a request
to the API: its path, method, token, length of the body, and the resulting status; `late` if the token had expired.
"""

import json
import threading
import time
import urllib.parse

lock = threading.RLock()
realms = {}


class Realm:
    def __init__(self):
        self.queue, self.requests, self.issued, self.valid, self.uses = [], [], [], {}, []
        self.expires_in, self.rotate, self.refresh_token, self.reuse, self.issuer = 3600, False, None, None, None
        self.refused, self.scoped, self.status, self.size, self.early, self.same = [], [], 401, 3, False, False
        self.now, self.concurrent, self.delay, self.confirm, self.lost, self.also, self.prefix = 0, 0, 0, False, 0, None, None
        self.lenient, self.grace, self.old = False, False, set()


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
                it.valid.update({token: float("inf") for token in value})
            elif key == "forget":
                it.requests, it.uses = [], []
            else:
                setattr(it, key, value)
        return {
            "requests": it.requests, "issued": it.issued, "concurrent": it.concurrent, "refresh_token": it.refresh_token,
            "uses": it.uses, "reuse": it.reuse, "lost": it.lost,
        }


def judge(it, exchange, path):
    """The status of the API's answer, and the use to record."""
    got = [v for n, v in exchange["fields"] if n.lower() == "authorization"]
    token = got[0][7:] if len(got) == 1 and got[0].startswith("Bearer ") else None
    with lock:
        status = 200
        if token not in it.valid or path in it.refused:
            status = it.status
        elif path in it.scoped:
            status = it.status if it.status != 401 else 403
        if it.issued and token == it.issued[-1]:
            it.also = None
        late = time.monotonic() > it.valid.get(token, float("inf"))
        return status, {"path": path, "method": exchange["method"], "token": token or "", "status": status, "late": late}


def refuses_early(exchange, parts):
    it = realm(parts[1])
    return it.early and judge(it, exchange, "/".join(parts[2:]))[0] != 200


def serve(connection, exchange, parts, answer, wait_for_gate):
    it = realm(parts[1])
    if parts[0] == "api":
        path = "/".join(parts[2:])
        status, use = judge(it, exchange, path)
        with lock:
            it.uses.append({**use, "body_length": exchange["body_length"]})
        if status == 200:
            answer(connection, exchange, 200, json.dumps(exchange), [("Content-Type", "application/json")])
            return
        error = "insufficient_scope" if path in it.scoped else "invalid_token"
        fields = [("WWW-Authenticate", f'Basic realm="x", Bearer error="{error}"')]
        if exchange["state"] != "complete":
            fields.append(("Connection", "close"))
        answer(connection, exchange, status, "no\n".ljust(it.size, "x"), fields)
        return
    if parts[2] == ".well-known":
        issuer = it.issuer or "https://" + dict(exchange["fields"])["Host"] + "/oauth/" + parts[1]
        answer(
            connection, exchange, 200, json.dumps({"issuer": issuer, "token_endpoint": issuer + "/token"}),
            [("Content-Type", "application/json")])
        return

    form = dict(urllib.parse.parse_qsl(exchange["body"], keep_blank_values=True))
    with lock:
        it.requests.append({"form": form, "fields": exchange["fields"], "method": exchange["method"], "at": time.monotonic()})
        it.now += 1
        it.concurrent = max(it.concurrent, it.now)
        step = it.queue.pop(0) if it.queue else {}
    try:
        if it.delay:
            time.sleep(it.delay)
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
        if "held" in step:
            wait_for_gate(step["held"])
        answer(connection, exchange, status, json.dumps(body), fields)
    finally:
        with lock:
            it.now -= 1


def token(it, name, form):
    body = {"token_type": "Bearer"}
    name = it.prefix or name
    if form.get("grant_type") == "refresh_token":
        sent = form.get("refresh_token")
        if it.grace and sent in it.old:
            it.lost += 1
        elif it.refresh_token is not None and sent not in (it.refresh_token, it.also):
            # A thief may have it: revoke the tokens that followed it, too.
            it.reuse = sent
            if not it.lenient:
                it.refresh_token = ""
                it.valid.clear()
            return 400, {"error": "invalid_grant", "error_description": f"unknown refresh token {sent}"}
        if it.rotate:
            it.lost += sent == it.also
            it.also = sent if it.confirm else None
            it.old.add(sent)
            it.refresh_token = f"{name}-5ecret-refresh-{len(it.issued) + 1}"
            body["refresh_token"] = it.refresh_token
    body["access_token"] = f"{name}-5ecret-token-{1 if it.same else len(it.issued) + 1}"
    it.issued.append(body["access_token"])
    it.valid[body["access_token"]] = time.monotonic() + (float("inf") if it.expires_in is None else it.expires_in)
    if it.expires_in is not None:
        body["expires_in"] = it.expires_in
    return 200, body
