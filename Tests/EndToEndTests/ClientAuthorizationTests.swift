import Foundation
import Testing

/// What the app itself sends in the credential's field.
@Suite struct ClientAuthorizationTests {
  /// Spellings that some origins also accept as this field.
  static let header = "credential: key"
  static let key = "  key:\n    header: {name: X-Api-Key, value: right-5ecret}"

  @Test func `is replaced by default, whatever its spelling and number`() throws {
    try withProxy(try Configuration.https(Self.header, top: Self.key)) { proxy in
      let received = try proxy.ask(
        "http://api.test/echo",
        ["x-api-key: mine", "X-API-KEY: again", "X_Api_Key: sly", "x-api_key: slier", "X-Api-Keys: kept"]
      ).received()
      let alike = received.fields.filter { $0[0].lowercased().replacingOccurrences(of: "_", with: "-") == "x-api-key" }
      #expect(alike == [["X-Api-Key", "right-5ecret"]])
      #expect(received["X-Api-Keys"] == "kept")
    }
  }

  @Test func `is replaced in Authorization, after Connection was obeyed`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let received = try proxy.ask(
        "http://api.test/echo", ["Authorization: Bearer mine", "Connection: authorization, x-a", "X-A: 1"]
      ).received()
      #expect(received.all("Authorization") == ["Bearer \(Configuration.token)"])
      #expect(received["X-A"] == nil)
    }
  }

  @Test func `is kept where the entry says so, and the app's own 401 is relayed untouched`() throws {
    try withProxy(try Configuration.https("client_authorization: keep")) { proxy in
      let kept = try proxy.ask("http://api.test/echo", ["Authorization: Bearer mine"]).received()
      #expect(kept.all("Authorization") == ["Bearer mine"])
      let refused = try proxy.ask(
        "http://api.test/?authorization=\(Configuration.wanted)", ["Authorization: Bearer mine"])
      #expect(refused.status == 401)
      #expect(refused.text == "not you\n")
      let none = try proxy.ask("http://api.test/echo").received()
      #expect(none.all("Authorization") == ["Bearer \(Configuration.token)"])
    }
  }

  @Test func `is refused with 403 where the entry says so`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try withProxy(try Configuration.https("client_authorization: reject")) { proxy in
      expectOwnAnswer(
        try proxy.ask("http://api.test/echo?id=\(name)", ["authorization: Bearer mine"]), 403, "http_request_denied")
      #expect(try origin.exchanges(name).isEmpty)
      #expect(try proxy.ask("http://api.test/echo?id=\(name)").status == 200)
    }
  }
}
