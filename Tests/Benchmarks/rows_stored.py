"""Rows of answers that the proxy stores. Envoy has no cache for production."""

import collections

from harness import CPU


def stored_answers(bench):
    names = bench.without("envoy")
    for what, path, requests in (("small", "/stored/small", 40000), ("64 KiB", "/stored/64k", 10000)):
        def measure(server, warm_up):
            return {CPU: bench.requests(server, warm_up, int(requests * bench.scale), path, "--clients", 64)["each"]}

        bench.compare(f"{what}, hit, 64 clients", False, measure, names, cache=True)

    for stores in (True, False):
        # What was stored in one round must not be hit in the next.
        rounds = collections.Counter()

        def measure(server, warm_up):
            rounds[server.name] += 1
            path = f"/stored/small?00000000&{rounds[server.name]}"
            return {CPU: bench.requests(server, warm_up, int(20000 * bench.scale), path, "--clients", 64, "--distinct")["each"]}

        bench.compare(f"small, {'stored miss' if stores else 'passed on'}, 64 clients", False, measure, names, cache=stores)


def misses(bench):
    """What storing costs: by turns, as both take the time of the kernel and of the machine."""
    if "authproxy" not in bench.names:
        return
    count = 0

    def measure(server, warm_up):
        nonlocal count
        count += 1
        path = f"/stored/small?00000000&own{count}"
        return {CPU: bench.requests(server, warm_up, int(20000 * bench.scale), path, "--clients", 64, "--distinct")["each"]}

    starts = {
        name: lambda name=name, cache=cache: bench.start("authproxy", False, cache=cache, name=f"authproxy-{name[:6].strip()}")
        for name, cache in (("passed on", False), ("stored", True))
    }
    bench.compare("small, 64 clients, passed on or stored", False, measure, starts=starts)
