#!/usr/bin/env python3
"""Runs the proxy for a long time with everything at once, and looks whether it grows.

    soak.py --program PATH [--minutes N]

Loads: small answers, new connections, connections that break, HTTP/2, https:// URLs, tunnels, uploads, slow readers, hits and stored misses, a
token that lives for some seconds. Faults: the configuration is reloaded each three seconds, the origin is restarted gracefully, stops for a
second, and refuses tokens. Each three minutes the loads stop for a while, and the stored answers are purged. At the end the resident memory may be
4 % more than after three minutes, and there may be no descriptor more. Of the resident memory, the anonymous may be 4 % more than after six minutes:
by then its heaps have the holes that they keep. The rest is pages of the program's file and its libraries. The kernel drops them and brings them
back as it likes, up to half of all within seconds, so growth that is not anonymous may be that. It runs for three such rounds at least.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing
import urllib.request

import servers

# Seconds. A pause is as long as the loops need to free the blocks of a burst.
ROUND, PAUSE, RELOADS, RESTARTS, STOPS = 180, 25, 3, 20, 45


class Figures(typing.NamedTuple):
    """Memory in KiB, and how many requests were answered with success, and how many otherwise."""
    anonymous: int
    resident: int
    descriptors: int
    good: int
    bad: int

    def __str__(self):
        return (
            f"{self.anonymous} KiB anonymous, {self.resident} resident, {self.descriptors} descriptors, "
            f"{self.good} answers with success, {self.bad} others")


class Soak:
    def __init__(self, program):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="authproxy-soak-"))
        servers.make_certificates(self.folder)
        self.loadgen = servers.build_load_generator(self.folder)
        self.sink = servers.Sink(self.loadgen)
        self.origin = servers.origin(self.folder, self.sink)
        self.tokens = servers.TokenServer(lifetime=8)
        self.tokens.open()
        self.port, self.admin = servers.free_port(), servers.free_port()
        self.configuration = self.folder / "proxy.conf"
        self.round = 0
        self.write()
        self.proxy = servers.Server("authproxy", [program, "run", "--config", str(self.configuration)], self.port)
        servers.wait_for_file(self.folder / "published" / "ca.pem", self.proxy.process, 10)
        self.loads = []

    def write(self):
        """Each round of ten differs from the one before in something else."""
        step, n = self.round % 10, self.round
        others = "".join(f"  - {{match: other{i}.test, origin: 'http://localhost:1'}}\n" for i in range(n % 7))
        clear, tls = self.origin.port, self.origin.tls_port
        text = f"""\
listen: 127.0.0.1:{self.port}
admin: {{address: "127.0.0.1:{self.admin}", expose: [healthz, readyz, metrics, purge]}}
threads: 2
limits: {{cache: 16MiB}}
timeouts: {{upstream_idle: {2 + step % 2}s}}
log: {{access: true, file: {self.folder}/proxy.log}}
connect: {{allow: ["localhost:{tls}"]}}
forbidden_addresses: []
intercept: {{ca: memory, publish: {self.folder}/published}}
upstreams:
  - {{match: "https://{servers.SERVED}", origin: "https://localhost:{tls}", credential: api}}
  - {{match: clear.test, origin: "http://localhost:{clear}", credential: api}}
  - {{match: tls.test, origin: "https://localhost:{tls}", credential: token}}
  - {{match: h2.test, origin: "https://localhost:{tls}", credential: api, http_version: 2}}
  - {{match: cache.test, origin: "http://localhost:{clear}", credential: api, cache: {{share: public}}}}
{others}credentials:
  api: {{header: {{name: Authorization, value: "Bearer {servers.TOKEN if step != 5 else 'wrong'}"}}, allow_plaintext: true}}
  token: {{oauth2: {{grant: client_credentials, token_url: "http://127.0.0.1:{self.tokens.port}/token", client_id: me, client_secret: s{n % 3}}}, allow_plaintext: true}}
trust: {{default: [{{default: {{ca_file: {self.folder}/ca.pem, system_roots: false, min_version: {'tls1.2' if n % 4 < 2 else 'tls1.3'}}}}}]}}
"""
        self.configuration.write_text(text if step != 8 else text + "nonsense: [\n")
        self.configuration.chmod(0o600)

    def start(self):
        tls = f"https://localhost:{self.origin.tls_port}"
        ca = ["--ca", self.folder / "ca.pem", "--connect"]
        token = ["--header", f"Authorization: Bearer {servers.TOKEN}"]
        for url, options in (
            ("http://clear.test/small", ["--clients", 16, "--rate", 150]),
            ("http://clear.test/small", ["--clients", 8, "--rate", 50, "--new-connections", "rst"]),
            ("http://tls.test/small", ["--clients", 8, "--rate", 60, "--new-connections", "fin"]),
            ("http://tls.test/64k", ["--clients", 4, "--rate", 20]),
            ("http://h2.test/small", ["--clients", 16, "--rate", 120]),
            ("http://h2.test/64k", ["--clients", 4, "--rate", 20, "--slow", 2000]),
            ("http://cache.test/stored/small", ["--clients", 8, "--rate", 100]),
            ("http://cache.test/stored/64k", ["--clients", 4, "--rate", 20]),
            ("http://cache.test/stored/small?00000000", ["--clients", 8, "--rate", 100, "--distinct"]),
            ("http://clear.test/upload", ["--clients", 4, "--rate", 10, "--upload", 300000]),
            ("http://h2.test/upload", ["--clients", 4, "--rate", 10, "--upload", 300000]),
            (f"https://{servers.SERVED}/small", [
                "--clients", 4, "--rate", 20, "--ca", self.folder / "published" / "ca.pem", "--connect", "--new-connections", "fin"]),
            (f"{tls}/64k", ["--clients", 4, "--rate", 10, *ca, *token]),
        ):
            words = [self.loadgen, "load", "--to", f"127.0.0.1:{self.port}", "--url", url, "--requests", 1 << 30, "--timeout", 60, *options]
            self.loads.append(subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))

    def stop(self):
        """Ends the loads. Returns how many requests were answered with success, and how many otherwise."""
        for load in self.loads:
            load.send_signal(signal.SIGTERM)
        good = bad = 0
        for load in self.loads:
            try:
                out, _ = load.communicate(timeout=30)
                result = json.loads(out)
                good, bad = good + result["good"], bad + result["finished"] + result["failed"] - result["good"]
            except (subprocess.TimeoutExpired, ValueError):
                load.kill()
        self.loads = []
        return good, bad

    def disturb(self, seconds):
        end = time.monotonic() + seconds
        began = time.monotonic()
        done = dict.fromkeys(("reload", "restart", "stop"), 0)
        while time.monotonic() < end:
            time.sleep(0.5)
            elapsed = time.monotonic() - began
            if elapsed > (done["reload"] + 1) * RELOADS:
                done["reload"] += 1
                self.round += 1
                self.write()
                self.proxy.process.send_signal(signal.SIGHUP)
            if elapsed > (done["restart"] + 1) * RESTARTS:
                done["restart"] += 1
                self.origin.process.send_signal(signal.SIGHUP)
            if elapsed > (done["stop"] + 1) * STOPS:
                done["stop"] += 1
                workers = self.origin.pids()[1:]
                for pid in workers:
                    os.kill(pid, signal.SIGSTOP)
                time.sleep(1)
                for pid in workers:
                    os.kill(pid, signal.SIGCONT)
            if self.proxy.process.poll() is not None:
                raise SystemExit(f"the proxy ended with {self.proxy.process.returncode}")

    def settled(self):
        good, bad = self.stop()
        (self.folder / "proxy.log").unlink()
        self.proxy.process.send_signal(signal.SIGUSR1)
        time.sleep(PAUSE)
        self.purge()
        return Figures(self.proxy.memory_kib("Anonymous"), self.proxy.memory_kib("Rss"), self.proxy.descriptors(), good, bad)

    def purge(self):
        """How much the store has depends on when a reload has last dropped what it changed. A purge also gives free memory back."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.admin}/cache/purge", b"{}", {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            answer.read()

    def close(self):
        self.stop()
        self.proxy.stop()
        self.origin.stop()
        self.tokens.stop()
        self.sink.process.stdin.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--minutes", type=float, default=30)
    arguments = parser.parse_args()
    soak = Soak(arguments.program)
    figures = []
    try:
        end = time.monotonic() + arguments.minutes * 60
        while len(figures) < 3 or time.monotonic() < end:
            soak.start()
            soak.disturb(ROUND)
            figures.append(soak.settled())
            print(figures[-1], flush=True)
    finally:
        soak.close()
    if any(figure.bad > figure.good / 4 for figure in figures):
        sys.exit("Most faults are of a token that is wrong for three seconds in thirty: there were more failures than that explains")
    first, second, last = figures[0], figures[1], figures[-1]
    if last.anonymous > second.anonymous * 1.04 or last.resident > first.resident * 1.04 or last.descriptors > first.descriptors:
        sys.exit(f"It grows: {first} after the first round, {second} after the second, {last} at the end")


main()
