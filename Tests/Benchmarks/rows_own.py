"""Rows of authproxy alone: threads, many entries, requests that wait for a token."""

import subprocess
import threading
import time

import servers
from harness import CPU


def threads(bench):
    """With few processors the throughput cannot rise. The CPU time shows whether a second thread makes the first one's work more
    expensive."""
    if "authproxy" not in bench.names:
        return

    def starts(tls):
        start = lambda count: bench.start("authproxy", tls, threads=count, cache=not tls, name=f"authproxy-threads-{count}")
        return {"1 thread": lambda: start(1), "2 threads": lambda: start(2)}

    def figures(result, count):
        return {CPU: result["each"], ("throughput", "requests/s"): count / result["seconds"]}

    for row, tls, path in (
        ("small, https, 64 clients, threads", True, "/small"),
        ("two loops hit one object, 64 clients", False, "/stored/small"),
    ):
        def measure(server, warm_up):
            result = bench.requests(server, warm_up, int(60000 * bench.scale), path, "--clients", 64)
            return figures(result, result["count"])

        bench.compare(row, tls, measure, starts=starts(tls))

    # So the load generator needs a quarter of what a loop needs, and no loop waits for it.
    def in_flight(server, warm_up):
        result = bench.pipelined(server, "/stored/small", 64, 32, int((100000 if warm_up else 1000000) * bench.scale))
        return figures(result, result["requests"])

    bench.compare("two loops hit one object, 32 requests in flight of each of 64 clients", False, in_flight, starts=starts(False))


def thousand_entries(bench):
    if "authproxy" not in bench.names:
        return

    def measure(server, warm_up):
        return {CPU: bench.requests(server, warm_up, int(60000 * bench.scale), "/small", "--clients", 64)["each"]}

    def start(entries):
        return bench.start("authproxy", True, entries=entries, name=f"authproxy-{entries}")

    starts = {"1 upstream": lambda: start(1), "1000 upstreams": lambda: start(1000)}
    bench.compare("small, https, 64 clients, 1 or 1,000 upstreams", True, measure, starts=starts)


def wait_until_idle(server, load, descriptors):
    """When load generator and proxy are idle, every request is connected and waits."""
    busy = True
    while load.poll() is None and (busy or server.descriptors() < descriptors):
        before = server.cpu_seconds()
        time.sleep(0.2)
        busy = server.cpu_seconds() - before > 0.005


def refresh_storm(bench):
    """Ten thousand requests wait for one token: how long after its arrival is the last of them answered?"""
    row = "10,000 requests that wait for a token, https"
    if "authproxy" not in bench.names or not bench.wanted(row):
        return
    crowd = 10000
    figures, bytes_each = [], []
    for _ in range(bench.rounds):
        tokens = servers.TokenServer()
        server = bench.start("authproxy", True, token_port=tokens.port)
        try:
            before = server.memory_kib()
            words = [*bench.load_words(server, "/small", 60), "--clients", str(crowd), "--requests", str(crowd)]
            load = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            wait_until_idle(server, load, crowd)
            bytes_each.append((server.memory_kib() - before) * 1024 / crowd)
            opened = tokens.open()
            # It prints when the last one is answered; then it closes ten thousand connections, which takes a third as long again.
            limit = threading.Timer(90, load.kill)
            limit.daemon = True
            limit.start()
            text = load.stdout.readline()
            limit.cancel()
            if not text:
                raise SystemExit(f"{row}: not all answers came within 90 s")
            figures.append((time.monotonic() - opened) * 1000)
            load.communicate(timeout=60)
            bench.loaded(server, text)
        finally:
            server.stop()
            tokens.stop()
    bench.record(f"{row}: all answered after it", "ms", {"authproxy": figures})
    bench.record(f"{row}: memory each", "bytes", {"authproxy": bytes_each})
