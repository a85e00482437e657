"""A certificate authority that makes valid and invalid certificates, and answers about their revocation over HTTP as the test says.

    authority.py FOLDER [CA.pem CA.key]

Writes NAME.pem (what the server sends, leaf first), NAME.rest.pem (that without the leaf) and NAME.key into FOLDER, prints its port as JSON, and serves:

    POST /ocsp/MODE, GET /crl/MODE       an answer of that kind, for any certificate
    POST, GET /live/NAME                 the same, in the mode set for NAME (certificates point here)
    GET /set?name=NAME&mode=MODE[&delay=SECONDS]
    GET /count?name=NAME                 number of requests to /live/NAME, or for a mode
    GET /issue?name=NAME&seconds=N       a new leaf that expires in N seconds
              [&ocsp=URL]                with this pointer; {port} in it is the authority's own

Modes of OCSP: good, brief (good for 60 s), revoked, unknown, expired, wrong-key, delegated, delegate-without-purpose, other-certificate, unauthorized,
garbage, error, oversized. Modes of lists: good, revoked, stale, other-issuer, wrong-key, garbage, error, oversized.
It also answers for the CA named on the command line. In mode `revoked` the answer revokes the certificate in question.
"""

import datetime
import http.server
import ipaddress
import json
import pathlib
import subprocess
import sys
import threading
import time
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509 import ocsp
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID, NameOID

SECOND = datetime.timedelta(seconds=1)
HOUR = datetime.timedelta(hours=1)
DAY = datetime.timedelta(days=1)
HOSTS = ["localhost", "127.0.0.1", "::1"]


def now():
    return datetime.datetime.now(datetime.timezone.utc)


def name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def new_key():
    return ec.generate_private_key(ec.SECP256R1())


def alternatives(hosts):
    def one(host):
        try:
            return x509.IPAddress(ipaddress.ip_address(host))
        except ValueError:
            return x509.DNSName(host)

    return x509.SubjectAlternativeName([one(host) for host in hosts])


class Authority:
    """A certificate that issues, whatever it may issue."""

    def __init__(self, certificate, key):
        self.certificate, self.key = certificate, key


def issue(
    subject, issuer=None, key=None, ca=False, path_length=None, hosts=None, before=None, after=None,
    purpose=ExtendedKeyUsageOID.SERVER_AUTH, pointers=None, constraints=None, digest=hashes.SHA256(),
):
    key = key or new_key()
    builder = (
        x509.CertificateBuilder()
        .subject_name(name(subject))
        .issuer_name(issuer.certificate.subject if issuer else name(subject))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(before or now() - DAY)
        .not_valid_after(after or now() + 90 * DAY)
        .add_extension(x509.BasicConstraints(ca=ca, path_length=path_length), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if issuer:
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer.certificate.public_key()), critical=False
        )
    if ca:
        builder = builder.add_extension(
            x509.KeyUsage(True, False, False, False, False, True, True, False, False), critical=True
        )
    elif purpose:
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
    if hosts:
        builder = builder.add_extension(alternatives(hosts), critical=False)
    if constraints:
        builder = builder.add_extension(x509.NameConstraints(constraints, None), critical=True)
    for kind, url in pointers or []:
        if kind == "ocsp":
            builder = builder.add_extension(
                x509.AuthorityInformationAccess(
                    [x509.AccessDescription(AuthorityInformationAccessOID.OCSP, x509.UniformResourceIdentifier(url))]
                ),
                critical=False,
            )
        else:
            builder = builder.add_extension(
                x509.CRLDistributionPoints(
                    [x509.DistributionPoint([x509.UniformResourceIdentifier(url)], None, None, None)]
                ),
                critical=False,
            )
    return builder.sign(issuer.key if issuer else key, digest), key


class World:
    def __init__(self, folder, base):
        self.folder, self.base = folder, base
        self.serials, self.modes, self.counts = {}, {}, {}
        self.lock = threading.Lock()
        self.root = Authority(*issue("Tests root", ca=True))
        self.intermediate = Authority(
            *issue("Tests intermediate", self.root, ca=True, path_length=0, pointers=[("ocsp", f"{base}/live/intermediate")])
        )
        self.serials["intermediate"] = self.intermediate.certificate.serial_number
        self.other = Authority(*issue("Another root", ca=True))
        self.authorities = [self.root, self.intermediate, self.other]
        self.delegate = Authority(
            *issue("Tests responder", self.intermediate, purpose=ExtendedKeyUsageOID.OCSP_SIGNING)
        )
        self.impostor = Authority(*issue("Tests impostor", self.intermediate))
        self.make()

    def write(self, stem, certificates, key=None):
        pem = b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in certificates)
        (self.folder / f"{stem}.pem").write_bytes(pem)
        if certificates[1:]:
            rest = b"".join(certificate.public_bytes(serialization.Encoding.PEM) for certificate in certificates[1:])
            (self.folder / f"{stem}.rest.pem").write_bytes(rest)
        if key:
            (self.folder / f"{stem}.key").write_bytes(
                key.private_bytes(
                    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
                )
            )

    def leaf(self, stem, issuer=None, chain=None, **options):
        """`chain`: what is sent after the leaf, the intermediate unless said otherwise."""
        issuer = issuer or self.intermediate
        options.setdefault("hosts", HOSTS)
        certificate, key = issue(options.pop("subject", stem), issuer, **options)
        self.serials[stem] = certificate.serial_number
        self.write(stem, [certificate] + ([self.intermediate.certificate] if chain is None else chain), key)
        return Authority(certificate, key)

    def make(self):
        root, intermediate = self.root, self.intermediate
        self.write("root", [root.certificate], root.key)
        self.write("intermediate", [intermediate.certificate], intermediate.key)
        self.write("other-root", [self.other.certificate], self.other.key)

        good = self.leaf("good")
        self.write("good-leaf", [good.certificate])
        self.leaf("reissued", key=good.key)
        backup = new_key()
        self.write("backup", [issue("backup", key=backup)[0]], backup)
        # The server sends it, and a policy pins it, but it is not part of the verified chain.
        stranger = issue("stranger")[0]
        self.write("stranger", [stranger])
        self.leaf("with-stranger", chain=[intermediate.certificate, stranger])

        self.leaf("expired", before=now() - 20 * DAY, after=now() - 10 * DAY)
        self.leaf("not-yet-valid", before=now() + DAY)
        self.leaf("wrong-host", hosts=["other.example"])
        self.leaf("cn-only", subject="localhost", hosts=None)
        self.leaf("no-address", hosts=["localhost"])
        self.leaf("untrusted-root", self.other, chain=[self.other.certificate])
        self.leaf("incomplete", chain=[])
        self.leaf("reversed", chain=[stranger, root.certificate, intermediate.certificate])
        self.leaf("client-purpose", purpose=ExtendedKeyUsageOID.CLIENT_AUTH)
        self.leaf("issued-by-leaf", good, chain=[good.certificate, intermediate.certificate])
        deeper = Authority(*issue("Tests too deep", intermediate, ca=True))
        self.leaf("path-length", deeper, chain=[deeper.certificate, intermediate.certificate])
        elsewhere = Authority(
            *issue("Tests constrained", root, ca=True, constraints=[x509.DNSName("example.org")])
        )
        self.leaf("name-constraints", elsewhere, chain=[elsewhere.certificate])
        self.leaf("weak-key", key=rsa.generate_private_key(65537, 1024))
        own, own_key = issue("localhost", hosts=HOSTS)
        self.write("self-signed", [own], own_key)
        past, past_key = issue("localhost", hosts=HOSTS, before=now() - 20 * DAY, after=now() - 10 * DAY)
        self.write("self-signed-expired", [past], past_key)
        self.sha1()

        for stem in ("ocsp", "ocsp-too"):
            self.leaf(stem, pointers=[("ocsp", f"{self.base}/live/{stem}")])
        self.leaf("crl", pointers=[("crl", f"{self.base}/live/crl")])
        self.leaf("both", pointers=[("ocsp", f"{self.base}/live/both-ocsp"), ("crl", f"{self.base}/live/both-crl")])
        for stem in ("both-ocsp", "both-crl"):
            self.serials[stem] = self.serials["both"]
        # Of the same server under a name that only a configuration can resolve, or a parent proxy.
        named = f"http://authority.test:{self.base.rpartition(':')[2]}/live"
        self.leaf("named-ocsp", pointers=[("ocsp", f"{named}/named-ocsp")])
        self.leaf("named-crl", pointers=[("crl", f"{named}/named-crl")])
        self.client()
        self.index()
        for mode in ("good", "other-certificate"):
            (self.folder / f"staple-{mode}.der").write_bytes(self.staple("good", mode))
        (self.folder / "staple-revoked.der").write_bytes(self.staple("good", "revoked"))
        (self.folder / "staple-expired.der").write_bytes(self.staple("good", "expired"))
        (self.folder / "list-good.pem").write_bytes(self.list("good", None, pem=True))
        self.serials["good-in-list"] = self.serials["good"]
        (self.folder / "list-revoked.pem").write_bytes(self.list("revoked", "good", pem=True))

    def sha1(self):
        """The library no longer signs with SHA-1; OpenSSL does if asked."""
        folder = self.folder
        run = lambda *words: subprocess.run(words, check=True, capture_output=True)
        run("openssl", "genrsa", "-out", f"{folder}/sha1.key", "2048")
        run("openssl", "req", "-new", "-key", f"{folder}/sha1.key", "-subj", "/CN=sha1", "-out", f"{folder}/sha1.csr")
        (folder / "sha1.ext").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
        run(
            "openssl", "x509", "-req", "-in", f"{folder}/sha1.csr", "-CA", f"{folder}/intermediate.pem", "-CAkey",
            f"{folder}/intermediate.key", "-sha1", "-days", "30", "-extfile", f"{folder}/sha1.ext", "-set_serial", "7",
            "-out", f"{folder}/sha1-leaf.pem",
        )
        intermediate = (folder / "intermediate.pem").read_bytes()
        (folder / "sha1.pem").write_bytes((folder / "sha1-leaf.pem").read_bytes() + intermediate)
        (folder / "sha1.rest.pem").write_bytes(intermediate)

    def client(self):
        certificate, key = issue("client", self.root, purpose=ExtendedKeyUsageOID.CLIENT_AUTH)
        self.write("client", [certificate], key)
        for stem, form in (
            ("client-encrypted", serialization.PrivateFormat.PKCS8),
            ("client-encrypted-old", serialization.PrivateFormat.TraditionalOpenSSL),
        ):
            (self.folder / f"{stem}.key").write_bytes(
                key.private_bytes(
                    serialization.Encoding.PEM, form, serialization.BestAvailableEncryption(b"5ecret passphrase")
                )
            )

    def index(self):
        """The database of `openssl ocsp`: good and ocsp are known, ocsp-too is revoked, all others are unknown."""
        lines = []
        for stem, state in (("good", "V\t{}\t"), ("ocsp", "V\t{}\t"), ("ocsp-too", "R\t{}\t{}")):
            text = state.format((now() + 90 * DAY).strftime("%y%m%d%H%M%SZ"), (now() - DAY).strftime("%y%m%d%H%M%SZ"))
            serial = f"{self.serials[stem]:X}"
            lines.append(f"{text}\t{serial if len(serial) % 2 == 0 else '0' + serial}\tunknown\t/CN={stem}\n")
        (self.folder / "index.txt").write_text("".join(lines))

    # Answers.

    def staple(self, stem, mode):
        certificate = x509.load_pem_x509_certificates((self.folder / f"{stem}.pem").read_bytes())[0]
        request = ocsp.OCSPRequestBuilder().add_certificate(
            certificate, self.intermediate.certificate, hashes.SHA1()
        ).build()
        return self.ocsp(mode, request)

    def issuer_of(self, request):
        for authority in self.authorities:
            point = authority.certificate.public_key().public_bytes(
                serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
            )
            digest = hashes.Hash(request.hash_algorithm)
            digest.update(point)
            if digest.finalize() == request.issuer_key_hash:
                return authority
        return None

    def ocsp(self, mode, request):
        if mode == "garbage":
            return b"this is no answer"
        if mode == "oversized":
            return b"\x30" * (70 << 10)
        issuer = self.issuer_of(request)
        if mode == "unauthorized" or issuer is None:
            return ocsp.OCSPResponseBuilder.build_unsuccessful(ocsp.OCSPResponseStatus.UNAUTHORIZED).public_bytes(
                serialization.Encoding.DER
            )
        status = {"revoked": ocsp.OCSPCertStatus.REVOKED, "unknown": ocsp.OCSPCertStatus.UNKNOWN}.get(
            mode, ocsp.OCSPCertStatus.GOOD
        )
        updated = now() - (10 * DAY if mode == "expired" else HOUR)
        builder = ocsp.OCSPResponseBuilder().add_response_by_hash(
            issuer_name_hash=request.issuer_name_hash,
            issuer_key_hash=request.issuer_key_hash,
            serial_number=request.serial_number + (1 if mode == "other-certificate" else 0),
            algorithm=request.hash_algorithm,
            cert_status=status,
            this_update=updated,
            next_update=now() + 60 * SECOND if mode == "brief" else updated + (3 * DAY if mode == "expired" else 12 * HOUR),
            revocation_time=now() - DAY if mode == "revoked" else None,
            revocation_reason=x509.ReasonFlags.key_compromise if mode == "revoked" else None,
        )
        signer = {"wrong-key": self.other, "delegated": self.delegate, "delegate-without-purpose": self.impostor}.get(mode, issuer)
        builder = builder.responder_id(ocsp.OCSPResponderEncoding.NAME, signer.certificate)
        if signer in (self.delegate, self.impostor):
            builder = builder.certificates([signer.certificate])
        return builder.sign(signer.key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)

    def list(self, mode, stem, pem=False):
        if mode == "garbage":
            return b"this is no list"
        if mode == "oversized":
            return b"\x30" * (11 << 20)
        issuer = {"other-issuer": self.root}.get(mode, self.intermediate)
        updated = now() - (10 * DAY if mode == "stale" else HOUR)
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(issuer.certificate.subject)
            .last_update(updated)
            .next_update(updated + (3 * DAY if mode == "stale" else DAY))
        )
        if mode == "revoked":
            builder = builder.add_revoked_certificate(
                x509.RevokedCertificateBuilder().serial_number(self.serials[stem]).revocation_date(now() - DAY).build()
            )
        signed = builder.sign(self.other.key if mode == "wrong-key" else issuer.key, hashes.SHA256())
        return signed.public_bytes(serialization.Encoding.PEM if pem else serialization.Encoding.DER)

    def count(self, stem):
        with self.lock:
            self.counts[stem] = self.counts.get(stem, 0) + 1


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, body, status=200):
        try:
            self.send_response(status)
            kind = "application/ocsp-response" if self.command == "POST" else "application/pkix-crl"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass

    def answer(self):
        world = self.server.world
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path, _, query = self.path.partition("?")
        values = dict(urllib.parse.parse_qsl(query))
        kind, _, stem = path.strip("/").partition("/")
        if kind == "set":
            world.modes[values["name"]] = (values["mode"], float(values.get("delay", 0)))
            return self.reply(b"{}")
        if kind == "count":
            return self.reply(str(world.counts.get(values["name"], 0)).encode())
        if kind == "issue":
            pointers = [("ocsp", values["ocsp"].replace("{port}", world.base.rpartition(":")[2]))] if "ocsp" in values else None
            world.leaf(values["name"], after=now() + int(values["seconds"]) * SECOND, pointers=pointers)
            return self.reply(b"{}")
        world.count(stem)
        mode, delay = world.modes.get(stem, ("good", 0)) if kind == "live" else (stem, float(values.get("delay", 0)))
        time.sleep(delay)
        if mode == "error":
            return self.reply(b"out of order", 500)
        if self.command == "POST":
            if self.headers.get("Content-Type") != "application/ocsp-request":
                return self.reply(b"", 415)
            return self.reply(world.ocsp(mode, ocsp.load_der_ocsp_request(body)))
        return self.reply(world.list(mode, stem if stem in world.serials else "good"))

    do_GET = do_POST = answer


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main():
    server = Server(("127.0.0.1", 0), Handler)
    port = server.server_address[1]
    server.world = World(pathlib.Path(sys.argv[1]), f"http://127.0.0.1:{port}")
    if len(sys.argv) > 2:
        certificate = x509.load_pem_x509_certificate(pathlib.Path(sys.argv[2]).read_bytes())
        key = serialization.load_pem_private_key(pathlib.Path(sys.argv[3]).read_bytes(), None)
        server.world.authorities.append(Authority(certificate, key))
    print(json.dumps({"port": port}), flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # It ends together with the test that started it, when its standard input ends.
    sys.stdin.buffer.read()


main()
