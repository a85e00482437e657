"""Starts Squid: an accelerator with the origin as its parent, an interceptor, and a proxy for CONNECT.

It starts as root and continues as another user, so its folder must be open to all. `-N` is one process and no master.
"""

import pathlib
import shutil
import subprocess

from servers import TOKEN, Server, free_port

CERTIFICATES = "/usr/lib/squid/security_file_certgen"
FIELDS = f"""\
http_access allow all
request_header_access Authorization deny all
request_header_add Authorization "Bearer {TOKEN}" all
via off
forwarded_for delete
"""


def settings(root, rest, access_log=False):
    """Writes squid.conf into its own folder: limits, logs, no store on disk, and the rest, which says what it does."""
    root.mkdir(exist_ok=True)
    root.chmod(0o777)
    log = f"access_log stdio:{root}/access.log logformat=combined buffer-size=64KB" if access_log else "access_log none"
    path = root / "squid.conf"
    path.write_text(f"""\
pid_filename {root}/pid
{log}
buffered_logs on
cache_log {root}/cache.log
coredump_dir none
netdb_filename none
pinger_enable off
max_filedescriptors 20000
client_idle_pconn_timeout 300 seconds
server_idle_pconn_timeout 300 seconds
shutdown_lifetime 0 seconds
{rest}""")
    return ["squid", "-N", "-f", str(path)]


def store(cache):
    kept = "cache allow all\ncache_mem 64 MB\nmaximum_object_size_in_memory 1 MB\n"
    return kept if cache else "cache deny all\ncache_mem 8 MB\n"


def accelerator(folder, origin, tls, access_log=False, cache=False):
    port = free_port()
    target = origin.tls_port if tls else origin.port
    security = f" tls tls-cafile={folder}/ca.pem tls-default-ca=off tls-min-version=1.2 ssldomain=localhost" if tls else ""
    rest = f"""\
http_port 127.0.0.1:{port} accel defaultsite=localhost:{target} no-vhost
cache_peer localhost parent {target} 0 originserver no-query no-digest no-netdb-exchange login=PASSTHRU{security}
never_direct allow all
{FIELDS}{store(cache)}"""
    name = f"squid-{'https' if tls else 'http'}{'-cache' if cache else ''}{'-log' if access_log else ''}"
    return Server("squid", settings(folder / name, rest, access_log), port)


def interceptor(folder, origin):
    """CONNECT, a leaf that Squid makes, and the requests inside to their host: it keeps no connection of such requests to a
    `cache_peer`. So apps ask for the origin's own name and port."""
    port = free_port()
    root = folder / "squid-intercept"
    leaves = root / "leaves"
    root.mkdir(exist_ok=True)
    shutil.rmtree(leaves, ignore_errors=True)
    subprocess.run([CERTIFICATES, "-c", "-s", leaves, "-M", "4MB"], check=True, capture_output=True)
    for path in (leaves, *leaves.rglob("*")):
        path.chmod(0o777)
    rest = f"""\
http_port 127.0.0.1:{port} ssl-bump tls-cert={folder}/ca.pem tls-key={folder}/ca.key generate-host-certificates=on
sslcrtd_program {CERTIFICATES} -s {leaves} -M 4MB
ssl_bump bump all
tls_outgoing_options cafile={folder}/ca.pem default-ca=off min-version=1.2
{FIELDS}{store(False)}"""
    server = Server("squid", settings(root, rest), port)
    server.app_ca, server.connects, server.asked = folder / "ca.pem", True, f"localhost:{origin.tls_port}"
    return server


def can_intercept():
    """Debian's package `squid` cannot, `squid-openssl` can."""
    return shutil.which("squid") and pathlib.Path(CERTIFICATES).exists()


def tunnels(folder, target):
    """CONNECT to one port of this machine."""
    port = free_port()
    rest = f"""\
http_port 127.0.0.1:{port}
{store(False)}acl target port {target}
http_access allow target
http_access deny all
"""
    return Server("squid", settings(folder / "squid-tunnels", rest), port)
