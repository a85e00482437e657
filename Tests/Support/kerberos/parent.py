"""A parent proxy that authenticates by SPNEGO, with MIT's GSSAPI. Runs with Debian's python3 and python3-gssapi alone.

    parent.py KEYTAB

Prints its port. POST /-/set changes how it behaves and forgets what it recorded; both answer with what it recorded before. Keys:

    mode      accept     the first token authenticates the connection, and what follows needs none
              each       each request needs a token of its own
              rounds     as accept, but the context takes a second round: see acceptor.py
              ntlm       407 that offers NTLM and Basic
              silent     as accept, without a token of its own
              garbage    as accept, with bytes that are no token
    refuse    how many tokens are answered by a bare 407 Negotiate, whatever they are
    close     true: each 407 ends its connection
    field     of its own token in an answer; Proxy-Authentication-Info
    status    what it answers to those whom it knows, instead of serving them; 0
"""

import base64
import json
import select
import socket
import sys
import threading

import acceptor

lock = threading.Lock()
settings = {}
uses = []
connections = 0


class Connection:
    def __init__(self, sock, number):
        self.sock, self.number = sock, number
        self.user, self.rounds = "", None

    def read(self, data):
        while b"\r\n\r\n" not in data:
            more = self.sock.recv(65536)
            if not more:
                return None
            data += more
        head, _, rest = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        length = int(fields.get("content-length", "0"))
        while len(rest) < length:
            rest += self.sock.recv(65536)
        return lines[0].split(" "), lines[1:], fields, rest[:length], rest[length:]

    def challenge(self, *values):
        closes = "Connection: close\r\n" if settings.get("close") else ""
        says = "".join(f"Proxy-Authenticate: {value}\r\n" for value in values)
        self.sock.sendall(f"HTTP/1.1 407 Who Are You\r\n{says}{closes}Content-Length: 4\r\n\r\nwho?".encode())
        return not closes

    def judge(self, use, text):
        """The field for the answer; None after a challenge. Raises EOFError if the connection is over."""
        mode = settings.get("mode", "accept")
        scheme, _, token = text.partition(" ")
        use["token"] = len(token)
        if mode == "ntlm":
            values = ["NTLM", 'Basic realm="x"']
        elif not text and self.user and mode != "each":
            return ""
        elif scheme != "Negotiate" or settings.get("refuse", 0) > 0:
            with lock:
                if scheme == "Negotiate":
                    settings["refuse"] -= 1
            values = ["Negotiate", 'Basic realm="x"']
        else:
            given = base64.b64decode(token, validate=True)
            if mode == "rounds":
                self.rounds = self.rounds if given[0] != 0x60 and self.rounds else acceptor.Rounds()
                done, out = self.rounds.step(given)
                made = self.rounds.context
            else:
                made = acceptor.context()
                done, out = True, made.step(given)
            if done:
                self.user = str(made.initiator_name)
                out = b"no token" if mode == "garbage" else out
                if mode == "silent" or not out:
                    return ""
                return f"{settings.get('field', 'Proxy-Authentication-Info')}: Negotiate {base64.b64encode(out).decode()}\r\n"
            values = ["Negotiate " + base64.b64encode(out).decode()]
        use["status"] = 407
        if not self.challenge(*values):
            raise EOFError
        return None

    def serve(self):
        rest = b""
        while True:
            got = self.read(rest)
            if got is None:
                return
            (method, target, _), lines, fields, body, rest = got
            if target.startswith("/-/"):
                return self.control(target, body)
            use = {"connection": self.number, "method": method, "target": target, "status": 200, "user": "", "token": 0}
            with lock:
                uses.append(use)
            info = self.judge(use, fields.get("proxy-authorization", ""))
            if info is None:
                continue
            use["user"] = self.user
            if settings.get("status"):
                use["status"] = settings["status"]
                self.sock.sendall(f"HTTP/1.1 {settings['status']} No\r\n{info}Content-Length: 4\r\n\r\npage".encode())
                continue
            if method == "CONNECT":
                far = socket.create_connection(("127.0.0.1", int(target.rpartition(":")[2])), 5)
                self.sock.sendall(f"HTTP/1.1 200 OK\r\n{info}\r\n".encode())
                return self.relay(far)
            authority, _, path = target.partition("://")[2].partition("/")
            far = socket.create_connection(("127.0.0.1", int(authority.rpartition(":")[2])), 5)
            kept = [line for line in lines if not line.lower().startswith(("proxy-authorization:", "connection:"))]
            head = "\r\n".join([f"{method} /{path} HTTP/1.1", *kept, "Connection: close"])
            far.sendall(head.encode("latin-1") + b"\r\n\r\n" + body)
            answer = b""
            while more := far.recv(65536):
                answer += more
            head, _, content = answer.partition(b"\r\n\r\n")
            kept = [line for line in head.split(b"\r\n") if not line.lower().startswith((b"connection:", b"content-length:", b"transfer-"))]
            self.sock.sendall(
                b"\r\n".join(kept) + b"\r\n" + info.encode() + b"Content-Length: %d\r\n\r\n" % len(content) + content)

    def relay(self, far):
        while True:
            for side in select.select([self.sock, far], [], [], 60)[0]:
                data = side.recv(65536)
                if not data:
                    return far.close()
                (far if side is self.sock else self.sock).sendall(data)

    def control(self, target, body):
        global settings, uses
        with lock:
            state = json.dumps({"uses": uses, "connections": connections}).encode()
            if target == "/-/set":
                settings, uses = json.loads(body), []
        self.sock.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(state) + state)


def handle(sock):
    global connections
    with lock:
        connections += 1
        number = connections
    try:
        sock.settimeout(60)
        Connection(sock, number).serve()
    except (OSError, EOFError):
        pass
    finally:
        sock.close()


def main():
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)

    def run():
        while True:
            threading.Thread(target=handle, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=run, daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
