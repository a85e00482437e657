"""Rows that all programs have: requests, bodies, connections."""

import shutil
import signal
import subprocess

from harness import CPU, SPEED, apps, scheme

DATA = {"read", "write", "readv", "writev", "recvfrom", "sendto", "recvmsg", "sendmsg", "splice", "sendfile"}
WAITING = {"epoll_wait", "epoll_pwait", "epoll_pwait2"}


def small_answers(bench):
    for tls in (True, False):
        for clients in (64, 1, 512):
            count = int({1: 10000, 64: 40000, 512: 40000}[clients] * bench.scale)

            def measure(server, warm_up):
                result = bench.requests(server, warm_up, count, "/small", "--clients", clients)
                return {CPU: result["each"], ("throughput", "requests/s"): result["count"] / result["seconds"]}

            bench.compare(f"small, {scheme(tls)}, {apps(clients)}", tls, measure)


def access_log(bench):
    def measure(server, warm_up):
        return {CPU: bench.requests(server, warm_up, int(40000 * bench.scale), "/small", "--clients", 64)["each"]}

    bench.compare("small, https, 64 clients, access log", True, measure, access_log=True)


def latency(bench):
    """A low rate: each request finds cold caches."""
    rate = 2000

    def measure(server, warm_up):
        result = bench.requests(server, warm_up, int(rate * 5 * bench.scale), "/small", "--clients", 64, "--rate", rate)
        return {CPU: result["each"], ("p50", "us"): result["p50_us"], ("p99", "us"): result["p99_us"]}

    bench.compare(f"latency at {rate}/s, https, 64 clients", True, measure)


def new_connections(bench):
    def measure(server, warm_up):
        options = ("--clients", 64, "--new-connections", "rst")
        return {CPU: bench.requests(server, warm_up, int(20000 * bench.scale), "/small", *options)["each"]}

    bench.compare("new client connections, https origin", True, measure)


def larger_answers(bench):
    for tls in (True, False):
        def measure(server, warm_up):
            result = bench.requests(server, warm_up, int(10000 * bench.scale), "/64k", "--clients", 64)
            return {CPU: result["each"], SPEED: result["bytes"] / result["seconds"] / 2**20}

        bench.compare(f"64 KiB, {scheme(tls)}, 64 clients", tls, measure)


def posts(bench):
    def measure(server, warm_up):
        options = ("--clients", 16, "--upload", 1 << 20)
        result = bench.requests(server, warm_up, int(1000 * bench.scale), "/upload", *options, least=16)
        return {CPU: result["each"], SPEED: result["count"] / result["seconds"]}

    bench.compare("POST of 1 MiB, https origin, 16 clients", True, measure)


def bulk(bench):
    for tls in (True, False):
        def download(server, warm_up):
            return transfer(server, warm_up, "/1g")

        def upload(server, warm_up):
            return transfer(server, warm_up, "/upload", "--upload", 1 << 30)

        def transfer(server, warm_up, path, *options):
            if warm_up:
                return bench.load(server, "/small", "--requests", 10)
            result = bench.measured(server, path, "--requests", 1, *options)
            return {("CPU", "s"): result["cpu"], SPEED: 1024 / result["seconds"]}

        bench.compare(f"1 GiB download, {scheme(tls)}", tls, download)
        bench.compare(f"1 GiB upload, {scheme(tls)}", tls, upload)


def system_calls(bench):
    """System calls as counted by strace: those that move data, those that wait, and the rest."""
    row = "system calls, https, 64 clients"
    if not bench.wanted(row) or not shutil.which("strace"):
        return
    count = 10000
    figures = {}
    for name in bench.names:
        server = bench.start(name, True)
        out = bench.folder / "strace.txt"
        try:
            bench.load(server, "/small", "--clients", 64, "--requests", count)
            pids = [word for pid in server.pids() for word in ("-p", str(pid))]
            words = ["strace", "-f", "-c", "-U", "calls,name", "-o", out, *pids]
            trace = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
            # strace says when it has attached.
            trace.stderr.readline()
            bench.load(server, "/small", "--clients", 64, "--requests", count)
            trace.send_signal(signal.SIGINT)
            trace.communicate()
        finally:
            server.stop()
        for line in out.read_text().splitlines():
            words = line.split()
            if len(words) != 2 or not words[0].isdigit() or words[1] == "total":
                continue
            kind = "data" if words[1] in DATA else "waiting" if words[1] in WAITING else "other"
            figures.setdefault(kind, {}).setdefault(name, [0])[0] += int(words[0]) / count
    for kind in ("data", "waiting", "other"):
        bench.record(f"{row}: {kind}", "a request", figures.get(kind, {}))
