import Foundation
import Testing

/// Compares the repository's texts about installing and running with the program.
@Suite struct DeploymentTests {
  private func text(_ path: String) throws -> String {
    try String(contentsOfFile: Surroundings.root + "/" + path, encoding: .utf8)
  }

  /// A tool of docker/requirements.txt, if it is installed.
  private static func tool(_ name: String) -> String? {
    let folders =
      [Surroundings.root + "/.build-venv/bin"]
      + (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
    return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  @Test(.enabled(if: tool("hadolint") != nil)) func `hadolint finds nothing in the Dockerfile`() throws {
    let checked = try ChildProcess.run(Self.tool("hadolint") ?? "", [Surroundings.root + "/docker/Dockerfile"])
    #expect(checked.status == .exited(0), "\(checked.output)\(checked.errors)")
  }

  @Test func `the image has the packages of every library that the program is linked with`() throws {
    let dynamic = try ChildProcess.run("readelf", ["-d", Surroundings.program])
    guard dynamic.status == .exited(0) else { throw HarnessError("readelf: \(dynamic.errors)") }
    let needed = dynamic.output.split(separator: "\n").filter { $0.contains("(NEEDED)") }.compactMap {
      $0.split(separator: "[").last?.split(separator: "]").first.map(String.init)
    }
    #expect(needed.count > 4)
    // It is loaded, not linked.
    let loaded = ["libcurl.so.4"]
    let dockerfile = try text("docker/Dockerfile")
    let runtime = try #require(dockerfile.components(separatedBy: "FROM debian").last)
    let packages = [
      "libcurl.so.4": "libcurl4", "libssl.so.3": "libssl3", "libcrypto.so.3": "libssl3", "libz.so.1": "zlib1g",
      "libyaml-0.so.2": "libyaml-0-2", "libstdc++.so.6": "libstdc++6", "libgssapi_krb5.so.2": "libgssapi-krb5-2",
      "libkrb5.so.3": "libkrb5-3", "libnghttp2.so.14": "libnghttp2-14",
    ]
    // In every Debian, as dpkg itself needs them.
    let base: Set = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"]
    for library in needed + loaded where !base.contains(library) {
      let package = try #require(packages[library], "\(library) is in no package of the image")
      #expect(runtime.contains(package), "\(library) wants \(package)")
    }
  }

  @Test func `the image gets the program without its symbols`() throws {
    let copied = try text("docker/Dockerfile").matches(of: /COPY --from=build (\S+) \S+/).map { String($0.1) }
    #expect(copied.count == 1)
    for path in copied {
      #expect(try text("docker/Dockerfile").contains("strip -o \(path) .build/release/authproxy\n"), "\(path) is not stripped")
    }
  }

  @Test func `the image's program is built as the Makefile builds it`() throws {
    func flags(_ text: String) throws -> [Substring] {
      let command = try #require(text.replacing("\\\n", with: " ").firstMatch(of: /swift build -c release([^\n]*)/)).1
      return command.split(whereSeparator: \.isWhitespace).prefix { $0 != "--product" }
    }
    let made = try flags(try text("Makefile"))
    #expect(made.count > 4)
    #expect(try flags(try text("docker/Dockerfile")) == made)
  }

  @Test(arguments: ["proxy.conf"] + composed)
  func `the examples for compose are configurations that check accepts`(file: String) throws {
    let checked = try Manifests.check(try text("docker/\(file)"))
    #expect(checked.status == .exited(0), "\(checked.errors)")
  }

  static let composed = ["fleet/proxy.conf"]

  @Test(arguments: Manifests.patterns.flatMap { pattern in ([nil] + Manifests.stores).map { (pattern, $0) } })
  func `the examples for Kubernetes are configurations that check accepts, with each store`(pattern: String, store: String?)
    throws
  {
    let checked = try Manifests.check(try Manifests.configuration(pattern, store))
    #expect(checked.status == .exited(0), "\(checked.errors)")
  }

  @Test func `the rights that the examples give are those that the guide names`() throws {
    let (guide, role) = (try text("docs/fleet.md"), try text("docker/kubernetes/store-kubernetes/role.yaml"))
    #expect(role.contains("verbs: [get, watch, patch]") && guide.contains("verbs: [get, watch, patch]"))
    let rules =
      "~authproxy:* &authproxy:* -@all +@connection +get +set +del +eval +time +publish +subscribe +unsubscribe +wait"
      + " +pubsub|numsub"
    for file in ["docs/fleet.md", "docker/kubernetes/store-redis/acl.conf", "docker/fleet/valkey.sh"] {
      #expect(try text(file).contains(rules), "\(file)")
    }
  }

  @Test func `every status and error that the guide lists is one that the program has, and none is missing`() throws {
    let guide = try text("docs/operations.md")
    let table = try #require(
      guide.components(separatedBy: "## Answers made by the proxy").last?.components(separatedBy: "\n## ").first)
    let source = try ["Answer+ProxyError", "Answer+UpstreamError"].map { try text("Sources/Proxy/Failure/\($0).swift") }
      .joined()
    var built = Set<String>()
    for match in source.matches(of: /status: (\d+),[^\n]*?error: "([a-z_]+)"/) { built.insert("\(match.1) \(match.2)") }
    for match in source.matches(of: /error: "([a-z_]+)"/) where !built.contains(where: { $0.hasSuffix(" \(match.1)") }) {
      built.insert("? \(match.1)")
    }
    for pair in built {
      let parts = pair.split(separator: " ")
      let row = table.split(separator: "\n").contains {
        $0.contains("`\(parts[1])`") && (parts[0] == "?" || $0.contains(parts[0]))
      }
      #expect(row, "\(pair) is not in the guide")
    }
    for match in table.matches(of: /`([a-z_]+_[a-z_]+)`/) where !["client_authorization"].contains(String(match.1)) {
      #expect(source.contains("\"\(match.1)\"") || !table.contains("| `\(match.1)` |"), "\(match.1) is in the guide only")
    }
  }

  @Test func `make install puts program, example and unit where the unit and the guide say`() throws {
    let folder = try Surroundings.newFolder()
    let install = try ChildProcess.run(
      "make", ["--silent", "-o", "build", "install", "PREFIX=/opt/authproxy", "DESTDIR=\(folder)"], folder: Surroundings.root)
    guard install.status == .exited(0) else { throw HarnessError("make install: \(install.errors)") }
    let program = folder + "/opt/authproxy/bin/authproxy"
    #expect(try ChildProcess.run(program, ["--version"]).status == .exited(0))
    // Without its symbols, which are where debuggers look for them.
    func sections(_ path: String) throws -> String { try ChildProcess.run("readelf", ["--sections", "--wide", path]).output }
    let (installed, symbols) = (try sections(program), try sections(folder + "/opt/authproxy/bin/.debug/authproxy.debug"))
    #expect(!installed.contains(".symtab") && !installed.contains(".debug_info"), "\(installed)")
    #expect(installed.contains(".gnu_debuglink"))
    #expect(symbols.contains(".symtab"), "\(symbols)")
    let link = try ChildProcess.run("readelf", ["--debug-dump=links", program])
    #expect(link.output.contains("authproxy.debug"), "\(link.output)")
    let unit = try String(contentsOfFile: folder + "/opt/authproxy/lib/systemd/system/authproxy.service", encoding: .utf8)
    #expect(unit.contains("ExecStart=/opt/authproxy/bin/authproxy run --config /etc/authproxy/proxy.conf"))
    #expect(
      unit.contains("Type=notify") && unit.contains("ExecReload=/bin/kill -HUP $MAINPID") && unit.contains("WatchdogSec="))
    #expect(unit.contains("\nLimitCORE=0\n"))
    let users = try String(contentsOfFile: folder + "/opt/authproxy/lib/sysusers.d/authproxy.conf", encoding: .utf8)
    #expect(unit.contains("\nUser=authproxy\n") && users.hasPrefix("u authproxy "))
    #expect(!unit.contains("@PREFIX@"))
    for path in [
      "doc/authproxy/proxy.conf.example", "man/man1/authproxy.1", "bash-completion/completions/authproxy",
      "zsh/site-functions/_authproxy", "fish/vendor_completions.d/authproxy.fish", "authproxy/proxy.schema.json",
    ] {
      let installed = try String(contentsOfFile: folder + "/opt/authproxy/share/" + path, encoding: .utf8)
      #expect(installed.contains("authproxy"), "\(path)")
    }
    let page = try String(contentsOfFile: folder + "/opt/authproxy/share/man/man1/authproxy.1", encoding: .utf8)
    #expect(page.contains("/opt/authproxy/share/doc/authproxy/proxy.conf.example"))
  }

  @Test func `every alert is explained, and every metric that an alert asks for exists`() throws {
    let (alerts, metrics) = (try text("docs/alerts.yml"), try text("docs/metrics.md"))
    let names = alerts.matches(of: /alert: (\w+)/).map { String($0.1) }
    #expect(names.count >= 6)
    for name in names { #expect(metrics.contains("**\(name)**"), "\(name)") }
    for match in alerts.matches(of: /\b(?:authproxy|process)_[a-z_]+/) {
      #expect(metrics.contains("`\(match.0)"), "\(match.0)")
    }
  }
}
