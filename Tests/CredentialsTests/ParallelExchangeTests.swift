import Crypto
import Testing

@testable import Credentials

@Suite("Exchanges of one credential that run beside each other leave what they discovered, and nothing else")
struct ParallelExchangeTests {
  private static let issuer = "https://login.example.com/tenant"

  private static func document(_ path: String) -> [UInt8] {
    bytes("{\"issuer\":\"\(issuer)\",\"token_endpoint\":\"https://login.example.com/\(path)\"}")
  }

  private static func begun(_ shared: TokenExchange, now: Int64) -> TokenExchange {
    var exchange = shared
    _ = exchange.start(.init(), now: now, wall: 0)
    return exchange
  }

  /// Where the next exchange goes first.
  private static func next(_ shared: TokenExchange, now: Int64) -> String? {
    var exchange = shared
    guard case .send(let request) = exchange.start(.init(), now: now, wall: 0) else { return nil }
    return request.url
  }

  @Test("the newest endpoint wins, whoever ends last; one that failed forgets nothing of the others")
  func newest() {
    var shared = TokenExchange(policy: makePolicy(endpoint: .issuer(url: Self.issuer)))
    let before = shared
    var (first, second, third) = (Self.begun(shared, now: 0), Self.begun(shared, now: 0), Self.begun(shared, now: 0))
    _ = first.answered(status: 200, retryAfter: nil, body: Self.document("old"), now: 1, wall: 0)
    _ = second.answered(status: 200, retryAfter: nil, body: Self.document("new"), now: 2, wall: 0)
    _ = third.failed(.timedOut)
    for ended in [second, first, third] { shared.learn(from: ended, since: before) }
    #expect(Self.next(shared, now: 10) == "https://login.example.com/new")
  }

  @Test("an endpoint that has moved is forgotten, unless it was discovered anew meanwhile")
  func moved() {
    var shared = TokenExchange(policy: makePolicy(endpoint: .issuer(url: Self.issuer)))
    var first = Self.begun(shared, now: 0)
    _ = first.answered(status: 200, retryAfter: nil, body: Self.document("old"), now: 1, wall: 0)
    shared.learn(from: first, since: shared)
    let before = shared
    var (gone, late) = (Self.begun(shared, now: 5), Self.begun(shared, now: 5))
    _ = gone.answered(status: 404, retryAfter: nil, body: [], now: 6, wall: 0)
    shared.learn(from: gone, since: before)
    #expect(Self.next(shared, now: 7)?.contains(".well-known") == true)
    var again = Self.begun(shared, now: 8)
    let forgotten = shared
    _ = again.answered(status: 200, retryAfter: nil, body: Self.document("new"), now: 9, wall: 0)
    shared.learn(from: again, since: forgotten)
    _ = late.answered(status: 404, retryAfter: nil, body: [], now: 10, wall: 0)
    shared.learn(from: late, since: before)
    #expect(Self.next(shared, now: 11) == "https://login.example.com/new")
  }

  @Test("the first DPoP nonce, and every newer one, is for all")
  func nonces() throws {
    let key = try DPoPKey.generated()
    var shared = TokenExchange(policy: makePolicy())
    let before = shared
    func begin(_ exchange: TokenExchange) -> TokenExchange {
      var exchange = exchange
      var material = TokenRequest.Material()
      material.dpopKey = key
      _ = exchange.start(material, now: 0, wall: 0)
      return exchange
    }
    var (first, second) = (begin(shared), begin(shared))
    _ = first.answered(status: 500, retryAfter: nil, dpopNonce: "n-1", body: [], now: 1, wall: 0)
    _ = second.failed(.timedOut)
    shared.learn(from: first, since: before)
    shared.learn(from: second, since: before)
    var next = shared
    var material = TokenRequest.Material()
    material.dpopKey = key
    guard case .send(let request) = next.start(material, now: 2, wall: 0) else {
      Issue.record("nothing was sent")
      return
    }
    let proof = text(try #require(request.fields.first { $0.name == "DPoP" }).value.bytes)
    let claims = try #require(Base64.decodeURL(proof.split(separator: ".")[1].utf8))
    #expect(text(claims).contains("\"n-1\""))
  }
}
