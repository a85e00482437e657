"""Starts the measured programs and their origins, each with a configuration and on a free port."""

import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
TOKEN = "benchmark-token-0123456789abcdef"
# The host that apps ask for.
SERVED = "api.example.com"


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def wait_for_port(port, process, seconds=10):
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        try:
            socket.create_connection(("127.0.0.1", port), 0.5).close()
            return
        except OSError:
            if process.poll() is not None:
                raise SystemExit(f"{process.args[0]} ended with {process.returncode}: {process.stderr.read().decode()}")
            time.sleep(0.001)
    raise SystemExit(f"{process.args[0]} does not listen on {port}")


def wait_for_file(path, process, seconds):
    deadline = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > deadline or process.poll() is not None:
            raise SystemExit(f"{process.args[0]} does not write {path}")
        time.sleep(0.001)


class Server:
    """A process with its children: for nginx and HAProxy the figures cover master and worker together."""

    def __init__(self, name, command, port, seconds=10, **options):
        self.name, self.port = name, port
        # By the monotonic clock.
        self.started = time.monotonic()
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        self.process = subprocess.Popen(command, **streams, **options)
        wait_for_port(port, self.process, seconds)
        # With TLS towards apps: the CA that they trust, and whether they begin with CONNECT.
        self.app_ca, self.connects = None, False
        # The host, with its port, that apps ask for.
        self.asked = SERVED

    def pids(self):
        """The process and its children. All of these programs have only one level."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [self.process.pid, *map(int, children.read_text().split())]

    def cpu_seconds(self):
        """User and system time of all threads, children included."""
        # The id of a process's CPU clock is made as clock_getcpuclockid(3) makes it. /proc counts in steps of 10 ms.
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in self.pids())

    def descriptors(self):
        return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in self.pids())

    def memory_kib(self, kind="Pss"):
        """Of all processes together. Pss, the proportional set size, counts shared pages once; Rss counts them in each."""
        total = 0
        for pid in self.pids():
            for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith(kind + ":"):
                    total += int(line.split()[1])
        return total

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def make_certificates(folder):
    """A CA, and leafs for localhost and for api.example.com, P-256, made by `openssl`."""
    run = lambda *words: subprocess.run(words, check=True, cwd=folder, capture_output=True)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    run("openssl", "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Benchmark CA", "-days", "30")
    for leaf, host in (("leaf", "localhost"), ("front", SERVED)):
        run("openssl", "req", *key, "-keyout", f"{leaf}.key", "-out", f"{leaf}.csr", "-subj", f"/CN={host}")
        extensions = f"subjectAltName=DNS:{host}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n"
        (folder / f"{leaf}.ext").write_text(extensions)
        issuer = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30")
        run("openssl", "x509", "-req", "-in", f"{leaf}.csr", *issuer, "-extfile", f"{leaf}.ext", "-out", f"{leaf}.pem")
    (folder / "front.both").write_text((folder / "front.pem").read_text() + (folder / "front.key").read_text())


def nginx_main(folder, name, body):
    root = folder / name
    root.mkdir(exist_ok=True)
    temporary = "".join(f"  {kind}_temp_path {root}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    path = root / "nginx.conf"
    path.write_text(f"""\
daemon off;
user root;
pid {root}/pid;
error_log {root}/error.log warn;
worker_processes 1;
worker_rlimit_nofile 65536;
events {{ worker_connections 16384; }}
http {{
  access_log off;
{temporary}{body}}}
""")
    return ["nginx", "-c", str(path), "-p", str(root)]


class Sink:
    """Reads the whole upload. nginx alone would answer first."""

    def __init__(self, loadgen):
        self.process = subprocess.Popen([loadgen, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())


def origin(folder, sink, whole=False):
    """nginx with static responses: /small, /64k, /1g, and /upload, which accepts everything; clear text and TLS. It refuses
    requests without the token.

    With `whole` a clear-text response's head waits for the beginning of its body, so that a small response is always one
    piece."""
    files = folder / "files"
    files.mkdir()
    (files / "small").write_bytes(b"x" * 128)
    (files / "64k").write_bytes(os.urandom(65536))
    with open(files / "1g", "wb") as it:
        it.truncate(1 << 30)
    # Otherwise its first reader would wait for the kernel to create the pages.
    subprocess.run(["cat", files / "1g"], stdout=subprocess.DEVNULL, check=True)
    clear, tls = free_port(), free_port()
    body = f"""\
  http2_max_concurrent_streams 256;
  keepalive_requests 100000000; keepalive_timeout 300s; client_max_body_size 0;
  sendfile on; tcp_nopush {"on" if whole else "off"}; tcp_nodelay on;
  ssl_certificate {folder}/leaf.pem; ssl_certificate_key {folder}/leaf.key; ssl_protocols TLSv1.2 TLSv1.3;
  ssl_session_cache shared:s:1m;
  open_file_cache max=10;
  server {{
    listen 127.0.0.1:{clear} backlog=4096; listen 127.0.0.1:{tls} ssl http2 backlog=4096;
    if ($http_authorization != "Bearer {TOKEN}") {{ return 401; }}
    root {files};
    location /stored/ {{ alias {files}/; add_header Cache-Control "public, max-age=600"; }}
    location /upload {{ proxy_pass http://127.0.0.1:{sink.port}; proxy_http_version 1.1; proxy_request_buffering off; }}
  }}
"""
    server = Server("origin", nginx_main(folder, "origin", body), clear)
    server.tls_port = tls
    return server


class TokenServer:
    """Answers every token request with the origin's token, once `open` is called; until then requests wait."""

    def __init__(self, lifetime=3600):
        """`lifetime`: of its tokens, in seconds."""
        gate = self.gate = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                gate.wait(120)
                body = json.dumps({"access_token": TOKEN, "token_type": "Bearer", "expires_in": lifetime}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def open(self):
        """Sends the answers, and returns the time."""
        self.gate.set()
        return time.monotonic()

    def stop(self):
        self.gate.set()
        self.server.shutdown()


def nginx(folder, origin, tls, access_log=False, front=False, cache=False):
    port = free_port()
    scheme, target = ("https", origin.tls_port) if tls else ("http", origin.port)
    verify = f"""\
      proxy_ssl_verify on; proxy_ssl_trusted_certificate {folder}/ca.pem; proxy_ssl_name localhost; proxy_ssl_server_name on;
      proxy_ssl_protocols TLSv1.2 TLSv1.3; proxy_ssl_session_reuse on;
""" if tls else ""
    name = f"nginx-{scheme}{'-front' if front else ''}{'-cache' if cache else ''}"
    certificate = f"""\
    ssl_certificate {folder}/front.pem; ssl_certificate_key {folder}/front.key;
    ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache shared:f:1m;
""" if front else ""
    log = f"access_log {folder}/{name}.log combined buffer=64k flush=1s;" if access_log else ""
    body = f"""\
  keepalive_requests 100000000; keepalive_timeout 300s; tcp_nodelay on; client_max_body_size 0;
  {log}
  {f'proxy_cache_path {folder}/{name}-store keys_zone=store:64m max_size=64m;' if cache else ''}
  upstream origin {{ server localhost:{target}; keepalive 1024; keepalive_requests 100000000; keepalive_timeout 300s; }}
  server {{
    listen 127.0.0.1:{port} {"ssl " if front else ""}backlog=4096;
{certificate}    location / {{
      proxy_pass {scheme}://origin; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host localhost:{target}; proxy_set_header Authorization "Bearer {TOKEN}"; proxy_request_buffering off;
{'      proxy_cache store; proxy_cache_lock on;' if cache else ''}
{verify}    }}
  }}
"""
    server = Server("nginx", nginx_main(folder, name, body), port)
    server.app_ca = folder / "ca.pem" if front else None
    return server


def haproxy(folder, origin, tls, access_log=False, front=False, cache=False, http2=False):
    """`http2`: towards the origin."""
    port = free_port()
    target = origin.tls_port if tls else origin.port
    ssl = f" ssl verify required ca-file {folder}/ca.pem verifyhost localhost sni str(localhost)" if tls else ""
    ssl += " alpn h2" if http2 else ""
    log = "  log stdout format raw daemon\n  option httplog\n" if access_log else ""
    # It stores nothing of a request with Authorization, so the look-up comes before the field is set.
    store = "cache store\n  total-max-size 64\n  max-object-size 1048576\n  max-age 600\n" if cache else ""
    look_up = "  http-request cache-use store\n" if cache else ""
    keep = "  http-response cache-store store\n" if cache else ""
    kind = f"{'-front' if front else ''}{'-cache' if cache else ''}{'-h2' if http2 else ''}"
    path = folder / f"haproxy-{'https' if tls else 'http'}{kind}.cfg"
    path.write_text(f"""\
global
  nbthread 1
  maxconn 12000
  no strict-limits
  ssl-default-server-options ssl-min-ver TLSv1.2
defaults
  mode http
{log}  timeout connect 10s
  timeout client 300s
  timeout server 300s
  timeout http-keep-alive 300s
  http-reuse always
{store}frontend f
  bind 127.0.0.1:{port} backlog 4096{f" ssl crt {folder}/front.both" if front else ""}
  # An absolute-form target becomes what an origin expects.
  http-request set-uri %[pathq]
  http-request set-header Host localhost:{target}
{look_up}{keep}  http-request set-header Authorization "Bearer {TOKEN}"
  default_backend b
backend b
  server s 127.0.0.1:{target}{ssl} pool-max-conn 1024
""")
    server = Server("haproxy", ["haproxy", "-q", "-db", "-f", str(path)], port)
    server.app_ca = folder / "ca.pem" if front else None
    return server


def mitmproxy(folder, origin, tls, front=True):
    """The same work by mitmproxy: CONNECT, a leaf of its own CA, verified TLS to the origin, the header."""
    port = free_port()
    own = folder / "mitmproxy"
    words = [
        "mitmdump", "-q", "--listen-host", "127.0.0.1", "-p", str(port),
        "--set", f"confdir={own}", "--set", "connection_strategy=lazy",
        "--set", f"ssl_verify_upstream_trusted_ca={folder}/ca.pem",
        "--map-remote", f"|//{SERVED}/|//localhost:{origin.tls_port}/",
        "--modify-headers", f"|~q|Authorization|Bearer {TOKEN}",
    ]
    server = Server("mitmproxy", words, port, 30)
    server.app_ca, server.connects = own / "mitmproxy-ca-cert.pem", True
    return server


class Parent:
    """An HTTP parent proxy, parent.c; over TLS HAProxy stands in front of it."""

    def __init__(self, folder):
        program = folder / "parent"
        subprocess.run(["cc", "-O2", "-o", str(program), str(HERE / "parent.c")], check=True)
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())
        self.front = None
        self.urls = {"http parent": f"http://127.0.0.1:{self.port}"}
        if not shutil.which("haproxy"):
            return
        port, both = free_port(), folder / "leaf.both"
        both.write_text((folder / "leaf.pem").read_text() + (folder / "leaf.key").read_text())
        path = folder / "haproxy-parent.cfg"
        path.write_text(f"""\
global
  nbthread 1
  maxconn 2000
  no strict-limits
defaults
  mode tcp
  timeout connect 10s
  timeout client 300s
  timeout server 300s
frontend f
  bind 127.0.0.1:{port} backlog 4096 ssl crt {both}
  default_backend b
backend b
  server s 127.0.0.1:{self.port}
""")
        self.front = Server("haproxy", ["haproxy", "-q", "-db", "-f", str(path)], port)
        self.urls["https parent"] = f"https://localhost:{port}"

    def stop(self):
        if self.front:
            self.front.stop()
        self.process.stdin.close()
        self.process.wait()


def authproxy(
    program, folder, origin, tls, access_log=False, threads=1, entries=1, name="authproxy", tool=(), seconds=10, token_port=None,
    front=False, parent=None, tunnels=None, cache=False, http_version=None,
):
    """With `token_port` the credential is OAuth 2, with a token server at this port. With `front` it serves https:// URLs.
    `parent` is a parent proxy's URL. To the host and port `tunnels` apps may open tunnels."""
    port = free_port()
    scheme, target = ("https", origin.tls_port) if tls else ("http", origin.port)
    others = "".join(
        f"  - match: service-{i}.example.com\n    origin: {scheme}://localhost:{target}\n    credential: api\n"
        for i in range(entries - 1)
    )
    path = folder / f"{name}-{scheme}{'-front' if front else ''}{'-cache' if cache else ''}.conf"
    store = "    cache: {share: public}\n" if cache else ""
    store += f"    http_version: {http_version}\n" if http_version else ""
    published = folder / f"{name}-published"
    match, intercept = SERVED, ""
    if front:
        match, intercept = f'["https://{SERVED}", "https://*.wild.example"]', f"intercept: {{ca: memory, publish: {published}}}\n"
    token_url = f"http://127.0.0.1:{token_port}/token"
    oauth = f"{{grant: client_credentials, token_url: {token_url}, client_id: me, client_secret: benchmark}}"
    credential = f"oauth2: {oauth}" if token_port else f"bearer: {{token: {TOKEN}}}"
    way = f"via: parent\nparents: {{parent: {{url: '{parent}'}}}}\n" if parent else ""
    if tunnels:
        way += f'connect: {{allow: ["{tunnels}"]}}\nforbidden_addresses: []\n'
    path.write_text(f"""\
listen: 127.0.0.1:{port}
{way}threads: {threads}
limits: {{connections: 12000, upstream_connections: 1024, waiting_for_credential: 12000}}
timeouts: {{idle: 300s, upstream_idle: 300s, credential: 60s, connect: 60s}}
log: {{access: {"true" if access_log else "false"}, file: {folder}/{name}.log}}
{intercept}upstreams:
  - match: {match}
    origin: {scheme}://localhost:{target}
    credential: api
{store}{others}credentials:
  api:
    {credential}
    allow_plaintext: true
trust:
  default:
    - default: {{ca_file: {folder}/ca.pem, system_roots: false}}
""")
    path.chmod(0o600)
    # The CA of an earlier process.
    shutil.rmtree(published, ignore_errors=True)
    # For a process that is not dumpable, only root sees descriptors and memory map.
    # One with a CA stays so.
    debugging = [] if os.geteuid() == 0 or front else ["--allow-debugging"]
    server = Server(name, [*tool, program, "run", "--config", str(path), *debugging], port, seconds)
    if front:
        server.app_ca, server.connects = published / "ca.pem", True
        # The proxy listens before it writes this file.
        wait_for_file(server.app_ca, server.process, seconds)
    return server


def build_load_generator(folder):
    path = folder / "loadgen"
    source = HERE.parent / "Support" / "loadgen.c"
    subprocess.run(["cc", "-O2", "-o", str(path), str(source), "-lssl", "-lcrypto"], check=True)
    return str(path)
