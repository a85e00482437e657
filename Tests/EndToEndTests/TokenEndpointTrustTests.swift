import Foundation
import Testing

/// Trust policies judge token endpoints like upstreams, and no secret is sent before the verdict.
@Suite struct TokenEndpointTrustTests {
  private struct Policy {
    let name: String
    let endpoint: KeepAliveServer
    let evaluators: [String]
  }

  private func configuration(_ policies: [Policy], top: String = "") throws -> String {
    let origin = "https://localhost:\(try Origin.shared().ports.https)"
    var lines = [top, "upstreams:"]
    for policy in policies {
      lines += ["  - match: \(policy.name).test", "    origin: \(origin)", "    credential: \(policy.name)"]
    }
    lines.append("credentials:")
    for policy in policies {
      lines += [
        "  \(policy.name):", "    oauth2:", "      grant: client_credentials",
        "      token_url: https://localhost:\(policy.endpoint.port)/token", "      client_id: app",
        "      client_secret: {env: CLIENT_SECRET}", "      trust: \(policy.name)",
      ]
    }
    lines.append("trust:")
    lines += ["  default:", "    - default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}"]
    for policy in policies { lines += ["  \(policy.name):"] + policy.evaluators.map { "    " + $0 } }
    return lines.joined(separator: "\n") + "\n"
  }

  private let secret = ["CLIENT_SECRET": "5ecret"]

  @Test func `a token server that is not trusted gets no request, whatever the reason`() throws {
    let world = try TrustWorld()
    let (good, expired) = (try KeepAliveServer(world, "ocsp"), try KeepAliveServer(world, "expired"))
    let hard = RevocationByOCSPTests.hard
    let policies = [
      Policy(
        name: "revoked", endpoint: good,
        evaluators: [world.root, RevocationByOCSPTests.check(", responder: \"\(world.url)/ocsp/revoked?delay=0.5\"")]),
      Policy(
        name: "unanswered", endpoint: good,
        evaluators: [world.root, RevocationByOCSPTests.check(hard + ", responder: \"\(world.url)/ocsp/error\"")]),
      Policy(
        name: "pinned", endpoint: good,
        evaluators: [world.root, "- pinned_public_keys: {pins: [\"\(try world.pin("backup"))\"]}"]),
      Policy(name: "expired", endpoint: expired, evaluators: [world.root]),
    ]
    try withProxy(try configuration(policies), environment: secret) { proxy in
      for policy in policies {
        let answer = try proxy.ask("http://\(policy.name).test/")
        expectOwnAnswer(answer, 503, "proxy_internal_response")
        #expect(policy.endpoint.requests == 0, "\(policy.name): \(answer.head)\(answer.text)")
      }
      #expect(try world.count("revoked") == 1)
    }
  }

  @Test func `one whose answer has to be fetched first is asked once that is there`() throws {
    let world = try TrustWorld()
    let endpoints = try (0..<3).map { _ in try KeepAliveServer(world, "ocsp") }
    let asked = ", responder: \"\(world.url)/ocsp/good?delay=0.7\""
    let down = ", responder: \"\(world.url)/ocsp/error\""
    let whole = "- revocation: {methods: [ocsp], require_positive_response: true}"
    let policies = [
      Policy(
        name: "good", endpoint: endpoints[0],
        evaluators: [world.root, RevocationByOCSPTests.check(asked + RevocationByOCSPTests.hard)]),
      Policy(name: "soft", endpoint: endpoints[1], evaluators: [world.root, RevocationByOCSPTests.check(down)]),
      Policy(name: "chain", endpoint: endpoints[2], evaluators: [world.root, whole]),
    ]
    let text = try configuration(policies, top: RevocationByOCSPTests.loopback)
    try withProxy(text, environment: secret) { proxy in
      for policy in policies {
        let received = try proxy.ask("http://\(policy.name).test/echo").received()
        #expect(received["Authorization"] == "Bearer tok-5ecret-0001", "\(policy.name)")
        #expect(policy.endpoint.requests == 1, "\(policy.name)")
      }
      #expect(try world.count("good") == 1)
      #expect(try world.count("intermediate") == 1)
      proxy.awaitWarning("revocation_unknown")
    }
  }
}
