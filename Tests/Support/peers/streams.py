#!/usr/bin/env python3
"""Apps that read an answer as it comes: streams.py urllib|requests|httpx|websockets URL

The first three print each line of the answer when it arrives. `websockets` prints each message, and sends each line of its standard input
as one."""

import asyncio
import sys


def of_urllib(url):
    import urllib.request

    with urllib.request.urlopen(url, timeout=30) as answer:
        for line in answer:
            yield line.decode()


def of_requests(url):
    import requests

    with requests.get(url, stream=True, timeout=30) as answer:
        # The default of 512 bytes would keep small events back.
        for line in answer.iter_lines(chunk_size=1, decode_unicode=True):
            yield line


def of_httpx(url):
    import httpx

    with httpx.stream("GET", url, timeout=30) as answer:
        yield from answer.iter_lines()


async def by_websockets(url):
    # The one for threads speaks no TLS in TLS.
    from websockets.asyncio.client import connect

    async with connect(url) as connection:
        show(await connection.recv())
        while line := await asyncio.to_thread(sys.stdin.readline):
            await connection.send(line.rstrip("\n"))
            show(await connection.recv())


def show(line):
    print(line.rstrip("\n"), flush=True)


library, url = sys.argv[1:]
if library == "websockets":
    asyncio.run(by_websockets(url))
else:
    for line in {"urllib": of_urllib, "requests": of_requests, "httpx": of_httpx}[library](url):
        show(line)
