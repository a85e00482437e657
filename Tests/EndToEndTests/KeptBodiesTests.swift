import Foundation
import Testing

/// `limits.buffers` bounds all that is kept of bodies, and everything comes back.
@Suite struct KeptBodiesTests {
  private static func kept(_ proxy: ProxyProcess) throws -> Double { try proxy.metric("authproxy_kept_body_bytes") ?? -1 }

  /// - Parameter body: runs while `count` requests wait for a token, each with a held refusal of 12 kB.
  private func holding(_ count: Int, limits: String, _ body: (ProxyProcess) throws -> Void) throws {
    let server = try TokenServer(#"{"size": 12000}"#)
    let top = "admin: 127.0.0.1:0\nthreads: 1\nlimits: \(limits)"
    try withProxy(try server.configuration(top: top)) { proxy throws in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"revoke": true, "queue": [{"gate": "on"}]}"#)
      let clients = try (0..<count).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", server.url())) }
      try server.origin.await(server.name, gate: "on")
      #expect(try eventually { try proxy.metric(#"authproxy_credential_waiting_requests{credential="api"}"#) == Double(count) })
      try body(proxy)
      try server.openGate()
      for client in clients { #expect(try client.readAnswer().status == 200) }
      #expect(try eventually { try Self.kept(proxy) == 0 })
    }
  }

  @Test func `refusals that are held count, until their requests go on`() throws {
    try holding(6, limits: "{buffers: 1MiB}") { proxy throws in
      let kept = try Self.kept(proxy)
      #expect((72_000...250_000).contains(kept), "\(kept)")
    }
  }

  @Test func `those for which there is no memory wait on their connections`() throws {
    try holding(20, limits: "{buffers: 64KiB}") { proxy throws in
      let kept = try Self.kept(proxy)
      #expect((24_000...65_536).contains(kept), "\(kept)")
    }
  }

  @Test func `nothing is kept once all requests have ended, whatever became of them`() throws {
    let server = try TokenServer(#"{"size": 12000}"#)
    let key = "hmac: {key: k-5ecret, algorithm: sha256, message: \"{body}\", fields: {X-Sign: \"{signature}\"}}"
    let text = try server.configuration(top: "admin: 127.0.0.1:0\nthreads: 2\nlimits: {replay_body: 256KiB, hashed_body: 1MiB}")
      .replacingOccurrences(
        of: "credentials:",
        with: """
            - {match: signed.test, origin: "https://localhost:\(server.origin.ports.https)", credential: signed}
          credentials:
            signed: {\(key)}
          """)
    try withProxy(text) { proxy throws in
      for (host, size) in [("api.test", 2_000), ("api.test", 200_000), ("api.test", 2_000_000), ("signed.test", 300_000)] {
        let body = String(repeating: "b", count: size)
        let url = host == "api.test" ? server.url() : "http://signed.test/echo"
        #expect(try proxy.ask("POST", url, body: body).proxyError == nil)
        // Refused, and sent again.
        try server.set(#"{"revoke": true}"#)
        #expect(try proxy.ask("PUT", url, body: body).proxyError == nil)
        // An app that leaves within its body, and one whose body is malformed.
        let leaving = try proxy.connect()
        try leaving.send("POST \(url) HTTP/1.1\r\nHost: \(host)\r\nContent-Length: \(size)\r\n\r\n" + body.prefix(size / 2))
        leaving.reset()
        let broken = try proxy.connect()
        try broken.send(
          "POST \(url) HTTP/1.1\r\nHost: \(host)\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "\(String(min(size, 100_000), radix: 16))\r\n" + body.prefix(100_000) + "\r\nzz\r\n")
        _ = try? broken.readToEnd(seconds: 5)
      }
      // Too large to be hashed.
      let large = String(repeating: "b", count: 1_100_000)
      #expect(try proxy.ask("POST", "http://signed.test/echo", body: large).status == 413)
      #expect(try eventually { try Self.kept(proxy) == 0 })
      #expect(try proxy.metric("authproxy_hashed_body_bytes") == 0)
    }
  }
}
