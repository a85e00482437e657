#!/usr/bin/env python3
"""Compares the proxy with nginx and HAProxy: the same origin, the same verified TLS, the same added header, one worker or loop each.

    bench.py --program PATH [--rounds N] [--only WORD]... [--quick] [--out FOLDER] [--plot FILE] [--page FILE]

Rounds are interleaved: each round measures every program once, so that noise affects all of them equally. Reported are the
median and the spread (least and most). CPU is user and system time of the measured process with its threads and children.
"""

import argparse
import collections
import json
import os
import pathlib
import platform
import resource
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time

import plot
import servers
import table



class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="authproxy-bench-"))
        servers.make_certificates(self.folder)
        self.loadgen = servers.build_load_generator(self.folder)
        self.sink = servers.Sink(self.loadgen)
        self.origin = servers.origin(self.folder, self.sink)
        self.names = servers.available(arguments.program)
        self.rounds = 1 if arguments.quick else arguments.rounds
        self.scale = 0.1 if arguments.quick else 1
        self.results = []

    def start(self, program, tls, **options):
        if program == "authproxy":
            return servers.authproxy(self.arguments.program, self.folder, self.origin, tls, **options)
        return getattr(servers, program)(self.folder, self.origin, tls, **options)

    def load_words(self, server, path, timeout):
        words = [self.loadgen, "load", "--to", f"127.0.0.1:{server.port}", "--timeout", str(timeout)]
        if server.app_ca:
            words += ["--ca", str(server.app_ca), *["--connect"][: server.connects]]
        return [*words, "--url", f"{'https' if server.app_ca else 'http'}://{servers.SERVED}{path}"]

    def load(self, server, path, *options, timeout=120):
        done = subprocess.run([*self.load_words(server, path, timeout), *map(str, options)], check=True, capture_output=True, text=True)
        result = json.loads(done.stdout)
        if result["good"] != result["requests"]:
            raise SystemExit(f"{server.name}: not every request was answered with success: {result}")
        return result

    def measured(self, server, path, *options):
        before = server.cpu_seconds()
        result = self.load(server, path, *options)
        result["cpu"] = server.cpu_seconds() - before
        return result

    def wanted(self, row):
        return not self.arguments.only or any(word in row for word in self.arguments.only)

    def compare(self, row, tls, measure, names=None, starts=None, **options):
        """Starts all programs, or those of these names, or those that `starts` has by name, and calls `measure(server, warm_up)`, which returns {(figure, unit): value}, for each in turn, `rounds` times."""
        if not self.wanted(row):
            return
        starts = starts or {name: lambda name=name: self.start(name, tls, **options) for name in names or self.names}
        running = {name: start() for name, start in starts.items()}
        figures = {name: [] for name in running}
        try:
            for server in running.values():
                measure(server, True)
            for turn in range(self.rounds):
                order = list(running.items())
                first = turn % len(order)
                for name, server in order[first:] + order[:first]:
                    figures[name].append(measure(server, False))
        finally:
            for server in running.values():
                server.stop()
        for figure, unit in next(iter(figures.values()))[0]:
            self.record(f"{row}: {figure}", unit, {n: [v[figure, unit] for v in vs] for n, vs in figures.items()})

    def record(self, row, unit, figures):
        entry = {"row": row, "unit": unit, "programs": {}}
        for name, values in figures.items():
            entry["programs"][name] = {
                "median": statistics.median(values), "least": min(values), "most": max(values), "all": values,
            }
        self.results.append(entry)
        self.print_row(entry)

    def print_row(self, entry):
        cells = []
        basis = next((name for name in ("nginx", "over 1.1", "envoy") if name in entry["programs"]), None)
        base = entry["programs"][basis]["median"] if basis else None
        for name, it in entry["programs"].items():
            ratio = f" {it['median'] / base:5.2f}x" if base and name != basis else ""
            cells.append(f"{name} {it['median']:9.2f} ({it['least']:.1f}-{it['most']:.1f}){ratio}")
        print(f"{entry['row']:<44} {entry['unit']:<10} " + "  ".join(cells), flush=True)

    # ---- the rows

    def small_answers(self):
        for tls in (True, False):
            for clients in (64, 1, 512):
                count = int({1: 15000, 64: 60000, 512: 60000}[clients] * self.scale)

                def measure(server, warm_up):
                    options = ("--clients", clients, "--requests", count // 10 if warm_up else count)
                    result = self.measured(server, "/small", *options)
                    return {CPU: result["cpu"] / count * 1e6, ("throughput", "requests/s"): count / result["seconds"]}

                self.compare(f"small, {scheme(tls)}, {clients} clients", tls, measure)

    def access_log(self):
        count = int(60000 * self.scale)

        def measure(server, warm_up):
            result = self.measured(server, "/small", "--clients", 64, "--requests", count // 10 if warm_up else count)
            return {CPU: result["cpu"] / count * 1e6}

        self.compare("small, https, 64 clients, access log", True, measure, access_log=True)

    def larger_answers(self):
        for tls in (True, False):
            count = int(20000 * self.scale)

            def measure(server, warm_up):
                result = self.measured(server, "/64k", "--clients", 64, "--requests", count // 10 if warm_up else count)
                return {CPU: result["cpu"] / count * 1e6, SPEED: result["bytes"] / result["seconds"] / 2**20}

            self.compare(f"64 KiB, {scheme(tls)}, 64 clients", tls, measure)

    def stored_answers(self):
        for what, path in (("small", "/stored/small"), ("64 KiB", "/stored/64k")):
            count = int((60000 if what == "small" else 20000) * self.scale)

            def measure(server, warm_up):
                result = self.measured(server, path, "--clients", 64, "--requests", count // 10 if warm_up else count)
                return {CPU: result["cpu"] / count * 1e6}

            self.compare(f"{what}, hit, 64 clients", False, measure, cache=True)

        # HAProxy's configuration here takes the query away.
        names = [name for name in self.names if name != "haproxy"]
        count = int(30000 * self.scale)
        for stores in (True, False):
            # What was stored in one round must not be hit in the next.
            rounds = collections.Counter()

            def measure(server, warm_up):
                rounds[server.name] += 1
                options = ("--clients", 64, "--requests", count // 10 if warm_up else count, "--distinct")
                result = self.measured(server, f"/stored/small?00000000&{rounds[server.name]}", *options)
                return {CPU: result["cpu"] / count * 1e6}

            self.compare(f"small, {'stored miss' if stores else 'passed on'}, 64 clients", False, measure, names, cache=stores)

    def bulk(self):
        for tls in (True, False):
            def download(server, warm_up):
                if warm_up:
                    return self.load(server, "/small", "--requests", 10)
                result = self.measured(server, "/1g", "--requests", 1)
                return {("CPU", "s"): result["cpu"], SPEED: result["bytes"] / result["seconds"] / 2**20}

            self.compare(f"1 GiB download, {scheme(tls)}", tls, download)

            def upload(server, warm_up):
                if warm_up:
                    return self.load(server, "/small", "--requests", 10)
                size = 1 << 30
                result = self.measured(server, "/upload", "--requests", 1, "--upload", size)
                return {("CPU", "s"): result["cpu"], SPEED: size / result["seconds"] / 2**20}

            self.compare(f"1 GiB upload, {scheme(tls)}", tls, upload)

    def tunnelled(self):
        """TLS of the app's own, inside of CONNECT."""
        row = "through CONNECT"
        target = f"localhost:{self.origin.tls_port}"
        starts = {"authproxy": lambda: self.start("authproxy", False, name="authproxy-connect", tunnels=target)}
        if shutil.which("envoy"):
            starts["envoy"] = lambda: servers.envoy_tunnels(self.folder, self.origin.tls_port)
        if shutil.which("squid"):
            starts["squid"] = lambda: servers.squid_tunnels(self.folder, self.origin.tls_port)

        def transfer(server, path, *options):
            words = ["--to", f"127.0.0.1:{server.port}", "--ca", self.folder / "ca.pem", "--connect", "--url", f"https://{target}{path}",
                     "--header", f"Authorization: Bearer {servers.TOKEN}", "--timeout", "120", "--requests", "1", *options]
            before = server.cpu_seconds()
            done = subprocess.run([self.loadgen, "load", *map(str, words)], check=True, capture_output=True, text=True)
            result = json.loads(done.stdout)
            if result["good"] != 1:
                raise SystemExit(f"{server.name}: no success: {result}")
            return {("CPU", "s"): server.cpu_seconds() - before, SPEED: 1024 / result["seconds"]}

        self.compare(f"1 GiB download {row}", False, lambda server, warm_up: transfer(server, "/small" if warm_up else "/1g"), starts=starts)
        upload = ("--upload", 1 << 30)
        self.compare(f"1 GiB upload {row}", False, lambda server, warm_up: transfer(server, "/small") if warm_up else transfer(server, "/upload", *upload), starts=starts)

    def new_connections(self):
        count = int(20000 * self.scale)

        def measure(server, warm_up):
            options = ("--clients", 64, "--new-connections", "rst")
            result = self.measured(server, "/small", *options, "--requests", count // 10 if warm_up else count)
            return {CPU: result["cpu"] / count * 1e6}

        self.compare("new client connections, https origin", True, measure)

    def multiplexed(self):
        """An origin that speaks HTTP/2, beside the same requests over HTTP/1.1."""
        starts = {
            "authproxy": lambda: self.start("authproxy", True, http_version="2", name="authproxy-h2"),
            "over 1.1": lambda: self.start("authproxy", True, name="authproxy-h1"),
        }
        if shutil.which("envoy"):
            starts["envoy"] = lambda: servers.envoy(self.folder, self.origin, True, http2=True)
        for clients in (64, 8, 1):
            count = int({1: 15000, 8: 40000, 64: 60000}[clients] * self.scale)

            def measure(server, warm_up):
                result = self.measured(server, "/small", "--clients", clients, "--requests", count // 10 if warm_up else count)
                return {CPU: result["cpu"] / count * 1e6, ("p99", "us"): result["p99_us"]}

            self.compare(f"small, HTTP/2 origin, {clients} clients", True, measure, starts=starts)

        def larger(server, warm_up):
            count = int(20000 * self.scale)
            result = self.measured(server, "/64k", "--clients", 64, "--requests", count // 10 if warm_up else count)
            return {CPU: result["cpu"] / count * 1e6}

        self.compare("64 KiB, HTTP/2 origin, 64 clients", True, larger, starts=starts)

        def download(server, warm_up):
            if warm_up:
                return self.load(server, "/small", "--requests", 10)
            result = self.measured(server, "/1g", "--requests", 1)
            return {("CPU", "s"): result["cpu"], SPEED: result["bytes"] / result["seconds"] / 2**20}

        self.compare("1 GiB download, HTTP/2 origin", True, download, starts=starts)

    def intercepted(self):
        """https:// URLs: TLS towards the app and towards the origin. nginx and HAProxy are spoken to without CONNECT."""
        names = self.names
        if shutil.which("mitmdump"):
            self.names = [*names, "mitmproxy"]
        try:
            self.intercepted_requests()
            self.intercepted_connections()
            self.names = names
            self.new_hosts()
            self.intercepted_idle()
        finally:
            self.names = names

    def fewer(self, server, count, part=60):
        """mitmproxy takes a hundred times as long as the others."""
        return max(64, count // part) if server.name == "mitmproxy" else count

    def intercepted_requests(self):
        for clients in (64, 1, 1000):
            def measure(server, warm_up):
                count = self.fewer(server, int({1: 10000, 64: 40000, 1000: 40000}[clients] * self.scale), 10)
                result = self.measured(server, "/small", "--clients", clients, "--requests", max(clients, count // 10) if warm_up else count)
                return {CPU: result["cpu"] / count * 1e6, ("throughput", "requests/s"): count / result["seconds"]}

            # A thousand connections take mitmproxy minutes.
            names = [name for name in self.names if clients < 1000 or name != "mitmproxy"]
            self.compare(f"small, intercepted, {clients} clients", True, measure, names, front=True)

        def larger(server, warm_up):
            count = self.fewer(server, int(20000 * self.scale))
            result = self.measured(server, "/64k", "--clients", 64, "--requests", count // 10 if warm_up else count)
            return {CPU: result["cpu"] / count * 1e6, ("per CPU second", "MiB"): result["bytes"] / result["cpu"] / 2**20}

        self.compare("64 KiB, intercepted, 64 clients", True, larger, front=True)

    def intercepted_connections(self):
        for kind, options in (("full", ()), ("resumed", ("--resume",))):
            def measure(server, warm_up):
                count = self.fewer(server, int(6000 * self.scale))
                result = self.measured(
                    server, "/small", "--clients", 16, "--new-connections", "fin", *options, "--requests", count // 10 if warm_up else count)
                if not warm_up and options and result["resumed"] < count * 0.9:
                    print(f"{server.name}: only {result['resumed']} of {count} handshakes were resumed", flush=True)
                return {
                    ("per CPU second", "handshakes"): count / result["cpu"],
                    ("p50", "us"): result["p50_us"], ("p99", "us"): result["p99_us"],
                }

            self.compare(f"new connections, intercepted, {kind}", True, measure, front=True)

    def new_hosts(self):
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

        self.compare("first request to a new host, intercepted", True, measure, ["authproxy"], front=True)

    def intercepted_idle(self):
        row, connections = "memory of an idle intercepted connection", 1000
        if not self.wanted(row):
            return
        if os.geteuid() != 0:
            print(f"{row}: not measured, as only root sees the memory of a process with a CA", flush=True)
            return
        figures = {}
        for turn in range(self.rounds):
            for name in self.names:
                server = self.start(name, True, front=True)
                try:
                    self.load(server, "/small", "--clients", 64, "--requests", 2000)
                    before = server.memory_kib()
                    words = [*self.load_words(server, "/small", 60), "--clients", str(connections), "--requests", str(connections), "--hold"]
                    holder = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                    if json.loads(holder.stdout.readline())["good"] != connections:
                        raise SystemExit(f"{name}: not every connection was answered")
                    figures.setdefault(name, []).append((server.memory_kib() - before) * 1024 / connections)
                    holder.stdin.close()
                    holder.wait()
                finally:
                    server.stop()
        self.record(row, "bytes", figures)

    def latency(self):
        rate = 5000
        count = int(rate * 5 * self.scale)

        def measure(server, warm_up):
            options = ("--clients", 64, "--rate", rate, "--requests", rate // 5 if warm_up else count)
            result = self.measured(server, "/small", *options)
            percentiles = {(name, "us"): result[key] for name, key in (("p50", "p50_us"), ("p99", "p99_us"), ("p99.9", "p999_us"))}
            return {**percentiles, CPU: result["cpu"] / count * 1e6}

        self.compare(f"latency at {rate}/s, https, 64 clients", True, measure)

    def memory_and_start(self):
        if not self.wanted("start memory idle"):
            return
        memory, resident, start, idle = {}, {}, {}, {}
        connections = int(10000 * max(self.scale, 0.2))
        for turn in range(self.rounds):
            for name in self.names:
                server = self.start(name, True)
                start.setdefault(name, []).append(server.start_seconds * 1000)
                memory.setdefault(name, []).append(server.memory_kib() / 1024)
                resident.setdefault(name, []).append(server.memory_kib("Rss") / 1024)
                try:
                    self.load(server, "/small", "--clients", 64, "--requests", 2000)
                    before = server.memory_kib()
                    holder = subprocess.Popen(
                        [self.loadgen, "hold", "--to", f"127.0.0.1:{server.port}", "--connections", str(connections),
                         "--answered", "--send", f"GET http://{servers.SERVED}/small HTTP/1.1\\r\\nHost: {servers.SERVED}\\r\\n\\r\\n"],
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                    held = int(holder.stdout.readline().split()[1])
                    if held != connections:
                        raise SystemExit(f"{name}: {held} of {connections} idle connections")
                    idle.setdefault(name, []).append((server.memory_kib() - before) * 1024 / held)
                    holder.stdin.close()
                    holder.wait()
                finally:
                    server.stop()
        self.record("start until it listens", "ms", start)
        self.record("memory at start, resident", "MiB", resident)
        self.record("memory at start, shared pages in part", "MiB", memory)
        self.record(f"memory of an idle client of {connections}", "bytes", idle)

    def threads(self):
        if "authproxy" not in self.names:
            return
        count = int(60000 * self.scale)
        row = "small, https, 64 clients, threads"
        if not self.wanted(row):
            return
        speed, cpu = {}, {}
        for turn in range(self.rounds):
            for threads in (1, 2):
                server = self.start("authproxy", True, threads=threads)
                try:
                    self.load(server, "/small", "--clients", 64, "--requests", count // 10)
                    result = self.measured(server, "/small", "--clients", 64, "--requests", count)
                finally:
                    server.stop()
                name = f"{threads} thread{'s'[:threads - 1]}"
                speed.setdefault(name, []).append(count / result["seconds"])
                cpu.setdefault(name, []).append(result["cpu"] / count * 1e6)
        self.record(f"{row}: throughput", "requests/s", speed)
        # With few processors the throughput cannot rise. Then this shows whether a second thread makes the first one's work more expensive.
        self.record(f"{row}: CPU", "us/request", cpu)

    def thousand_entries(self):
        if "authproxy" not in self.names:
            return
        row = "small, https, 64 clients, 1 or 1,000 upstreams"
        if not self.wanted(row):
            return
        count = int(60000 * self.scale)
        running = {
            f"{entries} upstream{'s'[:entries - 1]}": self.start("authproxy", True, entries=entries, name=f"authproxy-{entries}") for entries in (1, 1000)
        }
        figures = {key: [] for key in running}
        try:
            for turn in range(self.rounds + 1):
                for key, server in running.items():
                    result = self.measured(server, "/small", "--clients", 64, "--requests", count)
                    if turn:
                        figures[key].append(result["cpu"] / count * 1e6)
        finally:
            for server in running.values():
                server.stop()
        self.record(row, "us/request", figures)

    def parents(self):
        """Small requests through a kept tunnel of a parent proxy, compared with those without one; and many tunnels at once."""
        if "authproxy" not in self.names or not self.wanted("small, https, 64 clients, through a parent"):
            return
        count = int(60000 * self.scale)
        parent = servers.Parent(self.folder)
        try:
            running = {"no parent": self.start("authproxy", True, name="authproxy-direct")}
            for name, url in parent.urls.items():
                running[name] = self.start("authproxy", True, name=f"authproxy-{name[:5].strip()}", parent=url)
            cpu = {name: [] for name in running}
            try:
                for server in running.values():
                    self.load(server, "/small", "--clients", 64, "--requests", count // 10)
                for turn in range(self.rounds):
                    order = list(running.items())
                    first = turn % len(order)
                    for name, server in order[first:] + order[:first]:
                        result = self.measured(server, "/small", "--clients", 64, "--requests", count)
                        cpu[name].append(result["cpu"] / count * 1e6)
            finally:
                for server in running.values():
                    server.stop()
            self.record("small, https, 64 clients, through a parent: CPU", "us/request", cpu)
            # Of the same round, as the machine changes in the course of them.
            ratios = {name: [one / base for one, base in zip(cpu[name], cpu["no parent"])] for name in parent.urls}
            self.record("small, https, 64 clients, through a parent: ratio to none", "", ratios)
            self.tunnels(parent)
        finally:
            parent.stop()

    def tunnels(self, parent):
        """Apps' tunnels, all through one parent. Each takes two descriptors of the proxy, and two of the parent."""
        row = "memory of an app's tunnel through a parent"
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        wanted = int(10000 * max(self.scale, 0.2))
        count = min(wanted, (limit - 1000) // 2)
        if count < wanted:
            print(f"{row}: only {count}, as the limit of descriptors is {limit}", flush=True)
        resident, each = [], []
        for _ in range(self.rounds):
            server = self.start("authproxy", True, name="authproxy-tunnels", parent=parent.urls["http parent"], tunnels=f"tunnel.example.com:{self.sink.port}")
            try:
                target = f"tunnel.example.com:{self.sink.port}"
                before = server.memory_kib("Rss")
                holder = subprocess.Popen(
                    [self.loadgen, "hold", "--to", f"127.0.0.1:{server.port}", "--connections", str(count), "--answered",
                     "--send", f"CONNECT {target} HTTP/1.1\\r\\nHost: {target}\\r\\n\\r\\n"],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                held = int(holder.stdout.readline().split()[1])
                resident.append(server.memory_kib("Rss") / 1024)
                each.append((server.memory_kib("Rss") - before) * 1024 / held)
                holder.stdin.close()
                statuses = json.loads(holder.stdout.read())["statuses"]
                if held != count or statuses != {"200": count}:
                    raise SystemExit(f"{row}: {held} of {count} tunnels: {statuses}")
            finally:
                server.stop()
        self.record(f"{count} tunnels through one parent: resident", "MiB", {"authproxy": resident})
        self.record(row, "bytes", {"authproxy": each})

    def refresh_storm(self):
        """Ten thousand requests wait for one token: how long after its arrival is the last of them answered?"""
        row = "10,000 requests that wait for a token, https"
        if "authproxy" not in self.names or not self.wanted(row):
            return
        crowd = 10000
        figures, bytes_each = [], []
        for _ in range(self.rounds):
            tokens = servers.TokenServer()
            server = self.start("authproxy", True, token_port=tokens.port)
            try:
                before = server.memory_kib()
                load = subprocess.Popen([*self.load_words(server, "/small", 60), "--clients", str(crowd), "--requests", str(crowd)], stdout=subprocess.PIPE, text=True)
                # When load generator and proxy are idle, every request is connected and waits.
                busy = -1
                while load.poll() is None and (server.descriptors() < crowd or busy != (busy := server.cpu_seconds())):
                    time.sleep(0.2)
                bytes_each.append((server.memory_kib() - before) * 1024 / crowd)
                opened = tokens.open()
                result = json.loads(load.communicate(timeout=60)[0])
                figures.append((time.monotonic() - opened) * 1000)
                if result["good"] != crowd:
                    raise SystemExit(f"storm: not every request was answered with success: {result}")
            finally:
                server.stop()
                tokens.stop()
        self.record(f"{row}: all answered after it", "ms", {"authproxy": figures})
        self.record(f"{row}: memory each", "bytes", {"authproxy": bytes_each})

    def system_calls(self):
        """System calls as counted by strace: those that move data, those that wait, and the rest."""
        row = "system calls, https, 64 clients"
        if not self.wanted(row) or not shutil.which("strace"):
            return
        count = 10000
        figures = {}
        for name in self.names:
            server = self.start(name, True)
            out = self.folder / "strace.txt"
            try:
                self.load(server, "/small", "--clients", 64, "--requests", count)
                pids = [word for pid in server.pids() for word in ("-p", str(pid))]
                trace = subprocess.Popen(["strace", "-f", "-c", "-U", "calls,name", "-o", out, *pids], stderr=subprocess.PIPE, text=True)
                # strace says when it has attached.
                trace.stderr.readline()
                self.load(server, "/small", "--clients", 64, "--requests", count)
                trace.send_signal(signal.SIGINT)
                trace.communicate()
            finally:
                server.stop()
            for line in out.read_text().splitlines():
                words = line.split()
                if len(words) != 2 or not words[0].isdigit() or words[1] == "total":
                    continue
                kind = "data" if words[1] in DATA else "waiting" if words[1] == "epoll_wait" else "other"
                figures.setdefault(kind, {}).setdefault(name, [0])[0] += int(words[0]) / count
        for kind in ("data", "waiting", "other"):
            self.record(f"{row}: {kind}", "a request", figures.get(kind, {}))

    def run(self):
        try:
            self.small_answers()
            self.memory_and_start()
            self.access_log()
            self.larger_answers()
            self.stored_answers()
            self.bulk()
            self.tunnelled()
            self.new_connections()
            self.multiplexed()
            self.intercepted()
            self.latency()
            self.threads()
            self.thousand_entries()
            self.parents()
            self.refresh_storm()
            self.system_calls()
        finally:
            self.origin.stop()
            self.sink.process.stdin.close()
            self.sink.process.wait()
            shutil.rmtree(self.folder, ignore_errors=True)


DATA = {"read", "write", "readv", "writev", "recvfrom", "sendto", "recvmsg", "sendmsg", "splice", "sendfile"}
CPU = ("CPU", "us/request")
SPEED = ("throughput", "MiB/s")


def scheme(tls):
    return "https origin" if tls else "http origin"


def version(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        return (done.stdout + done.stderr).splitlines()[0].strip()
    except (OSError, IndexError):
        return "absent"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", action="append", default=[], help="rows whose name contains this word")
    parser.add_argument("--quick", action="store_true", help="one round of a tenth of the requests")
    parser.add_argument("--out", default=".build-bench")
    parser.add_argument("--plot", default="docs/benchmark.svg", help="written by a whole run only, as is the table")
    parser.add_argument("--page", default="docs/performance.md")
    arguments = parser.parse_args()

    machine = {
        "processor": next((l.split(": ")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "unknown"),
        "processors": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "nginx": version(["nginx", "-v"]),
        "haproxy": version(["haproxy", "-v"]),
        "authproxy": version([arguments.program or "false", "--version"]),
        "date": time.strftime("%Y-%m-%d"),
    }
    print("; ".join(f"{k}: {v}" for k, v in machine.items()))
    bench = Bench(arguments)
    started = time.monotonic()
    bench.run()
    out = pathlib.Path(arguments.out)
    out.mkdir(exist_ok=True)
    (out / "results.json").write_text(json.dumps({"machine": machine, "rows": bench.results}, indent=1))
    print(f"{time.monotonic() - started:.0f} s; figures in {out}/results.json")
    # The picture needs all rows.
    if not arguments.only and not arguments.quick:
        pathlib.Path(arguments.plot).write_text(plot.picture(machine, bench.results))
        table.write(arguments.page, machine, bench.results)
        print(f"picture in {arguments.plot}, table in {arguments.page}")


main()
