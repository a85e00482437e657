import Cache
import Credentials
import Settings
import Testing

@testable import Proxy

/// What `explain` says about the store.
@Suite struct StoringExplanationTests {
  private static func storing(
    _ method: String = "GET", _ fields: [String] = [], _ cache: CacheRules? = CacheRules(),
    _ authorization: UpstreamSettings.ClientAuthorization = .replace, change: (inout UpstreamSettings) -> Void = { _ in }
  ) throws -> Explanation.Outcome {
    var upstream = UpstreamSettings(
      name: "api", match: .init(host: "api.test"), origin: .init(scheme: .https, host: "o.test", port: 443), credential: "key",
      clientAuthorization: authorization, timeouts: Timeouts())
    upstream.cache = cache
    change(&upstream)
    let key = CredentialPolicy(name: "key", kind: .header(name: "X-Api-Key", value: Secret("x"), format: "{value}"))
    let snapshot = try SnapshotBuilder().build(
      Settings(
        listeners: [ListenerSettings(endpoint: .tcp(host: "127.0.0.1", port: 0))], upstreams: [upstream],
        credentials: ["key": key]), generation: 1)
    return Explanation.of(method: method, target: "http://api.test/", fields: fields, client: nil, in: snapshot).outcome
  }

  private static func found(_ outcome: Explanation.Outcome) throws -> Explanation.Storing? {
    guard case .forwarded(let forwarding) = outcome else { throw Unexpected() }
    return forwarding.storing
  }
  private struct Unexpected: Error {}

  @Test func `without cache there is nothing to say`() throws {
    #expect(try Self.found(try Self.storing("GET", [], nil)) == nil)
  }

  @Test(arguments: [
    (["Cookie: a", "X-User: b", "cookie: c"], ["cookie", "x-user"]), (["Accept: a", "User-Agent: b", "traceparent: c"], []),
    (["X-Api-Key: mine"], []), (["Authorization: Basic eA=="], ["authorization"]), (["Connection: X-Hop", "X-Hop: a"], []),
  ])
  func `the fields that tell a request apart are those that go on and are not harmless`(
    _ fields: [String], _ telling: [String]
  ) throws {
    let storing = try #require(try Self.found(try Self.storing("GET", fields)))
    #expect(storing.telling == telling)
    #expect(storing.sendsCredential && storing.mayCollapse && storing.mayStore && storing.pass == nil)
  }

  @Test func `rules of the entry count, and so does what the proxy writes for each client`() throws {
    let shared = CacheRules(share: .all, ignored: IgnoredFields(["X-Id"]))
    let outcome = try Self.storing("GET", ["Accept: a", "X-Id: b", "X-Debug: c", "X-App: d"], shared) { upstream in
      upstream.requestHeaders.remove = ["X-Debug"]
      upstream.requestHeaders.set = [.init(name: "X-App", value: try! FieldTemplate("{client}"))]
    }
    #expect(try Self.found(outcome)?.telling == ["accept", "x-app"])
  }

  @Test func `an app's own credential, where it is kept, tells it apart; where it is refused, so is the request`() throws {
    let kept = try #require(try Self.found(try Self.storing("GET", ["X-Api-Key: mine"], CacheRules(), .keep)))
    #expect(kept.telling == ["x-api-key"] && !kept.sendsCredential)
    guard case .answered(let status, _, _) = try Self.storing("GET", ["X-Api-Key: mine"], CacheRules(), .reject) else {
      throw Unexpected()
    }
    #expect(status == 403)
  }

  @Test(arguments: [
    ("POST", [], RequestPlan.Pass.method, false), ("GET", ["If-Match: \"a\""], .bypass, false),
    ("GET", ["Content-Length: 1"], .bypass, false), ("GET", ["Cache-Control: no-store"], nil, false),
    ("GET", ["Range: bytes=0-1"], nil, false), ("GET", [], nil, true),
  ])
  func `what goes by the store, and what is not stored, is said`(
    _ method: String, _ fields: [String], _ pass: RequestPlan.Pass?, _ mayStore: Bool
  ) throws {
    let storing = try #require(try Self.found(try Self.storing(method, fields)))
    #expect(storing.pass == pass && storing.mayStore == mayStore)
  }
}
