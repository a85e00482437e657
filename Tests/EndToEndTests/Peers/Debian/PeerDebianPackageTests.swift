import Foundation
import Testing

/// `make deb`, and what becomes of a bare Debian 12 with it.
@Suite(.serialized) struct PeerDebianPackageTests {
  /// - Returns: the package of the program.
  private static func build(revision: Int, into folder: String, _ options: String = "--compression none --without-symbols")
    throws
    -> String
  {
    let made = try ChildProcess.run(
      "make", ["--silent", "-o", "build", "deb", "OUT=\(folder)", "REVISION=\(revision)", "DEB=\(options)"],
      folder: Surroundings.root, seconds: 300)
    guard made.status == .exited(0), let first = made.output.split(separator: "\n").first(where: { $0.contains("/authproxy_") })
    else { throw HarnessError("make deb: \(made.output)\(made.errors)") }
    return String(first)
  }

  @Test(.needs("dpkg-deb"), .needs("lintian"))
  func `lintian has neither errors nor warnings, and debuggers find the program's symbols`() throws {
    let folder = try Surroundings.newFolder()
    let package = try Self.build(revision: 1, into: folder, "--compression gzip")
    let symbols = package.replacing("/authproxy_", with: "/authproxy-dbgsym_")
    let judged = try ChildProcess.run(
      "lintian", ["--allow-root", "--fail-on", "error,warning", package, symbols], seconds: 300)
    #expect(judged.status == .exited(0), "\(judged.output)\(judged.errors)")

    let unpacked = folder + "/unpacked"
    for file in [package, symbols] {
      let done = try ChildProcess.run("dpkg-deb", ["--extract", file, unpacked])
      guard done.status == .exited(0) else { throw HarnessError("dpkg-deb: \(done.errors)") }
    }
    func read(_ arguments: String...) throws -> String { try ChildProcess.run("readelf", arguments).output }
    let program = unpacked + "/usr/bin/authproxy"
    #expect(try !read("--sections", "--wide", program).contains(".symtab"))
    let identity = try #require(try read("--notes", program).firstMatch(of: /Build ID: ([0-9a-f]{2})([0-9a-f]+)/))
    let found = "\(unpacked)/usr/lib/debug/.build-id/\(identity.1)/\(identity.2).debug"
    #expect(try read("--sections", "--wide", found).contains(".symtab"))
    #expect(try read("--notes", found).contains("\(identity.1)\(identity.2)"))
  }

  @Test(.needs("dpkg-deb")) func `the same source makes the same bytes`() throws {
    let folders = (try Surroundings.newFolder(), try Surroundings.newFolder())
    let packages = (try Self.build(revision: 1, into: folders.0), try Self.build(revision: 1, into: folders.1))
    #expect(try ChildProcess.run("cmp", [packages.0, packages.1]).status == .exited(0))
  }

  @Test(.needs("a bare Debian", "test -f \(DebianMachine.archive) && unshare -mpn true"))
  func `the package is installed, serves, is upgraded under load, is removed, and leaves nothing when it is purged`() throws {
    let folder = try Surroundings.newFolder()
    let (first, second) = (try Self.build(revision: 1, into: folder), try Self.build(revision: 2, into: folder))
    let depends = try ChildProcess.run("dpkg-deb", ["--field", first, "Depends"]).output.trimmingCharacters(in: .newlines)
    let machine = try DebianMachine(packages: folder)
    func install(_ package: String) throws -> String {
      try machine.output("apt-get install -y /packages/\(URL(fileURLWithPath: package).lastPathComponent) 2>&1")
    }
    _ = try machine.output("apt-get satisfy -y --no-download --no-install-recommends '\(depends)'")
    let before = try machine.files()

    _ = try install(first)
    try expectInstalled(machine)
    try expectRefusals(machine)
    try expectUpgrade(machine) { try install(second) }

    // Removed: stopped, and what belongs to the operator stays.
    _ = try machine.output("touch /etc/authproxy/billing.token /var/lib/authproxy/tokens.json && apt-get remove -y authproxy")
    #expect(try machine.status("http://billing.test/") == "000")
    #expect(try machine.succeeds("grep -q billing /etc/authproxy/proxy.conf && test -f /var/lib/authproxy/tokens.json"))
    // The unit is enabled as before, and the configuration is the operator's.
    _ = try install(second)
    #expect(try machine.succeeds("systemctl restart authproxy && systemctl is-enabled authproxy"))
    #expect(try machine.status("http://billing.test/") == "502")

    _ = try machine.output("apt-get purge -y authproxy")
    #expect(try machine.files().subtracting(before) == ["/etc/authproxy", "/etc/authproxy/billing.token"])
    #expect(try !machine.succeeds("test -e /run/authproxy"))
    #expect(try machine.files().isSuperset(of: before))
    #expect(
      try machine.output(
        "systemctl list-unit-files --no-legend 'authproxy*'; find /etc/systemd /var/lib/systemd -name '*authproxy*'") == "")
    #expect(try machine.succeeds("rm -r /etc/authproxy"))
  }

  /// As an administrator finds it: nothing runs, and only those who should may read.
  private func expectInstalled(_ machine: DebianMachine) throws {
    #expect(try !machine.succeeds("systemctl is-active authproxy"))
    #expect(try !machine.succeeds("systemctl is-enabled authproxy"))
    let rights = """
      750 root:authproxy /etc/authproxy
      640 root:authproxy /etc/authproxy/proxy.conf
      700 authproxy:authproxy /var/lib/authproxy
      755 root:root /usr/bin/authproxy
      """
    let paths = rights.split(separator: "\n").compactMap { $0.split(separator: " ").last }.joined(separator: " ")
    #expect(try machine.output("stat -c '%a %U:%G %n' \(paths)") == rights)
    #expect(try machine.output("systemd-analyze verify --man=no authproxy.service 2>&1") == "")
    let checked = try machine.output(
      "setpriv --reuid authproxy --regid authproxy --clear-groups authproxy check --config /etc/authproxy/proxy.conf 2>&1")
    #expect(checked.contains("is valid"), "\(checked)")
    #expect(try machine.output("getent passwd authproxy").hasSuffix(":/var/lib/authproxy:/usr/sbin/nologin"))
    #expect(try machine.succeeds("cd / && md5sum --check --quiet /var/lib/dpkg/info/authproxy.md5sums"))
    #expect(try machine.output("dpkg --verify authproxy") == "")
  }

  /// The configuration of the package serves nobody, and its service runs as it says.
  private func expectRefusals(_ machine: DebianMachine) throws {
    // An error is reported once: a restart would not mend it.
    _ = try machine.output("cp -p /etc/authproxy/proxy.conf /tmp/ && echo 'nonsense: 1' >> /etc/authproxy/proxy.conf")
    #expect(try !machine.succeeds("systemctl start authproxy"))
    #expect(
      try machine.output("systemctl show --property ActiveState,ExecMainStatus,NRestarts authproxy | sort | xargs")
        == "ActiveState=failed ExecMainStatus=78 NRestarts=0")
    _ = try machine.output("cat /tmp/proxy.conf > /etc/authproxy/proxy.conf")
    _ = try machine.output("systemctl enable --now authproxy")
    #expect(try machine.status("http://example.com/") == "403")
    #expect(try machine.status("http://127.0.0.1:9128/healthz", proxy: nil) == "200")
    let process = try machine.output("systemctl show --property MainPID --value authproxy")
    #expect(try machine.output("id -un $(awk '/^Uid:/ {print $2}' /proc/\(process)/status)") == "authproxy")
    #expect(
      try machine.output("grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/\(process)/status | xargs")
        == "CapEff: 0000000000000000 NoNewPrivs: 1 Seccomp: 2")
  }

  /// Puts a configuration into place, with an entry for an origin.
  private func configure(_ machine: DebianMachine, _ listen: String, originPort: String) throws {
    let configuration = """
      listen: \(listen)
      admin: 127.0.0.1:9128
      upstreams: [{match: billing.test, origin: "http://127.0.0.1:\(originPort)"}]
      """
    try ProxyProcess.write(configuration, to: machine.packages + "/proxy.conf")
    _ = try machine.output("cat /packages/proxy.conf > /etc/authproxy/proxy.conf")
  }

  /// Expects that every request succeeds which comes in the meantime, on old connections or on new ones.
  private func expectNoLostRequest(_ machine: DebianMachine, during body: () throws -> Void) throws {
    let common = [
      "load", "--to", "127.0.0.1:3128", "--url", "http://billing.test/", "--clients", "8", "--rate", "100", "--requests",
      "1000000",
    ]
    let loads = try [[], ["--new-connections", "fin"]].map {
      try machine.start(try Surroundings.loadGenerator(), common + $0)
    }
    try body()
    for load in loads {
      load.signal(SIGTERM)
      guard load.awaitEnd(seconds: 30) == .exited(0) else { throw HarnessError("loadgen: \(load.output)\(load.errors)") }
      let result = try JSONDecoder().decode(LoadGenerator.Result.self, from: Data(load.output.utf8))
      #expect(result.failed == 0 && Set(result.statuses.keys) == ["200"] && result.finished > 20, "\(result)")
    }
  }

  private func expectUpgrade(_ machine: DebianMachine, _ upgrade: () throws -> String) throws {
    let origin = try machine.start(try Surroundings.loadGenerator(), ["serve", "--size", "1000"])
    defer { origin.signal(SIGTERM) }
    let port = try #require(origin.awaitLine { _ in true })
    try configure(machine, "127.0.0.1:3128", originPort: port)
    _ = try machine.output("systemctl reload authproxy")
    #expect(try eventually { try machine.status("http://billing.test/") == "200" })

    let process = "systemctl show --property MainPID --value authproxy"
    let running = try machine.output(process)
    try expectNoLostRequest(machine) {
      let said = try upgrade()
      #expect(said.contains("the running proxy is still version"), "\(said)")
    }
    #expect(try machine.output(process) == running)
    #expect(try machine.output("readlink /proc/\(running)/exe").hasSuffix("/usr/bin/authproxy (deleted)"))
    #expect(try machine.succeeds("grep -q billing /etc/authproxy/proxy.conf"))
    _ = try machine.output("systemctl restart authproxy")
    #expect(try machine.output("readlink /proc/$(\(process))/exe").hasSuffix("/usr/bin/authproxy"))
    #expect(try machine.status("http://billing.test/") == "200")

    // If systemd holds the socket, the restart loses no request either.
    let unit = "[Socket]\nListenStream=127.0.0.1:3128\n"
    try ProxyProcess.write(unit, to: machine.packages + "/authproxy.socket")
    try configure(machine, "[{address: \"fd:3\", clients: optional}]", originPort: port)
    let socket = "/run/systemd/system/authproxy.socket"
    _ = try machine.output(
      "systemctl stop authproxy; cp /packages/authproxy.socket \(socket); systemctl daemon-reload; systemctl start authproxy.socket authproxy"
    )
    try expectNoLostRequest(machine) { _ = try machine.output("systemctl restart authproxy && systemctl restart authproxy") }
    _ = try machine.output("systemctl stop authproxy authproxy.socket; rm \(socket); systemctl daemon-reload")
    try configure(machine, "127.0.0.1:3128", originPort: port)
    _ = try machine.output("systemctl start authproxy")
  }
}
