"""A client's side of TLS over any transport, for tests."""

import ssl


class Layer:
    """TLS over a transport with `send` and `receive`, so that layers can lie over each other."""

    def __init__(self, below, context, name, session=None, bytewise=False):
        self.below, self.bytewise = below, bytewise
        # Set once the transport below takes no more.
        self.is_mute = False
        self.inbound, self.outbound = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.inbound, self.outbound, server_hostname=name, session=session)

    def run(self, call, *arguments):
        while True:
            try:
                result = call(*arguments)
                self.push()
                return result
            except ssl.SSLWantReadError:
                self.push()
                data = self.below.receive()
                if data:
                    self.inbound.write(data)
                else:
                    self.inbound.write_eof()
            except ssl.SSLError:
                self.push()
                raise

    def hello(self):
        """The first flight, which is not sent."""
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        return self.outbound.read()

    def push(self):
        data = self.outbound.read()
        if self.is_mute:
            return
        if self.bytewise:
            for byte in data:
                self.below.send(bytes([byte]))
        elif data:
            self.below.send(data)

    def handshake(self):
        self.run(self.tls.do_handshake)
        self.bytewise = False

    def send(self, data):
        self.run(self.tls.write, data)

    def receive(self):
        """b"" after close_notify."""
        try:
            return self.run(self.tls.read, 65536)
        except ssl.SSLZeroReturnError:
            return b""

    def half_close(self):
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            pass
        self.push()
