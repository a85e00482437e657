#!/usr/bin/env python3
"""An authorization server and an API that know their clients by certificate (RFC 8705), over TLS on loopback.

    mtls_server.py FOLDER

Makes a CA and certificates in FOLDER: ca.pem, server.pem, and for clients one, two, next, soon (ends in 5 days), expired (all by the CA), self
(self-signed), stranger (by nobody), each NAME.pem with its NAME.key; one.sealed.key is encrypted. Prints one line of JSON: its ports.

- plain: asks for a certificate, but takes clients without. Metadata, and a token endpoint that no client with a certificate should use.
- mtls: takes only clients with a certificate by the CA, or `self`. All endpoints, and /api, whose tokens are bound to the certificate that got them.
- control, over http: POST /set changes settings, GET /state says what was seen, POST /replace {from, to} puts certificate and key into place.

Ends with its standard input."""

import collections
import datetime
import hashlib
import http.server
import json
import os
import pathlib
import secrets
import ssl
import sys
import threading
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

FOLDER = pathlib.Path(sys.argv[1])
NOW = datetime.datetime.now(datetime.timezone.utc)
DAY = datetime.timedelta(days=1)


def certificate(name, issuer=None, start=-DAY, end=90 * DAY, is_ca=False, hosts=()):
    """Writes NAME.pem and NAME.key; `issuer` is what this function returned for the CA, None: self-signed."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(issuer[0].subject if issuer else subject)
        .public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(NOW + start).not_valid_after(NOW + end)
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
    )
    if not is_ca:
        usage = ExtendedKeyUsageOID.SERVER_AUTH if hosts else ExtendedKeyUsageOID.CLIENT_AUTH
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    if hosts:
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts]), critical=False)
    made = builder.sign(issuer[1] if issuer else key, hashes.SHA256())
    put(FOLDER / f"{name}.pem", made.public_bytes(serialization.Encoding.PEM))
    put(FOLDER / f"{name}.key", pem(key, serialization.NoEncryption()))
    return made, key


def pem(key, encryption):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


def put(path, content):
    """A reader sees the old or the new file, never a part."""
    part = path.with_suffix(".part")
    part.touch(mode=0o600)
    part.write_bytes(content)
    os.replace(part, path)


ca = certificate("ca", is_ca=True)
certificate("server", ca, hosts=["localhost"])
for client in ["one", "two", "next"]:
    made = certificate(client, ca)
    if client == "one":
        put(FOLDER / "one.sealed.key", pem(made[1], serialization.BestAvailableEncryption(b"pass-5ecret")))
certificate("soon", ca, end=5.5 * DAY)
certificate("expired", ca, start=-20 * DAY, end=-10 * DAY)
certificate("self")
certificate("stranger")

lock = threading.RLock()
settings = {"expires_in": 3600, "uses": 0, "metadata": {}, "aliases": {}, "without_aliases": False, "binds": True}
seen, counts, tokens, codes, refresh = [], collections.Counter(), {}, {}, {}
# Names of certificates of open connections to /api.
connected = collections.Counter()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def setup(self):
        super().setup()
        self.client, self.thumbprint, self.isOfAPI = None, None, False

    def finish(self):
        if self.isOfAPI:
            with lock:
                connected[self.client] -= 1
        try:
            super().finish()
        except OSError:
            pass

    def identify(self):
        if self.client is None and isinstance(self.connection, ssl.SSLSocket):
            der = self.connection.getpeercert(binary_form=True)
            if der:
                self.thumbprint = hashlib.sha256(der).hexdigest()
                name = x509.load_der_x509_certificate(der).subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
                self.client = name

    def reply(self, status, value, **fields):
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {"Content-Type": "application/json", "Content-Length": str(len(body)), **fields}.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def note(self, path, **rest):
        with lock:
            if len(seen) < 5000:
                seen.append({"path": path, "port": self.server.name, "client": self.client, **rest})

    def metadata(self):
        plain, mtls = (f"https://localhost:{servers[name].server_address[1]}" for name in ("plain", "mtls"))
        value = {
            "issuer": plain, "authorization_endpoint": plain + "/authorize", "token_endpoint": plain + "/token",
            "device_authorization_endpoint": plain + "/device", "revocation_endpoint": plain + "/revoke",
            "pushed_authorization_request_endpoint": plain + "/par", "code_challenge_methods_supported": ["S256"],
        }
        aliases = {name: mtls + "/" + path for name, path in [
            ("token_endpoint", "token"), ("device_authorization_endpoint", "device"), ("revocation_endpoint", "revoke"),
            ("pushed_authorization_request_endpoint", "par"), ("authorization_endpoint", "authorize")]}
        if not settings["without_aliases"]:
            value["mtls_endpoint_aliases"] = {**aliases, **settings["aliases"]}
        return {**value, **settings["metadata"]}

    def do_GET(self):
        self.identify()
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        if url.path == "/api":
            return self.api()
        self.note(url.path, query=query)
        if url.path == "/.well-known/openid-configuration":
            return self.reply(200, self.metadata())
        if url.path == "/authorize":
            request = codes.pop(query.get("request_uri"), None) or query
            code = "code-5ecret-" + secrets.token_hex(8)
            codes[code] = request
            answer = urllib.parse.urlencode({"code": code, "state": request["state"]})
            return self.reply(302, {}, Location=request["redirect_uri"] + "?" + answer)
        self.reply(404, {})

    def api(self):
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        with lock:
            if not self.isOfAPI:
                self.isOfAPI = True
                connected[self.client] += 1
            known = tokens.get(token)
            if known and known["thumbprint"] not in (None, self.thumbprint):
                counts["mismatched"] += 1
                known = None
            if known and settings["uses"]:
                known["uses"] += 1
                if known["uses"] > settings["uses"]:
                    known = None
            counts[f"api {self.client} {200 if known else 401}"] += 1
        if not known:
            return self.reply(401, {}, **{"WWW-Authenticate": 'Bearer error="invalid_token"'})
        self.reply(200, {"client": self.client, "token_of": known["client_id"]})

    def do_POST(self):
        self.identify()
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        form = dict(urllib.parse.parse_qsl(body))
        self.note(self.path, form=form, authorization=self.headers.get("Authorization"))
        if self.path == "/par":
            uri = "urn:ietf:params:oauth:request_uri:" + secrets.token_hex(8)
            codes[uri] = form
            return self.reply(201, {"request_uri": uri, "expires_in": 60})
        if self.path == "/device":
            code = "dc-5ecret-" + secrets.token_hex(8)
            codes[code] = form
            return self.reply(200, {
                "device_code": code, "user_code": "ABCD-EFGH", "verification_uri": "https://localhost/enter", "expires_in": 60,
                "interval": 1})
        if self.path == "/revoke":
            tokens.pop(form.get("token"), None)
            refresh.pop(form.get("token"), None)
            return self.reply(200, {})
        if self.path != "/token":
            return self.reply(404, {})
        # RFC 8705 section 2: the certificate is the client's.
        if self.client not in (form.get("client_id"), *settings.get("also", {}).get(form.get("client_id"), [])):
            with lock:
                counts["wrong"] += 1
            return self.reply(401, {"error": "invalid_client"})
        kind = form.get("grant_type", "")
        if kind == "authorization_code" and not codes.pop(form.get("code"), None):
            return self.reply(400, {"error": "invalid_grant"})
        if kind == "refresh_token" and not refresh.pop(form.get("refresh_token"), None):
            return self.reply(400, {"error": "invalid_grant"})
        token, renewal = "at-5ecret-" + secrets.token_hex(8), "rt-5ecret-" + secrets.token_hex(8)
        with lock:
            counts[f"token {self.client}"] += 1
            tokens[token] = {"thumbprint": self.thumbprint if settings["binds"] else None, "client_id": form["client_id"], "uses": 0}
        answer = {"access_token": token, "token_type": "Bearer", "expires_in": settings["expires_in"]}
        if kind != "client_credentials":
            refresh[renewal] = form
            answer["refresh_token"] = renewal
        self.reply(200, answer)


class Control(Handler):
    def do_GET(self):
        with lock:
            self.reply(200, {"seen": seen, "counts": dict(counts), "connected": {k or "": v for k, v in connected.items()}})

    def do_POST(self):
        value = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if self.path == "/replace":
            for suffix in (".key", ".pem"):
                put(FOLDER / (value["to"] + suffix), (FOLDER / (value["from"] + suffix)).read_bytes())
        else:
            settings.update(value)
        self.reply(200, {})


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_):
        """A client that is refused in the handshake, or leaves."""


servers = {}
for name, mode in [("plain", ssl.CERT_OPTIONAL), ("mtls", ssl.CERT_REQUIRED), ("control", None)]:
    server = Server(("127.0.0.1", 0), Handler if mode is not None else Control)
    server.name = name
    if mode is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(FOLDER / "server.pem", FOLDER / "server.key")
        context.load_verify_locations(FOLDER / "ca.pem")
        context.load_verify_locations(FOLDER / "self.pem")
        context.verify_mode = mode
        # The handshake is in the connection's own thread.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    servers[name] = server
    threading.Thread(target=server.serve_forever, daemon=True).start()

print(json.dumps({name: server.server_address[1] for name, server in servers.items()}), flush=True)
sys.stdin.read()
