import Foundation
import Testing

/// A secret in the first segment of the path.
@Suite struct PathCredentialTests {
  private let part = "/bot\(TargetCredential.inPath)"

  @Test func `it goes first, in place of the app's own, whatever method and target`() throws {
    let origin = try Origin()
    try withProxy(TargetCredential.path(try TargetCredential.file().value, origin: origin)) { proxy throws in
      for (target, sent) in [
        ("http://api.test/getMe?id=X", "/getMe?id=X"), ("http://api.test?id=X", "/?id=X"),
        ("http://api.test/bot1:dummy/getMe?id=X", "/getMe?id=X"), ("http://api.test/b%6ft1?id=X", "?id=X"),
        ("http://api.test/x/bot1/%7e;b?id=X", "/x/bot1/%7e;b?id=X"), ("http://api.test/bot/x?id=X", "/bot/x?id=X"),
      ] {
        for (method, body) in [("GET", nil), ("HEAD", nil), ("POST", "body")] as [(String, String?)] {
          let name = Origin.newName()
          #expect(
            try proxy.ask(method, target.replacingOccurrences(of: "X", with: name), body: body).status == 200)
          let seen = try origin.exchanges(name)
          #expect(seen.map(\.target) == [part + sent.replacingOccurrences(of: "X", with: name)])
          #expect(seen.map(\.body) == [body ?? ""])
        }
      }
    }
  }

  @Test func `the app's own segment is kept or refused where the entry says so`() throws {
    let origin = try Origin.shared()
    let value = try TargetCredential.file().value
    let name = Origin.newName()
    try withProxy(TargetCredential.path(value, entry: ", client_authorization: keep")) { proxy throws in
      #expect(try proxy.ask("http://api.test/b%6ftown-5ecret/getMe?id=\(name)").status == 200)
      #expect(try proxy.ask("http://api.test/getMe?id=\(name)").status == 200)
    }
    try withProxy(TargetCredential.path(value, entry: ", client_authorization: reject")) { proxy throws in
      expectOwnAnswer(try proxy.ask("http://api.test/botown-5ecret/getMe?id=\(name)"), 403, "http_request_denied")
      #expect(try proxy.ask("http://api.test/getMe?id=\(name)").status == 200)
    }
    #expect(
      try origin.exchanges(name).map(\.target)
        == ["/b%6ftown-5ecret/getMe", part + "/getMe", part + "/getMe"].map { "\($0)?id=\(name)" })
  }

  @Test func `a path that could leave the segment is refused`() throws {
    let name = Origin.newName()
    try withProxy(TargetCredential.path(try TargetCredential.file().value)) { proxy throws in
      for path in ["/..", "/../x", "/a/../../x", "/%2e%2e/x", "/..;a/x", "/x%2f..%2f..%2f", "//x"] {
        expectOwnAnswer(try proxy.ask("http://api.test\(path)?id=\(name)"), 400, "http_request_error")
      }
      #expect(try Origin.shared().exchanges(name).isEmpty)
    }
  }

  @Test func `a changed file is picked up by the refused request itself`() throws {
    let origin = try Origin.shared()
    let (path, value) = try TargetCredential.file("old-5ecret")
    try withProxy(TargetCredential.path(value, top: "watch_files: off")) { proxy throws in
      let name = Origin.newName()
      try origin.script(
        name, [.readBody, TargetCredential.answer("401 No")], [.readBody, TargetCredential.answer("200 OK")])
      #expect(try proxy.ask("http://api.test/x").status == 200)
      try ProxyProcess.write("new-5ecret\n", to: path)
      #expect(try proxy.ask("POST", "http://api.test/x?id=\(name)", body: "kept").status == 200)
      let seen = try origin.exchanges(name)
      #expect(seen.map(\.target) == ["old", "new"].map { "/bot\($0)-5ecret/x?id=\(name)" })
      #expect(seen.map(\.body) == ["kept", "kept"])
    }
  }
}
