#!/usr/bin/env python3
"""A token server that exchanges the tokens of users, and the API that takes the exchanged ones. Prints its port; ends with its standard
input.

    POST /token   grant token-exchange or jwt-bearer. What it does is in the beginning of the user's token:
        user-NAME   issues api-NAME-5ecret-N
        bad-NAME    400 invalid_grant, and repeats the token in the description
        slow-NAME   as user-, after `delay` seconds
        hang-NAME   never answers
        html-, big-, cut-, refresh-, mac-, redirect-, fails-    answers that are no token: a page, 2 MB, the half of one, a refresh token, another
                    token_type, a redirect, 500
    GET  /api/... 200 with {"user": NAME, "leaked": fields with the user's own token}; 401 for tokens that were not issued or were revoked
    GET  /state   {"exchanges": {token: count}, "peak": most at a time, "open": now, "forms": the last 50, "uses": {NAME: count}}
    POST /set     JSON: delay, lifetime, revoke (NAME or true), error (of bad-), forget, refuse_actors (as many as have been seen first)
"""

import asyncio
import json
import sys
import urllib.parse

FIELDS = "Content-Type: application/json\r\nCache-Control: no-store\r\n"


class State:
    def __init__(self):
        self.delay, self.lifetime, self.error = 0.0, 3600, "invalid_grant"
        self.actors, self.refuse_actors = [], 0
        self.forget()
        self.valid, self.number, self.now = {}, 0, 0

    def forget(self):
        self.exchanges, self.uses, self.forms, self.peak = {}, {}, [], 0


state = State()


def response(status, body, fields=FIELDS):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return f"HTTP/1.1 {status} Reason\r\n{fields}Content-Length: {len(data)}\r\n\r\n".encode() + data


def issue(name):
    state.number += 1
    token = f"api-{name}-5ecret-{state.number}"
    state.valid[token] = name
    body = {"access_token": token, "token_type": "Bearer", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}
    if state.lifetime is not None:
        body["expires_in"] = state.lifetime
    return body


async def token(body, writer):
    pairs = urllib.parse.parse_qsl(body.decode(), keep_blank_values=True)
    form = dict(pairs)
    given = form.get("subject_token") or form.get("assertion") or ""
    state.exchanges[given] = state.exchanges.get(given, 0) + 1
    state.forms = (state.forms + [pairs])[-50:]
    actor = form.get("actor_token")
    if actor and actor not in state.actors:
        state.actors.append(actor)
    if actor in state.actors[: state.refuse_actors]:
        return response(400, {"error": "invalid_grant"})
    kind, _, rest = given.partition("-")
    name = rest.partition("-5ecret")[0]
    state.now += 1
    state.peak = max(state.peak, state.now)
    try:
        if kind == "user" or kind == "slow":
            if kind == "slow" or state.delay:
                await asyncio.sleep(state.delay)
            return response(200, issue(name))
        if kind == "bad":
            return response(400, {"error": state.error, "error_description": f"not {given}"})
        if kind == "hang":
            await asyncio.sleep(3600)
        if kind == "html":
            return response(200, b"<html>" + given.encode() + b"</html>", "Content-Type: text/html\r\n")
        if kind == "big":
            return response(200, b'{"access_token": "' + b"x" * (2 << 20) + b'"}')
        if kind == "cut":
            whole = response(200, issue(name))
            writer.write(whole[: len(whole) - 20])
            await writer.drain()
            return None
        if kind == "refresh":
            return response(200, {**issue(name), "issued_token_type": "urn:ietf:params:oauth:token-type:refresh_token"})
        if kind == "mac":
            return response(200, {**issue(name), "token_type": "mac"})
        if kind == "redirect":
            return response(307, b"", "Location: /elsewhere\r\n")
        return response(500, {"error": "invalid_grant"})
    finally:
        state.now -= 1


def api(fields):
    sent = [value for name, value in fields if name == "authorization"]
    leaked = [name for name, value in fields if any(kind + "-" in value for kind in ("user", "bad", "slow"))]
    given = sent[0].removeprefix("Bearer ") if len(sent) == 1 else ""
    user = state.valid.get(given)
    if user is None:
        return response(401, {"leaked": leaked}, FIELDS + 'WWW-Authenticate: Bearer error="invalid_token"\r\n')
    state.uses[user] = state.uses.get(user, 0) + 1
    return response(200, {"user": user, "leaked": leaked})


def change(given):
    for key, value in given.items():
        if key == "revoke":
            state.valid = {} if value is True else {token: name for token, name in state.valid.items() if name != value}
        elif key == "forget":
            state.forget()
        else:
            setattr(state, key, value)


async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            method, path, _ = head[0].split(" ")
            fields = [(line.partition(":")[0].lower(), line.partition(":")[2].strip()) for line in head[1:] if line]
            body = await reader.readexactly(int(dict(fields).get("content-length", 0)))
            if path == "/token":
                answer = await token(body, writer)
            elif path == "/state":
                answer = response(200, {
                    "exchanges": state.exchanges, "peak": state.peak, "open": state.now, "forms": state.forms, "uses": state.uses})
            elif path == "/set":
                change(json.loads(body))
                answer = response(200, {})
            else:
                answer = api(fields)
            if answer is None:
                break
            writer.write(answer)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 20, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main())
