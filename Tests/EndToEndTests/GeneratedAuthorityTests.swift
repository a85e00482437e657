import Foundation
import Testing

/// `ca: {generate: ...}`: a folder that the proxy fills. What is in it decides, at every start and reload.
@Suite struct GeneratedAuthorityTests {
  private let folder: String
  private var ca: String { folder + "/ca" }
  private var files: FileManager { .default }

  init() throws { folder = try Surroundings.newFolder() }

  private func configuration(match: String = "https://api.test") throws -> String {
    try Intercepted.configuration(match: match, top: "intercept: {ca: {generate: \(ca)}}")
  }

  private func expectServed(_ proxy: ProxyProcess, _ root: String) throws {
    let seen = try proxy.inside(ProxyProcess.last("GET", "/echo"), root: "\(ca)/\(root)")
    #expect(seen.statuses == [200], "\(root): \(seen)")
  }

  @Test func `a gap in the numbers hides no CA, and no start makes another one`() throws {
    try Authority.create(ca, for: "api.test")
    for (name, other) in [("issuer.pem", "issuer-3.pem"), ("issuer.key", "issuer-3.key"), ("ca.pem", "ca-3.pem")] {
      try files.moveItem(atPath: "\(ca)/\(name)", toPath: "\(ca)/\(other)")
    }
    let before = try Authority.names(ca)
    for _ in 0..<2 {
      try withProxy(try configuration()) { proxy throws in
        try expectServed(proxy, "ca-3.pem")
        try proxy.reload()
      }
      #expect(try Authority.names(ca) == before)
    }
  }

  @Test func `what a killed process left is told, and replaced once`() throws {
    try Authority.create(ca, for: "api.test")
    try files.removeItem(atPath: "\(ca)/issuer.pem")
    for _ in 0..<2 {
      try withProxy(try configuration()) { proxy throws in
        try expectServed(proxy, "ca-2.pem")
        #expect(proxy.process.errors.contains("\(ca)/issuer.pem is missing"), "\(proxy.process.errors)")
      }
      #expect(try Authority.names(ca) == ["ca-2.pem", "ca.pem", "issuer-2.key", "issuer-2.pem", "issuer.key"])
    }
  }

  @Test func `a file of the CA in use that is gone is an error of the reload, and the CA serves`() throws {
    try withProxy(try configuration()) { proxy throws in
      let kept = folder + "/kept"
      try files.copyItem(atPath: ca, toPath: kept)
      for (gone, told) in [
        (["issuer.pem"], "\(ca)/issuer.pem is gone"), (["issuer.key"], "\(ca)/issuer.key"),
        (["issuer.pem", "issuer.key", "ca.pem"], "are gone from \(ca)"),
      ] {
        for name in gone { try files.removeItem(atPath: "\(ca)/\(name)") }
        let line = try proxy.reload(expecting: "reload failed")
        #expect(line.contains(told), "\(line)")
        let seen = try proxy.inside(ProxyProcess.last("GET", "/echo"), root: kept + "/ca.pem")
        #expect(seen.statuses == [200], "\(gone): \(seen)")
        #expect(try !Authority.names(ca).contains("issuer-2.pem"))
        for name in gone { try files.copyItem(atPath: "\(kept)/\(name)", toPath: "\(ca)/\(name)") }
      }
      try proxy.reload()
      #expect(try Authority.names(ca) == ["ca.pem", "issuer.key", "issuer.pem"])
    }
  }

  @Test func `a CA that an operator removes whole goes, if another one signs`() throws {
    try withProxy(try configuration()) { proxy throws in
      let other = folder + "/other"
      try Authority.create(other, for: "api.test")
      for (name, number) in [("issuer.key", "issuer-2.key"), ("ca.pem", "ca-2.pem"), ("issuer.pem", "issuer-2.pem")] {
        try files.copyItem(atPath: "\(other)/\(name)", toPath: "\(ca)/\(number)")
      }
      try proxy.reload()
      try expectServed(proxy, "ca.pem")
      for name in ["issuer.key", "ca.pem", "issuer.pem"] { try files.removeItem(atPath: "\(ca)/\(name)") }
      try proxy.reload()
      try expectServed(proxy, "ca-2.pem")
    }
    let before = try Authority.names(ca)
    try withProxy(try configuration()) { proxy throws in try expectServed(proxy, "ca-2.pem") }
    #expect(try Authority.names(ca) == before)
  }

  @Test func `two proxies that start at once on one folder have one CA`() throws {
    let text = try ProxyProcess.complete(try configuration())
    let children = try (0..<2).map { _ in
      let own = try Surroundings.newFolder()
      try ProxyProcess.write(text, to: own + "/proxy.conf")
      return try ChildProcess(Surroundings.program, ["run", "--config", own + "/proxy.conf"])
    }
    defer { for child in children { child.signal(SIGKILL) } }
    for child in children {
      let line = child.awaitLine { $0.contains("\"serving\"") }
      let port = line?.firstMatch(of: /"addresses":\["127\.0\.0\.1:(\d+)"/).flatMap { Int($0.1) }
      let client = try ChildProcess.run(
        "curl",
        [
          "-sS", "--noproxy", "", "--cacert", ca + "/ca.pem", "-x", "http://127.0.0.1:\(port ?? 0)", "https://api.test/echo",
        ])
      #expect(client.status == .exited(0), "\(client.errors)\(child.errors)")
    }
    #expect(try Authority.names(ca) == ["ca.pem", "issuer.key", "issuer.pem"])
  }

  @Test func `what cannot be written whole is not written`() throws {
    try ProxyProcess.write(try ProxyProcess.complete(try configuration()), to: folder + "/proxy.conf")
    // Files of at most 1 KiB: room for a key and a root, not for issuer.pem.
    let limit = "trap '' XFSZ; ulimit -f 1; exec \"$@\""
    let done = try ChildProcess.run(
      "bash", ["-c", limit, "bash", Surroundings.program, "run", "--config", folder + "/proxy.conf"])
    #expect(done.status == .exited(78), "\(done.output)")
    #expect(done.errors.contains("\(ca)/issuer.pem: File too large"), "\(done.errors)")
    #expect(try Authority.names(ca) == [])
  }

  @Test(.enabled(if: geteuid() == 0)) func `a CA that another user put there is an error, and an open folder is told`() throws {
    try Authority.create(ca, for: "api.test")
    chmod(ca, 0o777)
    try withProxy(try configuration()) { proxy throws in
      #expect(proxy.process.errors.contains("others may write \(ca)"), "\(proxy.process.errors)")
      try expectServed(proxy, "ca.pem")
      chown(ca + "/issuer.key", 65_534, 65_534)
      let line = try proxy.reload(expecting: "reload failed")
      #expect(line.contains("\(ca)/issuer.key belongs to another user"), "\(line)")
      try expectServed(proxy, "ca.pem")
    }
  }
}
