#!/usr/bin/env python3
"""Instructions per request, counted by callgrind: a count does not depend on the machine's mood, so it can be held to a limit.

    instructions.py --program PATH [--write]

Each row is run twice, with few requests and with many, by one client: the difference is free of what starting costs. Compared with
instructions.json beside this file; a row that needs more by over MARGIN fails. --write renews the file, which belongs into the
commit that changes the figures for a reason. OpenSSL picks its code by the processor, so https rows are shown, not judged.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import servers

MARGIN = 0.05
FEW, MANY = 300, 1500
BASELINE = pathlib.Path(__file__).with_name("instructions.json")
# What is looked at inside of a row, by the beginning of its mangled name.
PARSERS = {"parse a request's head": "$s8HTTPWire11RequestHeadV5parse", "parse a response's head": "$s8HTTPWire12ResponseHeadV5parse"}
# As apps send it, curl being too short.
FIELDS = ["User-Agent: python-requests/2.31.0", "Accept-Encoding: gzip, deflate", "Accept: */*", "Connection: keep-alive"]


class Counter:
    def __init__(self, program):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="authproxy-instructions-"))
        servers.make_certificates(self.folder)
        self.loadgen = servers.build_load_generator(self.folder)
        self.sink = servers.Sink(self.loadgen)
        self.origin = servers.origin(self.folder, self.sink)
        # Valgrind's reader of debug information takes minutes for Swift's; names stay.
        self.program = self.folder / "authproxy"
        subprocess.run(["strip", "--strip-debug", "-o", self.program, program], check=True)

    def close(self):
        self.origin.stop()
        self.sink.process.stdin.close()
        self.sink.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, tls, path, count, *options):
        """Instructions of the whole run, and those of each parser with all that it calls."""
        out = self.folder / "callgrind.out"
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--quiet"]
        server = servers.authproxy(str(self.program), self.folder, self.origin, tls, tool=tool, seconds=60)
        words = [self.loadgen, "load", "--to", f"127.0.0.1:{server.port}", "--url", "http://api.example.com" + path]
        for field in FIELDS:
            words += ["--header", field]
        try:
            done = subprocess.run([*words, "--requests", str(count), *options, "--timeout", "120"], check=True, capture_output=True, text=True)
        finally:
            server.stop()
        result = json.loads(done.stdout)
        if result["good"] != count:
            raise SystemExit(f"not every request was answered with success: {result}")
        total = next(int(line.split()[1]) for line in open(out) if line.startswith("summary:"))
        table = subprocess.run(
            ["callgrind_annotate", "--inclusive=yes", "--tree=none", "--threshold=100", "--show-percs=no", str(out)],
            check=True, capture_output=True, text=True).stdout.splitlines()
        parsers = {
            name: sum(int(line.split()[0].replace(",", "")) for line in table if symbol in line) for name, symbol in PARSERS.items()
        }
        return total, parsers

    def per_request(self, tls, path, *options):
        few, few_parsers = self.run(tls, path, FEW, *options)
        many, many_parsers = self.run(tls, path, MANY, *options)
        share = lambda most, least: round((most - least) / (MANY - FEW))
        return share(many, few), {name: share(many_parsers[name], few_parsers[name]) for name in PARSERS}

    def figures(self):
        result = {}
        result["small, http origin"], parsers = self.per_request(False, "/small")
        result.update(parsers)
        result["64 KiB, http origin"], _ = self.per_request(False, "/64k")
        result["POST of 100 bytes, http origin"], _ = self.per_request(False, "/upload", "--upload", "100")
        result["new client connection, http origin"], _ = self.per_request(False, "/small", "--new-connections", "rst")
        result["small, https origin"], _ = self.per_request(True, "/small")
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    # Swift's hash tables are seeded at random otherwise.
    os.environ["SWIFT_DETERMINISTIC_HASHING"] = "1"
    counter = Counter(arguments.program)
    try:
        figures = counter.figures()
    finally:
        counter.close()
    if arguments.write:
        BASELINE.write_text(json.dumps(figures, indent=1) + "\n")
    expected = json.loads(BASELINE.read_text())
    failed = False
    for row, count in figures.items():
        known = expected.get(row)
        verdict = "new"
        if known:
            change = count / known - 1
            judged = "https" not in row
            failed |= judged and change > MARGIN
            verdict = f"{change:+7.1%}" + ("" if judged else "  (not judged)") + ("  TOO MUCH" if judged and change > MARGIN else "")
        print(f"{row:<40} {count:>8} instructions/request  expected {known or 0:>8}  {verdict}")
    if failed:
        sys.exit(f"More instructions than {BASELINE.name} allows (margin {MARGIN:.0%}). Is the change worth it? Then: make instructions WRITE=--write")


main()
