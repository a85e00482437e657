#!/usr/bin/env python3
"""Checks that every import is declared, and the walls between targets. Prints file:line for each breach, and fails if there is one.

    walls.py [PACKAGE]

- A target declares in Package.swift what its files import. (SwiftPM also lets a file import dependencies of other targets.)
- Some file of a target imports each module that the target declares.
- Only the targets below import C libraries, and the toolchain's modules with I/O.
- Pure targets depend only on the modules below.
- Only EventIO uses sockets and epoll: see SOCKETS.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

from swift_source import ROOT, Source, swift_files

# Targets that may import a module; TESTS stands for every test target.
TESTS = "tests"
ONLY = {
    "COpenSSL": {"Crypto", "TLS", "RevocationAnswers", "TLSTests", "InterceptionTests"},
    "COpenSSLShims": {"Crypto", "TLS", "RevocationAnswers", "TLSTests"},
    "CCurl": {"Fetch"},
    "CCurlShims": {"Fetch"},
    "CZlib": {"Proxy", "ProxyTests"},
    "CPrefetch": {"Cache"},
    "CZlibShims": {"Proxy"},
    "CYAML": {"ConfigurationFile"},
    "CNGHTTP2": {"HTTP2", "HTTP2Tests"},
    "CGSSAPI": {"Kerberos", "KerberosTests"},
    # It adds ICU and 7 MiB of resident memory. FoundationEssentials is smaller; list targets that need it here.
    "Foundation": {TESTS},
    "FoundationEssentials": set(),
    "Testing": {TESTS},
    "Dispatch": {"EventIO", "Operations", "authproxy", TESTS},
    # For files, processes and dates. Only EventIO uses sockets.
    "Glibc": {"Crypto", "Files", "TLS", "Interception", "Trust", "Credentials", "Settings", "ConfigurationFile", "Login", "Operations", "authproxy", TESTS},
    "Synchronization": {"ConfigurationFile", "Cache", "EventIO", "Fetch", "Kerberos", "Trust", "Credentials", "Upstreams", "Proxy", "Operations", "authproxy", TESTS},
}
# These targets depend on at most these modules. Some modules may not exist yet.
AT_MOST = {
    "HTTPWire": set(),
    "HTTP2": {"CNGHTTP2", "HTTPWire"},
    "WayOut": set(),
    "Forwarding": {"HTTPWire"},
    "Routing": {"HTTPWire"},
    "EventIO": {"CSystem"},
    "JSON": set(),
    "RESP": set(),
    "RedisProtocol": {"RESP"},
    "RedisClient": {"Crypto", "EventIO", "RESP", "RedisProtocol", "Streams", "TLS", "Trust"},
    "KubernetesStore": {"Credentials", "Crypto", "EventIO", "Fetch", "JSON", "Trust"},
    "Files": {"CSystem"},
    "Crypto": {"COpenSSL", "COpenSSLShims"},
    "TLS": {"COpenSSL", "COpenSSLShims", "Crypto", "Files"},
    "Cache": {"CPrefetch", "Crypto", "HTTPWire"},
    "Kerberos": {"CGSSAPI"},
    "Interception": {"CSystem", "Crypto", "Files", "TLS"},
    "Trust": {"Crypto", "TLS"},
    "Credentials": {"Crypto", "Files", "HTTPWire", "JSON"},
    "Signing": {"Credentials", "Crypto", "Forwarding", "HTTPWire", "JSON"},
}
# Only these calls create or need a socket or an epoll descriptor. `connect`, `send` and other names that methods also have are not
# necessary here. A socket that CSystem itself opens and closes (`csys_notify`) does not count for its caller.
SOCKETS = re.compile(
    r"(?:(?<![.\w])|(?<=Glibc\.)|(?<=CSystem\.))(?<!func )"
    r"(epoll_\w+|eventfd|socket|socketpair|accept4|[gs]etsockopt|recvmsg|sendmsg|recvfrom|sendto|getaddrinfo|csys_(?:epoll\w*|peek"
    r"|stream_socket|accept|bind|listen|connect\w*|recv|send2?|set_option|error_of|is_listening|peer_name|local_name"
    r"|refuse_new_connections))\s*\(")
SOCKET_TARGETS = {"EventIO"}
IMPORT = re.compile(
    r"^[ \t]*(?P<attributes>(?:@\w+(?:\([^)]*\))?[ \t]+)*)(?:(?:public|package|internal|fileprivate|private)[ \t]+)?"
    r"import[ \t]+(?:(?:typealias|struct|class|enum|protocol|let|var|func)[ \t]+)?(?P<module>\w+)", re.MULTILINE)


def targets(package):
    """Name, kind, folder and declared modules of each target, also of those for fuzzing."""
    environment = os.environ | {"AUTHPROXY_FUZZ": "1", "AUTHPROXY_FUZZ_RUNTIME": "none"}
    # A separate scratch path, as a running build holds the lock of the usual one.
    words = ["swift", "package", "--package-path", str(package), "--scratch-path", str(package / ".build-lint"), "dump-package"]
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    for target in json.loads(done.stdout)["targets"]:
        kind, name = target["type"], target["name"]
        folder = package / (target.get("path") or ("Tests" if kind == "test" else "Sources") + "/" + name)
        declared = {next(iter(it.values()))[0] for it in target["dependencies"]}
        yield name, kind, folder, declared


def breaches(package):
    for name, kind, folder, declared in targets(package):
        if name in AT_MOST:
            for module in sorted(declared - AT_MOST[name]):
                yield f"Package.swift: {name} depends on {module}, but is behind a wall: see AT_MOST in Tests/Lint/walls.py"
        used, files = set(), swift_files(folder)
        for path in files:
            source = Source.read(path)
            for found in IMPORT.finditer(source.code):
                module, place = found["module"], source.place(found.start("module"))
                used.add(module)
                if "@_exported" in found["attributes"]:
                    yield f"{place}: {module} is re-exported, so others import it without declaring it"
                permitted = ONLY.get(module)
                if permitted is not None and name not in permitted and not (kind == "test" and TESTS in permitted):
                    yield f"{place}: {name} imports {module}, which is for {', '.join(sorted(permitted)) or 'no target'}"
                elif module not in declared and module != name and module not in ONLY.keys() - C_LIBRARIES:
                    yield f"{place}: {name} imports {module}, but does not declare it in Package.swift"
            if kind != "test" and name not in SOCKET_TARGETS:
                for found in SOCKETS.finditer(source.code):
                    yield f"{source.place(found.start())}: {name} calls {found[1]}; sockets and epoll are for {', '.join(SOCKET_TARGETS)}"
        if files:
            for module in sorted(declared - used):
                # A C target that is only linked has no import.
                if module != "CFuzzer":
                    yield f"Package.swift: {name} declares {module}, but no file of it imports that"


C_LIBRARIES = {module for module in ONLY if module.startswith("C")}


def main():
    package = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT
    found = list(breaches(package))
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
