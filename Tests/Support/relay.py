"""A TCP relay in front of a peer: counts connections, can keep what clients send, and can be dead.

    relay.py HOST:PORT [--keep] [--listener DESCRIPTOR]

The first line on standard output is its port. Each line of standard input is a command, which is answered with a line of JSON:
    state           {"opened": [when each connection came, in seconds of the monotonic clock], "now": ..., "open": how many now,
                    "in_flight": of how many connections that have just ended the client spoke last}
    kept            {"bytes": what clients have sent, as latin-1 text, one item for each connection}
    serve           connections are passed on from now on
    refuse | reset  it ends all connections with RST; new ones are refused, or accepted and reset
With --listener it accepts on that inherited socket. It ends with its standard input.
"""

import argparse
import asyncio
import json
import socket
import struct
import sys
import time


class Relay:
    def __init__(self, options):
        host, _, port = options.target.rpartition(":")
        self.target, self.keeps = (host, int(port)), options.keep
        self.opened, self.kept, self.open = [], [], set()
        # Connections whose client spoke last: now, and how many there were when they were ended.
        self.asking, self.in_flight = set(), 0
        self.server, self.is_dead = None, False
        self.listener = socket.socket(fileno=options.listener) if options.listener else socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]

    async def listen(self):
        if self.listener is None:
            self.listener = socket.create_server(("127.0.0.1", self.port), backlog=512)
        self.server = await asyncio.start_server(self.accepted, sock=self.listener)

    def reset(self, writer):
        sock = writer.get_extra_info("socket")
        if sock is not None and sock.fileno() >= 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async def accepted(self, reader, writer):
        self.opened.append(time.monotonic())
        kept = bytearray()
        if self.keeps:
            self.kept.append(kept)
        if self.is_dead:
            return self.reset(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection(*self.target)
        except OSError:
            return self.reset(writer)
        pair = (writer, far_writer)
        self.open.add(pair)
        try:
            await asyncio.gather(self.copy(reader, far_writer, kept, pair), self.copy(far_reader, writer, None, pair))
        finally:
            self.open.discard(pair)
            self.asking.discard(pair)
            for one in pair:
                one.close()

    async def copy(self, reader, writer, kept, pair):
        try:
            while data := await reader.read(65536):
                if kept is None:
                    self.asking.discard(pair)
                else:
                    self.asking.add(pair)
                    if self.keeps:
                        kept += data
                writer.write(data)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
        except OSError:
            writer.transport.abort()

    async def command(self, word):
        if word == "kept":
            return {"bytes": [bytes(one).decode("latin-1") for one in self.kept]}
        if word in ("refuse", "reset"):
            self.is_dead = True
            if word == "refuse":
                self.server.close()
                self.listener = self.server = None
            self.in_flight = len(self.asking)
            for pair in list(self.open):
                for one in pair:
                    self.reset(one)
        elif word == "serve":
            self.is_dead = False
            if self.server is None:
                await self.listen()
        return {"opened": self.opened, "now": time.monotonic(), "open": len(self.open), "in_flight": self.in_flight}

    async def run(self):
        await self.listen()
        print(self.port, flush=True)
        lines = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := await lines.readline():
            print(json.dumps(await self.command(line.decode().strip())), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--listener", type=int)
    asyncio.run(Relay(parser.parse_args()).run())


main()
