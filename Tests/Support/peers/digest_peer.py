#!/usr/bin/env python3
"""Starts a server by other hands that requires Digest, on loopback, in a folder of its own. Prints its port, and the folder; ends with its
standard input.

    digest_peer.py apache       mod_auth_digest: MD5, a nonce lasts for a second
    digest_peer.py lighttpd     /md5/ /sha256/ /sha512/, /many/ with two challenges, /hashed/ with hashed user names

The user is `svc`, or `Jäsøn "Doe"` for /hashed/; the password `pw-5ecret-digest`. <folder>/access.log has a line for each request: its status,
method and target.
"""

import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

PASSWORD = "pw-5ecret-digest"
REALM = "the realm"

APACHE = """
ServerRoot {folder}
ServerName localhost
DefaultRuntimeDir {folder}
PidFile {folder}/pid
Listen 127.0.0.1:{port}
{user}
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authn_core_module {modules}/mod_authn_core.so
LoadModule authn_file_module {modules}/mod_authn_file.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule authz_user_module {modules}/mod_authz_user.so
LoadModule auth_digest_module {modules}/mod_auth_digest.so
StartServers 1
ThreadsPerChild 16
MaxRequestWorkers 16
ErrorLog {folder}/error.log
LogFormat "%>s %m %U%q" short
CustomLog {folder}/access.log short
DocumentRoot {folder}/files
<Location "/">
  AuthType Digest
  AuthName "the realm"
  AuthDigestProvider file
  AuthUserFile {folder}/users
  AuthDigestNonceLifetime 1
  Require valid-user
</Location>
"""

LIGHTTPD = """
server.bind = "127.0.0.1"
server.port = {port}
server.document-root = "{folder}/files"
server.errorlog = "{folder}/error.log"
server.modules = ("mod_auth", "mod_authn_file", "mod_accesslog")
accesslog.filename = "{folder}/access.log"
accesslog.format = "%>s %m %U%q"
auth.backend = "htdigest"
auth.backend.htdigest.userfile = "{folder}/users"
auth.require = (
  "/md5/" => ("method" => "digest", "realm" => "md5", "require" => "valid-user", "algorithm" => "MD5"),
  "/sha256/" => ("method" => "digest", "realm" => "sha256", "require" => "valid-user", "algorithm" => "SHA-256"),
  "/sha512/" => ("method" => "digest", "realm" => "sha512", "require" => "valid-user", "algorithm" => "SHA-512-256"),
  "/many/" => ("method" => "digest", "realm" => "sha256", "require" => "valid-user", "algorithm" => "MD5|SHA-256"),
  "/hashed/" => ("method" => "digest", "realm" => "hashed", "require" => "valid-user", "algorithm" => "SHA-256", "userhash" => "enable")
)
"""


def user(name, realm, algorithm, hashes_name=False):
    def digest(text):
        return hashlib.new(algorithm, text.encode()).hexdigest()

    line = f"{name}:{realm}:{digest(f'{name}:{realm}:{PASSWORD}')}"
    return line + (":" + digest(f"{name}:{realm}") if hashes_name else "")


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def prepare(kind, folder, port):
    """Writes what the server reads. Returns its command."""
    facts = {"folder": folder, "port": port}
    if kind == "apache":
        # As root it serves as somebody else.
        facts["user"] = "User nobody\nGroup nogroup" if os.geteuid() == 0 else ""
        facts["modules"] = "/usr/lib/apache2/modules"
        write(folder + "/users", user("svc", REALM, "md5") + "\n")
        write(folder + "/conf", APACHE.format(**facts))
        return ["apache2", "-X", "-f", folder + "/conf"]
    users = [user("svc", "md5", "md5"), user("svc", "sha256", "sha256"), user("svc", "sha512", "sha512_256")]
    write(folder + "/users", "\n".join([*users, user('Jäsøn "Doe"', "hashed", "sha256", True)]) + "\n")
    write(folder + "/conf", LIGHTTPD.format(**facts))
    return ["lighttpd", "-D", "-f", folder + "/conf"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(kind, folder):
    """A server that accepts connections, and its port. Somebody else may take the port first: then with another one."""
    for _ in range(5):
        port = free_port()
        server = subprocess.Popen(prepare(kind, folder, port), stdin=subprocess.DEVNULL)
        while server.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return server, port
            except OSError:
                time.sleep(0.02)
    sys.exit(f"{kind} does not start")


def main():
    folder = tempfile.mkdtemp(prefix="authproxy-digest-")
    try:
        os.chmod(folder, 0o755)
        for name in ("", "md5", "sha256", "sha512", "many", "hashed"):
            os.makedirs(f"{folder}/files/{name}", exist_ok=True)
            write(f"{folder}/files/{name}/page", "ok\n")
        server, port = start(sys.argv[1], folder)
        print(f"{port} {folder}", flush=True)
        sys.stdin.read()
        server.terminate()
        server.wait(10)
    finally:
        shutil.rmtree(folder)


main()
