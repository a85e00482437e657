"""A relay to a port of 127.0.0.1 that is far away: each byte takes so many milliseconds in each direction, and any number may be on its way.

    distance.py PORT MILLISECONDS

The first line on standard output is its port. Ends with its standard input."""

import asyncio
import sys

target, delay = int(sys.argv[1]), int(sys.argv[2]) / 1000


async def carry(reader, writer):
    loop = asyncio.get_running_loop()
    while data := await reader.read(1 << 18):
        loop.call_later(delay, writer.write, data)
    loop.call_later(delay, writer.close)


async def accepted(reader, writer):
    there = await asyncio.open_connection("127.0.0.1", target, limit=1 << 20)
    await asyncio.gather(carry(reader, there[1]), carry(there[0], writer), return_exceptions=True)


async def main():
    server = await asyncio.start_server(accepted, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


asyncio.run(main())
