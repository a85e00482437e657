import Foundation
import Testing

/// Which requests for one URL are told apart.
@Suite struct CacheVariantTests {
  private let origin: Origin
  init() throws { origin = try Origin.shared() }

  /// Whether a request with these fields gets what one with the others left.
  private func meet(
    _ cache: String, _ first: [String], _ second: [String], answer: String = "Cache-Control: public, max-age=600"
  ) throws -> Bool {
    let name = Origin.newName()
    try origin.answers(name, answer)
    var isHit = false
    try withProxy(try Configuration.https("cache: {\(cache)}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      _ = try proxy.ask(url, first)
      isHit = try proxy.ask(url, second).cacheStatus?.hasPrefix("hit") == true
    }
    return isHit
  }

  @Test(arguments: ["Cookie: a=", "X-User: ", "X-Forwarded-Host: ", "X-HTTP-Method-Override: ", "Accept-Version: "])
  func `a field that is not known to be harmless tells them apart`(_ field: String) throws {
    #expect(try !meet("", [field + "1"], [field + "2"]))
    #expect(try !meet("", [], [field + "2"]))
    #expect(try meet("", [field + "1"], [field + "1"]))
  }

  @Test(arguments: ["User-Agent: ", "traceparent: ", "X-Request-Id: ", "Accept-Encoding: ", "Sec-Fetch-Mode: "])
  func `a harmless one does not`(_ field: String) throws { #expect(try meet("", [field + "1"], [field + "2"])) }

  @Test func `Accept does where an answer serves several clients`() throws {
    let (one, two) = (["Accept: text/html"], ["Accept: application/json"])
    #expect(try meet("", one, two))
    #expect(try !meet("share: public", one, two))
  }

  @Test func `Vary tells apart what is harmless otherwise, and what is ignored`() throws {
    let vary = "Cache-Control: public, max-age=600\r\nVary: User-Agent, X-Tenant"
    #expect(try !meet("", ["User-Agent: 1"], ["User-Agent: 2"], answer: vary))
    #expect(try !meet("ignore_headers: [\"*\"]", ["X-Tenant: 1"], ["X-Tenant: 2"], answer: vary))
    #expect(try meet("ignore_headers: [\"*\"]", ["X-Other: 1"], ["X-Other: 2"], answer: vary))
    #expect(try !meet("", [], [], answer: "Cache-Control: max-age=600\r\nVary: *"))
  }

  @Test func `ignore_headers takes names and beginnings of names`() throws {
    let ignored = "ignore_headers: [X-Correlation-Id, \"X-Stats-*\"]"
    #expect(try meet(ignored, ["X-Correlation-Id: 1", "X-Stats-A: 1"], ["x-correlation-id: 2", "x-stats-b: 2"]))
    #expect(try !meet(ignored, ["X-Correlation: 1"], ["X-Correlation: 2"]))
  }

  @Test func `an app that wants a new answer gets one, unless the entry ignores that`() throws {
    for wish in ["Cache-Control: no-cache", "Pragma: no-cache", "Cache-Control: max-age=0"] {
      #expect(try !meet("", [], [wish]), "\(wish)")
      #expect(try meet("client_directives: ignore", [], [wish]), "\(wish)")
    }
  }
}
