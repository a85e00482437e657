#!/usr/bin/env python3
"""Counts instructions and system calls per request with callgrind. Counts do not depend on the machine's noise, so they have limits.

    instructions.py --program PATH [--base PATH] [--write]

One client sends each row's requests twice, few and then many: the difference is free of what starting costs. A row fails if it needs
more instructions than its margin allows, or more system calls. With --base a second program runs beside the first, on the same
machine with the same libraries, and the ratio is judged: trust this one. Without it the figures are judged by instructions.json
beside this file, for CI. --write renews that file; commit it with the change that explains the new figures.

OpenSSL and glibc choose code by the processor; here both use what every x86-64 processor with AES instructions has.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import servers

FEW, MANY = 300, 1500
# Most measurements of a row that fails: other work on the machine splits what else comes together.
RUNS = 5
BASELINE = pathlib.Path(__file__).with_name("instructions.json")
# Functions to count inside the first row, by the beginning of the mangled name.
PARSERS = {"parse a request's head": "$s8HTTPWire11RequestHeadV5parse", "parse a response's head": "$s8HTTPWire12ResponseHeadV5parse"}
# TLS to the origin, path, options of the load generator.
ROWS = {
    "small, http origin": (False, "/small"),
    "small, https origin": (True, "/small"),
    "64 KiB, http origin": (False, "/64k"),
    "POST of 100 bytes, http origin": (False, "/upload", "--upload", "100"),
    "new client connection, http origin": (False, "/small", "--new-connections", "rst"),
}
# Rows through a kept tunnel of a parent proxy: which, and how many times as many instructions as without one.
PARENTS = {"small, https origin, http parent": ("http parent", 1.03), "small, https origin, https parent": ("https parent", 1.5)}
ROWS.update(dict.fromkeys(PARENTS, (True, "/small")))
# Rows of an entry with `cache`.
STORED = {"small, hit": (False, "/stored/small"), "small, stored miss": (False, "/stored/small?00000000", "--distinct")}
ROWS.update(STORED)
# Rows with an access log.
LOGGED = {"small, http origin, access log": (False, "/small")}
ROWS.update(LOGGED)
# A row fails if it needs more instructions than the known figure by this part, or more system calls, or more clock reads.
MARGINS = (0.02, 0, 0)
# In these rows timing decides how many segments of the origin, or events of the kernel, come together.
TIMED = dict.fromkeys(["64 KiB, http origin", "POST of 100 bytes, http origin"], (0.02, 0.5, 1))
# Connection, request, answer and end are four events: on a slow machine none of them come together, and each wait reads the clock.
TIMED["new client connection, http origin"] = (0.02, 1.5, 2)
# Where the heap grows, another number of its calls falls to a request.
TIMED["small, stored miss"] = (0.03, 0.5, 0)
# A timer writes the lines each 50 ms: the slower the machine, the more often within a request.
TIMED["small, http origin, access log"] = (0.03, 0.5, 0.5)
# A head as apps send it; curl's is too short.
FIELDS = ["User-Agent: python-requests/2.31.0", "Accept-Encoding: gzip, deflate", "Accept: */*", "Connection: keep-alive"]
# Without valgrind these need no system call, but each reads the clock, so they count under one name.
CLOCKS = {"clock_gettime", "time_syscall", "gettimeofday"}
CALL = re.compile(r"\s*([\d,]+) \([^)]*\)\s+\S*?:([^\s@']+)")
ENVIRONMENT = {
    # Otherwise Swift seeds its hash tables at random.
    "SWIFT_DETERMINISTIC_HASHING": "1",
    # SSE2, SSSE3, PCLMULQDQ and AES.
    "OPENSSL_ia32cap": "0x0200020307800000:0x0",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-ERMS,-FSRM",
}


def annotated(out, *options):
    """Lines of callgrind_annotate about one run."""
    words = ["callgrind_annotate", "--tree=none", "--threshold=100", *options, str(out)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()


class Count:
    """The counts of one run, or of one request."""

    def __init__(self, instructions, calls, parsers):
        self.instructions, self.calls, self.parsers = instructions, calls, parsers

    @classmethod
    def of(cls, out):
        with open(out) as lines:
            instructions = next(int(line.split()[1]) for line in lines if line.startswith("summary:"))
        calls, parsers = {}, {}
        for line in annotated(out, "--show=sysCount", "--sort=sysCount"):
            if (found := CALL.match(line)) and (number := int(found[1].replace(",", ""))):
                name = "clock" if found[2] in CLOCKS else found[2]
                calls[name] = calls.get(name, 0) + number
        for line in annotated(out, "--inclusive=yes", "--show=Ir", "--show-percs=no"):
            for name, symbol in PARSERS.items():
                if symbol in line:
                    parsers[name] = parsers.get(name, 0) + int(line.split()[0].replace(",", ""))
        return cls(instructions, calls, parsers)

    def per_request(self, few):
        """Rounds to a tenth of a call. Everything else that the process does meanwhile is far below that."""
        share = lambda mine, other: (mine - other) / (MANY - FEW)
        calls = {name: round(share(number, few.calls.get(name, 0)), 1) for name, number in sorted(self.calls.items())}
        return Count(round(share(self.instructions, few.instructions)), {name: number for name, number in calls.items() if number > 0},
                     {name: round(share(number, few.parsers.get(name, 0))) for name, number in self.parsers.items()})


class Counter:
    def __init__(self, programs):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="authproxy-instructions-"))
        servers.make_certificates(self.folder)
        self.loadgen = servers.build_load_generator(self.folder)
        self.sink = servers.Sink(self.loadgen)
        self.origin = servers.origin(self.folder, self.sink, whole=True)
        self.parent = servers.Parent(self.folder)
        self.programs = [self.folder / f"authproxy-{i}" for i in range(len(programs))]
        for program, stripped in zip(programs, self.programs):
            # Valgrind needs minutes to read Swift's debug information. Names stay.
            subprocess.run(["strip", "--strip-debug", "-o", stripped, program], check=True)

    def close(self):
        self.parent.stop()
        self.origin.stop()
        self.sink.process.stdin.close()
        self.sink.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, program, count, server_options, tls, path, *options):
        out = self.folder / "callgrind.out"
        tool = ["valgrind", "--tool=callgrind", "--collect-systime=yes", f"--callgrind-out-file={out}", "--quiet"]
        server = servers.authproxy(str(program), self.folder, self.origin, tls, tool=tool, seconds=60, **server_options)
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
        return Count.of(out)

    def figures(self, row, runs):
        """For each program the counts of a request of the row, in total and per parser. `runs` keeps the lowest runs so far."""
        server_options = {
            "parent": self.parent.urls[PARENTS[row][0]] if row in PARENTS else None, "cache": row in STORED, "access_log": row in LOGGED,
        }
        for program in self.programs:
            for count in (FEW, MANY):
                run = self.run(program, count, server_options, *ROWS[row])
                runs[program, count] = min(run, runs.get((program, count), run), key=lambda it: it.instructions)
        every = [runs[program, MANY].per_request(runs[program, FEW]) for program in self.programs]
        result = {row: [{"instructions": it.instructions, "calls": it.calls} for it in every]}
        if row == next(iter(ROWS)):
            result.update({name: [{"instructions": it.parsers[name]} for it in every] for name in PARSERS})
        return result


def judge(row, own, known):
    """The row's counts before and now, as text, and whether it failed."""
    if not known:
        return [f"{row:<36} {own['instructions']:>7} instructions  new"], False
    margin, more, looks = TIMED.get(row, MARGINS)
    change = own["instructions"] / known["instructions"] - 1
    verdicts = [change > margin]
    too_many = lambda: "  TOO MANY" if verdicts[-1] else ""
    lines = [f"{row:<36} {known['instructions']:>7} -> {own['instructions']:>7} instructions {change:+7.2%}{too_many()}"]
    if "calls" in own:
        # Compares the sums, as OpenSSL uses read where other code uses recv. The clock is separate, as it needs a system call only under valgrind.
        split = lambda it: (it.get("clock", 0), round(sum(number for name, number in it.items() if name != "clock"), 1))
        (clock, calls), (clock_before, calls_before) = split(own["calls"]), split(known["calls"])
        names = ", ".join(f"{number:g} {name}" for name, number in own["calls"].items() if name != "clock")
        verdicts.append(calls > calls_before + more)
        lines.append(f"{'':<36} {calls_before:>7} -> {calls:>7} system calls: {names}{too_many()}")
        verdicts.append(clock > clock_before + looks)
        lines.append(f"{'':<36} {clock_before:>7} -> {clock:>7} looks at the clock{too_many()}")
    return lines, any(verdicts)


def measured(counter, row, known_of):
    """The row's figures, its text and the names that failed. A failed row runs again, as timing can only add to a count."""
    runs = {}
    for _ in range(RUNS):
        figures, lines, failed = {}, [], []
        for name, (own, *base) in counter.figures(row, runs).items():
            figures[name] = own
            known, reason = (base[0], None) if base else known_of(name)
            text, bad = judge(name, own, known)
            lines += text if not reason else [f"{name:<36} {own['instructions']:>7} instructions  not judged: {reason}"]
            failed += [name] if bad else []
        if not failed:
            break
    return figures, lines, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--base", help="the program to compare with, instead of instructions.json")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    os.environ.update(ENVIRONMENT)
    library = subprocess.run(["openssl", "version"], check=True, capture_output=True, text=True).stdout.split(" (")[0].strip()
    expected = json.loads(BASELINE.read_text()) if BASELINE.exists() and not arguments.write else {"rows": {}}

    def known_of(name):
        known = expected["rows"].get(name)
        if known and "https" in name and expected["openssl"] != library:
            return None, f"the known {known['instructions']} are of {expected['openssl']}"
        return known, None

    figures, failed = {}, []
    counter = Counter([arguments.program] + ([arguments.base] if arguments.base else []))
    print(f"{arguments.base or BASELINE.name} -> {arguments.program}, per request; {library}")
    try:
        for row in ROWS:
            if row in PARENTS and (arguments.base or PARENTS[row][0] not in counter.parent.urls):
                print(f"{row:<36} not measured: {'the other program may not know parents' if arguments.base else 'no haproxy'}")
                continue
            if row in STORED and arguments.base:
                print(f"{row:<36} not measured: the other program may not know cache")
                continue
            its_figures, lines, its_failed = measured(counter, row, known_of)
            figures |= its_figures
            failed += its_failed
            print(*lines, sep="\n", flush=True)
            if row in PARENTS:
                ratio = figures[row]["instructions"] / figures["small, https origin"]["instructions"]
                limit = PARENTS[row][1]
                print(f"{'':<36} {ratio:.3f} times those without a parent{'  TOO MANY' if ratio > limit else ''}", flush=True)
                failed += [row] if ratio > limit else []
    finally:
        counter.close()
    if arguments.write:
        BASELINE.write_text(json.dumps({"openssl": library, "rows": figures}, indent=1) + "\n")
    if failed:
        advice = "" if arguments.base else " Is the change worth it? Then: make instructions WRITE=--write"
        sys.exit(f"Too many instructions or system calls: {'; '.join(failed)}.{advice}")


main()
