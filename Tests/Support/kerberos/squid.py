"""squid on a free port as a parent proxy, with a configuration of its own: Negotiate by a key table, and Digest.

    squid.py KEYTAB USER:PASSWORD      prints its port when it answers; ends when its standard input does

It resolves localhost and x.far.test. Its access log is written to standard output: method, target, status and user of each request.
"""

import hashlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

HELPERS = "/usr/lib/squid"


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="authproxy-squid-"))
    try:
        serve(folder, shutil.copy(sys.argv[1], folder / "keytab"), sys.argv[2])
    finally:
        shutil.rmtree(folder)


def serve(folder, keytab, login):
    user, _, password = login.partition(":")
    hashed = hashlib.md5(f"{user}:parent:{password}".encode()).hexdigest()
    (folder / "users").write_text(f"{user}:parent:{hashed}\n")
    (folder / "hosts").write_text("127.0.0.1 localhost x.far.test\n")
    settings = shutil.copy(os.environ["KRB5_CONFIG"], folder / "krb5.conf")
    settings.chmod(0o644)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "squid.conf").write_text(f"""
http_port 127.0.0.1:{port}
pid_filename none
hosts_file {folder}/hosts
visible_hostname parent.test
cache deny all
cache_mem 8 MB
shutdown_lifetime 0 seconds
coredump_dir {folder}
cache_log {folder}/cache.log
netdb_filename none
logformat short %rm %ru %>Hs %un
access_log stdio:{folder}/access.log short
buffered_logs off
auth_param negotiate program {HELPERS}/negotiate_kerberos_auth -k {keytab} -s HTTP/localhost@EXAMPLE.TEST
auth_param negotiate children 4
auth_param negotiate keep_alive on
auth_param digest program {HELPERS}/digest_file_auth -c {folder}/users
auth_param digest realm parent
auth_param digest nonce_max_count 5
acl known proxy_auth REQUIRED
http_access allow known
http_access deny all
""")
    if os.geteuid() == 0:
        # squid serves nothing as root, and its user must reach the files.
        shutil.chown(folder, "proxy")
        for file in folder.iterdir():
            shutil.chown(file, "proxy")
    server = subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", "/usr/sbin/squid", "-N", "-f", str(folder / "squid.conf")],
        env=os.environ | {"KRB5_CONFIG": str(settings), "KRB5RCACHENAME": "none:", "TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(1000):
        if server.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            print(port, flush=True)
            threading.Thread(target=follow, args=(folder / "access.log",), daemon=True).start()
            sys.stdin.read()
            server.terminate()
            server.wait()
            return
        except OSError:
            time.sleep(0.01)
    log = folder / "cache.log"
    raise SystemExit(log.read_text() if log.exists() else "squid does not start")


def follow(log):
    while not log.exists():
        time.sleep(0.01)
    with open(log) as lines:
        while True:
            line = lines.readline()
            if line:
                print(line, end="", flush=True)
            else:
                time.sleep(0.02)


if __name__ == "__main__":
    main()
