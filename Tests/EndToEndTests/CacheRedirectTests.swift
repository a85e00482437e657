import Foundation
import Testing

/// Each hop of redirects that the proxy follows is a request of its own to the store: under its own entry, partition and key.
@Suite struct CacheRedirectTests {
  private let world: Redirecting
  private var origin: Origin { world.origin }
  init() throws { world = try Redirecting() }

  private static let fresh = "Cache-Control: max-age=600\r\n"

  private static func page(_ body: String, _ fields: String = fresh) -> Origin.Step {
    .send("HTTP/1.1 200 OK\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
  }

  /// `api.test` follows redirects and has a cache; `stored.test` has a cache, too, and a credential of its own.
  private func configuration(_ cache: String = "{}", _ stored: String = "{}", entry: String = "", top: String = "") -> String {
    let base = "https://\(Redirecting.pay):\(world.port)/base"
    return world.configuration(
      #"{follow: 5, methods: [GET, HEAD, POST], to: ["\#(Redirecting.cdn):\#(world.port)", stored]}"#,
      entry: ", cache: \(cache)\(entry)",
      entries: [
        #"{name: stored, match: stored.test/v1, origin: "\#(base)", credential: stored, cache: \#(stored), response_headers: {set: {X-Answer: stored}}}"#
      ],
      credentials: ["stored: {bearer: {token: stored-5ecret}}"], top: top
    )
  }

  private func there(_ name: String, _ path: String = "x") -> String {
    "https://\(Redirecting.pay):\(world.port)/base/\(path)?id=\(name)"
  }

  @Test func `a redirect and what it leads to are stored, each for itself, and followed from the store`() throws {
    let (name, next) = try world.redirecting(301, Self.fresh) { "/2?id=\($0)" }
    try origin.script(next, [.readBody, Self.page("first")])
    try withProxy(configuration()) { proxy throws in
      let url = "http://api.test/1?id=\(name)"
      let miss = try proxy.ask(url)
      #expect(miss.text == "first" && miss.cacheStatus == "fwd=uri-miss; stored", "\(miss.head)")
      for method in ["GET", "HEAD", "GET"] {
        let hit = try proxy.ask(method, url)
        #expect(hit.status == 200 && hit.text == (method == "GET" ? "first" : "") && hit["Content-Length"] == "5")
        #expect(
          hit.cacheStatus?.hasPrefix("hit; ttl=") == true && hit["Age"] != nil && hit.details == miss.details, "\(hit.head)")
        #expect(hit.details?.hasPrefix("1 redirect followed") == true && hit["Cache-Control"] == miss["Cache-Control"])
      }
      #expect(try proxy.ask("http://api.test/2?id=\(next)").cacheStatus?.hasPrefix("hit") == true)
      #expect(try world.only(name).raw_head.isEmpty == false && world.only(next).raw_head.isEmpty == false)
    }
  }

  @Test func `apps that wait for a redirect that is stale at once do not ask one after the other`() throws {
    let (name, next) = (Origin.newName(), Origin.newName())
    let redirect = Redirecting.answer(301, "/2?id=\(next)", "Cache-Control: no-cache\r\nETag: \"1\"\r\n")
    try origin.script(name, [.readBody, .gate("on"), redirect])
    try origin.script(next, [.readBody, Self.page("there")])
    try withProxy(configuration(top: "admin: 127.0.0.1:0")) { proxy throws in
      let clients = try (0..<6).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", "http://api.test/1?id=\(name)")) }
      try origin.await(name, gate: "on")
      #expect(try eventually { try proxy.metric("authproxy_cache_waiting_requests") == 5 })
      try origin.open("on", of: name)
      for client in clients { #expect(try client.readAnswer().text == "there") }
      #expect(try origin.exchanges(name).count == 1 && origin.exchanges(next).count == 1)
    }
  }

  @Test func `a redirect that is not stored leads to what is`() throws {
    let (name, next) = (Origin.newName(), Origin.newName())
    let redirect = Redirecting.answer(302, "/2?id=\(next)")
    try origin.script(name, [.readBody, redirect], [.readBody, redirect])
    try origin.script(next, [.readBody, Self.page("first")])
    try withProxy(configuration()) { proxy throws in
      for status in ["fwd=uri-miss; stored", "hit"] {
        let answer = try proxy.ask("http://api.test/1?id=\(name)")
        #expect(answer.text == "first" && answer.cacheStatus?.hasPrefix(status) == true)
      }
      #expect(try origin.exchanges(name).count == 2 && origin.exchanges(next).count == 1)
    }
  }

  @Test func `at another entry a hop has that entry's partition, credential and rules`() throws {
    let (name, next) = try world.redirecting(301, Self.fresh) { there($0) }
    try origin.script(
      next, [.readBody, Self.page("first", Self.fresh + "Strict-Transport-Security: max-age=1\r\nLink: <y>; rel=next\r\n")])
    try withProxy(configuration()) { proxy throws in
      let own = "http://stored.test/v1/x?id=\(next)"
      for hit in [false, true] {
        let answer = try proxy.ask("http://api.test/1?id=\(name)", ["Cookie: own=1", "Authorization: Basic YTpi"])
        #expect(answer.text == "first" && answer["X-Answer"] == "stored")
        #expect(answer.cacheStatus?.hasPrefix(hit ? "hit" : "fwd=uri-miss; stored") == true)
        // What speaks for the other host is none of the app's.
        #expect(
          answer["Strict-Transport-Security"] == nil && answer["Link"] == "<http://stored.test/v1/y>; rel=next",
          "\(answer.head)")
      }
      // Who asks for it itself has the same body, and the origin's word.
      let direct = try proxy.ask(own)
      #expect(direct.text == "first" && direct.cacheStatus?.hasPrefix("hit") == true && direct["Link"] == "<y>; rel=next")
      #expect(direct["Strict-Transport-Security"] == "max-age=1" && direct["Proxy-Status"] == nil)
      let received = try world.only(next)
      #expect(received["Authorization"] == "Bearer stored-5ecret" && received["Cookie"] == nil)
    }
  }

  @Test func `what an app has asked for itself serves at the end of redirects`() throws {
    let (name, next) = try world.redirecting(302) { there($0) }
    try origin.script(next, [.readBody, Self.page("first", Self.fresh + "NEL: x\r\n")])
    try withProxy(configuration()) { proxy throws in
      #expect(try proxy.ask("http://stored.test/v1/x?id=\(next)")["NEL"] == "x")
      let answer = try proxy.ask("http://api.test/1?id=\(name)")
      #expect(answer.text == "first" && answer.cacheStatus?.hasPrefix("hit") == true && answer["NEL"] == nil)
      #expect(try origin.exchanges(next).count == 1)
    }
  }

  @Test func `clients share no hop, unless the entry says so`() throws {
    let top = "clients:\n  - {name: one, password: pw-5ecret-1}\n  - {name: two, password: pw-5ecret-2}"
    func login(_ name: String, _ number: Int) -> String {
      "Proxy-Authorization: Basic \(Data("\(name):pw-5ecret-\(number)".utf8).base64EncodedString())"
    }
    let (name, next) = (Origin.newName(), Origin.newName())
    let redirect = Redirecting.answer(301, there(next), Self.fresh)
    try origin.script(name, [.readBody, redirect], [.readBody, redirect])
    try origin.script(next, [.readBody, Self.page("of-one")], [.readBody, Self.page("of-two")])
    try withProxy(configuration(top: top)) { proxy throws in
      let url = "http://api.test/1?id=\(name)"
      for _ in 0..<2 {
        #expect(try proxy.ask(url, [login("one", 1)]).text == "of-one")
        #expect(try proxy.ask(url, [login("two", 2)]).text == "of-two")
      }
      #expect(try origin.exchanges(name).count == 2 && origin.exchanges(next).count == 2)
    }
  }

  @Test func `identical requests behind a redirect are one at each hop`() throws {
    let (name, next) = (Origin.newName(), Origin.newName())
    try origin.script(name, [.gate("head"), Redirecting.answer(301, there(next), Self.fresh)])
    try origin.script(next, [.gate("head"), Self.page("first")])
    try withProxy(configuration(top: "threads: 2")) { proxy throws in
      let clients = try (0..<20).map { index in
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/1?id=\(name)"))
        if index == 0 { try origin.await(name, gate: "head") }
        return client
      }
      try origin.open("head", of: name)
      try origin.await(next, gate: "head")
      try origin.open("head", of: next)
      for client in clients {
        let answer = try client.readAnswer()
        #expect(answer.text == "first" && answer.details?.hasPrefix("1 redirect followed") == true, "\(answer.head)")
      }
      #expect(try origin.exchanges(name).count == 1 && origin.exchanges(next).count == 1)
    }
  }

  @Test func `who waited for a redirect that must not be stored asks for itself`() throws {
    let (name, next) = (Origin.newName(), Origin.newName())
    let redirect = Redirecting.answer(302, there(next), "Set-Cookie: of-one=1\r\n" + Self.fresh)
    try origin.script(name, [.gate("head"), redirect], [.readBody, redirect])
    try origin.script(next, [.readBody, Self.page("first")])
    try withProxy(configuration(top: "threads: 1")) { proxy throws in
      let clients = try (0..<2).map { index in
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/1?id=\(name)"))
        if index == 0 { try origin.await(name, gate: "head") }
        return client
      }
      try origin.open("head", of: name)
      for client in clients { #expect(try client.readAnswer().text == "first") }
      #expect(try origin.exchanges(name).count == 2 && origin.exchanges(next).count == 1)
    }
  }

  @Test func `the first client leaves, and who waited follows the redirect`() throws {
    let (name, next) = (Origin.newName(), Origin.newName())
    try origin.script(name, [.gate("head"), Redirecting.answer(301, there(next), Self.fresh)])
    try origin.script(next, [.readBody, Self.page("first")])
    try withProxy(configuration(top: "threads: 1")) { proxy throws in
      let clients = try (0..<3).map { index in
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/1?id=\(name)"))
        if index == 0 { try origin.await(name, gate: "head") }
        return client
      }
      #expect(try proxy.ask("http://clear.test/status/204").status == 204)
      clients[0].close()
      try origin.open("head", of: name)
      for client in clients.dropFirst() { #expect(try client.readAnswer().text == "first") }
      #expect(try origin.exchanges(name).count == 1)
    }
  }

  @Test func `a stale redirect is validated, and the one that the origin confirms is followed`() throws {
    let (name, next) = (Origin.newName(), Origin.newName())
    let tag = "ETag: \"v1\"\r\n"
    try origin.script(
      name, [.readBody, Redirecting.answer(302, there(next), "Cache-Control: max-age=0\r\n" + tag)],
      [.readBody, .send("HTTP/1.1 304 Not Modified\r\n\(tag)Cache-Control: max-age=0\r\n\r\n")],
      [.readBody, Self.page("instead")])
    try origin.script(next, [.readBody, Self.page("first")])
    try withProxy(configuration()) { proxy throws in
      let url = "http://api.test/1?id=\(name)"
      for _ in 0..<2 { #expect(try proxy.ask(url).text == "first") }
      #expect(try origin.exchanges(name).last?["If-None-Match"] == "\"v1\"")
      #expect(try proxy.ask(url).text == "instead")
      #expect(try proxy.ask(url).cacheStatus?.hasPrefix("hit") == true)
    }
  }

  @Test func `a stale redirect is followed while it is validated in the background`() throws {
    let (name, next) = (Origin.newName(), Origin.newName())
    let redirect = Redirecting.answer(302, there(next), "Cache-Control: max-age=0, stale-while-revalidate=600\r\n")
    try origin.script(name, [.readBody, redirect], [.readBody, redirect], [.readBody, Self.page("instead")])
    try origin.script(next, [.readBody, Self.page("first")])
    try withProxy(configuration()) { proxy throws in
      let url = "http://api.test/1?id=\(name)"
      for _ in 0..<2 { #expect(try proxy.ask(url).text == "first") }
      #expect(try eventually { try origin.exchanges(name).count == 2 })
      #expect(try eventually { try proxy.ask(url).text == "instead" })
      #expect(try origin.exchanges(next).count == 1)
    }
  }

  @Test func `a hop that is validated in the background has its own credential, whatever has come or gone since`() throws {
    let file = configuration("{}", "{stale_while_revalidate: 1h}")
    // Their places follow from their names: one before the hop's, and none but the hop's.
    let more =
      file.replacingOccurrences(of: "credentials:\n", with: "credentials:\n  aaa: {bearer: {token: aaa-5ecret}}\n")
      .replacingOccurrences(
        of: "upstreams:\n", with: "upstreams:\n  - {match: aaa.test, origin: \"\(world.api)\", credential: aaa}\n")
    let fewer =
      file.split(separator: "\n").filter { !$0.hasPrefix("  api:") && !$0.hasPrefix("  pay:") }
      .joined(separator: "\n").replacing("credential: api, ", with: "").replacing("credential: pay, ", with: "") + "\n"
    for next in [more, fewer] {
      let (name, hop) = (Origin.newName(), Origin.newName())
      let stale = Self.page("first", "Cache-Control: max-age=0\r\n")
      try origin.script(name, [.readBody, .gate("on"), Redirecting.answer(302, there(hop))])
      try origin.script(hop, [.readBody, stale], [.readBody, stale])
      try withProxy(file) { proxy throws in
        #expect(try proxy.ask("http://stored.test/v1/x?id=\(hop)").text == "first")
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/1?id=\(name)"))
        try origin.await(name, gate: "on")
        try proxy.reload(next)
        try origin.open("on", of: name)
        let answer = try client.readAnswer()
        #expect(answer.text == "first" && answer.cacheStatus?.hasPrefix("hit; ttl=-") == true, "\(answer.head)")
        #expect(try eventually { try origin.exchanges(hop).count == 2 })
        for received in try origin.exchanges(hop) {
          #expect(received["Authorization"] == "Bearer stored-5ecret" && received["X-Pay-Key"] == nil, "\(received)")
        }
      }
    }
  }

  @Test func `a stale redirect is followed in place of a fault, and relayed in place of a failure`() throws {
    let (name, next) = (Origin.newName(), Origin.newName())
    try origin.script(
      name, [.readBody, Redirecting.answer(302, there(next), "Cache-Control: max-age=0, stale-if-error=600\r\n")],
      [.readBody, .send("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n")], [.readBody, .reset])
    try origin.script(next, [.readBody, Self.page("first")])
    try withProxy(configuration()) { proxy throws in
      let url = "http://api.test/1?id=\(name)"
      for _ in 0..<2 { #expect(try proxy.ask(url).text == "first") }
      #expect(try origin.exchanges(name).count == 2 && origin.exchanges(next).count == 1)
      let relayed = try proxy.ask(url)
      #expect(relayed.status == 302 && relayed.cacheStatus == "fwd=stale; detail=stale-if-error", "\(relayed.head)")
    }
  }

  @Test func `a write behind a redirect drops what it has changed`() throws {
    let (name, next) = (Origin.newName(), Origin.newName())
    try origin.script(
      name, [.readBody, Redirecting.answer(307, there(next))])
    try origin.script(
      next, [.readBody, Self.page("first")], [.readBody, Self.page("done", "")], [.readBody, Self.page("second")])
    try withProxy(configuration()) { proxy throws in
      let url = "http://stored.test/v1/x?id=\(next)"
      #expect(try proxy.ask(url).text == "first")
      #expect(try proxy.ask(url).text == "first")
      #expect(try proxy.ask("POST", "http://api.test/1?id=\(name)", body: "change").text == "done")
      #expect(try proxy.ask(url).text == "second")
    }
  }

  @Test func `a redirect that names the credential is followed by nobody, and by none from the store`() throws {
    for status in [301, 302] {
      let (name, next) = (Origin.newName(), Origin.newName())
      let elsewhere = "https://\(Redirecting.cdn):\(world.port)/?id=\(next)&t=stored-5ecret"
      try origin.script(
        name, [.readBody, Redirecting.answer(status, elsewhere, Self.fresh)],
        [.readBody, Redirecting.answer(status, elsewhere, Self.fresh)])
      let (first, _) = try world.redirecting(301, Self.fresh) { _ in there(name) }
      try withProxy(configuration()) { proxy throws in
        // An app that asks for it itself gets it as it is.
        #expect(try proxy.ask("http://stored.test/v1/x?id=\(name)").status == status)
        for _ in 0..<2 { #expect(try proxy.ask("http://api.test/1?id=\(first)").status == status) }
        #expect(try origin.exchanges(next).isEmpty)
      }
    }
  }

  @Test func `only what is stored: a hop that is not gives 504, and no origin is asked`() throws {
    let (name, next) = try world.redirecting(301, Self.fresh) { there($0) }
    try origin.script(next, [.readBody, Self.page("first", "Cache-Control: no-store\r\n")])
    try withProxy(configuration()) { proxy throws in
      let url = "http://api.test/1?id=\(name)"
      #expect(try proxy.ask(url).text == "first")
      let none = try proxy.ask(url, ["Cache-Control: only-if-cached"])
      #expect(none.status == 504 && none.details?.hasPrefix("1 redirect followed") == true, "\(none.head)")
      #expect(try origin.exchanges(next).count == 1)
    }
  }

  @Test func `a redirect in chunks is stored, and a loop is relayed from the store, too`() throws {
    let (one, two) = (Origin.newName(), Origin.newName())
    func chunks(_ location: String) -> Origin.Step {
      .send(
        "HTTP/1.1 301 Moved\r\nLocation: \(location)\r\n\(Self.fresh)Transfer-Encoding: chunked\r\n\r\n5\r\nmoved\r\n0\r\n\r\n")
    }
    try origin.script(one, [.readBody, chunks("/2?id=\(two)")])
    try origin.script(two, [.readBody, chunks("/1?id=\(one)")], [.readBody, chunks("/1?id=\(one)")])
    try withProxy(configuration()) { proxy throws in
      for _ in 0..<3 {
        let answer = try proxy.ask("http://api.test/1?id=\(one)")
        #expect(
          answer.status == 301 && answer.text == "moved" && answer.details?.contains("asked for before") == true,
          "\(answer.head)")
      }
      #expect(try origin.exchanges(one).count == 1)
    }
  }

  @Test func `ranges of a hop come from the stored whole`() throws {
    let (name, next) = try world.redirecting(301, Self.fresh) { there($0) }
    try origin.script(next, [.readBody, Self.page("0123456789", Self.fresh + "NEL: x\r\n")])
    try withProxy(configuration()) { proxy throws in
      let url = "http://api.test/1?id=\(name)"
      #expect(try proxy.ask(url).text == "0123456789")
      let part = try proxy.ask(url, ["Range: bytes=2-4"])
      #expect(part.status == 206 && part.text == "234" && part["Content-Range"] == "bytes 2-4/10" && part["NEL"] == nil)
    }
  }

  @Test func `each hop counts for its entry`() throws {
    let (name, next) = try world.redirecting(301, Self.fresh) { there($0) }
    try origin.script(next, [.readBody, Self.page("first")])
    try withProxy(configuration(top: "admin: 127.0.0.1:0")) { proxy throws in
      for _ in 0..<2 { #expect(try proxy.ask("http://api.test/1?id=\(name)").text == "first") }
      for upstream in ["api.test", "stored"] {
        for result in ["miss", "hit"] {
          let found = try eventually {
            try proxy.metric(#"authproxy_cache_requests_total{upstream="\#(upstream)",result="\#(result)"}"#) == 1
          }
          #expect(found, "\(upstream) \(result)")
        }
      }
    }
  }
}
