import Foundation
import Testing

/// `listen[].tls`: apps speak TLS to the proxy itself.
@Suite struct TLSListenerTests {
  private let folder: String

  init() throws { folder = try Surroundings.newFolder() }

  private func listen(_ tls: String, clients: String = "") -> String {
    "listen: {address: 127.0.0.1:0, tls: {\(tls)}\(clients)}\n"
  }

  private func configuration(_ listen: String, top: String = "") throws -> String {
    let ca = "intercept: {ca: {generate: \(folder)/ca}}"
    let clear =
      "  - {name: clear, match: api.test, origin: \"https://localhost:\(try Origin.shared().ports.https)\", credential: api}"
    return listen + (try Intercepted.configuration(entries: clear, top: ca + "\n" + top))
  }

  private var root: String { folder + "/ca/ca.pem" }

  private func curl(_ proxy: ProxyProcess, _ url: String, _ more: [String] = []) throws -> ChildProcess.Finished {
    let common = ["-sS", "--noproxy", "", "--proxy-cacert", root, "--cacert", root, "-x", "https://localhost:\(proxy.port)"]
    return try ChildProcess.run("curl", common + more + [url])
  }

  /// A certificate of its own authority.
  private func certificate(_ name: String, _ extensions: String) throws {
    let made = try ChildProcess.run(
      "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "\(folder)/\(name).key",
        "-out", "\(folder)/\(name).pem", "-subj", "/CN=billing", "-days", "2", "-addext", "subjectAltName=\(extensions)",
      ])
    guard made.status == .exited(0) else { throw HarnessError(made.errors) }
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(folder)/\(name).key")
  }

  @Test func `http and https URLs through a listener with a leaf of ours`() throws {
    try withProxy(try configuration(listen("names: [localhost]"))) { proxy throws in
      for url in ["http://api.test/echo", "https://api.test/echo"] {
        let done = try curl(proxy, url)
        #expect(done.status == .exited(0), "\(url): \(done.errors)")
        #expect(done.output.contains("Bearer \(Configuration.token)"), "\(url)")
      }
      // TLS in TLS, on one connection.
      let requests = ProxyProcess.request("GET", "/echo?a", ["Host: api.test"]) + ProxyProcess.last("GET", "/echo?b")
      let seen = try proxy.inside(requests, root: root, "--over", "localhost:\(root)", "--alpn", "http/1.1")
      #expect(seen.statuses == [200, 200] && seen.end == "close_notify", "\(seen)")
      let bytewise = try proxy.inside(
        ProxyProcess.last("GET", "/echo"), root: root, "--over", "localhost:\(root)", "--bytewise")
      #expect(bytewise.statuses == [200], "\(bytewise)")
      let together = try proxy.inside(
        ProxyProcess.last("GET", "/echo"), root: root, "--over", "localhost:\(root)", "--together")
      #expect(together.statuses == [200], "\(together)")
      let wrong = try proxy.inside("", root: root, "--over", "localhost:\(root)", "--sni", "other.test")
      #expect(wrong.handshake.contains("UNRECOGNIZED_NAME"), "\(wrong)")
    }
  }

  @Test func `a listener with files of its own, whose change is seen by a reload`() throws {
    try certificate("proxy", "DNS:localhost")
    let files = "certificate: \(folder)/proxy.pem, key: {file: \(folder)/proxy.key}"
    let text = try configuration(listen(files))
    try withProxy(text) { proxy throws in
      let own = ["--proxy-cacert", folder + "/proxy.pem"]
      #expect(try curl(proxy, "http://api.test/echo", own).status == .exited(0))
      let before = try String(contentsOfFile: folder + "/proxy.pem", encoding: .utf8)
      try before.write(toFile: folder + "/old.pem", atomically: true, encoding: .utf8)
      try certificate("proxy", "DNS:localhost")
      try proxy.reload(text)
      #expect(try curl(proxy, "http://api.test/echo", own).status == .exited(0))
      #expect(try curl(proxy, "http://api.test/echo", ["--proxy-cacert", folder + "/old.pem"]).status != .exited(0))
    }
  }

  @Test func `clear HTTP to it is a 400 with a sentence`() throws {
    try withProxy(try configuration(listen("names: [localhost]"))) { proxy throws in
      let answer = try proxy.ask("http://api.test/echo")
      #expect(answer.status == 400 && answer.text.contains("https://"), "\(answer.head)\(answer.text)")
    }
  }

  @Test func `TLS to a plain listener is a close and a log line`() throws {
    try withProxy(try Intercepted.configuration()) { proxy throws in
      let client = try proxy.connect()
      try client.send([0x16, 0x03, 0x01, 0x00, 0x05, 0x01, 0x00, 0x00, 0x01, 0x00])
      #expect(try client.readToEnd().bytes.isEmpty)
      #expect(proxy.process.awaitLine(seconds: 5) { $0.contains("plain listener") } != nil)
    }
  }

  @Test func `silence is closed in time`() throws {
    try withProxy(try configuration(listen("names: [localhost]"), top: "timeouts: {handshake: 1s}")) { proxy throws in
      for bytes: [UInt8] in [[], [0x16, 3]] {
        let client = try proxy.connect()
        if !bytes.isEmpty { try client.send(bytes) }
        #expect(try client.readToEnd(seconds: 8).bytes.isEmpty)
      }
    }
  }

  @Test func `a verified certificate says who a client is, by SAN; another one's counts as none`() throws {
    try certificate("billing", "URI:spiffe://example.test/billing")
    try certificate("stranger", "URI:spiffe://example.test/stranger,DNS:billing")
    let both = folder + "/clients.pem"
    let pem = try ["billing", "stranger"].map { try String(contentsOfFile: "\(folder)/\($0).pem", encoding: .utf8) }
    try pem.joined().write(toFile: both, atomically: true, encoding: .utf8)
    try certificate("unknown", "URI:spiffe://example.test/billing")
    let clients = """
      clients:
        - {name: billing, certificate: {uri: "spiffe://example.test/billing"}}
        - {name: other, password: other-5ecret, allow: []}
      """
    let listen = listen("names: [localhost], client_certificates: {ca_file: \(both)}", clients: ", clients: required")
    try withProxy(try configuration(listen, top: clients)) { proxy throws in
      func shown(_ name: String) -> [String] {
        ["--proxy-cert", "\(folder)/\(name).pem", "--proxy-key", "\(folder)/\(name).key", "-w", "%{http_code}/%{http_connect}"]
      }
      for url in ["http://api.test/echo", "https://api.test/echo"] {
        let good = try curl(proxy, url, shown("billing"))
        #expect(good.output.contains("Bearer \(Configuration.token)"), "\(url): \(good)")
        #expect(try curl(proxy, url, shown("stranger")).output.contains("407"), "\(url)")
        #expect(try curl(proxy, url, ["-w", "%{http_code}/%{http_connect}"]).output.contains("407"), "\(url)")
        // It ends in no anchor: the handshake fails.
        let unknown = try curl(proxy, url, shown("unknown"))
        #expect(unknown.status != .exited(0) && !unknown.output.contains(Configuration.token), "\(unknown)")
        // A password that is sent decides.
        let password = try curl(proxy, url, shown("billing") + ["--proxy-user", "other:other-5ecret"])
        #expect(password.output.contains("403"), "\(password)")
      }
    }
  }

  @Test func `a certificate is worth nothing any more once its CA is gone, also on open connections`() throws {
    try certificate("billing", "URI:spiffe://example.test/billing")
    try certificate("other", "URI:spiffe://example.test/billing")
    let clients = "clients:\n  - {name: billing, certificate: {uri: \"spiffe://example.test/billing\"}}\n"
    func text(_ ca: String) throws -> String {
      try configuration(
        listen("names: [localhost], client_certificates: {ca_file: \(folder)/\(ca).pem}", clients: ", clients: required"),
        top: clients)
    }
    try withProxy(try text("billing")) { proxy throws in
      let identity = ("\(folder)/billing.pem", "\(folder)/billing.key")
      let plain = try SteppedClient(proxy.port)
      try plain.tls("localhost", root: root, identity: identity)
      #expect(try plain.get("http://api.test/echo").status == 200)
      let inside = try SteppedClient(proxy.port)
      try inside.tls("localhost", root: root, identity: identity)
      #expect(try inside.connect("api.test:443").status == 200)
      try inside.tls("api.test", root: root)
      #expect(try inside.get("/echo").status == 200)
      // Another CA beside it changes nothing for those who are there.
      let pem = try ["billing", "other"].map { try String(contentsOfFile: "\(folder)/\($0).pem", encoding: .utf8) }
      try pem.joined().write(toFile: folder + "/both.pem", atomically: true, encoding: .utf8)
      try proxy.reload(try text("both"))
      #expect(try plain.get("http://api.test/echo").status == 200)
      #expect(try inside.get("/echo").status == 200)
      try proxy.reload(try text("other"))
      #expect(try plain.get("http://api.test/echo").status == 407)
      #expect(try inside.get("/echo").status == 403)
    }
  }

  @Test func `two listeners with one certificate have each their own min_version`() throws {
    let one = "{address: 127.0.0.1:0, tls: {names: [localhost]}}"
    let two = "{address: 127.0.0.1:0, tls: {names: [localhost], min_version: tls1.3}}"
    try withProxy(try configuration("listen: [\(one), \(two)]\n")) { proxy throws in
      let ports = proxy.addresses.compactMap { $0.split(separator: ":").last.flatMap { Int($0) } }
      for _ in 0..<4 {
        #expect(try SteppedClient(ports[0]).tls("localhost", root: root, version: "1.2").version == "TLSv1.2")
        #expect(try SteppedClient(ports[1]).tls("localhost", root: root, version: "1.2").error != nil)
        #expect(try SteppedClient(ports[1]).tls("localhost", root: root, version: "1.3").version == "TLSv1.3")
      }
    }
  }
}
