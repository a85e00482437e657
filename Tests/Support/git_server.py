#!/usr/bin/env python3
"""git over https: git http-backend behind a server that wants a credential.

    git_server.py PKI_FOLDER REPOSITORIES AUTHORIZATION

The first line on standard output is the port; it serves the certificate `good`. A request without that Authorization is 401. It ends with
its standard input."""

import http.server
import os
import pathlib
import ssl
import subprocess
import sys
import threading
import urllib.parse

pki, repositories, authorization = sys.argv[1:]


class Backend(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def serve(self):
        body = self.body()
        if self.headers.get_all("Authorization") != [authorization]:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Bearer")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        url = urllib.parse.urlsplit(self.path)
        variables = {
            "PATH": os.environ["PATH"], "GIT_PROJECT_ROOT": repositories, "GIT_HTTP_EXPORT_ALL": "1", "REMOTE_USER": "app",
            "REMOTE_ADDR": "127.0.0.1", "REQUEST_METHOD": self.command, "PATH_INFO": urllib.parse.unquote(url.path),
            "QUERY_STRING": url.query, "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        made = subprocess.run(["git", "http-backend"], input=body, env=variables, stdout=subprocess.PIPE, check=True).stdout
        head, _, content = made.partition(b"\r\n\r\n")
        fields = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        self.send_response(int(dict(fields).get("Status", "200").split()[0]))
        for name, value in fields:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = serve

    def body(self):
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(pieces)

    def log_message(self, *arguments):
        pass


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(pathlib.Path(pki) / "good.pem", pathlib.Path(pki) / "good.key")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Backend)
server.daemon_threads = True
server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_port, flush=True)
sys.stdin.buffer.read()
