import Credentials
import Routing
import Settings
import Testing

@testable import Proxy

/// What route table, clients' rights and CONNECT's rules decide about a request, without a connection.
@Suite struct ExplanationTests {
  private static func upstream(
    _ name: String, _ host: String, wildcard: Bool = false, port: UInt16? = nil, path: String = "", clients: Set<String>? = nil,
    credential: String? = nil
  ) -> UpstreamSettings {
    UpstreamSettings(
      name: name, match: .init(host: host, isWildcard: wildcard, port: port, pathPrefix: path), clients: clients,
      origin: .init(scheme: .https, host: wildcard ? "" : "origin.\(host)", port: 443), originIsExplicit: !wildcard,
      credential: credential, timeouts: Timeouts())
  }

  private static func snapshot(_ change: (inout Settings) -> Void = { _ in }) throws -> Snapshot {
    var settings = Settings(
      listeners: [ListenerSettings(endpoint: .tcp(host: "127.0.0.1", port: 0))],
      clients: [
        ClientSettings(name: "billing", password: Secret("x")),
        ClientSettings(name: "guest", password: Secret("y"), allow: .only(upstreams: ["whole"], hosts: [])),
      ],
      connectAllow: [HostPattern(host: "tunnel.test", isWildcard: false, port: 443)],
      upstreams: [
        upstream("whole", "api.test"),
        upstream("versioned", "api.test", path: "/v1", credential: "token"),
        upstream("deeper", "api.test", path: "/v1/x"),
        upstream("own", "api.test", clients: ["billing"]),
        upstream("spaced", "api.test", path: "/a%20b"),
        upstream("wide", "wide.test", wildcard: true),
        upstream("wider", "b.wide.test", wildcard: true),
        upstream("odd", "odd.test", port: 8443),
      ],
      credentials: ["token": CredentialPolicy(name: "token", kind: .bearer(token: Secret("z")))])
    change(&settings)
    return try SnapshotBuilder().build(settings, generation: 1)
  }

  /// `entry -> origin`, `status`, `tunnel`, or `entries a b`.
  private static func result(_ explanation: Explanation) -> String {
    switch explanation.outcome {
    case .forwarded(let forwarding): "\(forwarding.upstream.name) -> \(forwarding.origin.host)"
    case .answered(let status, _, _): "\(status)"
    case .tunnel: "tunnel"
    case .intercepted(let names): "intercepted \(names.joined(separator: " "))"
    case .entriesThroughConnect(let names, let tunnelsTLS):
      "entries \(names.joined(separator: " "))\(tunnelsTLS ? ", or a tunnel" : "")"
    }
  }

  @Test func `the most specific entry for the client takes the request, and nothing else decides`() throws {
    let snapshot = try Self.snapshot()
    let cases: [(client: String?, method: String, target: String, expected: String)] = [
      (nil, "GET", "http://api.test/", "whole -> origin.api.test"),
      (nil, "GET", "http://API.test./", "whole -> origin.api.test"),
      (nil, "GET", "http://api.test", "whole -> origin.api.test"),
      (nil, "GET", "https://api.test/v1", "versioned -> origin.api.test"),
      (nil, "GET", "http://api.test:80/v1?q=/v1/x", "versioned -> origin.api.test"),
      (nil, "GET", "http://api.test/v1/x/y", "deeper -> origin.api.test"),
      (nil, "GET", "http://api.test/v1x", "whole -> origin.api.test"),
      (nil, "GET", "http://api.test/v1/%2e./", "400"),
      (nil, "GET", "http://api.test/%76%31", "400"),
      (nil, "GET", "http://api.test/v%31/x", "400"),
      (nil, "GET", "http://api.test/%2576%31/x", "400"),
      (nil, "GET", "http://api.test/v1;a=b/y", "400"),
      (nil, "GET", "http://api.test/v1%3Ba/y", "400"),
      (nil, "GET", "http://api.test/v1%00", "400"),
      (nil, "GET", "http://api.test/y/%252e%252e/v1", "400"),
      (nil, "GET", "http://api.test/v1/x;a", "400"),
      (nil, "GET", "http://api.test/v1/%78", "400"),
      (nil, "GET", "http://api.test/v1/y%78;a=b/%20%41", "versioned -> origin.api.test"),
      (nil, "GET", "http://api.test/%79;v1/100%25", "whole -> origin.api.test"),
      (nil, "GET", "http://api.test/a%20b/c", "spaced -> origin.api.test"),
      (nil, "GET", "http://api.test/a%20%62/c", "400"),
      (nil, "GET", "http://api.test/a%2520b/c", "400"),
      ("billing", "GET", "http://api.test/%78", "own -> origin.api.test"),
      (nil, "GET", "http://a.wide.test/v%31;a", "wide -> a.wide.test"),
      (nil, "GET", "http://api.test:8080/", "403"),
      (nil, "GET", "http://a.wide.test/", "wide -> a.wide.test"),
      (nil, "GET", "http://a.b.wide.test/", "wider -> a.b.wide.test"),
      (nil, "GET", "http://wide.test/", "403"),
      (nil, "GET", "http://badwide.test/", "403"),
      (nil, "GET", "http://odd.test:8443/", "odd -> origin.odd.test"),
      (nil, "GET", "http://user:pw@api.test/", "400"),
      (nil, "GET", "ftp://api.test/", "400"),
      (nil, "GET", "/v1", "400"),
      (nil, "OPTIONS", "*", "200"),
      (nil, "TRACE", "http://api.test/v1", "405"),
      (nil, "TRACE", "http://api.test/", "whole -> origin.api.test"),
      ("billing", "GET", "http://api.test/", "own -> origin.api.test"),
      ("billing", "GET", "http://api.test/v1", "versioned -> origin.api.test"),
      ("guest", "GET", "http://api.test/", "whole -> origin.api.test"),
      ("guest", "GET", "http://api.test/v1", "403"),
      (nil, "CONNECT", "api.test:80", "entries spaced deeper versioned own whole"),
      (nil, "CONNECT", "api.test:443", "403"),
      (nil, "CONNECT", "tunnel.test:443", "tunnel"),
      ("guest", "CONNECT", "tunnel.test:443", "403"),
      (nil, "CONNECT", "tunnel.test", "400"),
    ]
    for (name, method, target, expected) in cases {
      let client = snapshot.settings.clients.first { $0.name == name }
      let explanation = Explanation.of(method: method, target: target, client: client, in: snapshot)
      #expect(Self.result(explanation) == expected, "\(name ?? "anonymous"): \(method) \(target)")
    }
  }

  @Test func `entries that do not take the request say why`() throws {
    let explanation = Explanation.of(method: "GET", target: "http://api.test/v1", client: nil, in: try Self.snapshot())
    let told = explanation.candidates.map { "\($0.isTaken ? "+" : "-") \($0.name): \($0.reason)" }
    #expect(
      told == [
        "- spaced: serves paths under /a%20b", "- deeper: serves paths under /v1/x",
        "+ versioned: the host is the same, the path begins with /v1",
        "- own: serves only billing", "- whole: is less specific",
      ])
    let read = Explanation.of(method: "GET", target: "http://api.test/%76%31;a/y", client: nil, in: try Self.snapshot())
    #expect(
      read.candidates.map { "\($0.isTaken ? "+" : "-") \($0.name): \($0.reason)" } == [
        "- spaced: serves paths under /a%20b", "- deeper: serves paths under /v1/x",
        "- versioned: serves the path as an origin may read it, /v1/y", "- own: serves only billing",
        "- whole: serves the path as it is written",
      ])
    guard case .answered(400, _, let text) = read.outcome else {
      Issue.record("\(read.outcome)")
      return
    }
    #expect(text.contains("as an origin may read it"))
    let other = Explanation.of(method: "GET", target: "http://odd.test/", client: nil, in: try Self.snapshot())
    #expect(other.candidates.map { "\($0.name): \($0.reason)" } == ["odd: serves port 8443"])
  }

  @Test func `without a name, listeners that all want clients answer 407`() throws {
    let snapshot = try Self.snapshot { $0.listeners[0].clientsRequired = true }
    #expect(Self.result(.of(method: "GET", target: "http://api.test/", client: nil, in: snapshot)) == "407")
    let client = snapshot.settings.clients[0]
    #expect(
      Self.result(.of(method: "GET", target: "http://api.test/", client: client, in: snapshot)) == "own -> origin.api.test")
  }

  @Test func `unlisted hosts go where the app asked, without a credential`() throws {
    let snapshot = try Self.snapshot { $0.unlistedHosts = .forward }
    let explanation = Explanation.of(method: "GET", target: "http://other.test:81/", client: nil, in: snapshot)
    guard case .forwarded(let forwarding) = explanation.outcome else {
      Issue.record("not forwarded: \(explanation.outcome)")
      return
    }
    #expect(forwarding.isUnlisted && forwarding.credential == nil && forwarding.trust == nil && forwarding.checksAddresses)
    #expect(forwarding.origin == .init(scheme: .http, host: "other.test", port: 81))
  }
}
