#!/usr/bin/env python3
"""A crowd of users behind one app: subject_crowd.py PORT USERS CONNECTIONS ROUNDS [PREFIX]

Sends requests through the proxy on PORT, ROUNDS for each of USERS, over CONNECTIONS that serve all users in turn: many users at a time on each
connection's neighbours, one after the other on the same one. Each user's token is marked. Prints JSON: how many answers of each status, how
many belong to another user, how many requests leaked the user's own token to the API, and microseconds at the median and at the most.
PREFIX: the beginning of the users' tokens (user)."""

import asyncio
import json
import random
import sys
import time

port, users, connections, rounds = map(int, sys.argv[1:5])
prefix = sys.argv[5] if len(sys.argv) > 5 else "user"

work = [user for _ in range(rounds) for user in range(users)]
random.shuffle(work)
statuses, foreign, leaked, times = {}, 0, 0, []


async def client():
    global foreign, leaked
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while work:
        user = work.pop()
        start = time.monotonic()
        writer.write(
            f"GET http://api.test/api/{user} HTTP/1.1\r\nHost: api.test\r\nAuthorization: Bearer {prefix}-u{user}-5ecret\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = next(int(line.split(":")[1]) for line in head.lower().split("\r\n") if line.startswith("content-length:"))
        body = await reader.readexactly(length)
        times.append(time.monotonic() - start)
        status = head.split(" ")[1]
        statuses[status] = statuses.get(status, 0) + 1
        if status == "200":
            answer = json.loads(body)
            foreign += answer["user"] != f"u{user}"
            leaked += bool(answer["leaked"])
    writer.close()


async def main():
    await asyncio.gather(*(client() for _ in range(connections)))
    times.sort()
    print(json.dumps({
        "statuses": statuses, "foreign": foreign, "leaked": leaked, "median_us": int(times[len(times) // 2] * 1e6),
        "max_us": int(times[-1] * 1e6)}))


asyncio.run(main())
