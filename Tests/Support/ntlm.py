"""An origin that authenticates connections (RFC 4559 section 6): ntlm.py. Prints its port.

NTLM is the real protocol (version 2, [MS-NLMP]); every user's password is `<user>-5ecret`. Negotiate is a toy with two steps:
    Authorization: Negotiate base64("hello")          401, WWW-Authenticate: Negotiate base64(NONCE)
    Authorization: Negotiate base64("USER NONCE")     200 if the nonce is this connection's; the connection then belongs to USER
Every answer is JSON: {"user": of the connection or "nobody", "connection": its number, "open": connections now}. /open requires no
user; /offer sends a challenge with status 200; /plain uses a scheme that authenticates only requests.
"""

import base64
import hashlib
import hmac
import http.server
import itertools
import json
import os
import struct
import threading

numbers = itertools.count(1)
lock = threading.Lock()
alive = set()


def md4(data):
    """RFC 1320. OpenSSL 3 no longer has it."""
    mask = 0xFFFFFFFF

    def rotate(value, by):
        value &= mask
        return (value << by | value >> (32 - by)) & mask

    state = [0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476]
    message = data + b"\x80" + bytes(-(len(data) + 9) % 64) + struct.pack("<Q", len(data) * 8)
    rounds = [
        (lambda x, y, z: x & y | ~x & z, 0, range(16), (3, 7, 11, 19)),
        (lambda x, y, z: x & y | x & z | y & z, 0x5A827999, [i // 4 + i % 4 * 4 for i in range(16)], (3, 5, 9, 13)),
        (lambda x, y, z: x ^ y ^ z, 0x6ED9EBA1, [0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15], (3, 9, 11, 15)),
    ]
    for start in range(0, len(message), 64):
        words = struct.unpack("<16I", message[start : start + 64])
        a, b, c, d = state
        for mix, constant, order, shifts in rounds:
            for step, word in enumerate(order):
                a, b, c, d = d, rotate(a + mix(b, c, d) + words[word] + constant, shifts[step % 4]), b, c
        state = [(old + new) & mask for old, new in zip(state, (a, b, c, d))]
    return struct.pack("<4I", *state)


def challenge_message(challenge):
    name = "TEST".encode("utf-16le")
    info = struct.pack("<HH", 2, len(name)) + name + struct.pack("<HH", 1, len(name)) + name + bytes(4)
    flags = 0x1 | 0x200 | 0x8000 | 0x10000 | 0x80000 | 0x800000
    head = b"NTLMSSP\0" + struct.pack("<I", 2) + struct.pack("<HHI", len(name), len(name), 48)
    head += struct.pack("<I", flags) + challenge + bytes(8) + struct.pack("<HHI", len(info), len(info), 48 + len(name))
    return head + name + info


def user_of(message, challenge):
    """The user whose answer to this challenge is right; None if it is wrong."""

    def field(at):
        length, _, offset = struct.unpack_from("<HHI", message, at)
        return message[offset : offset + length]

    answer, domain, user = field(20), field(28).decode("utf-16le"), field(36).decode("utf-16le")
    key = md4(f"{user}-5ecret".encode("utf-16le"))
    key = hmac.new(key, (user.upper() + domain).encode("utf-16le"), hashlib.md5).digest()
    proof = hmac.new(key, challenge + answer[16:], hashlib.md5).digest()
    return user if len(answer) > 24 and hmac.compare_digest(proof, answer[:16]) else None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        self.number, self.user, self.nonce, self.challenge = next(numbers), None, None, None
        with lock:
            alive.add(self.number)
        super().setup()

    def finish(self):
        with lock:
            alive.discard(self.number)
        super().finish()

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.split("?")[0]
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if path == "/open":
            self.answer(200)
        elif path == "/offer":
            self.answer(200, "Negotiate")
        elif path == "/plain":
            self.answer(401, 'Basic realm="Negotiate"')
        elif scheme.lower() == "ntlm":
            self.ntlm(base64.b64decode(token))
        elif scheme.lower() == "negotiate":
            self.negotiate(base64.b64decode(token).decode())
        elif self.user:
            self.answer(200)
        else:
            self.answer(401, 'Basic realm="x", Negotiate', "NTLM")

    do_POST = do_GET

    def ntlm(self, message):
        if message[8] == 1:
            self.challenge = os.urandom(8)
            return self.answer(401, "NTLM " + base64.b64encode(challenge_message(self.challenge)).decode())
        challenge, self.challenge = self.challenge, None
        self.user = user_of(message, challenge) if challenge else None
        self.answer(200 if self.user else 401, *([] if self.user else ["NTLM"]))

    def negotiate(self, text):
        if text == "hello":
            self.nonce = os.urandom(8).hex()
            return self.answer(401, "Negotiate " + base64.b64encode(self.nonce.encode()).decode())
        user, _, nonce = text.partition(" ")
        right, self.nonce = nonce == self.nonce, None
        self.user = user if right else None
        self.answer(*((200, "Negotiate " + base64.b64encode(b"done").decode()) if right else (401, "Negotiate")))

    def answer(self, status, *challenges):
        with lock:
            now = len(alive)
        body = json.dumps({"user": self.user or "nobody", "connection": self.number, "open": now}).encode()
        self.send_response(status)
        for challenge in challenges:
            self.send_header("WWW-Authenticate", challenge)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


assert md4(b"abc").hex() == "a448017aaf21d8525fc10ae87aa6729d"
server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
