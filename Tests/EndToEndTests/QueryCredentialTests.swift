import Foundation
import Testing

/// A secret in a parameter of the query.
@Suite struct QueryCredentialTests {
  private let part = "key=\(TargetCredential.inQuery)"

  @Test func `it goes last, whatever method and target`() throws {
    let origin = try Origin()
    try withProxy(TargetCredential.query(try TargetCredential.file().value, origin: origin)) { proxy throws in
      for (target, sent) in [
        ("http://api.test/a?id=X", "/a?id=X&"), ("http://api.test?id=X", "/?id=X&"),
        ("http://api.test/%7e/;b?id=X&", "/%7e/;b?id=X&"),
        ("http://api.test/a?c=%2f;d&&id=X", "/a?c=%2f;d&&id=X&"),
      ] {
        for (method, body) in [("GET", nil), ("HEAD", nil), ("DELETE", nil), ("POST", "body"), ("PUT", "")]
          as [(String, String?)]
        {
          let name = Origin.newName()
          #expect(
            try proxy.ask(method, target.replacingOccurrences(of: "X", with: name), body: body).status == 200)
          let seen = try origin.exchanges(name)
          #expect(seen.map(\.target) == [sent.replacingOccurrences(of: "X", with: name) + part])
          #expect(seen.map(\.body) == [body ?? ""] && seen.map(\.method) == [method])
        }
      }
      for target in ["http://api.test/echo", "http://api.test/echo?"] {
        #expect(try proxy.ask(target).received().target == "/echo?\(part)")
      }
    }
  }

  @Test func `the app's own parameters of that name go, however they are written`() throws {
    try withProxy(TargetCredential.query(try TargetCredential.file().value)) { proxy throws in
      let received = try proxy.ask("http://api.test/echo?a=1&key=x&%6bey=y;k%65y;b=%6b&Key=z", ["Authorization: mine"])
        .received()
      #expect(received.target == "/echo?a=1;b=%6b&Key=z&\(part)")
      #expect(received.all("Authorization") == ["mine"])
    }
  }

  @Test func `the app's own parameter is kept or refused where the entry says so`() throws {
    let value = try TargetCredential.file().value
    let name = Origin.newName()
    try withProxy(TargetCredential.query(value, entry: ", client_authorization: keep")) { proxy throws in
      #expect(try proxy.ask("http://api.test/echo?b;k%65y=mine&c").received().target == "/echo?b;k%65y=mine&c")
      #expect(try proxy.ask("http://api.test/echo?b").received().target == "/echo?b&\(part)")
    }
    try withProxy(TargetCredential.query(value, entry: ", client_authorization: reject")) { proxy throws in
      expectOwnAnswer(try proxy.ask("http://api.test/echo?id=\(name)&k%65y=mine"), 403, "http_request_denied")
      #expect(try Origin.shared().exchanges(name).isEmpty)
      #expect(try proxy.ask("http://api.test/echo?id=\(name)").status == 200)
    }
  }

  @Test func `a changed file is picked up by the refused request itself`() throws {
    let origin = try Origin.shared()
    let (path, value) = try TargetCredential.file("old-5ecret")
    try withProxy(TargetCredential.query(value, top: "threads: 2\nwatch_files: off")) { proxy throws in
      let name = Origin.newName()
      try origin.script(
        name, [.readBody, TargetCredential.answer("200 OK")], [.readBody, TargetCredential.answer("401 No")],
        [.readBody, TargetCredential.answer("200 OK")])
      #expect(try proxy.ask("POST", "http://api.test/?id=\(name)", body: "one").status == 200)
      try ProxyProcess.write("new-5ecret\n", to: path)
      #expect(try proxy.ask("POST", "http://api.test/?id=\(name)", body: "two").status == 200)
      #expect(try proxy.ask("POST", "http://api.test/?id=\(name)", body: "three").status == 200)
      let seen = try origin.exchanges(name)
      #expect(seen.map(\.target) == ["old", "old", "new", "new"].map { "/?id=\(name)&key=\($0)-5ecret" })
      #expect(seen.map(\.body) == ["one", "two", "two", "three"])
    }
  }

  @Test func `each attempt carries it once, after a retry and after a stale connection`() throws {
    let origin = try Origin()
    let text = try TargetCredential.query(
      try TargetCredential.file().value, entry: ", retry: {attempts: 2, backoff: 10ms}", origin: origin)
    try withProxy(text) { proxy throws in
      let name = Origin.newName()
      try origin.script(
        name, [.readBody, TargetCredential.answer("503 Later")], [.readBody, TargetCredential.answer("200 OK")])
      #expect(try proxy.ask("http://api.test/?id=\(name)").status == 200)
      try origin.dropConnections("https")
      #expect(try proxy.ask("http://api.test/?id=\(name)").status == 200)
      let seen = try origin.exchanges(name)
      #expect(seen.count >= 3 && Set(seen.map(\.target)) == ["/?id=\(name)&\(part)"])
    }
  }

  @Test func `a WebSocket is opened with it`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try withProxy(TargetCredential.query(try TargetCredential.file().value)) { proxy throws in
      let client = try proxy.connect()
      try client.send(
        ProxyProcess.request(
          "GET", "http://api.test/?id=\(name)",
          [
            "Connection: upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
          ]))
      #expect(try client.readHead().status == 101)
      #expect(try origin.exchanges(name).map(\.target) == ["/?id=\(name)&\(part)"])
    }
  }
}
