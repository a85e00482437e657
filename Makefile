# Everything here works on a fresh Debian 12 with Swift: what is missing is installed first.
SHELL := /bin/bash
PREFIX ?= /usr/local
# `make fuzz SECONDS=60`; bash counts a variable of this name up by itself, so it travels under another one.
SECONDS ?= 60

# One flag set for each scratch path: other flags in the same folder rebuild everything.
RELEASE := swift build -c release --static-swift-stdlib
PROGRAM := .build/release/authproxy
VENV := .build-venv
SOURCES := Sources Tests Package.swift

.PHONY: run test build lint bench instructions fuzz install clean packages packages-bench packages-install packages-instructions packages-lint unit-tests end-to-end-tests checked-tests

run: build
	$(PROGRAM) demo

test: build $(VENV)/complete unit-tests end-to-end-tests

build: packages
	$(RELEASE) --product authproxy

unit-tests: packages $(VENV)/complete
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" Tests/run.sh --skip EndToEndTests

# Against the release program, in a run of their own: the unit tests' timing is theirs.
end-to-end-tests: build $(VENV)/complete
	AUTHPROXY_BINARY="$(CURDIR)/$(PROGRAM)" PATH="$(CURDIR)/$(VENV)/bin:$$PATH" Tests/run.sh --filter EndToEndTests

# The data path's release build does without exclusivity checks; the debug build has them. DeploymentTests look at the release build.
CHECKED ?= ChunkedRequest|ConnectTunnel|Decompress|EarlyAnswer|InterimResponse|LargeBodies|Pipelining|RefusedToken|SharedLimit|StalePooled|WebSocket
checked-tests: $(VENV)/complete
	swift build --product authproxy
	AUTHPROXY_BINARY="$(CURDIR)/.build/debug/authproxy" PATH="$(CURDIR)/$(VENV)/bin:$$PATH" \
	  Tests/run.sh --skip DeploymentTests --filter 'EndToEndTests\.($(CHECKED))'

# Format; what is imported, and where; the shape of the parts. Known breaches: Tests/Lint/known.json, each with its reason.
lint: packages-lint
	swift format lint --strict -r $(SOURCES)
	python3 Tests/Lint/lint_test.py
	python3 Tests/Lint/walls.py
	python3 Tests/Lint/parts.py

bench: build packages-bench
	python3 Tests/Benchmarks/bench.py --program "$(CURDIR)/$(PROGRAM)" $(BENCH)

# Instructions and system calls per request against Tests/Benchmarks/instructions.json; `make instructions WRITE=--write` renews that.
# `make instructions BASE=path/to/another/authproxy` compares two builds on this machine, and judges their ratio.
instructions: build packages-instructions
	python3 Tests/Benchmarks/instructions.py --program "$(CURDIR)/$(PROGRAM)" $(if $(BASE),--base "$(BASE)") $(WRITE)

fuzz: packages
	Tests/Fuzz/run.sh $(SECONDS)

# The program goes without its symbols, which are half of it; they are where debuggers look for them, in .debug beside it.
INSTALLED := .build/installed
install: build packages-install
	install -d $(INSTALLED)
	objcopy --only-keep-debug $(PROGRAM) $(INSTALLED)/authproxy.debug
	objcopy --strip-all --add-gnu-debuglink=$(INSTALLED)/authproxy.debug $(PROGRAM) $(INSTALLED)/authproxy
	install -D -m 755 $(INSTALLED)/authproxy "$(DESTDIR)$(PREFIX)/bin/authproxy"
	install -D -m 644 $(INSTALLED)/authproxy.debug "$(DESTDIR)$(PREFIX)/bin/.debug/authproxy.debug"
	install -D -m 644 proxy.conf.example "$(DESTDIR)$(PREFIX)/share/doc/authproxy/proxy.conf.example"
	install -d "$(DESTDIR)$(PREFIX)/lib/systemd/system"
	sed 's|@PREFIX@|$(PREFIX)|g' docs/authproxy.service > "$(DESTDIR)$(PREFIX)/lib/systemd/system/authproxy.service"

clean:
	rm -rf .build .build-*

packages:
	@.ci/packages build test

packages-bench:
	@.ci/packages build bench

packages-install:
	@.ci/packages install

packages-instructions:
	@.ci/packages build instructions

packages-lint:
	@.ci/packages lint

# The peers that the tests talk to are in Python; what they import is pinned.
$(VENV)/complete: Tests/Support/requirements.txt | packages
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@
