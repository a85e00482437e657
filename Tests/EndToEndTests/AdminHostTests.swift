import Testing

/// Which names the admin listener answers to.
@Suite struct AdminHostTests {
  private let admin = """
    admin:
      address: 127.0.0.1:0
      expose: [healthz, readyz, metrics, dashboard, purge]
      hosts: [ops.internal, "proxy.internal:9128"]

    """

  /// Status of a request with this Host.
  private func status(_ proxy: ProxyProcess, _ method: String, _ path: String, _ host: String?) throws -> Int {
    let connection = try RawConnection(port: proxy.adminPort)
    try connection.send("\(method) \(path) HTTP/1.\(host == nil ? 0 : 1)\r\n\(host.map { "Host: \($0)\r\n" } ?? "")\r\n")
    return try connection.readAnswer(to: method).status
  }

  @Test func `dashboard, status and purge answer to addresses, localhost and admin.hosts, and 421 to others`() throws {
    try withProxy(try admin + Configuration.https()) { proxy throws in
      let known: [String?] = [
        "127.0.0.1:\(proxy.adminPort)", "localhost", "[::1]", "192.0.2.7:80", "ops.internal:1", "OPS.internal.",
        "proxy.internal:9128", nil,
      ]
      for host in known {
        #expect(try status(proxy, "GET", "/", host) == 200, "\(host ?? "none")")
        #expect(try status(proxy, "HEAD", "/status", host) == 200, "\(host ?? "none")")
        #expect(try status(proxy, "POST", "/cache/purge", host) == 415, "\(host ?? "none")")
      }
      for host in [
        "evil.test", "evil.test:\(proxy.adminPort)", "proxy.internal", "127.0.0.1.evil.test", "localhost.evil.test",
        "0x7f000001",
      ] {
        for path in ["/", "/?q=x", "/status"] { #expect(try status(proxy, "GET", path, host) == 421, "\(host) \(path)") }
        #expect(try status(proxy, "POST", "/cache/purge", host) == 421, "\(host)")
        for path in ["/healthz", "/readyz", "/metrics"] {
          #expect(try status(proxy, "GET", path, host) == 200, "\(host) \(path)")
        }
      }
      let twice = try RawConnection(port: proxy.adminPort)
      try twice.send("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.test\r\n\r\n")
      #expect(try twice.readAnswer().status == 400)
    }
  }

  @Test func `the page is read only, and no other page may use it`() throws {
    try withProxy("admin: 127.0.0.1:0\n" + Configuration.https()) { proxy throws in
      let page = try proxy.admin("")
      #expect(page.status == 200 && page["Content-Type"] == "text/html; charset=utf-8" && page["Cache-Control"] == "no-store")
      #expect(page["X-Frame-Options"] == "DENY" && page["Set-Cookie"] == nil && page["Access-Control-Allow-Origin"] == nil)
      let policy = try #require(page["Content-Security-Policy"])
      #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-") && policy.contains("frame-ancestors 'none'"))
      #expect(!policy.contains("unsafe") && page.text.contains("api.test"))
      #expect(try proxy.admin("", method: "HEAD").status == 200)
      for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        let answer = try proxy.admin("", method: method)
        #expect(answer.status == 405 && answer["Allow"] == "GET, HEAD", "\(method)")
      }
    }
  }

  @Test func `by default it is on loopback and unix sockets, with status; a reload changes its names`() throws {
    let hidden = "admin: {address: 127.0.0.1:0, expose: [status]}\n"
    try withProxy(try hidden + Configuration.https()) { proxy throws in
      #expect(try proxy.admin("").status == 404)
      #expect(try status(proxy, "GET", "/status", "ops.internal") == 421)
      let port = proxy.adminPort
      let shown = "admin: {address: \"127.0.0.1:\(port)\", expose: [dashboard], hosts: [ops.internal]}\n"
      try proxy.reload(try "listen: 127.0.0.1:\(proxy.port)\n" + shown + Configuration.https())
      #expect(try status(proxy, "GET", "/", "ops.internal") == 200)
      #expect(try status(proxy, "GET", "/status", "ops.internal") == 200)
    }
  }
}
