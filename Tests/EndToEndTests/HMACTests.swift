import Foundation
import Synchronization
import Testing

/// Requests signed with a shared key, verified by Python's hmac.
@Suite struct HMACTests {
  private static func hmac(_ venue: String = "one", key: String) -> String {
    """
    hmac:
          key: \(key)
          algorithm: sha512
          message: "{timestamp}{method}{target}{nonce}{body}"
          timestamp: unix_ms
          values: {id: \(venue), pass: {file: \(key.dropFirst(7).dropLast(1)).pass}}
          fields: {X-Key: "{id}", X-Time: "{timestamp}", X-Nonce: "{nonce}", X-Pass: "{pass}", X-Sign: "{signature}"}
    """
  }

  /// The key's file, and `pass-` and the key beside it.
  private static func write(_ key: String, _ server: SigningServer, name: String = "key") throws -> String {
    let file = "\(server.folder)/\(name)"
    try ProxyProcess.write(key, to: file)
    try ProxyProcess.write("pass-" + key, to: file + ".pass")
    return "{file: \(file)}"
  }

  @Test func `every request is signed anew over what is sent, with its body, whatever framing the app chose`() throws {
    let server = try SigningServer(["venues": ["one": "s1-5ecret"]])
    let key = try Self.write("s1-5ecret", server)
    try withProxy(server.configuration(Self.hmac(key: key), top: "threads: 2")) { proxy throws in
      #expect(
        try proxy.ask("http://api.test/hmac?b=%20&a", ["X-Sign: mine", "x_key: mine", "Connection: x-time"]).status == 200)
      let client = try proxy.connect()
      for request in [
        ProxyProcess.request("POST", "http://api.test/hmac/%7Ea/../b", body: "hello"),
        ProxyProcess.request("PUT", "http://api.test/hmac", body: String(repeating: "large", count: 200_000)),
        "POST http://api.test/hmac HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-Sign: mine\r\n\r\n",
        "POST http://api.test/hmac HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      ] {
        try client.send(request)
        #expect(try client.readAnswer().status == 200)
      }
      try client.send(
        "POST http://api.test/hmac HTTP/1.1\r\nHost: api.test\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
      #expect(String(decoding: try client.read(through: "\r\n\r\n"), as: UTF8.self).hasPrefix("HTTP/1.1 100"))
      try client.send("{}")
      #expect(try client.readAnswer().status == 200)

      let uses = try server.uses()
      #expect(uses.map(\.why) == Array(repeating: "", count: 6))
      #expect(uses.map(\.length) == [0, 5, 1_000_000, 5, 0, 2])
      #expect(
        uses.allSatisfy { $0.all("Transfer-Encoding").isEmpty && $0.all("X-Sign").count == 1 && $0.all("X-Key") == ["one"] })
      #expect(Set(uses.map { $0.all("X-Nonce") }).count == 6)
      #expect(uses[3].all("Content-Length") == ["5"])
    }
  }

  @Test func `a body over limits hashed_body is 413, and no byte of it reaches the origin`() throws {
    let server = try SigningServer(["venues": ["one": "s1-5ecret"]])
    let key = try Self.write("s1-5ecret", server)
    let text = server.configuration(Self.hmac(key: key), top: "limits: {hashed_body: 64KiB}")
    try withProxy(text) { proxy throws in
      expectOwnAnswer(
        try proxy.ask("POST", "http://api.test/hmac", body: String(repeating: "x", count: 70_000)), 413, "http_request_error")
      #expect(try server.uses().isEmpty)
    }
  }

  @Test func `explain shows the message without secrets`() throws {
    let server = try SigningServer()
    let hmac = """
      hmac:
            key: key-5ecret
            message: "{pass}|{timestamp}|{method}|{target}|{nonce}|{field:X-None}|{body}|"
            values: {pass: pass-5ecret}
            fields: {X-Time: "{timestamp}", X-Nonce: "{nonce}", X-Sign: "{signature}"}
      """
    let shown = try explained(server.configuration(hmac), "PUT", "http://api.test/a?b")
    #expect(shown.contains(try Regex(#"\n  \*\*\*\|[0-9]{10}\|PUT\|/a\?b\|\*\*\*\|\|\|\n"#)), "\(shown)")
    #expect(!shown.contains("5ecret"))
  }

  @Test func `a message without the body leaves bodies streaming`() throws {
    let server = try SigningServer(["venues": ["one": "s1-5ecret"]])
    let hmac = #"hmac: {key: s1-5ecret, message: "{method}", fields: {X-Sign: "{signature}"}}"#
    try withProxy(server.configuration(hmac, top: "limits: {hashed_body: 1KiB}")) { proxy throws in
      _ = try proxy.ask("POST", "http://api.test/hmac", body: String(repeating: "x", count: 70_000))
      let uses = try server.uses()
      #expect(uses.map(\.length) == [70_000])
      #expect(uses[0].all("X-Sign").count == 1)
    }
  }

  @Test func `a new key in the file signs the refused request itself`() throws {
    let server = try SigningServer(["venues": ["one": "s1-5ecret"]])
    let key = try Self.write("s1-5ecret", server)
    try withProxy(server.configuration(Self.hmac(key: key), top: "threads: 2\nwatch_files: off")) { proxy throws in
      #expect(try proxy.ask("http://api.test/hmac").status == 200)
      _ = try Self.write("s2-5ecret", server)
      try server.set(["venues": ["one": "s2-5ecret"]])
      for _ in 0..<4 { #expect(try proxy.ask("POST", "http://api.test/hmac", body: "kept").status == 200) }
      #expect(try server.uses().count(where: { $0.why != "" }) == 1)
    }
  }

  @Test func `a longer secret than before leaves room for itself in the first head`() throws {
    let server = try SigningServer(["venues": ["one": "s1-5ecret"]])
    let key = try Self.write("s1-5ecret", server)
    let text = server.configuration(Self.hmac(key: key), top: "threads: 1")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("http://api.test/hmac").status == 200)
      let long = String(repeating: "5ecret", count: 7_000)
      _ = try Self.write(long, server)
      try server.set(["venues": ["one": long]])
      try proxy.reload(text)
      #expect(try proxy.ask("http://api.test/hmac").status == 200)
    }
  }

  @Test func `reloads under load leave no request with parts of two configurations`() throws {
    let server = try SigningServer(["venues": ["one": "s1-5ecret", "two": "s2-5ecret"]])
    let one = try Self.write("s1-5ecret", server, name: "one")
    let two = try Self.write("s2-5ecret", server, name: "two")
    let texts = [Self.hmac("one", key: one), Self.hmac("two", key: two)].map { server.configuration($0, top: "threads: 2") }
    try withProxy(texts[0]) { proxy throws in
      let listener = "listen: \(proxy.addresses[0])\n"
      try server.set(["forget": true])
      let asked = Mutex(0)
      let isOver = Mutex(false)
      let group = DispatchGroup()
      for _ in 0..<4 {
        DispatchQueue.global().async(group: group) {
          while !isOver.withLock({ $0 }) {
            guard let answer = try? proxy.ask("POST", "http://api.test/hmac", body: "body"), answer.status == 200 else {
              continue
            }
            asked.withLock { $0 += 1 }
          }
        }
      }
      for index in 1...6 {
        try proxy.reload(listener + texts[index % 2])
        let before = asked.withLock { $0 }
        #expect(try eventually { asked.withLock { $0 } >= before + 20 })
      }
      isOver.withLock { $0 = true }
      group.wait()
      let uses = try server.uses()
      #expect(uses.count >= 120 && uses.allSatisfy { $0.why == "" }, "\(uses.first { $0.why != "" }?.why ?? "")")
      #expect(Set(uses.flatMap { $0.all("X-Key") }) == ["one", "two"])
    }
  }
}
