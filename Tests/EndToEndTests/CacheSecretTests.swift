import Foundation
import Testing

/// A credential whose secret changes is somebody else.
@Suite struct CacheSecretTests {
  /// How the proxy learns of the new value.
  enum Way: CaseIterable { case reload, refusal }

  @Test(arguments: Way.allCases, ["client", "all", "credential"])
  func `a new value in the file drops what the old one got, for all clients, and nothing of others`(_ way: Way, _ share: String)
    throws
  {
    let folder = try Surroundings.newFolder()
    let (old, new) = ("tok-5ecret-old", "tok-5ecret-new")
    try ProxyProcess.write(old + "\n", to: folder + "/token")
    let place = "https://localhost:\(try Origin.shared().ports.https)"
    let cache = "cache: {share: \(share), default_ttl: 10m}"
    let text = """
      admin: 127.0.0.1:0
      upstreams:
        - {match: api.test, origin: "\(place)", credential: file, \(cache)}
        - {match: other.test, origin: "\(place)", credential: other, cache: {default_ttl: 10m}}
      credentials:
        file: {bearer: {token: {file: \(folder)/token}}}
        other: {bearer: {token: tok-5ecret-0002}}
      \(Marks.clients("ann", "bob"))

      """
    try withProxy(text) { proxy throws in
      var marks = Marks()
      func look(_ host: String) throws -> [String] {
        try ["ann", "bob"].flatMap { client in
          try (0..<3).map { number in
            // Where an answer serves both clients, only one of them asks.
            let asker = share == "client" || host == "other.test" ? client : "ann"
            let seen = try #require(try marks.ask(proxy, "http://\(host)/echo?n=\(number)", as: asker))
            return (seen.isHit ? "hit " : "") + (seen.credential ?? "none")
          }
        }
      }
      _ = try look("api.test") + look("other.test")
      #expect(try look("api.test") == Array(repeating: "hit Bearer \(old)", count: 6))
      try ProxyProcess.write(new + "\n", to: folder + "/token")
      switch way {
      case .reload: try proxy.reload(text)
      case .refusal:
        let url = "http://api.test/echo?authorization=Bearer%20\(new)"
        #expect(try proxy.ask(url, [Marks.login("ann")]).status == 200)
      }
      let dropped = share == "client" ? 6.0 : 3
      #expect(try proxy.metric(#"authproxy_cache_evictions_total{reason="credential"}"#) == dropped)
      #expect(try look("api.test").filter { $0.contains(old) } == [])
      #expect(try look("api.test") == Array(repeating: "hit Bearer \(new)", count: 6))
      #expect(try look("other.test").allSatisfy { $0.hasPrefix("hit") })
    }
  }
}
