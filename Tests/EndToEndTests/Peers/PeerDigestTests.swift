import Foundation
import Testing

/// Servers by other hands that require Digest. See digest_peer.py.
@Suite struct PeerDigestTests {
  private final class Server {
    private let child: ChildProcess
    let port: Int
    private let folder: String

    init(_ kind: String) throws {
      child = try ChildProcess(Surroundings.python, [Peer.programs + "/digest_peer.py", kind])
      guard let facts = child.awaitLine(where: { _ in true })?.split(separator: " "), facts.count == 2, let port = Int(facts[0])
      else { throw HarnessError("\(kind): \(child.errors)") }
      self.port = port
      folder = String(facts[1])
    }

    deinit { child.closeInput() }

    /// Of the requests so far, as soon as there are so many.
    func log(_ count: Int) throws -> [String] {
      var lines: [String] = []
      _ = try eventually(seconds: 15) {
        lines = try String(contentsOfFile: folder + "/access.log", encoding: .utf8).split(separator: "\n").map(String.init)
        return lines.count >= count
      }
      return lines
    }

    func configuration(_ digest: String, username: String = "svc") -> String {
      """
      admin: 127.0.0.1:0
      upstreams:
        - {match: api.test, origin: "http://127.0.0.1:\(port)", credential: peer}
      credentials:
        peer:
          digest: {username: '\(username)', password: pw-5ecret-digest, \(digest)}
          allow_plaintext: true
      threads: 1

      """
    }
  }

  /// Its nonces last for a second; then it says `stale=true`. Each answer names the next nonce.
  @Test(.needs("apache2")) func `Apache mod_auth_digest: MD5, next nonces, and nonces that end`() throws {
    let server = try Server("apache")
    try withProxy(server.configuration("algorithms: [SHA-256, MD5]")) { proxy throws in
      for index in 0..<5 {
        let answer = try proxy.ask("http://api.test/page?a=%2fb&c=\(index)")
        #expect(answer.status == 200 && answer.text == "ok\n" && answer.proxyDetails == nil, "\(answer.head)")
        #expect(answer["Authentication-Info"] == nil)
      }
      // Until the nonce of the last answer has ended.
      usleep(2_100_000)
      #expect(try proxy.ask("http://api.test/page").status == 200)
      let metrics = try proxy.admin("metrics").text
      #expect(metrics.contains("authproxy_challenges_total{credential=\"peer\",result=\"answered\"} 2\n"))
      #expect(!metrics.contains("authproxy_unauthorized_retries_total{"))
      #expect(try proxy.ask("http://api.test/absent").status == 404)
    }
    let statuses = try server.log(9).map { String($0.prefix(3)) }
    #expect(statuses == ["401", "200", "200", "200", "200", "200", "401", "200", "404"])
  }

  @Test(.needs("lighttpd"), arguments: ["md5", "sha256", "sha512", "many"])
  func `lighttpd: each algorithm, and several challenges`(path: String) throws {
    let server = try Server("lighttpd")
    try withProxy(server.configuration("algorithms: [SHA-512-256, SHA-256, MD5]")) { proxy throws in
      for index in 0..<5 {
        let answer = try proxy.ask("http://api.test/\(path)/page?a=%2fb&c=\(index)")
        #expect(answer.status == 200 && answer.text == "ok\n", "\(answer.head)")
      }
      #expect(try proxy.ask("POST", "http://api.test/\(path)/page", body: "body").status == 200)
    }
    #expect(try server.log(7).map { String($0.prefix(3)) } == ["401"] + Array(repeating: "200", count: 6))
  }

  @Test(.needs("lighttpd")) func `lighttpd: hashed user names, with what must be escaped`() throws {
    let server = try Server("lighttpd")
    try withProxy(server.configuration("algorithms: [SHA-256]", username: #"Jäsøn "Doe""#)) { proxy throws in
      for _ in 0..<3 { #expect(try proxy.ask("http://api.test/hashed/page").status == 200) }
    }
    try withProxy(server.configuration("algorithms: [SHA-256]", username: "Jason")) { proxy throws in
      let refused = try proxy.ask("http://api.test/hashed/page")
      #expect(refused.status == 401 && refused.proxyDetails == "not retried, the credential has not changed")
    }
  }
}
