"""An API server of Kubernetes with one namespace of Secrets: resourceVersions, conflicts, watches with bookmarks and 410, tokens that rotate,
429, and the rights of one Role. It can also lie, stall, cut and flood.

    kubernetes_api.py TOKEN_FILE [CERTIFICATE KEY]

The first line on standard output is JSON: its port. Then each line on standard input is a command in JSON, answered by a line of JSON:
{"do": "state"}             requests by verb and status, the Secrets, watches open now
{"do": "set", ...}          changes members of `Behaviour`
{"do": "token", "token": T} only this bearer token is good from now on
{"do": "put", "name": N, "data": {...}, "labels": {...}, "immutable": false}     as kubectl would
{"do": "delete", "name": N}
{"do": "compact"}           forgets all changes: watches from earlier versions get 410
{"do": "expire"}            every open watch gets 410 in its stream
{"do": "end"} / {"do": "cut"}    every open watch ends in order / is cut within a line
It ends with its standard input.
"""

import base64
import email.utils
import http.server
import json
import re
import socket
import ssl
import sys
import threading
import time
import urllib.parse


class Behaviour:
    namespace = "apps"
    # The rights of the Role on the Secret.
    verbs = ["get", "watch", "patch"]
    # The next so many requests (not watches) get this status, with this Retry-After.
    failures = 0
    failure_status = 429
    retry_after = None
    # The next so many PATCHes are done, and their connection is closed without an answer.
    lost_answers = 0
    # Before each of the next so many PATCHes somebody else changes the object.
    rivals = 0
    # Seconds before each answer.
    delay = 0
    # Seconds by which the Date field is ahead of the clock; None: no Date.
    skew = 0
    # none | garbage | other | flood | blank | endless | huge | silent | refuse | gone: what a GET, or a watch, answers.
    hostile_get = "none"
    hostile_watch = "none"
    # Bookmarks after each change of something else.
    bookmarks = True


behaviour = Behaviour()
lock = threading.Condition()
tokens = {open(sys.argv[1]).read().strip()}
version = 1000
oldest = 0
secrets = {}
log = []
requests = []
watches = {}
stopping = False
counts = {}


def changed(kind, name):
    """Call it under the lock."""
    log.append((version, kind, json.loads(json.dumps(secrets[name]))))
    lock.notify_all()


def put(name, data, labels=None, annotations=None, immutable=False):
    global version
    with lock:
        version += 1
        kind = "MODIFIED" if name in secrets else "ADDED"
        old = secrets.get(name, {"metadata": {}})
        secrets[name] = {
            "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
            "metadata": {
                "name": name, "namespace": behaviour.namespace, "uid": f"uid-{name}", "resourceVersion": str(version),
                "labels": labels if labels is not None else old["metadata"].get("labels", {}),
                "annotations": annotations or old["metadata"].get("annotations", {}),
            },
        }
        if data is not None:
            secrets[name]["data"] = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        if immutable:
            secrets[name]["immutable"] = True
        changed(kind, name)


def merge(target, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = merge(target.get(key), value)
    return target


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def date_time_string(self, timestamp=None):
        return email.utils.formatdate(time.time() + (behaviour.skew or 0), usegmt=True)

    def send_response(self, code, message=None):
        self.send_response_only(code, message)
        if behaviour.skew is not None:
            self.send_header("Date", self.date_time_string())

    def count(self, verb, status):
        with lock:
            counts[f"{verb} {status}"] = counts.get(f"{verb} {status}", 0) + 1
            lock.notify_all()

    def answer(self, verb, status, body, fields=()):
        if behaviour.delay:
            time.sleep(behaviour.delay)
        self.count(verb, status)
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        for name, value in fields:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def status(self, verb, code, reason, message, fields=()):
        self.answer(verb, code, {
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code,
            # As a lying server would: what it got is in it.
            "message": f"{message}; {self.headers.get('Authorization')}",
        }, fields)

    def refused(self, verb, name):
        """Answers what stands before every request; True: it has."""
        given = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if given not in tokens:
            self.status(verb, 401, "Unauthorized", "Unauthorized")
            return True
        if verb not in behaviour.verbs:
            self.status(verb, 403, "Forbidden", f'secrets "{name}" is forbidden: cannot {verb}')
            return True
        with lock:
            fails = behaviour.failures > 0 and verb != "watch"
            if fails:
                behaviour.failures -= 1
        if fails:
            fields = [] if behaviour.retry_after is None else [("Retry-After", str(behaviour.retry_after))]
            self.status(verb, behaviour.failure_status, "TooManyRequests", "later", fields)
            return True
        return False

    def hostile(self, kind, verb):
        """Whether the answer was a hostile one."""
        if kind == "none":
            return False
        if kind == "gone":
            self.status(verb, 410, "Expired", "too old resource version")
            return True
        self.count(verb, 200)
        if kind == "refuse":
            self.close_connection = True
            return True
        if kind == "silent":
            with lock:
                lock.wait_for(lambda: stopping, 60)
            self.close_connection = True
            return True
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            if kind == "garbage":
                self.wfile.write(b"<html>a proxy's login page</html>\n")
            elif kind == "other":
                other = {"kind": "Secret", "metadata": {"name": "other", "namespace": "apps", "resourceVersion": "1"}, "data": {}}
                self.wfile.write(json.dumps(other if verb == "get" else {"type": "MODIFIED", "object": other}).encode() + b"\n")
            elif kind == "flood":
                with lock:
                    event = json.dumps({"type": "MODIFIED", "object": next(iter(secrets.values()))}).encode() + b"\n"
                while True:
                    self.wfile.write(event * 100)
            elif kind == "blank":
                while True:
                    self.wfile.write(b"\n" * 100)
            elif kind == "endless":
                while True:
                    self.wfile.write(b"x" * 65536)
            elif kind == "huge":
                self.wfile.write(b'{"metadata":' + b"[" * 3_000_000)
        except OSError:
            pass
        return True

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        found = re.fullmatch(r"/api/v1/namespaces/([^/]+)/secrets(?:/([^/]+))?", url.path)
        if not found or found[1] != behaviour.namespace:
            return self.status("get", 404, "NotFound", "not found")
        if found[2]:
            name = found[2]
            with lock:
                requests.append({"verb": "get", "fields": dict(self.headers)})
            if self.refused("get", name) or self.hostile(behaviour.hostile_get, "get"):
                return
            with lock:
                secret = secrets.get(name)
                secret = secret and json.loads(json.dumps(secret))
            if secret is None:
                return self.status("get", 404, "NotFound", f'secrets "{name}" not found')
            return self.answer("get", 200, secret)
        selector = query.get("fieldSelector", "")
        if query.get("watch") != "1" or not selector.startswith("metadata.name="):
            # `list` is no right of the Role.
            return self.status("list", 403, "Forbidden", "cannot list")
        name = selector.removeprefix("metadata.name=")
        if self.refused("watch", name) or self.hostile(behaviour.hostile_watch, "watch"):
            return
        self.watch(name, int(query["resourceVersion"]), int(query.get("timeoutSeconds", "1800")))

    def chunk(self, data):
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def event(self, kind, body):
        self.chunk(json.dumps({"type": kind, "object": body}).encode() + b"\n")

    def gone(self):
        self.event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"})

    def watch(self, name, position, seconds):
        with lock:
            if position < oldest:
                expired = True
            else:
                expired = False
                watches[self] = None
        if expired and position % 2:
            # Both ways are in use.
            return self.status("watch", 410, "Expired", "too old resource version")
        self.count("watch", 200)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        end = time.monotonic() + seconds
        try:
            if expired:
                self.gone()
            while not expired:
                with lock:
                    def news():
                        return [entry for entry in log if entry[0] > position]
                    lock.wait_for(lambda: news() or watches.get(self) or stopping, max(0.0, end - time.monotonic()))
                    events, order = news(), watches.get(self)
                    late = time.monotonic() >= end
                for changed_at, kind, secret in events:
                    position = changed_at
                    if secret["metadata"]["name"] == name:
                        self.event(kind, secret)
                    elif behaviour.bookmarks:
                        self.event("BOOKMARK", {"kind": "Secret", "metadata": {"resourceVersion": str(position)}})
                if order == "cut":
                    self.wfile.write(b'40\r\n{"type":"MODIFIED","obj')
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                if order == "expire":
                    self.gone()
                if order or late or stopping:
                    break
            self.chunk(b"")
        except OSError:
            pass
        finally:
            with lock:
                watches.pop(self, None)
                lock.notify_all()

    def do_PATCH(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        found = re.fullmatch(r"/api/v1/namespaces/apps/secrets/([^/]+)", urllib.parse.urlsplit(self.path).path)
        name = found and found[1]
        with lock:
            requests.append({"verb": "patch", "fields": dict(self.headers), "body": body.decode()})
        if not found:
            return self.status("patch", 404, "NotFound", "not found")
        if self.refused("patch", name):
            return
        if self.headers.get("Content-Type") != "application/merge-patch+json":
            return self.status("patch", 415, "UnsupportedMediaType", "which patch?")
        with lock:
            rival = behaviour.rivals > 0 and name in secrets
            if rival:
                behaviour.rivals -= 1
                data = {key: base64.b64decode(value).decode() for key, value in secrets[name].get("data", {}).items()}
        if rival:
            put(name, data | {"rival": str(time.monotonic_ns())})
        self.apply(name, json.loads(body))

    def apply(self, name, patch):
        global version
        with lock:
            old = secrets.get(name)
            wanted = patch.get("metadata", {}).get("resourceVersion")
            if old is None:
                outcome = 404
            elif wanted and wanted != old["metadata"]["resourceVersion"]:
                outcome = 409
            else:
                new = merge(old, patch)
                size = sum(len(base64.b64decode(value, validate=True)) for value in new.get("data", {}).values())
                keys_are_good = all(re.fullmatch(r"[-._a-zA-Z0-9]{1,253}", key) for key in new.get("data", {}))
                if old.get("immutable") or size > 1 << 20 or not keys_are_good:
                    outcome = 422
                else:
                    outcome = 200
                    version += 1
                    new["metadata"]["resourceVersion"] = str(version)
                    secrets[name] = new
                    changed("MODIFIED", name)
                    copy = json.loads(json.dumps(new))
            lost = outcome == 200 and behaviour.lost_answers > 0
            if lost:
                behaviour.lost_answers -= 1
        if lost:
            self.count("patch", 0)
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif outcome == 200:
            self.answer("patch", 200, copy)
        else:
            reason = {404: "NotFound", 409: "Conflict", 422: "Invalid"}[outcome]
            self.status("patch", outcome, reason, f'secrets "{name}": {reason}')


def act(command):
    global oldest, version
    what = command.pop("do")
    if what == "state":
        pass
    elif what == "set":
        for name, value in command.items():
            getattr(Behaviour, name)
            setattr(behaviour, name, value)
    elif what == "token":
        tokens.clear()
        tokens.add(command["token"])
    elif what == "put":
        put(**command)
    elif what == "delete":
        with lock:
            version += 1
            secrets[command["name"]]["metadata"]["resourceVersion"] = str(version)
            changed("DELETED", command["name"])
            del secrets[command["name"]]
    elif what == "compact":
        with lock:
            version += 1
            oldest = version
            log.clear()
    elif what in ("expire", "end", "cut"):
        with lock:
            for watch in watches:
                watches[watch] = what
            lock.notify_all()
    else:
        raise ValueError(what)
    with lock:
        shown = {
            name: {key: base64.b64decode(value).decode() for key, value in secret.get("data", {}).items()}
            for name, secret in secrets.items()
        }
        return {"counts": counts, "data": shown, "objects": secrets, "watches": len(watches), "requests": requests}


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request, client_address):
        pass


server = Server(("127.0.0.1", 0), Handler)
if len(sys.argv) > 2:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(json.dumps({"port": server.server_address[1]}), flush=True)
for line in sys.stdin:
    print(json.dumps(act(json.loads(line))), flush=True)
