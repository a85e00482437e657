import Foundation
import Testing

/// An origin of a list that gives no answer to some requests: whoever sends them goes to the next, and nobody else.
@Suite struct OriginWitnessTests {
  private static func up(_ origin: String) -> String { #"authproxy_origin_up{upstream="api.test",origin="\#(origin)"}"# }

  /// Two known clients.
  private static let clients = "clients: [{name: one, password: 5ecret-one}, {name: two, password: 5ecret-two}]"
  private static func login(_ name: String) -> [String] {
    ["Proxy-Authorization: Basic " + Data("\(name):5ecret-\(name)".utf8).base64EncodedString()]
  }

  @Test func `one that does not answer some requests serves all others`() throws {
    let (first, second) = (try ListedOrigin("http", .picky), try ListedOrigin("http"))
    try withProxy(OriginListTests.configuration([first.url(), second.url()])) { proxy throws in
      func ask(_ target: String) throws -> Int? { try proxy.ask("http://api.test/\(target)").listed?.port }
      #expect(try ask("bad") == nil)
      for _ in 0..<5 {
        #expect(try ask("good") == first.port)
        #expect(try ask("bad") == second.port)
      }
      // Another target, after answers to others.
      #expect(try ask("bad2") == nil && ask("good") == first.port && ask("bad3") == nil)
      #expect(try proxy.metric(Self.up(first.url())) == 1)
      #expect(!proxy.process.lines.contains { $0.contains("an origin is down") }, "\(proxy.tail)")
    }
  }

  @Test func `one that answers nobody is down after the second target`() throws {
    let (first, second) = (try ListedOrigin("http", .swallow), try ListedOrigin("http"))
    try withProxy(OriginListTests.configuration([first.url(), second.url()])) { proxy throws in
      func ask(_ target: String) throws -> Int? { try proxy.ask("http://api.test/\(target)").listed?.port }
      #expect(try ask("a") == nil && ask("b") == nil)
      for target in ["a", "b", "c"] { #expect(try ask(target) == second.port) }
      #expect(try first.taken() == 2)
      #expect(try proxy.metric(Self.up(first.url())) == 0)
    }
  }

  @Test func `or after the second client`() throws {
    let (first, second) = (try ListedOrigin("http", .swallow), try ListedOrigin("http"))
    try withProxy(OriginListTests.configuration([first.url(), second.url()], top: Self.clients)) { proxy throws in
      func ask(_ name: String) throws -> Int? { try proxy.ask("http://api.test/", Self.login(name)).listed?.port }
      #expect(try ask("one") == nil && ask("one") == second.port)
      #expect(try proxy.metric(Self.up(first.url())) == 1)
      #expect(try ask("two") == nil)
      for name in ["one", "two"] { #expect(try ask(name) == second.port) }
      #expect(try proxy.metric(Self.up(first.url())) == 0)
    }
  }

  @Test func `a request that it does not answer keeps no other from trying it again`() throws {
    let (first, second) = (try ListedOrigin("http"), try ListedOrigin("http"))
    first.kill()
    try withProxy(OriginListTests.configuration([first.url(), second.url()])) { proxy throws in
      func ask(_ target: String) throws -> Int? { try proxy.ask("http://api.test/\(target)").listed?.port }
      #expect(try ask("good") == second.port)
      try first.restart()
      try first.set(.picky)
      #expect(try eventually(seconds: 10) { try ask("bad") == nil })
      #expect(try ask("bad") == second.port)
      #expect(try ask("good") == first.port)
      #expect(try proxy.metric(Self.up(first.url())) == 1)
    }
  }
}
