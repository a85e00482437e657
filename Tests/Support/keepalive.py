"""A TLS server that keeps connections open: keepalive.py CHAIN.pem KEY. Prints its port, then a line for each connection and request."""

import http.server
import ssl
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        print("connection", flush=True)
        super().setup()

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer(b"ok")

    def do_POST(self):
        """Answers every token request with a token."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(b'{"access_token": "tok-5ecret-0001", "token_type": "Bearer", "expires_in": 3600}')

    def answer(self, body):
        print("request", flush=True)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


server = Server(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
