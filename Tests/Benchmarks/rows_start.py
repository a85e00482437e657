"""Rows of a program's start and memory."""

import socket
import subprocess
import time

import servers
from harness import scheme


def first_answer(server, seconds=30):
    """Milliseconds from the start of the process until a request through it was answered with 200."""
    request = f"GET http://{servers.SERVED}/small HTTP/1.1\r\nHost: {servers.SERVED}\r\nConnection: close\r\n\r\n".encode()
    deadline = server.started + seconds
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", server.port), 5) as it:
                it.sendall(request)
                if it.recv(4096).startswith(b"HTTP/1.1 200 "):
                    return (time.monotonic() - server.started) * 1000
        except OSError:
            pass
        time.sleep(0.001)
    raise SystemExit(f"{server.name}: no answer with 200 in {seconds} seconds")


def starts(bench):
    """No program here reads the system's roots: with an https origin they trust one file."""
    for tls in (True, False):
        if not any(map(bench.wanted, (f"start until the first 200, {scheme(tls)}", f"memory at start, {scheme(tls)}"))):
            continue
        start, resident, proportional = {}, {}, {}
        for name in bench.turns(bench.names):
            for _ in range(5):
                server = bench.start(name, tls)
                try:
                    start.setdefault(name, []).append(first_answer(server))
                    resident.setdefault(name, []).append(server.memory_kib("Rss") / 1024)
                    proportional.setdefault(name, []).append(server.memory_kib() / 1024)
                finally:
                    server.stop()
        bench.record(f"start until the first 200, {scheme(tls)}", "ms", start)
        bench.record(f"memory at start, {scheme(tls)}: resident", "MiB", resident)
        bench.record(f"memory at start, {scheme(tls)}: shared pages in part", "MiB", proportional)


def idle_clients(bench):
    count = int(10000 * max(bench.scale, 0.2))
    row = f"memory of an idle client of {count}"
    if not bench.wanted(row):
        return
    figures = {}
    request = f"GET http://{servers.SERVED}/small HTTP/1.1\\r\\nHost: {servers.SERVED}\\r\\n\\r\\n"
    for name in bench.turns(bench.names):
        server = bench.start(name, True)
        try:
            bench.load(server, "/small", "--clients", 64, "--requests", 2000)
            before = server.memory_kib()
            words = ["hold", "--to", f"127.0.0.1:{server.port}", "--connections", str(count), "--answered", "--send", request]
            holder = subprocess.Popen([bench.loadgen, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            held = int(holder.stdout.readline().split()[1])
            if held != count:
                raise SystemExit(f"{name}: {held} of {count} idle connections")
            figures.setdefault(name, []).append((server.memory_kib() - before) * 1024 / held)
            holder.stdin.close()
            holder.wait()
        finally:
            server.stop()
    bench.record(row, "bytes", figures)
