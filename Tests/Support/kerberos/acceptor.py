"""An origin that authenticates requests by SPNEGO, with MIT's GSSAPI. Runs with Debian's python3 and python3-gssapi alone.

    acceptor.py KEYTAB [CERTIFICATE KEY]

Prints its port. With a certificate it speaks TLS, and binds contexts to it. POST /-/set changes how it behaves and forgets what it
recorded; both answer with what it recorded before. Keys:

    mode      accept     401 without a token, otherwise what the token deserves
              rounds     the context takes a second round: the acceptor sends a MIC, and wants one (RFC 4178 section 5)
              ntlm       401 that offers NTLM alone
              refuse     401 Negotiate whatever the token is
              silent     authenticates, and answers without a token
              garbage    authenticates, and answers with bytes that are no token
              other      authenticates, and answers with the token of another context
              forbid     authenticates, and answers 401 with its token
    slow      milliseconds before a 401's body
    bind      false: contexts are bound to no channel; "other": to another certificate
    close     true: each answer ends its connection
    status    of answers to authenticated requests; 200
    open      start of paths that are answered without a look at the token
    refused   start of paths to which every token is answered by 401 Negotiate
"""

import base64
import hashlib
import http.server
import json
import socketserver
import ssl
import sys
import threading
import time

import gssapi
from gssapi.raw import ChannelBindings

KEYTAB = sys.argv[1]
CERTIFICATE = sys.argv[2:4]
KERBEROS = bytes.fromhex("2a864886f712010202")
lock = threading.Lock()
settings = {}
uses = []
connections = 0
spare = []


def bindings():
    if not CERTIFICATE or settings.get("bind") is False:
        return None
    der = ssl.PEM_cert_to_DER_cert(open(CERTIFICATE[0]).read().split("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----\n")
    digest = hashlib.sha256(b"another" if settings.get("bind") == "other" else der).digest()
    return ChannelBindings(application_data=b"tls-server-end-point:" + digest)


def context():
    credentials = gssapi.Credentials(usage="accept", store={"keytab": KEYTAB})
    return gssapi.SecurityContext(creds=credentials, usage="accept", channel_bindings=bindings())


def der(tag, *parts):
    body = b"".join(parts)
    size = len(body)
    length = bytes([size]) if size < 128 else (lambda b: bytes([0x80 | len(b)]) + b)(size.to_bytes((size.bit_length() + 7) // 8, "big"))
    return bytes([tag]) + length + body


def read(data, at=0):
    """Tag, content and end of the element there."""
    tag, size, at = data[at], data[at + 1], at + 2
    if size & 0x80:
        count = size & 0x7F
        size, at = int.from_bytes(data[at:at + count], "big"), at + count
    return tag, data[at:at + size], at + size


def fields(sequence):
    at, found = 0, {}
    while at < len(sequence):
        tag, content, at = read(sequence, at)
        found[tag] = content
    return found


def answer(state, token=None, mic=None):
    parts = [der(0xA0, der(0x0A, bytes([state]))), der(0xA1, der(0x06, KERBEROS))]
    if token:
        parts.append(der(0xA2, der(0x04, token)))
    if mic:
        parts.append(der(0xA3, der(0x04, mic)))
    return der(0xA1, der(0x30, *parts))


class Rounds:
    """Frames by hand around a context of Kerberos alone: MIT's acceptor would not send the MIC."""

    def __init__(self):
        self.context = context()

    def step(self, token):
        if token[0] == 0x60:
            _, content, _ = read(token)
            _, _, behind = read(content)
            _, choice, _ = read(content, behind)
            initial = fields(read(choice)[1])
            self.mechanisms = initial[0xA0]
            inner = self.context.step(read(initial[0xA2])[1])
            return False, answer(1, inner, self.context.get_signature(self.mechanisms))
        reply = fields(read(read(token)[1])[1])
        self.context.verify_signature(self.mechanisms, read(reply[0xA3])[1])
        return True, None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        global connections
        super().setup()
        with lock:
            connections += 1
            self.number = connections
        self.rounds = None

    def log_message(self, *_):
        pass

    def control(self, body):
        global settings, uses
        with lock:
            state = {"uses": uses, "connections": connections}
            if self.path == "/-/set":
                settings, uses = json.loads(body), []
        self.reply(200, json.dumps(state).encode())

    def reply(self, status, body, *challenges):
        self.send_response(status)
        for challenge in challenges:
            self.send_header("WWW-Authenticate", challenge)
        self.send_header("Content-Length", str(len(body)))
        if settings.get("close"):
            self.send_header("Connection", "close")
        self.end_headers()
        if status == 401 and settings.get("slow"):
            self.wfile.flush()
            time.sleep(settings["slow"] / 1000)
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/-/"):
            return self.control(body)
        use = {"connection": self.number, "method": self.command, "path": self.path, "length": len(body), "status": 401, "user": "",
               "why": "", "token": 0}
        try:
            self.judge(use)
        finally:
            with lock:
                uses.append(use)

    def judge(self, use):
        mode = settings.get("mode", "accept")
        scheme, _, text = (self.headers.get("Authorization") or "").partition(" ")
        if mode == "ntlm":
            return self.reply(401, b"NTLM only", "NTLM")
        if self.path.startswith(settings.get("open", "-")):
            use["status"] = 200
            return self.reply(200, b"for everybody")
        if mode == "refuse" or self.path.startswith(settings.get("refused", "-")) or scheme.lower() != "negotiate":
            use["why"] = "no token" if scheme.lower() != "negotiate" else "refused"
            return self.reply(401, b"who are you?", "Negotiate", 'Basic realm="x"')
        try:
            token = base64.b64decode(text, validate=True)
            use["token"] = len(token)
            use["sent"] = text
            if mode == "rounds":
                self.rounds = self.rounds if token[0] != 0x60 and self.rounds else Rounds()
                done, out = self.rounds.step(token)
                made = self.rounds.context
                if not done:
                    use["why"] = "continues"
                    return self.reply(401, b"more", "Negotiate " + base64.b64encode(out).decode())
                self.rounds = None
            else:
                made = context()
                out = made.step(token)
                if not made.complete:
                    raise ValueError("incomplete")
        except Exception as error:
            use["why"] = f"{type(error).__name__}: {error}"
            return self.reply(401, b"no", "Negotiate")
        use["user"] = str(made.initiator_name)
        use["delegated"] = made.delegated_creds is not None
        challenge = ["Negotiate " + base64.b64encode(out or b"").decode()]
        use["proof"] = base64.b64encode(out or b"").decode()
        if mode == "silent" or not out:
            challenge = []
        elif mode == "garbage":
            challenge = ["Negotiate " + base64.b64encode(b"no token").decode()]
        elif mode == "other":
            with lock:
                spare.append(challenge[0])
                challenge = [spare[-2]] if len(spare) > 1 else challenge
        use["status"] = 401 if mode == "forbid" else settings.get("status", 200)
        self.reply(use["status"], f"{use['user']} {self.path}".encode(), *challenge)

    do_GET = do_POST = do_PUT = do_HEAD = handle_request


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass


def main():
    server = Server(("127.0.0.1", 0), Handler)
    if CERTIFICATE:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*CERTIFICATE)
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
