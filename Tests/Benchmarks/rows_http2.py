"""Rows with an origin that speaks HTTP/2, and the same requests over 1.1. To origins nginx 1.22 and Squid 5 speak only 1.1."""

from harness import CPU, SPEED, apps


def multiplexed(bench):
    starts = {}
    if "authproxy" in bench.names:
        starts["authproxy"] = lambda: bench.start("authproxy", True, http_version="2", name="authproxy-h2")
        starts["over 1.1"] = lambda: bench.start("authproxy", True, name="authproxy-h1")
    for name in ("haproxy", "envoy"):
        if name in bench.names:
            starts[name] = lambda name=name: bench.start(name, True, http2=True)
    for clients in (64, 8, 1):
        count = int({1: 10000, 8: 40000, 64: 40000}[clients] * bench.scale)

        def measure(server, warm_up):
            result = bench.requests(server, warm_up, count, "/small", "--clients", clients)
            return {CPU: result["each"], ("p99", "us"): result["p99_us"]}

        bench.compare(f"small, HTTP/2 origin, {apps(clients)}", True, measure, starts=starts)

    def larger(server, warm_up):
        return {CPU: bench.requests(server, warm_up, int(10000 * bench.scale), "/64k", "--clients", 64)["each"]}

    bench.compare("64 KiB, HTTP/2 origin, 64 clients", True, larger, starts=starts)

    def download(server, warm_up):
        if warm_up:
            return bench.load(server, "/small", "--requests", 10)
        result = bench.measured(server, "/1g", "--requests", 1)
        return {("CPU", "s"): result["cpu"], SPEED: result["bytes"] / result["seconds"] / 2**20}

    bench.compare("1 GiB download, HTTP/2 origin", True, download, starts=starts)
