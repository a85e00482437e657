# Every target works on a fresh Debian 12 with Swift, and first installs missing packages.
SHELL := /bin/bash
PREFIX ?= /usr/local
# `make fuzz SECONDS=60`. bash itself increments a variable of this name, so the script gets the value as an argument.
SECONDS ?= 60

# One flag set for each scratch path: other flags in the same folder rebuild everything. No library is looked for beside the program. Generic
# types are made by calls, not found by name: a search through all conformances of the program for each took a third of a start.
RELEASE := swift build -c release --static-swift-stdlib --disable-local-rpath \
	-Xswiftc -Xfrontend -Xswiftc -disable-concrete-type-metadata-mangled-name-accessors
PROGRAM := .build/release/authproxy
VENV := .build-venv
SOURCES := Sources Tests Package.swift

.PHONY: run test test-peers build lint bench soak instructions fuzz install deb clean packages packages-bench packages-install packages-deb packages-instructions packages-lint packages-peers unit-tests end-to-end-tests checked-tests

run: build
	$(PROGRAM) demo

test: build $(VENV)/complete unit-tests end-to-end-tests

build: packages
	$(RELEASE) --product authproxy

# Tests of stores wait for servers and hold threads meanwhile, which others with a time limit need.
STORES := RedisClientTests|KubernetesStoreTests
unit-tests: packages $(VENV)/complete
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" Tests/run.sh --skip EndToEndTests --skip '^($(STORES))\.'
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" Tests/run.sh --filter '^($(STORES))\.'

# With the release program, in a separate run, so that they do not disturb the unit tests' timing.
end-to-end-tests: build $(VENV)/complete
	AUTHPROXY_BINARY="$(CURDIR)/$(PROGRAM)" PATH="$(CURDIR)/$(VENV)/bin:$$PATH" Tests/run-in-quarters.sh

# https:// URLs with clients by other hands. Tests whose client cannot be installed are skipped, and listed. What measures memory and
# time runs alone.
CROWDS := HandshakeCrowd|HTTP2Distance|Rotation|Failover|CacheLimit|FleetLoad|FleetFaults
test-peers: build $(VENV)/complete packages-peers
	AUTHPROXY_BINARY="$(CURDIR)/$(PROGRAM)" PATH="$(CURDIR)/$(VENV)/bin:$$PATH" Tests/run.sh --filter 'EndToEndTests\.Peer' \
	  --skip 'EndToEndTests\.Peer($(CROWDS))'
	AUTHPROXY_BINARY="$(CURDIR)/$(PROGRAM)" PATH="$(CURDIR)/$(VENV)/bin:$$PATH" Tests/run.sh --no-parallel \
	  --filter 'EndToEndTests\.Peer($(CROWDS))'

# Only the debug build checks exclusive access on the data path. DeploymentTests need the release build.
CHECKED ?= Cache|HTTP2|ChunkedRequest|ConnectTunnel|ConnectToEntry|ConnectionAuthentication|CutAnswer|Decompress|EarlyAnswer|ExpiredToken|InterimResponse|LargeBodies|LeavingClient|Pipelining|RefusedToken|Reload|Retry|SharedLimit|StalePooled|WebSocket|Intercept|Handshake|OneAuthorityInside|PausedRefusal|TLSListener|ProxyProtocol|HMAC|HTTPSignature|JWT|SigV4|WholeBody|DigestNonce|DigestTests|Parent|OriginPath|HeaderRules|UnixOrigin|QueryCredential|PathCredential|Redirect|ObjectStore|OriginList|KeptBodies
checked-tests: $(VENV)/complete
	swift build --product authproxy
	AUTHPROXY_BINARY="$(CURDIR)/.build/debug/authproxy" PATH="$(CURDIR)/$(VENV)/bin:$$PATH" \
	  Tests/run.sh --skip DeploymentTests --filter 'EndToEndTests\.($(CHECKED))'

# Checks the format, the imports, the shape of the parts, and the documents against the code. Tests/Lint/known.json lists known
# exceptions with their reasons.
lint: packages packages-lint
	swift format lint --strict -r $(SOURCES)
	python3 Tests/Lint/lint_test.py
	python3 Tests/Lint/walls.py
	python3 Tests/Lint/parts.py
	python3 Tests/Lint/dashboard.py
	Tests/run.sh --filter 'PageTests'

bench: build packages-bench $(VENV)-bench/complete
	PATH="$(CURDIR)/$(VENV)-bench/bin:$$PATH" python3 Tests/Benchmarks/bench.py --program "$(CURDIR)/$(PROGRAM)" $(BENCH)

# Half an hour of everything at once: fails if the process then needs more memory or descriptors than in its first minutes.
soak: build packages-bench
	python3 Tests/Benchmarks/soak.py --program "$(CURDIR)/$(PROGRAM)" $(SOAK)

# Compares instructions and system calls per request with Tests/Benchmarks/instructions.json; `make instructions WRITE=--write`
# updates the file. `make instructions BASE=path/to/another/authproxy` compares two builds on this machine.
instructions: build packages-instructions
	python3 Tests/Benchmarks/instructions.py --program "$(CURDIR)/$(PROGRAM)" $(if $(BASE),--base "$(BASE)") $(WRITE)

fuzz: packages
	Tests/Fuzz/run.sh $(SECONDS)

# Installs the program without its symbols, which are half of it. They go into .debug next to it, where debuggers look for them.
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
	install -D -m 644 packaging/authproxy.sysusers "$(DESTDIR)$(PREFIX)/lib/sysusers.d/authproxy.conf"
	packaging/man.py $(PROGRAM) "$(PREFIX)/share/doc/authproxy" > $(INSTALLED)/authproxy.1
	install -D -m 644 $(INSTALLED)/authproxy.1 "$(DESTDIR)$(PREFIX)/share/man/man1/authproxy.1"
	$(PROGRAM) schema > $(INSTALLED)/proxy.schema.json
	install -D -m 644 $(INSTALLED)/proxy.schema.json "$(DESTDIR)$(PREFIX)/share/authproxy/proxy.schema.json"
	for shell in bash zsh fish; do $(PROGRAM) --generate-completion-script $$shell > $(INSTALLED)/$$shell || exit; done
	install -D -m 644 $(INSTALLED)/bash "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/authproxy"
	install -D -m 644 $(INSTALLED)/zsh "$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_authproxy"
	install -D -m 644 $(INSTALLED)/fish "$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/authproxy.fish"

# Packages for Debian 12, with the program's symbols in one of their own. `make deb REVISION=2` for another version of the package;
# OUT is the folder for them.
OUT ?= .build/deb
deb: build packages-deb
	packaging/deb/build.py --program $(PROGRAM) --out "$(OUT)" $(if $(REVISION),--revision $(REVISION)) $(DEB)

clean:
	rm -rf .build .build-*

packages:
	@.ci/packages build test

packages-bench:
	@.ci/packages build bench

packages-install:
	@.ci/packages install

packages-deb:
	@.ci/packages deb

packages-instructions:
	@.ci/packages build instructions

packages-lint:
	@.ci/packages lint

packages-peers:
	-@.ci/packages peers
	-@$(MAKE) --no-print-directory $(VENV)-peers/complete
	-@$(MAKE) --no-print-directory .build-debian/base.tar

# A bare Debian, in which tests install the package.
.build-debian/base.tar: Tests/Support/debian/base.sh
	$< $@

# The tests' peers are in Python; their packages are pinned.
$(VENV)/complete: Tests/Support/requirements.txt | packages
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

$(VENV)-bench/complete: Tests/Benchmarks/requirements.txt | packages
	python3 -m venv $(VENV)-bench
	$(VENV)-bench/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

# Servers and clients by other hands, apart from the packages that all tests need.
$(VENV)-peers/complete: Tests/Support/peers/requirements.txt | packages
	python3 -m venv $(VENV)-peers
	$(VENV)-peers/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@
