import Foundation
import Testing

/// A credential that needs an operator loses what was stored for it, and nothing is stored for it until it is well.
@Suite struct CacheOperatorTests {
  private static let entry = "cache: {default_ttl: 10m, stale_if_error: 10m}"
  private static let hosts = ["api.test", "other.test"]

  private let origin: Origin
  private let folder: String
  init() throws {
    origin = try Origin.shared()
    folder = try Surroundings.newFolder()
  }

  /// `api.test` with the credential of the token server, `other.test` with another.
  private func configuration(_ server: TokenServer, _ oauth: String...) throws -> String {
    let oauth2 = ["grant: refresh_token", "refresh_token: {file: \(folder)/refresh}"] + oauth
    let place = "https://localhost:\(origin.ports.https)"
    let text = try server.configuration(
      oauth2[0], oauth2[1], oauth2.count > 2 ? oauth2[2] : "timeout: 60s", entry: [Self.entry],
      top: Marks.clients("ann", "bob") + "\nadmin: 127.0.0.1:0\n")
    return text.replacingOccurrences(
      of: "upstreams:\n", with: "upstreams:\n  - {match: other.test, origin: \(place), credential: other, \(Self.entry)}\n"
    ).replacingOccurrences(of: "credentials:\n", with: "credentials:\n  other: {bearer: {token: tok-5ecret-0002}}\n")
  }

  private func write(_ token: String) throws { try ProxyProcess.write(token + "\n", to: folder + "/refresh") }

  /// What all clients see of all their answers.
  private func look(_ proxy: ProxyProcess, _ marks: inout Marks, _ host: String) throws -> [Marks.Seen] {
    var seen: [Marks.Seen] = []
    for client in ["ann", "bob"] {
      for number in 0..<3 {
        if let one = try marks.ask(proxy, "http://\(host)/echo?n=\(number)", as: client) { seen.append(one) }
      }
    }
    return seen
  }

  @Test func `invalid_grant drops it in the middle of everything, for all clients, and other credentials keep theirs`() throws {
    let server = try TokenServer(#"{"refresh_token": "good-5ecret-refresh"}"#)
    try write("good-5ecret-refresh")
    let text = try configuration(server)
    try withProxy(text) { proxy throws in
      var marks = Marks()
      func objects() throws -> Double? { try proxy.metric("authproxy_cache_objects") }
      for host in Self.hosts {
        #expect(try look(proxy, &marks, host).allSatisfy { !$0.isHit })
        #expect(try look(proxy, &marks, host).count { $0.isHit } == 6)
      }
      #expect(try objects() == 12)
      // One that was asked for with the token that works.
      let name = Origin.newName()
      try origin.script(
        name,
        [.readBody, .gate("go"), .send("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nfirst")])
      let early = try proxy.connect()
      try early.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)", [Marks.login("ann")]))
      try origin.await(name, gate: "go")
      // The API refuses the token, and the token server the refresh.
      try server.set(#"{"refresh_token": "another-5ecret"}"#)
      let refusal = try proxy.ask("http://api.test/echo?authorization=none", [Marks.login("bob")])
      #expect(refusal.status == 401 || refusal.status == 502, "\(refusal.head)")
      #expect(proxy.process.awaitLine { $0.contains("credential needs an operator") } != nil)
      // The line comes first.
      #expect(try eventually { try objects() == 6 })
      #expect(try proxy.metric(#"authproxy_cache_evictions_total{reason="credential"}"#) == 6)
      // The token has not expired, and other URLs of the API may take it.
      #expect(try look(proxy, &marks, "api.test").allSatisfy { !$0.isHit })
      #expect(try look(proxy, &marks, "other.test").count { $0.isHit } == 6)
      try origin.open("go", of: name)
      #expect(try early.readAnswer().text == "first")
      #expect(try objects() == 6)
      // The operator.
      let before = marks.number
      try server.set(#"{"refresh_token": "third-5ecret"}"#)
      try write("third-5ecret")
      try proxy.reload(text)
      let again = try look(proxy, &marks, "api.test")
      #expect(again.count == 6 && again.allSatisfy { !$0.isHit && $0.number > before })
      #expect(try look(proxy, &marks, "api.test").count { $0.isHit } == 6)
      try origin.open("go", of: name)
      #expect(try proxy.ask("http://api.test/?id=\(name)", [Marks.login("ann")]).cacheStatus == "fwd=uri-miss; stored")
      #expect(try look(proxy, &marks, "other.test").count { $0.isHit } == 6)
    }
  }

  @Test func `while the last token is still valid, requests go on, and nothing is stored`() throws {
    let server = try TokenServer(#"{"refresh_token": "good-5ecret-refresh", "expires_in": 16}"#)
    try write("good-5ecret-refresh")
    try withProxy(try configuration(server, "refresh_before_expiry: 15s")) { proxy throws in
      var marks = Marks()
      #expect(try look(proxy, &marks, "api.test").count == 6)
      #expect(try look(proxy, &marks, "api.test").count { $0.isHit } == 6)
      let token = try server.state().issued[0]
      try server.set("{\"refresh_token\": \"another-5ecret\", \"accept\": [\"\(token)\"]}")
      #expect(proxy.process.awaitLine(seconds: 30) { $0.contains("credential needs an operator") } != nil)
      #expect(try eventually { try proxy.metric("authproxy_cache_objects") == 0 })
      for _ in 0..<2 { #expect(try look(proxy, &marks, "api.test").allSatisfy { !$0.isHit }) }
      #expect(try proxy.metric("authproxy_cache_objects") == 0)
    }
  }
}
