import Testing

/// Which addresses a parent is asked for.
@Suite struct ParentAddressTests {
  private func configuration(_ parent: ParentServer, keys: String = "", more: String = "") throws -> String {
    let port = try Origin.shared().ports.http
    return """
      via: corporate
      parents: {corporate: {url: "\(parent.url("http"))"\(keys)}}
      upstreams: [{match: dual.test, origin: "http://dual.far.test:\(port)"}]
      connect: {allow: ["*"]}
      unlisted_hosts: forward
      threads: 1
      \(more)

      """
  }

  private static let dual = "hosts: {dual.far.test: [\"::1\", 127.0.0.1]}\n"

  @Test(arguments: ["", "address_family: ipv4\n"])
  func `a parent that does not reach one address is asked for the next`(_ family: String) throws {
    let parent = try ParentServer()
    let port = try Origin.shared().ports.http
    try withProxy(try configuration(parent, keys: ", resolve: here", more: Self.dual + family)) { proxy throws in
      let answer = try proxy.ask("http://dual.test/echo")
      #expect(answer.status == 200, "\(answer.head)\n\(proxy.tail)")
      let targets = ["[::1]:\(port)", "127.0.0.1:\(port)"]
      #expect(try parent.asked().map(\.target) == (family.isEmpty ? targets : [targets[1]]))
    }
  }

  @Test func `a refusal of one address is final`() throws {
    let parent = try ParentServer()
    try parent.set(#"{"answer": "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"}"#)
    try withProxy(try configuration(parent, keys: ", resolve: here", more: Self.dual)) { proxy throws in
      expectOwnAnswer(try proxy.ask("http://dual.test/echo"), 502, "http_request_denied")
      #expect(try parent.asked().count == 1)
    }
  }

  @Test func `each address has its share of the time`() throws {
    let parent = try ParentServer()
    try parent.set(#"{"silent": "[::1]"}"#)
    let more = Self.dual + "timeouts: {connect: 4s}\n"
    try withProxy(try configuration(parent, keys: ", resolve: here", more: more)) { proxy throws in
      #expect(try proxy.ask("http://dual.test/echo").status == 200, "\(proxy.tail)")
      #expect(try parent.asked().count == 2)
    }
  }

  @Test(
    arguments: [
      "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "169.254.169.254", "localhost", "localhost.",
      "a.localhost",
    ])
  func `a parent that resolves is asked for no forbidden address, and not for this machine`(_ host: String) throws {
    let parent = try ParentServer()
    let more = "forbidden_addresses: [127.0.0.0/8, \"::1\", 169.254.0.0/16]\n"
    try withProxy(try configuration(parent, more: more)) { proxy throws in
      expectOwnAnswer(try proxy.ask("http://\(host):81/"), 403, "destination_ip_prohibited")
      let client = try proxy.connect()
      try client.send("CONNECT \(host):443 HTTP/1.1\r\nHost: \(host):443\r\n\r\n")
      expectOwnAnswer(try client.readAnswer(), 403, "destination_ip_prohibited")
      #expect(try parent.asked().isEmpty)
    }
  }

  @Test func `resolve here refuses a name that leads to a forbidden address`() throws {
    let parent = try ParentServer()
    let more = "forbidden_addresses: [127.0.0.0/8, \"::1\"]\n"
    try withProxy(try configuration(parent, keys: ", resolve: here", more: more)) { proxy throws in
      expectOwnAnswer(try proxy.ask("http://localhost:81/"), 403, "destination_ip_prohibited")
      #expect(try parent.asked().isEmpty)
    }
  }

  @Test func `an IPv6 address is asked for in brackets`() throws {
    let parent = try ParentServer()
    let port = try Origin.shared().ports.http6
    try withProxy(try configuration(parent, more: RevocationByOCSPTests.loopback)) { proxy throws in
      let client = try proxy.connect()
      try client.send("CONNECT [::1]:\(port) HTTP/1.1\r\nHost: [::1]:\(port)\r\n\r\n")
      #expect(try client.readText(through: "\r\n\r\n").hasPrefix("HTTP/1.1 200"))
      try client.send("GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
      #expect(try client.readAnswer().status == 200)
      let asked = try parent.asked()
      #expect(asked.map(\.target) == ["[::1]:\(port)"])
      #expect(asked.first?.fields["host"] == ["[::1]:\(port)"])
    }
  }
}
