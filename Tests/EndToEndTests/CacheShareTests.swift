import Foundation
import Testing

/// Whose requests one stored answer may serve, and that nobody gets one who may not ask.
@Suite struct CacheShareTests {
  private static let top = """
    clients:
      - {name: one, password: pw-5ecret-1}
      - {name: two, password: pw-5ecret-2}
      - {name: barred, password: pw-5ecret-3, allow: []}
    """

  private let origin: Origin
  init() throws { origin = try Origin.shared() }

  private static func login(_ name: String, _ number: Int) -> String {
    "Proxy-Authorization: Basic \(Data("\(name):pw-5ecret-\(number)".utf8).base64EncodedString())"
  }
  private static let one = login("one", 1)
  private static let two = login("two", 2)

  /// Whether the second client's request is answered with what the first one's left.
  private func isShared(_ share: String, _ fields: String...) throws -> Bool {
    let name = Origin.newName()
    let lines = fields.map { $0 + "\r\n" }.joined()
    try origin.script(
      name, [.readBody, .send("HTTP/1.1 200 OK\r\n\(lines)Content-Length: 5\r\n\r\nfirst")],
      [.readBody, .send("HTTP/1.1 200 OK\r\n\(lines)Content-Length: 6\r\n\r\nsecond")])
    var text = ""
    try withProxy(try Configuration.https("cache: {share: \(share)}", top: Self.top)) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      #expect(try proxy.ask(url, [Self.one]).text == "first")
      text = try proxy.ask(url, [Self.two]).text
      let own = try proxy.ask(url, [Self.one])
      if share == "client" { #expect(own.text == "first" && own.cacheStatus?.hasPrefix("hit") == true) }
    }
    return text == "first"
  }

  @Test func `an answer is its client's own, unless the entry says otherwise`() throws {
    #expect(try !isShared("client", "Cache-Control: public, max-age=600"))
  }

  @Test(arguments: [
    ("public", "Cache-Control: max-age=600", false), ("public", "Cache-Control: public, max-age=600", true),
    ("public", "Cache-Control: s-maxage=600", true), ("public", "Cache-Control: private, max-age=600", false),
    ("all", "Cache-Control: max-age=600", true), ("all", "Cache-Control: private, max-age=600", false),
    ("credential", "Cache-Control: private, max-age=600", true), ("credential", "Cache-Control: no-store", false),
  ])
  func `what the entry and the origin say decides together`(_ share: String, _ field: String, _ shared: Bool) throws {
    #expect(try isShared(share, field) == shared)
  }

  @Test func `who may not ask gets 407 or 403, whatever is stored`() throws {
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: public, max-age=600")
    try withProxy(try Configuration.https("cache: {share: all}", top: Self.top)) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      _ = try proxy.ask(url, [Self.one])
      #expect(try proxy.ask(url, [Self.two]).cacheStatus?.hasPrefix("hit") == true)
      for (fields, status) in [([], 407), ([Self.login("one", 2)], 407), ([Self.login("barred", 3)], 403)] {
        let answer = try proxy.ask(url, fields)
        #expect(answer.status == status && answer["Cache-Status"] == nil)
      }
    }
  }

  @Test func `a request with the app's own credential is told apart, with ignore_headers of all fields, too`() throws {
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: public, max-age=600")
    let entry = "cache: {share: public, ignore_headers: [\"*\"]}"
    try withProxy(try Configuration.https(entry, "client_authorization: keep")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      var seen: Set<String> = []
      for fields in [[], ["Authorization: Bearer a"], ["Authorization: Bearer b"]] {
        seen.insert(try proxy.ask(url, fields + ["X-Any: \(seen.count)"]).text)
        #expect(try proxy.ask(url, fields + ["X-Any: other"]).cacheStatus?.hasPrefix("hit") == true)
      }
      #expect(seen.count == 3)
    }
  }

  @Test func `an app's own key in the credential's field tells its requests apart, whatever is ignored`() throws {
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: private, max-age=600")
    let text = try Configuration.https(
      "credential: keyed", "client_authorization: keep", #"cache: {share: credential, ignore_headers: ["*"]}"#,
      top: "  keyed:\n    header: {name: X-Api-Key, value: keyed-5ecret}")
    try withProxy(text) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      #expect(try proxy.ask(url, ["X-Api-Key: first-5ecret"]).text == "first")
      #expect(try proxy.ask(url, ["X-Api-Key: other-5ecret"]).text == "second")
      #expect(try proxy.ask(url, ["X-Api-Key: first-5ecret", "X-Trace: 1"]).text == "first")
    }
  }

  @Test func `a client's name in what response_headers writes goes to that client`() throws {
    let name = Origin.newName()
    try origin.answers(name, "Cache-Control: max-age=600")
    let rule = #"response_headers: {set: {X-User: "{client}"}}"#
    try withProxy(try Configuration.https("cache: {share: all}", rule, top: Self.top)) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      for (login, client) in [(Self.one, "one"), (Self.two, "two"), (Self.one, "one")] {
        #expect(try proxy.ask(url, [login])["X-User"] == client)
      }
    }
  }
}
