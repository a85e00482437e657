import Foundation
import Testing

/// What judges an https:// parent waits for no parent that must be judged itself.
@Suite struct ParentRevocationTests {
  /// Parents with certificates about which the authority is asked, behind which the origin and the authority lie.
  private struct Scene {
    let world: TrustWorld
    let parents: [ParentServer]

    init(_ certificate: String = "named-crl", mode: String = "good", parents count: Int = 1) throws {
      world = try TrustWorld()
      try world.set(certificate, mode)
      let folder = world.folder
      parents = try (0..<count).map { _ in try ParentServer(folder, certificate: certificate) }
      for parent in parents { try parent.set(#"{"login": "\#(ParentServer.login)"}"#) }
    }

    /// - Parameters:
    ///   - names: of the parents; several may have one endpoint.
    ///   - via: of every host.
    ///   - entries: lines of `upstreams`.
    func configuration(_ names: [(String, ParentServer)], via: String, isHard: Bool, entries: [String]) -> String {
      let hard = isHard ? RevocationByOCSPTests.hard : ""
      let parents = names.map { name, parent in
        "  \(name): {url: \"\(parent.url("https"))\", trust: judged, credential: login-\(name)}"
      }
      let credentials = names.map { name, _ in
        "  login-\(name): {basic: {username: proxyuser, password: pw-5ecret-parent}}"
      }
      return """
        via: \(via)
        parents:
        \(parents.joined(separator: "\n"))
        credentials:
        \(credentials.joined(separator: "\n"))
        hosts: {authority.test: [127.0.0.1]}
        upstreams:
        \(entries.map { "  - " + $0 }.joined(separator: "\n"))
        trust:
          judged:
            \(world.root)
            - revocation: {check: leaf, methods: [crl, ocsp], timeout: 20s\(hard)}
        threads: 1
        \(RevocationByOCSPTests.loopback)

        """
    }
  }

  private func plainEntry() throws -> String {
    "{match: plain.test, origin: \"http://localhost:\(try Origin.shared().ports.http)\"}"
  }

  private func expectRevoked(_ answer: Answer, sourceLocation: SourceLocation = #_sourceLocation) {
    expectOwnAnswer(answer, 502, "tls_certificate_error", sourceLocation: sourceLocation)
    #expect(
      answer["Proxy-Status"]?.contains("revocation: revoked") == true, "\(answer.head)", sourceLocation: sourceLocation)
  }

  @Test func `two parents that were revoked get no password, even if each is the other's way to the authority`() throws {
    let scene = try Scene(mode: "revoked", parents: 2)
    let names = [("first", scene.parents[0]), ("second", scene.parents[1])]
    let configuration = scene.configuration(names, via: "[first, second]", isHard: false, entries: [try plainEntry()])
    try withProxy(configuration) { proxy throws in
      for _ in 0..<2 { expectRevoked(try proxy.ask("http://plain.test/echo")) }
      for parent in scene.parents { #expect(try parent.asked().isEmpty) }
      #expect(try scene.world.count("named-crl") == 1)
    }
  }

  @Test(arguments: [2, 1])
  func `parents that need an answer get it, also two names of one endpoint`(_ endpoints: Int) throws {
    let scene = try Scene(parents: endpoints)
    let names = [("first", scene.parents[0]), ("second", scene.parents[endpoints - 1])]
    let configuration = scene.configuration(names, via: "[first, second]", isHard: true, entries: [try plainEntry()])
    try withProxy(configuration) { proxy throws in
      #expect(try proxy.ask("http://plain.test/echo").status == 200, "\(proxy.tail)")
      #expect(try scene.parents[0].asked().map(\.kind) == ["absolute"])
      #expect(try scene.world.count("named-crl") == 1)
    }
  }

  @Test(arguments: [true, false])
  func `a parent is judged while it would carry the same question about an origin`(_ isGood: Bool) throws {
    let scene = try Scene(mode: isGood ? "good" : "revoked")
    let server = try TLSServer(scene.world, "named-crl")
    let entries = [
      "{match: direct.test, origin: \"https://localhost:\(server.port)\", trust: judged, via: direct}", try plainEntry(),
    ]
    let configuration = scene.configuration(
      [("only", scene.parents[0])], via: "only", isHard: isGood, entries: entries)
    try withProxy(configuration) { proxy throws in
      if isGood {
        #expect(try proxy.ask("http://direct.test/").status == 200, "\(proxy.tail)")
        #expect(try proxy.ask("http://plain.test/echo").status == 200, "\(proxy.tail)")
      } else {
        expectRevoked(try proxy.ask("http://direct.test/"))
        expectRevoked(try proxy.ask("http://plain.test/echo"))
        #expect(try scene.parents[0].asked().isEmpty)
      }
    }
  }

  @Test(arguments: [("good", false), ("error", false), ("error", true), ("revoked", false)])
  func `a parent's certificate is judged before the password leaves`(_ mode: String, _ isHard: Bool) throws {
    let scene = try Scene("named-ocsp", mode: mode)
    let configuration = scene.configuration(
      [("only", scene.parents[0])], via: "only", isHard: isHard, entries: [try plainEntry()])
    try withProxy(configuration) { proxy throws in
      let answer = try proxy.ask("http://plain.test/echo")
      #expect(try scene.world.count("named-ocsp") == 1)
      if mode == "good" || mode == "error" && !isHard {
        #expect(answer.status == 200, "\(answer.head)\n\(proxy.tail)")
        return
      }
      expectOwnAnswer(answer, 502, "tls_certificate_error")
      let reason = mode == "revoked" ? "revocation: revoked" : "revocation: revocation_unknown"
      #expect(answer["Proxy-Status"]?.contains(reason) == true, "\(answer.head)")
      #expect(answer["Proxy-Status"]?.contains(#"next-hop="only""#) == true, "\(answer.head)")
      #expect(try scene.parents[0].asked().isEmpty)
    }
  }

  @Test(arguments: ["plain.test", "tunnel"])
  func `waiting for the answer does not count as connecting`(_ kind: String) throws {
    let scene = try Scene("named-ocsp")
    try scene.world.set("named-ocsp", "good", delay: 4)
    let port = try Origin.shared().ports.http
    let configuration =
      scene.configuration([("only", scene.parents[0])], via: "only", isHard: true, entries: [try plainEntry()])
      + "timeouts: {connect: 2s, resolve: 1s}\nconnect: {allow: [\"*.far.test:\(port)\"]}\n"
    try withProxy(configuration) { proxy throws in
      if kind == "tunnel" {
        let client = try proxy.connect()
        try client.send("CONNECT x.far.test:\(port) HTTP/1.1\r\nHost: x.far.test:\(port)\r\n\r\n")
        #expect(try client.readText(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200"), "\(proxy.tail)")
      } else {
        #expect(try proxy.ask("http://plain.test/echo").status == 200, "\(proxy.tail)")
      }
      #expect(try scene.world.count("named-ocsp") == 1)
    }
  }

  @Test func `an http parent carries the questions that judge an https one`() throws {
    let scene = try Scene("named-ocsp")
    let plain = try ParentServer()
    var configuration = scene.configuration(
      [("judged", scene.parents[0])], via: "[judged, plain]", isHard: true, entries: [try plainEntry()])
    configuration = configuration.replacingOccurrences(
      of: "parents:\n", with: "parents:\n  plain: {url: \"\(plain.url("http"))\"}\n")
    try withProxy(configuration) { proxy throws in
      #expect(try proxy.ask("http://plain.test/echo").status == 200, "\(proxy.tail)")
      #expect(try plain.asked().map(\.target) == ["http://authority.test:\(scene.world.port)/live/named-ocsp"])
      #expect(try scene.parents[0].asked().map(\.kind) == ["absolute"])
    }
  }
}
