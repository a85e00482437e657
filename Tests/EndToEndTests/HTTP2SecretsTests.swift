import Foundation
import Testing

/// No secret enters HPACK's dynamic table, where whoever sees lengths could guess it (RFC 7541 section 7.1.3).
@Suite struct HTTP2SecretsTests {
  private static let indexed: Set<String> = [
    ":authority", "user-agent", "accept", "accept-encoding", "accept-language", "content-type", "via",
  ]

  private func expectClean(_ origin: HTTP2Origin, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let log = try origin.tell()
    for connection in log.connections {
      let others = connection.table.filter { !Self.indexed.contains($0[0]) && !(Self.fixed[$0[0]] ?? []).contains($0[1]) }
      #expect(others.isEmpty, "\(connection.table)", sourceLocation: sourceLocation)
      #expect(!connection.table.contains { $0[1].contains("5ecret") }, "\(connection.table)", sourceLocation: sourceLocation)
    }
    for field in log.requests.flatMap({ $0.fields + $0.trailers }) where field.value.contains("5ecret") {
      #expect(field.isNeverIndexed, "\(field)", sourceLocation: sourceLocation)
    }
  }

  /// Methods and the scheme, which are no secrets.
  private static let fixed: [String: Set<String>] = [
    ":method": ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"], ":scheme": ["https"],
  ]

  @Test func `the credential, cookies and paths are literals that are never indexed`() throws {
    let origin = try HTTP2Origin()
    let credentials = "credentials: {api: {bearer: {token: \(Configuration.token)}}}"
    try withProxy(origin.configuration("credential: api") + credentials) { proxy throws in
      for _ in 0..<3 {
        for method in ["GET", "POST", "PUT"] {
          let told = try proxy.ask(
            method, "http://api.test/path?key=5ecret-of-the-query",
            [
              "Cookie: id=5ecret", "User-Agent: me", "Accept: a/b", "X-Api-Key: 5ecret", "X-Other: x",
              "Content-Type: text/plain",
            ],
            body: method == "GET" ? nil : "x"
          ).told()
          #expect(told["authorization"] == "Bearer \(Configuration.token)")
          let open = Set(told.fields.filter { !$0.isNeverIndexed }.map(\.name))
          #expect(open.isSubset(of: Self.indexed.union([":method", ":scheme"])), "\(told.fields)")
        }
      }
      try expectClean(origin)
      // What is allowed is indeed indexed.
      #expect(try origin.tell().connections[0].table.contains { $0[0] == "user-agent" })
    }
  }

  @Test func `a credential in the query is in no table`() throws {
    let origin = try HTTP2Origin()
    let credentials = "credentials: {api: {query: {name: key, value: 5ecret-key}}}"
    try withProxy(origin.configuration("credential: api") + credentials) { proxy throws in
      for _ in 0..<3 { #expect(try proxy.ask("http://api.test/p?a=b").told()[":path"]?.contains("key=5ecret-key") == true) }
      try expectClean(origin)
    }
  }

  @Test func `what an app wants in no table is in none`() throws {
    let origin = try HTTP2Origin()
    try withProxy(origin.interception()) { proxy throws in
      let marked = [
        ["user-agent", "5ecret-agent", "never"], ["accept-language", "5ecret-language", "never"], ["accept", "a/b"],
      ]
      let requests = (0..<2).map { _ in HTTP2App.get("/", [:], marked) }
      let app = try HTTP2App(proxy, requests, "--until-answered")
      #expect(app.head(3)[":status"] == "200", "\(app)")
      let told = try origin.tell()
      #expect(told.requests.allSatisfy { $0["user-agent"] == "5ecret-agent" && $0["accept-language"] == "5ecret-language" })
      try expectClean(origin)
      #expect(told.connections[0].table.contains { $0[0] == "accept" })
    }
  }

  @Test func `nor by a validation in the background`() throws {
    let origin = try HTTP2Origin()
    let fields = [[":status", "200"], ["cache-control", "max-age=0"], ["etag", "\"v1\""], ["content-length", "2"]]
    try origin.script("stale", [.awaitEnd, .head(fields), .last("ok")])
    try withProxy(origin.interception("cache: {stale_while_revalidate: 1h}")) { proxy throws in
      let marked = [["user-agent", "5ecret-agent", "never"], ["accept", "a/b"]]
      for _ in 0..<2 {
        let app = try HTTP2App(proxy, [HTTP2App.get("/?id=stale", [:], marked)], "--until-answered")
        #expect(app.head(1)[":status"] == "200", "\(app)")
      }
      try origin.await(.requests, 2, of: "stale")
      let validation = try #require(try origin.tell().of("stale").last)
      #expect(validation["if-none-match"] == "\"v1\"" && validation["user-agent"] == "5ecret-agent", "\(validation)")
      try expectClean(origin)
    }
  }

  @Test func `nor by a request that goes on for others once its app has left`() throws {
    let origin = try HTTP2Origin()
    let fields = [[":status", "200"], ["cache-control", "max-age=600"], ["content-length", "2"]]
    // The first one is refused, and sent again.
    try origin.script("shared", [.gate("on"), .reset(7)], [.awaitEnd, .head(fields), .last("ok")])
    try withProxy(origin.interception("cache: {}", top: "threads: 1\nadmin: 127.0.0.1:0")) { proxy throws in
      let path = "/?id=shared"
      let first = try HTTP2App.start(proxy, [HTTP2App.get(path, [:], [["user-agent", "5ecret-agent", "never"]])], [])
      try origin.await(.requests, 1, of: "shared")
      let second = try HTTP2App.start(proxy, [HTTP2App.get(path, [:], [["user-agent", "open"]])], ["--until-answered"])
      #expect(try eventually { try proxy.metric("authproxy_cache_waiting_requests") == 1 })
      first.signal(SIGKILL)
      #expect(try eventually { try proxy.metric("authproxy_client_connections") == 1 })
      try origin.open("on")
      let app = try second.awaitApp()
      #expect(app.head(1)[":status"] == "200", "\(app)")
      #expect(try origin.tell().of("shared").map { $0["user-agent"] } == ["5ecret-agent", "5ecret-agent"])
      try expectClean(origin)
    }
  }

  @Test func `a credential with an allowed name is never indexed`() throws {
    let origin = try HTTP2Origin()
    let credentials = "credentials: {api: {header: {name: User-Agent, value: 5ecret-agent}}}"
    try withProxy(origin.configuration("credential: api") + credentials) { proxy throws in
      for _ in 0..<3 { #expect(try proxy.ask("http://api.test/").told()["user-agent"] == "5ecret-agent") }
      try expectClean(origin)
    }
  }
}
