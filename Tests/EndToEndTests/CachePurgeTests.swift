import Foundation
import Testing

/// Stored answers that an operator has dropped are asked for again, and no others.
@Suite struct CachePurgeTests {
  private static let top = """
    listen: [{address: "127.0.0.1:0", clients: optional}]
    admin: {address: 127.0.0.1:0, expose: [healthz, metrics, purge, status]}
    clients:
      - {name: one, password: pw-5ecret-1}
      - {name: two, password: pw-5ecret-2}
    anonymous: {allow: [api.test]}
    """

  private let origin: Origin
  init() throws { origin = try Origin.shared() }

  private static func login(_ client: Int) -> String {
    let text = "\(client == 1 ? "one" : "two"):pw-5ecret-\(client)"
    return "Proxy-Authorization: Basic \(Data(text.utf8).base64EncodedString())"
  }

  private func purge(_ proxy: ProxyProcess, _ order: String) throws -> String {
    let answer = try proxy.admin(
      "cache/purge", method: "POST", fields: [("Content-Type", "application/json")], body: order)
    #expect(answer.status == 200, "\(answer.text)")
    return answer.text
  }

  private func isStored(_ proxy: ProxyProcess, _ url: String, _ fields: String...) throws -> Bool {
    try proxy.ask(url, fields).cacheStatus?.hasPrefix("hit") == true
  }

  @Test func `a URL means itself, with a star all that begins so, and nothing means all`() throws {
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600", bodies: Array(repeating: "x", count: 20))
    try withProxy(try Configuration.https("cache: {}", top: Self.top)) { proxy throws in
      let urls = ["/users/1?id=\(name)", "/users/2?id=\(name)", "/groups?id=\(name)"].map { "http://api.test" + $0 }
      for url in urls { #expect(try !isStored(proxy, url)) }
      for url in urls { #expect(try isStored(proxy, url)) }
      #expect(try purge(proxy, "{\"url\": \"http://api.test/users/1\"}") == "{\"purged\":0}\n")
      #expect(try purge(proxy, "{\"url\": \"\(urls[0])\"}") == "{\"purged\":1}\n")
      #expect(try !isStored(proxy, urls[0]))
      #expect(try isStored(proxy, urls[1]))
      #expect(try purge(proxy, "{\"url\": \"http://api.test/users/*\"}") == "{\"purged\":2}\n")
      #expect(try isStored(proxy, urls[2]))
      #expect(try !isStored(proxy, urls[0]) && !isStored(proxy, urls[1]))
      #expect(try purge(proxy, "{}") == "{\"purged\":3}\n")
      #expect(try proxy.metric(#"authproxy_cache_evictions_total{reason="purged"}"#) == 6)
      #expect(try proxy.metric("authproxy_cache_objects") == 0)
      let line = proxy.process.awaitLine { $0.contains("stored answers purged") && $0.contains("users/1") }
      #expect(line?.contains("\"url\":\"http://api.test/users/1\"") == true)
      #expect(!proxy.process.lines.contains { $0.contains("purged") && $0.contains(name) }, "a query is in the log")
    }
  }

  @Test func `an upstream and a client narrow it`() throws {
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600", bodies: Array(repeating: "x", count: 20))
    try withProxy(try Configuration.https("cache: {}", top: Self.top)) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      let fields = [Self.login(1), Self.login(2)]
      for field in fields { #expect(try !isStored(proxy, url, field)) }
      for field in fields { #expect(try isStored(proxy, url, field)) }
      #expect(try !isStored(proxy, url))
      #expect(try purge(proxy, "{\"client\": \"one\", \"upstream\": \"api.test\"}") == "{\"purged\":1}\n")
      #expect(try !isStored(proxy, url, fields[0]) && isStored(proxy, url, fields[1]) && isStored(proxy, url))
      #expect(try purge(proxy, "{\"client\": \"127.0.0.1\"}") == "{\"purged\":1}\n")
      #expect(try !isStored(proxy, url) && isStored(proxy, url, fields[1]))
      #expect(try purge(proxy, "{\"upstream\": \"api.test\", \"url\": \"\(url)\"}") == "{\"purged\":3}\n")
    }
  }

  @Test func `with the app's Host, a URL means each form of its host`() throws {
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600", bodies: Array(repeating: "x", count: 20))
    try withProxy(try Configuration.https("cache: {}", "host_header: app", top: Self.top)) { proxy throws in
      let urls = ["api.test", "api.test:80", "api.test.", "API.Test.:80"].map { "http://\($0)/?id=\(name)" }
      // The origin may answer to each Host in its own way.
      for url in urls { #expect(try !isStored(proxy, url)) }
      for form in ["api.test", "Api.Test:80", "api.test."] {
        for url in urls { #expect(try isStored(proxy, url), "\(url)") }
        #expect(try purge(proxy, "{\"url\": \"http://\(form)/?id=\(name)\"}") == "{\"purged\":4}\n", "\(form)")
        for url in urls { #expect(try !isStored(proxy, url), "\(url)") }
      }
      #expect(try purge(proxy, "{\"url\": \"http://api.test/*\"}") == "{\"purged\":4}\n")
    }
  }

  @Test func `a purge of one URL leaves the fetches of others what they are`() throws {
    let names = [Origin.newName(), Origin.newName()]
    let whole = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nfirst"
    for name in names { try origin.script(name, [.readBody, .gate("go"), .send(whole)]) }
    try withProxy(try Configuration.https("cache: {}", top: Self.top)) { proxy throws in
      let urls = names.map { "http://api.test/?id=\($0)" }
      let apps = try urls.map { url in
        let app = try proxy.connect()
        try app.send(ProxyProcess.request("GET", url))
        return app
      }
      for name in names { try origin.await(name, gate: "go") }
      #expect(try purge(proxy, "{\"url\": \"\(urls[0])\"}") == "{\"purged\":0}\n")
      for name in names { try origin.open("go", of: name) }
      for app in apps { #expect(try app.readAnswer().text == "first") }
      #expect(try isStored(proxy, urls[1]))
      #expect(try proxy.metric("authproxy_cache_objects") == 1)
    }
  }

  @Test func `a purge of all below a URL leaves the fetches of others what they are`() throws {
    let names = [Origin.newName(), Origin.newName()]
    let whole = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nfirst"
    for name in names { try origin.script(name, [.readBody, .gate("go"), .send(whole)]) }
    try withProxy(try Configuration.https("cache: {}", top: Self.top)) { proxy throws in
      let urls = zip(["a", "b"], names).map { "http://api.test/\($0)/x?id=\($1)" }
      let apps = try urls.map { url in
        let app = try proxy.connect()
        try app.send(ProxyProcess.request("GET", url))
        return app
      }
      for name in names { try origin.await(name, gate: "go") }
      #expect(try purge(proxy, #"{"url": "http://api.test/a/*"}"#) == "{\"purged\":0}\n")
      for name in names { try origin.open("go", of: name) }
      for app in apps { #expect(try app.readAnswer().text == "first") }
      #expect(try isStored(proxy, urls[1]))
      #expect(try proxy.metric("authproxy_cache_objects") == 1)
    }
  }

  @Test func `an answer that was asked for before a purge is not stored after it`() throws {
    let name = Origin.newName()
    let whole = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 5\r\n\r\nfirst"
    try origin.script(name, [.readBody, .gate("go"), .send(whole)])
    try withProxy(try Configuration.https("cache: {}", top: Self.top)) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      let app = try proxy.connect()
      try app.send(ProxyProcess.request("GET", url))
      try origin.await(name, gate: "go")
      #expect(try purge(proxy, "{\"url\": \"\(url)\"}") == "{\"purged\":0}\n")
      try origin.open("go", of: name)
      #expect(try app.readAnswer().text == "first")
      #expect(try proxy.metric("authproxy_cache_objects") == 0)
    }
  }

  private static let stale = "HTTP/1.1 200 OK\r\nCache-Control: max-age=0\r\nETag: \"v1\"\r\nContent-Length: 5\r\n\r\nfirst"
  private static let notModified = "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=600\r\nETag: \"v1\"\r\n\r\n"
  private static let second = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nETag: \"v2\"\r\nContent-Length: 6\r\n\r\nsecond"

  private func begin(_ proxy: ProxyProcess, _ url: String) throws -> RawConnection {
    let app = try proxy.connect()
    try app.send(ProxyProcess.request("GET", url))
    return app
  }

  @Test func `what is purged while it waits to be validated is asked for as if it had never been stored`() throws {
    let (name, slow) = (Origin.newName(), Origin.newName())
    try origin.script(name, [.send(Self.stale)], [.readBody, .send(Self.second)])
    try origin.script(slow, [.readBody, .gate("go"), .send("HTTP/1.1 204 No Content\r\n\r\n")])
    try withProxy(try Configuration.https("cache: {}", top: Self.top + "\nthreads: 1\nlimits: {upstream_connections: 1}")) {
      proxy throws in
      let url = "http://api.test/?id=\(name)"
      _ = try proxy.ask(url)
      // The only connection is taken, so that the next request waits with what it has found in the store.
      let holder = try begin(proxy, "http://api.test/?id=\(slow)")
      try origin.await(slow, gate: "go")
      let app = try begin(proxy, url)
      // The one loop has read it when it answers what comes after it.
      #expect(try proxy.ask("http://unlisted.test/").status == 403)
      #expect(try purge(proxy, "{\"url\": \"\(url)\"}") == "{\"purged\":1}\n")
      try origin.open("go", of: slow)
      #expect(try holder.readAnswer().status == 204)
      #expect(try app.readAnswer().text == "second")
      #expect(try origin.exchanges(name)[1].all("If-None-Match").isEmpty)
      #expect(try proxy.ask(url).text == "second")
      #expect(try origin.exchanges(name).count == 2)
    }
  }

  @Test func `a 304 for what was purged meanwhile does not store it again, and does not say so`() throws {
    let name = Origin.newName()
    try origin.script(name, [.send(Self.stale)], [.readBody, .gate("go"), .send(Self.notModified)])
    try withProxy(try Configuration.https("cache: {}", top: Self.top)) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      _ = try proxy.ask(url)
      let app = try begin(proxy, url)
      try origin.await(name, gate: "go")
      #expect(try purge(proxy, "{\"url\": \"\(url)\"}") == "{\"purged\":1}\n")
      try origin.open("go", of: name)
      let answer = try app.readAnswer()
      #expect(answer.text == "first" && answer.cacheStatus?.contains("stored") == false, "\(answer.head)")
      #expect(try proxy.metric("authproxy_cache_objects") == 0)
    }
  }

  @Test func `those who wait for a validation that a purge outdates look again, and one of them asks`() throws {
    let name = Origin.newName()
    try origin.script(
      name, [.send(Self.stale)], [.readBody, .gate("go"), .send(Self.notModified)],
      [.readBody, .gate("more"), .send(Self.second)])
    try withProxy(try Configuration.https("cache: {}", top: Self.top)) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      _ = try proxy.ask(url)
      let leader = try begin(proxy, url)
      try origin.await(name, gate: "go")
      let others = try (0..<5).map { _ in try begin(proxy, url) }
      #expect(try eventually { try proxy.metric("authproxy_cache_waiting_requests") == 5 })
      #expect(try purge(proxy, "{\"url\": \"\(url)\"}") == "{\"purged\":1}\n")
      try origin.open("go", of: name)
      #expect(try leader.readAnswer().text == "first")
      try origin.await(name, gate: "more")
      #expect(try eventually { try proxy.metric("authproxy_cache_waiting_requests") == 4 })
      try origin.open("more", of: name)
      for app in others { #expect(try app.readAnswer().text == "second") }
      #expect(try origin.exchanges(name).count == 3)
    }
  }

  @Test func `what is purged while the origin thinks does not stand in for its failure, nor does what it had replaced`() throws
  {
    for isReplaced in [false, true] {
      let name = Origin.newName()
      let failure = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
      let other = Self.stale.replacingOccurrences(of: "v1", with: "v2").replacingOccurrences(of: "first", with: "other")
      try origin.script(name, [.send(Self.stale)], [.readBody, .gate("go"), .send(failure)], [.readBody, .send(other)])
      try withProxy(try Configuration.https("cache: {stale_if_error: 1h}", top: Self.top)) { proxy throws in
        let url = "http://api.test/?id=\(name)"
        _ = try proxy.ask(url)
        let app = try begin(proxy, url)
        try origin.await(name, gate: "go")
        // It goes alone.
        if isReplaced { #expect(try proxy.ask(url, ["Cache-Control: no-cache"]).text == "other") }
        #expect(try purge(proxy, "{\"url\": \"\(url)\"}") == "{\"purged\":1}\n")
        try origin.open("go", of: name)
        #expect(try app.readAnswer().status == 503)
      }
    }
  }
}
