"""A Kerberos realm on loopback: a folder of its own with krb5.conf, database and key tables, and a KDC that this process starts. Needs no
root and no service of the machine.

    realm.py FOLDER serve          prints the port of the KDC when it answers; ends when its standard input does
    realm.py FOLDER add PRINCIPAL [PASSWORD]
    realm.py FOLDER keytab PRINCIPAL FILE          with a new key, so that older key tables and tickets are void
    realm.py FOLDER local QUERY                    of kadmin.local
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

REALM = "EXAMPLE.TEST"
PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


class Realm:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.environment = os.environ | {
            "PATH": PATH,
            "KRB5_CONFIG": str(self.folder / "krb5.conf"),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
        }

    def create(self, port):
        self.folder.mkdir(parents=True, exist_ok=True)
        # `rdns` and names of hosts are left as they are by default: the proxy must not depend on them.
        (self.folder / "krb5.conf").write_text(
            f"[libdefaults]\n  default_realm = {REALM}\n  dns_lookup_kdc = false\n"
            f"[realms]\n  {REALM} = {{\n    kdc = 127.0.0.1:{port}\n  }}\n"
            f"[domain_realm]\n  127.0.0.1 = {REALM}\n  localhost = {REALM}\n")
        (self.folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n  kdc_listen = 127.0.0.1:{port}\n  kdc_tcp_listen = 127.0.0.1:{port}\n"
            f"[realms]\n  {REALM} = {{\n    database_name = {self.folder}/principal\n    key_stash_file = {self.folder}/stash\n"
            f"    acl_file = {self.folder}/acl\n    max_life = 10h\n    max_renewable_life = 0\n    default_principal_flags = +preauth\n  }}\n"
            f"[logging]\n  kdc = FILE:{self.folder}/kdc.log\n")
        if not (self.folder / "principal").exists():
            self.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")

    def run(self, *command):
        done = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        # kadmin.local reports failed queries in words alone.
        if done.returncode or "while " in done.stderr:
            raise SystemExit(f"{command[0]}: {done.stdout}{done.stderr}")
        return done.stdout

    def local(self, query):
        return self.run("kadmin.local", "-r", REALM, "-q", query)

    def add(self, principal, password=None):
        self.local(f"addprinc {'-pw ' + password if password else '-randkey'} {principal}")

    def keytab(self, principal, file):
        """Readable by its owner alone, and complete at once: a reader never meets half of it."""
        new = f"{file}.new"
        pathlib.Path(new).unlink(missing_ok=True)
        self.local(f"ktadd -k {new} {principal}")
        os.chmod(new, 0o600)
        os.rename(new, file)

    def start(self, port):
        kdc = subprocess.Popen(
            # It must not outlive this process, however that ends.
            ["setpriv", "--pdeathsig", "KILL", "krb5kdc", "-n", "-r", REALM, "-P", str(self.folder / "pid")],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(500):
            if kdc.poll() is not None:
                return None
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return kdc
            except OSError:
                time.sleep(0.01)
        raise SystemExit("the KDC does not answer")


def free_port():
    """A port that is free for UDP and TCP alike."""
    while True:
        with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            stream.bind(("127.0.0.1", 0))
            try:
                datagrams.bind(("127.0.0.1", stream.getsockname()[1]))
            except OSError:
                continue
            return stream.getsockname()[1]


def serve(realm):
    for _ in range(10):
        port = free_port()
        realm.create(port)
        kdc = realm.start(port)
        if kdc:
            break
    else:
        raise SystemExit("no KDC starts: " + (realm.folder / "kdc.log").read_text())
    print(port, flush=True)
    # `stop`, `continue`, `kill`, `start`: one a line; each is answered when it is done.
    for line in sys.stdin:
        word = line.strip()
        if word == "stop":
            kdc.send_signal(signal.SIGSTOP)
        elif word == "continue":
            kdc.send_signal(signal.SIGCONT)
        elif word == "kill":
            kdc.kill()
            kdc.wait()
        elif word == "start":
            kdc = realm.start(port)
        print(word, flush=True)
    kdc.kill()
    kdc.wait()


def main():
    folder, verb, *rest = sys.argv[1:]
    realm = Realm(folder)
    if not shutil.which("krb5kdc", path=PATH):
        raise SystemExit("no krb5kdc")
    os.environ["PATH"] = PATH
    if verb == "serve":
        serve(realm)
    elif verb == "add":
        realm.add(*rest)
    elif verb == "keytab":
        realm.keytab(*rest)
    elif verb == "local":
        print(realm.local(*rest), end="")
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
