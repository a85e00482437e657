"""Rows of https:// URLs: TLS towards the app and towards the origin.

authproxy, Squid and mitmproxy get CONNECT and make the leaf. nginx, HAProxy and Envoy cannot: they have the host's certificate,
and the load generator speaks TLS to them at once.
"""

import json
import os
import socket
import ssl
import statistics
import subprocess
import time

import squid_server
from harness import CPU, apps, installed


def start(bench, name):
    if name == "squid":
        return squid_server.interceptor(bench.folder, bench.origin)
    return bench.start(name, True, front=True)


def starts(bench, names):
    return {name: lambda name=name: start(bench, name) for name in names}


def programs(bench):
    return bench.names if squid_server.can_intercept() else bench.without("squid")


def fewer(server, count, part=60):
    """mitmproxy takes a hundred times as long as the others."""
    return max(64, count // part) if server.name == "mitmproxy" else count


def requests(bench):
    names = programs(bench)
    slow = ["mitmproxy"] if installed("mitmproxy") else []
    for clients in (64, 1, 1000):
        def measure(server, warm_up):
            count = fewer(server, int({1: 10000, 64: 40000, 1000: 40000}[clients] * bench.scale), 10)
            result = bench.requests(server, warm_up, count, "/small", "--clients", clients, least=clients)
            return {CPU: result["each"], ("throughput", "requests/s"): result["count"] / result["seconds"]}

        # A thousand connections take mitmproxy minutes.
        some = names + slow if clients < 1000 else names
        bench.compare(f"small, intercepted, {apps(clients)}", True, measure, starts=starts(bench, some))

    def larger(server, warm_up):
        result = bench.requests(server, warm_up, fewer(server, int(10000 * bench.scale)), "/64k", "--clients", 64, least=64)
        return {CPU: result["each"], ("per CPU second", "MiB"): result["bytes"] / result["cpu"] / 2**20}

    bench.compare("64 KiB, intercepted, 64 clients", True, larger, starts=starts(bench, names + slow))


def connections(bench):
    names = programs(bench) + (["mitmproxy"] if installed("mitmproxy") else [])
    for kind, options in (("full", ()), ("resumed", ("--resume",))):
        def measure(server, warm_up):
            count = fewer(server, int(6000 * bench.scale))
            result = bench.requests(server, warm_up, count, "/small", "--clients", 16, "--new-connections", "fin", *options)
            if not warm_up and options and result["resumed"] < count * 0.9:
                print(f"{server.name}: only {result['resumed']} of {count} handshakes were resumed", flush=True)
            return {
                ("per CPU second", "handshakes"): result["count"] / result["cpu"],
                ("p50", "us"): result["p50_us"], ("p99", "us"): result["p99_us"],
            }

        bench.compare(f"new connections, intercepted, {kind}", True, measure, starts=starts(bench, names))


def new_hosts(bench):
    """The first request to a host that has no leaf yet: CONNECT, leaf, handshake, request, answer."""
    number = 0

    def measure(server, warm_up):
        nonlocal number
        trust = ssl.create_default_context(cafile=server.app_ca)
        times = []
        for _ in range(100):
            host, number = f"h{number}.wild.example", number + 1
            begin = time.monotonic()
            with socket.create_connection(("127.0.0.1", server.port)) as plain:
                plain.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
                if b" 200 " not in plain.recv(4096):
                    raise SystemExit(f"{server.name}: CONNECT was refused")
                with trust.wrap_socket(plain, server_hostname=host) as app:
                    app.sendall(f"GET /small HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
                    if b" 200 " not in app.recv(4096):
                        raise SystemExit(f"{server.name}: the request failed")
                    times.append((time.monotonic() - begin) * 1000)
        return {("median", "ms"): statistics.median(times), ("most", "ms"): max(times)}

    if "authproxy" in bench.names:
        bench.compare("first request to a new host, intercepted", True, measure, ["authproxy"], front=True)


def idle(bench):
    row, count = "memory of an idle intercepted connection", 1000
    if not bench.wanted(row):
        return
    if os.geteuid() != 0:
        print(f"{row}: not measured, as only root sees the memory of a process with a CA", flush=True)
        return
    figures = {}
    for name in bench.turns(programs(bench)):
        server = start(bench, name)
        try:
            bench.load(server, "/small", "--clients", 64, "--requests", 2000)
            before = server.memory_kib()
            words = [*bench.load_words(server, "/small", 60), "--clients", str(count), "--requests", str(count), "--hold"]
            holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            if json.loads(holder.stdout.readline())["good"] != count:
                raise SystemExit(f"{name}: not every connection was answered")
            figures.setdefault(name, []).append((server.memory_kib() - before) * 1024 / count)
            holder.stdin.close()
            holder.wait()
        finally:
            server.stop()
    bench.record(row, "bytes", figures)
