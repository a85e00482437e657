"""The origin of origin.py, and three more listeners that send bytes exactly when the script says: `plain`, `tls12`, `tls13`.

    hostile.py PKI_FOLDER

TLS uses memory buffers, so the program has the ciphertext: it can cut it at any byte, and join or split records and segments.
The kernel delays nothing (TCP_NODELAY), and each sending step below is one send. More steps of a script:
    record TEXT       makes a TLS record of the text (in clear text: these bytes), and keeps it back; more than 16 KiB are several
                      records, which count as one
    ticket            makes a session ticket (TLS 1.3), and keeps it back
    cut [K, N]        sends K of the kept records, and N bytes of the next; N below 0: all but this many
    flush             sends everything that is kept back
    urgent K          the same, with a byte of TCP urgent data after the first K records; in two segments, as that byte does not wait
    goodbye           makes TLS's close_notify, and keeps it back; sends no FIN
    flood SECONDS     sends session tickets (TLS 1.3) as fast as possible until the peer closes, for at most this time
    stand NAME        waits until the test says `release`
More paths of the control port:
    /scripts          scripts by id, many at once
    /standing         waits until `count` exchanges wait at `name`, returns their number
    /release          lets exchanges that wait at `name` continue, also later ones
    /greet            the next connection to `listener` waits at `name` before its handshake. The last segment of the handshake
                      that the origin sends then also has a record of the given text, without its last `less` bytes (TLS 1.2)
"""

import _ssl
import ctypes
import socket
import ssl
import tempfile
import threading
import time

import origin
import tickets

# File with TLS's secrets, for records that OpenSSL would not make: each line has a label, the client's random, and the secret.
KEYLOG = tempfile.NamedTemporaryFile()


class Wire:
    """A clear-text connection, with the methods of a socket that the origin uses."""

    def __init__(self, sock):
        self.sock, self.kept = sock, []

    def seal(self, data):
        return [data]

    def keep(self, data):
        self.kept.append(b"".join(self.seal(data)))

    def cut(self, whole, more):
        """Sends the first `whole` records and `more` bytes of the next, as one segment; keeps the rest."""
        leaving = self.kept[:whole]
        del self.kept[:whole]
        if more and self.kept:
            leaving.append(self.kept[0][:more])
            self.kept[0] = self.kept[0][more:]
        self.sock.sendall(b"".join(leaving))

    def urgent(self, whole):
        before, behind = b"".join(self.kept[:whole]), b"".join(self.kept[whole:])
        self.kept = []
        self.sock.sendall(before)
        self.sock.send(b"!", socket.MSG_OOB)
        self.sock.sendall(behind)

    def sendall(self, data):
        self.keep(data)
        self.cut(len(self.kept), 0)

    def do_handshake(self):
        pass

    def recv(self, size):
        return self.sock.recv(size)

    def __getattr__(self, name):
        return getattr(self.sock, name)


class TLSWire(Wire):
    def __init__(self, sock, context):
        super().__init__(sock)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_side=True)
        self.sealed = 0  # records under the keys of the application's data
        self.openssl = ctypes.CDLL(_ssl.__file__)

    @property
    def pointer(self):
        """The SSL in CPython's object, after its head and a reference, for functions that Python does not offer."""
        place = id(self.tls._sslobj) + object.__basicsize__ + ctypes.sizeof(ctypes.c_void_p)
        return ctypes.c_void_p(ctypes.c_void_p.from_address(place).value)

    def records(self):
        """What OpenSSL has written, record by record (RFC 8446 section 5.1)."""
        data, found = self.outgoing.read(), []
        while data:
            end = 5 + int.from_bytes(data[3:5], "big")
            found.append(data[:end])
            data = data[end:]
        self.sealed += len(found)
        return found

    def seal(self, data):
        while data:
            data = data[self.tls.write(data) :]
        return self.records()

    def until_done(self, call):
        while True:
            try:
                return call()
            except ssl.SSLWantReadError:
                self.sock.sendall(b"".join(self.records()))
                data = self.sock.recv(256 << 10)
                if data:
                    self.incoming.write(data)
                else:
                    self.incoming.write_eof()

    def do_handshake(self, greeting=b"", less=0):
        if greeting and self.tls.context.minimum_version == ssl.TLSVersion.TLSv1_3:
            self.send_early(greeting)
            greeting = b""
        self.until_done(self.tls.do_handshake)
        self.sealed = 0
        flight = b"".join(self.records() + self.seal(greeting))
        self.sock.sendall(flight[: len(flight) - less])

    def send_early(self, data):
        """Sends data together with the server's Finished, before the client's (RFC 8446 section 4.4.4, "0.5-RTT data")."""
        count, buffer = ctypes.c_size_t(), ctypes.create_string_buffer(16)
        while self.openssl.SSL_read_early_data(self.pointer, buffer, ctypes.c_size_t(16), ctypes.byref(count)) != 2:
            self.incoming.write(self.sock.recv(256 << 10))
        if self.openssl.SSL_write_early_data(self.pointer, data, ctypes.c_size_t(len(data)), ctypes.byref(count)) != 1:
            raise ValueError("no early data")

    def recv(self, size):
        try:
            return self.until_done(lambda: self.tls.read(size))
        except ssl.SSLZeroReturnError:
            return b""

    def keep_goodbye(self):
        """close_notify"""
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            pass
        self.kept += self.records()

    def unwrap(self):
        self.keep_goodbye()
        self.cut(len(self.kept), 0)

    def keep_ticket(self):
        if self.version() != "TLSv1.3" or self.openssl.SSL_new_session_ticket(self.pointer) != 1:
            raise ValueError("no session ticket")
        self.openssl.SSL_do_handshake(self.pointer)
        self.kept += self.records()

    def flood(self, seconds):
        random = ctypes.create_string_buffer(32)
        self.openssl.SSL_get_client_random(self.pointer, random, ctypes.c_size_t(32))
        label = f"SERVER_TRAFFIC_SECRET_0 {random.raw.hex()} "
        with open(KEYLOG.name) as lines:
            secret = next(bytes.fromhex(line[len(label) :]) for line in lines if line.startswith(label))
        records = tickets.records(secret, self.tls.cipher()[0], self.sealed)
        deadline = time.monotonic() + seconds
        self.sock.settimeout(seconds)
        while time.monotonic() < deadline:
            # Make it first, as sending is faster than making.
            self.sock.sendall(b"".join(next(records) for _ in range(1000)))
        raise origin.Gone("the peer takes tickets without end")

    def selected_alpn_protocol(self):
        return self.tls.selected_alpn_protocol()

    def version(self):
        return self.tls.version()

    @property
    def session_reused(self):
        return self.tls.session_reused

    def getpeercert(self):
        return self.tls.getpeercert()


class Wrapper:
    """Takes the place of an SSLContext when the origin wraps a socket."""

    def __init__(self, context=None):
        self.context = context
        self.greeting = None  # of the next connection

    def wrap_socket(self, sock, **_):
        if not self.context:
            return Wire(sock)
        wire = TLSWire(sock, self.context)
        greeting, self.greeting = self.greeting, None
        if greeting:
            name, text, less = greeting
            handshake = wire.do_handshake

            def greet():
                stand(None, None, name)
                handshake(text.encode("latin-1"), less)

            wire.do_handshake = greet
        return wire


wrappers = {}  # listener: its wrapper


def limited(listener, version):
    def make(folder):
        context = origin.certified(folder, "good")
        context.sni_callback = None
        context.minimum_version = context.maximum_version = version
        context.keylog_filename = KEYLOG.name
        wrappers[listener] = Wrapper(context)
        return wrappers[listener]

    return make


standing = {}  # name: how many stand there
released = {}  # name: an event


def event(name):
    return released.setdefault(name, threading.Event())


def stand(connection, exchange, name):
    with origin.changed:
        standing[name] = standing.get(name, 0) + 1
        gate = event(name)
        origin.changed.notify_all()
    # One event each: hundreds wait, and a shared condition would wake all of them for each new one.
    if not gate.wait(60):
        raise origin.Gone(f"{name} was never released")


def await_standing(query, given, deadline):
    name, count = query["name"], int(query["count"])
    while standing.get(name, 0) < count and time.monotonic() < deadline:
        origin.changed.wait(deadline - time.monotonic())
    return {"standing": standing.get(name, 0)}


def release(query, given, deadline):
    event(query["name"]).set()
    return {}


def greet(query, given, deadline):
    wrappers[query["listener"]].greeting = (query["name"], given, int(query["less"]))
    return {}


def learn(query, given, deadline):
    origin.scripts.update(given)
    return {}


origin.more_steps.update({
    "record": lambda connection, exchange, text: connection.sock.keep(text.encode("latin-1")),
    "ticket": lambda connection, exchange, _: connection.sock.keep_ticket(),
    "cut": lambda connection, exchange, place: connection.sock.cut(*place),
    "flush": lambda connection, exchange, _: connection.sock.cut(len(connection.sock.kept), 0),
    "urgent": lambda connection, exchange, whole: connection.sock.urgent(whole),
    "goodbye": lambda connection, exchange, _: connection.sock.keep_goodbye(),
    "flood": lambda connection, exchange, seconds: connection.sock.flood(seconds),
    "stand": stand,
})
origin.more_controls.update({"/scripts": learn, "/standing": await_standing, "/release": release, "/greet": greet})
origin.main({
    "plain": lambda folder: Wrapper(),
    "tls12": limited("tls12", ssl.TLSVersion.TLSv1_2),
    "tls13": limited("tls13", ssl.TLSVersion.TLSv1_3),
})
