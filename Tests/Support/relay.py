"""A TCP relay in front of a peer: counts connections, can keep what clients send, and can be dead.

    relay.py HOST:PORT [--keep] [--listener DESCRIPTOR]

The first line on standard output is its port. Each line of standard input is a command, which is answered with a line of JSON:
    state           {"opened": [when each connection came, in seconds of the monotonic clock], "now": ..., "open": how many now,
                    "in_flight": of how many connections that have just ended the client spoke last}
    kept            {"bytes": what clients have sent, as latin-1 text, one item for each connection, "answers": the same of the peer}
    serve           connections are passed on from now on, and at once
    refuse | reset  it ends all connections with RST; new ones are refused, or accepted and reset
    hold WHAT       keeps what comes until `serve`, and every connection: requests, answers, or both
    delay MS        passes everything on so much later
    to PORT         the peer is there from now on; it ends all connections
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
        self.opened, self.kept, self.answers, self.open = [], [], [], set()
        self.delay, self.passes = 0, {"requests": asyncio.Event(), "answers": asyncio.Event()}
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
        kept, answered = bytearray(), bytearray()
        if self.keeps:
            self.kept.append(kept)
            self.answers.append(answered)
        if self.is_dead:
            return self.reset(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection(*self.target)
        except OSError:
            return self.reset(writer)
        pair = (writer, far_writer)
        self.open.add(pair)
        try:
            await asyncio.gather(
                self.copy(reader, far_writer, "requests", kept, pair), self.copy(far_reader, writer, "answers", answered, pair))
        finally:
            self.open.discard(pair)
            self.asking.discard(pair)
            for one in pair:
                one.close()

    async def copy(self, reader, writer, what, kept, pair):
        try:
            while data := await reader.read(65536):
                if what == "answers":
                    self.asking.discard(pair)
                else:
                    self.asking.add(pair)
                if self.keeps:
                    kept += data
                if self.delay:
                    await asyncio.sleep(self.delay)
                await self.passes[what].wait()
                writer.write(data)
                await writer.drain()
            if writer.can_write_eof():
                writer.write_eof()
        except OSError:
            writer.transport.abort()

    def end_all(self):
        self.in_flight = len(self.asking)
        for pair in list(self.open):
            for one in pair:
                self.reset(one)

    async def command(self, line):
        word, _, value = line.partition(" ")
        if word == "kept":
            return {name: [bytes(one).decode("latin-1") for one in all] for name, all in (("bytes", self.kept), ("answers", self.answers))}
        if word in ("refuse", "reset"):
            self.is_dead = True
            if word == "refuse" and self.server is not None:
                self.server.close()
                self.listener = self.server = None
            self.end_all()
        elif word == "hold":
            for what, passes in self.passes.items():
                if value in (what, "both"):
                    passes.clear()
        elif word == "delay":
            self.delay = int(value) / 1000
        elif word == "to":
            self.target = (self.target[0], int(value))
            self.end_all()
        elif word == "serve":
            self.is_dead, self.delay = False, 0
            for passes in self.passes.values():
                passes.set()
            if self.server is None:
                await self.listen()
        return {"opened": self.opened, "now": time.monotonic(), "open": len(self.open), "in_flight": self.in_flight}

    async def run(self):
        for passes in self.passes.values():
            passes.set()
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
