"""Apache with mod_auth_gssapi on a free port, with a configuration of its own and without root.

    apache.py KEYTAB        prints its port when it answers; ends when its standard input does

/open asks for nothing; everything else for Negotiate. An answer's body says who asked.
"""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

MODULES = "/usr/lib/apache2/modules"


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="authproxy-apache-"))
    try:
        serve(folder, shutil.copy(sys.argv[1], folder / "keytab"))
    finally:
        shutil.rmtree(folder)


def serve(folder, keytab):
    (folder / "root").mkdir()
    # The library keeps what it has seen in the folder for temporary files, which may be root's alone.
    replays = folder / "replays"
    replays.mkdir()
    for name in ("x", "open"):
        (folder / "root" / name).write_text("")
    for _ in range(10):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        user = ""
        if os.geteuid() == 0:
            # Apache serves nothing as root, and its user must reach the files.
            user = "User www-data\nGroup www-data\n"
            folder.chmod(0o755)
            shutil.chown(keytab, "www-data")
            shutil.chown(replays, "www-data")
        settings = shutil.copy(os.environ["KRB5_CONFIG"], folder / "krb5.conf")
        settings.chmod(0o644)
        modules = "".join(
            f"LoadModule {name}_module {MODULES}/mod_{name}.so\n"
            for name in ("mpm_event", "authn_core", "authz_core", "authz_user", "auth_gssapi", "headers", "setenvif"))
        (folder / "apache.conf").write_text(
            modules + user + f"""
ServerName localhost
Listen 127.0.0.1:{port}
PidFile {folder}/pid
ErrorLog {folder}/errors
DefaultRuntimeDir {folder}
DocumentRoot {folder}/root
KeepAliveTimeout 30
<Directory {folder}/root>
  AuthType GSSAPI
  AuthName "Kerberos"
  GssapiCredStore keytab:{keytab}
  GssapiNegotiateOnce Off
  Require valid-user
  Header always set X-User "expr=%{{REMOTE_USER}}"
</Directory>
<Location /open>
  Require all granted
</Location>
""")
        server = subprocess.Popen(
            ["setpriv", "--pdeathsig", "TERM", "/usr/sbin/apache2", "-d", str(folder), "-f", str(folder / "apache.conf"),
             "-DFOREGROUND"],
            env=os.environ | {"KRB5_CONFIG": str(settings), "TMPDIR": str(replays)}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for _ in range(500):
            if server.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                print(port, flush=True)
                sys.stdin.read()
                server.terminate()
                server.wait()
                return
            except OSError:
                time.sleep(0.01)
    raise SystemExit((folder / "errors").read_text() if (folder / "errors").exists() else "Apache does not start")


if __name__ == "__main__":
    main()
