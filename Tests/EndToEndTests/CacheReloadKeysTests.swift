import Foundation
import Testing

/// Each key that says who asks whom, and what is made of the answer, begins with an empty store when it changes.
@Suite struct CacheReloadKeysTests {
  /// An entry `api.test` that changes, and one that does not.
  private struct Settings {
    var match = "api.test"
    var origin: String
    var cache = "{default_ttl: 10m}"
    var credential = "api"
    var policy = "changing"
    var evaluator: String
    var more = ""
    var limits = ""
    var clients = Marks.clients("ann", "bob")

    let anchor: String
    let port: Int

    init() throws {
      port = try Origin.shared().ports.https
      origin = "https://localhost:\(port)"
      anchor = "ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false"
      evaluator = "default: {\(anchor)}"
    }

    var text: String {
      """
      admin: 127.0.0.1:0
      \(limits)
      \(clients)
      upstreams:
        - {name: changing, match: \(match), origin: "\(origin)", credential: \(credential), cache: \(cache), trust: \(policy)\(more)}
        - {match: fixed.test, origin: "https://localhost:\(port)", credential: fixed, cache: {default_ttl: 10m}, trust: fixed}
      credentials:
        api: {bearer: {token: tok-5ecret-0001}}
        twin: {bearer: {token: tok-5ecret-0001}}
        fixed: {bearer: {token: tok-5ecret-0003}}
      trust:
        changing: [{\(evaluator)}]
        another: [{\(evaluator.replacingOccurrences(of: "false}", with: "false, min_version: tls1.3}"))}]
        fixed: [{default: {\(anchor)}}]

      """
    }
  }

  private struct Change: CustomStringConvertible {
    let description: String
    let isKept: Bool
    let make: (inout Settings) -> Void

    init(_ description: String, isKept: Bool = false, _ make: @escaping (inout Settings) -> Void) {
      self.description = description
      self.isKept = isKept
      self.make = make
    }
  }

  private func changes() throws -> [Change] {
    let world = try TrustWorld.shared()
    let certificate =
      "client_certificate: {certificate: \(world.file("client.pem")), key: {file: \(world.file("client.key"))}}"
    return [
      Change("another policy") { $0.policy = "another" },
      Change("the policy's content") { $0.evaluator = "default: {\($0.anchor), min_version: tls1.3}" },
      Change("client_certificate") { $0.more = ", " + certificate },
      Change("rewrite") { $0.more = ", rewrite: {secure_cookies: true}" },
      Change("decompress") { $0.more = ", decompress: true" },
      Change("request_headers") { $0.more = ", request_headers: {set: {X-Added: a}}" },
      Change("response_headers") { $0.more = ", response_headers: {remove: [Server]}" },
      Change("host_header") { $0.more = ", host_header: app" },
      Change("client_authorization") { $0.more = ", client_authorization: keep" },
      Change("the match") { $0.match = "[\"*.api.test\", api.test/echo]" },
      Change("strip_prefix") {
        $0.match = "api.test/echo"
        $0.more = ", strip_prefix: true"
      },
      Change("the origin's path") { $0.origin += "/echo" },
      Change("the origin's host") { $0.origin = $0.origin.replacingOccurrences(of: "localhost", with: "127.0.0.1") },
      Change("share") { $0.cache = "{default_ttl: 10m, share: all}" },
      Change("ignore_headers") { $0.cache = "{default_ttl: 10m, ignore_headers: [X-Group]}" },
      Change("no cache") { $0.cache = "off" },
      Change("a credential of another name") { $0.credential = "twin" },
      Change("a client that is gone") { $0.clients = Marks.clients("bob") },
      Change("limits", isKept: true) { $0.limits = "limits: {connections: 500}" },
      Change("time-outs and retries", isKept: true) { $0.more = ", timeouts: {response_head: 1m}, retry: {attempts: 1}" },
      Change("how long", isKept: true) { $0.cache = "{default_ttl: 10m, stale_if_error: 1m}" },
    ]
  }

  @Test func `and a reload that changes none of them keeps everything`() throws {
    let base = try Settings()
    try withProxy(base.text) { proxy throws in
      func objects() throws -> Double? { try proxy.metric("authproxy_cache_objects") }
      var marks = Marks()
      each(try changes()) { change throws in
        for host in ["api.test", "fixed.test"] { _ = try marks.ask(proxy, "http://\(host)/echo/echo", as: "ann") }
        let before = marks.number
        #expect(try objects() == 2, "\(change)")
        var changed = base
        change.make(&changed)
        try proxy.reload(changed.text)
        // They are gone with the reload, not with the next request.
        let fixedIsKept = change.description != "a client that is gone"
        #expect(try objects() == (change.isKept ? 2 : fixedIsKept ? 1 : 0), "\(change)")
        if fixedIsKept {
          if let seen = try marks.ask(proxy, "http://api.test/echo/echo", as: "ann") {
            #expect(seen.isHit == change.isKept && (change.isKept || seen.number > before), "\(change)")
          }
          #expect(try marks.ask(proxy, "http://fixed.test/echo/echo", as: "ann")?.isHit == true, "\(change)")
        }
        // What was stored before does not come back.
        try proxy.reload(base.text)
        if !change.isKept {
          #expect(try marks.ask(proxy, "http://api.test/echo/echo", as: "ann")?.isHit == false, "\(change)")
        }
      }
    }
  }

  @Test func `what stands in files counts, not their names`() throws {
    let (world, folder) = (try TrustWorld.shared(), try Surroundings.newFolder())
    func write(_ names: [String], to name: String) throws {
      let text = try names.map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
      try ProxyProcess.write(text, to: "\(folder)/\(name)")
    }
    let ca = try Surroundings.pki() + "/ca.pem"
    try write([ca], to: "ca.pem")
    try write([world.file("client.pem")], to: "client.pem")
    try write([world.file("client.key")], to: "client.key")
    var base = try Settings()
    base.evaluator = "default: {ca_file: \(folder)/ca.pem, system_roots: false}"
    base.more = ", client_certificate: {certificate: \(folder)/client.pem, key: {file: \(folder)/client.key}}"
    try withProxy(base.text) { proxy throws in
      var marks = Marks()
      func isHit() throws -> Bool? { try marks.ask(proxy, "http://api.test/echo", as: "ann")?.isHit }
      #expect(try isHit() == false)
      try proxy.reload(base.text)
      #expect(try isHit() == true)
      try write([ca, world.file("root.pem")], to: "ca.pem")
      try proxy.reload(base.text)
      #expect(try proxy.metric("authproxy_cache_objects") == 0)
      #expect(try isHit() == false)
      try write([world.file("good.pem")], to: "client.pem")
      try write([world.file("good.key")], to: "client.key")
      try proxy.reload(base.text)
      #expect(try proxy.metric("authproxy_cache_objects") == 0)
      #expect(try isHit() == false)
      #expect(try isHit() == true)
    }
  }

  @Test func `an answer that was asked for before such a reload is not stored after it`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let whole = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nfirst"
    try origin.script(name, [.readBody, .gate("go"), .send(whole)])
    let base = try Settings()
    var changed = base
    changed.more = ", decompress: true"
    try withProxy(base.text) { proxy throws in
      let fields = [Marks.login("ann")]
      let early = try proxy.connect()
      try early.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)", fields))
      try origin.await(name, gate: "go")
      try proxy.reload(changed.text)
      try origin.open("go", of: name)
      #expect(try early.readAnswer().text == "first")
      #expect(try proxy.metric("authproxy_cache_objects") == 0)
      try proxy.reload(base.text)
      try origin.open("go", of: name)
      #expect(try proxy.ask("http://api.test/?id=\(name)", fields).cacheStatus == "fwd=uri-miss; stored")
    }
  }

  @Test func `a smaller limit has evicted when the reload is reported done`() throws {
    let (server, port) = try LoadGenerator.serve(size: 1 << 20, fields: "Cache-Control: max-age=600")
    defer { server.closeInput() }
    func text(_ limit: String) -> String {
      """
      admin: 127.0.0.1:0
      limits: {cache: \(limit)}
      upstreams: [{match: api.test, origin: "http://127.0.0.1:\(port)", cache: {}}]

      """
    }
    try withProxy(text("64MiB")) { proxy throws in
      let result = try LoadGenerator.load(proxy, "http://api.test/x?00000000", "--requests", "40", "--distinct")
      #expect(result.good == 40)
      #expect(try proxy.metric("authproxy_cache_bytes") ?? 0 > Double(40 << 20))
      try proxy.reload(text("8MiB"))
      let bytes = try #require(try proxy.metric("authproxy_cache_bytes"))
      #expect(bytes <= Double(8 << 20) && bytes > Double(5 << 20))
      let rest = try proxy.metric(#"authproxy_cache_evictions_total{reason="space"}"#)
      #expect(rest ?? 0 >= 32)
      #expect(try proxy.ask("http://api.test/new").cacheStatus == "fwd=uri-miss; stored")
      #expect(try proxy.metric("authproxy_cache_bytes") ?? .infinity <= Double(8 << 20))
    }
  }
}
