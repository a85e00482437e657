import Testing

/// Revocation lists, from an HTTP server and from files.
@Suite struct RevocationListTests {
  private func lists(_ more: String = "") -> String { "- revocation: {check: leaf, methods: [crl]\(more)}" }

  @Test(arguments: [("good", nil), ("revoked", "revocation: revoked")])
  func `a list is fetched once, and believed`(mode: String, refusal: String?) throws {
    let world = try TrustWorld()
    try world.set("crl", mode)
    let server = try TLSServer(world, "crl")
    let policy = [world.root, lists(RevocationByOCSPTests.hard)]
    let cases = [TrustCase("listed", "https://localhost:\(server.port)", policy)]
    try withProxy(TrustCase.configuration(cases, top: RevocationByOCSPTests.loopback)) { proxy in
      for _ in 0..<3 {
        if let refusal { try proxy.expectRefused("listed", refusal) } else { try proxy.expectTrusted("listed") }
      }
      #expect(try world.count("crl") == 1)
    }
  }

  @Test(arguments: ["stale", "other-issuer", "wrong-key", "garbage", "error", "oversized"])
  func `a list that does not count is no answer`(mode: String) throws {
    let world = try TrustWorld()
    try world.set("crl", mode)
    let server = try TLSServer(world, "crl")
    let place = "https://localhost:\(server.port)"
    let cases = [
      TrustCase("soft", place, [world.root, lists()]),
      TrustCase("hard", place, [world.root, lists(RevocationByOCSPTests.hard)]),
    ]
    try withProxy(TrustCase.configuration(cases, top: RevocationByOCSPTests.loopback)) { proxy in
      try proxy.expectTrusted("soft")
      try proxy.expectRefused("hard", "revocation: revocation_unknown")
      proxy.awaitWarning("revocation_unknown")
      #expect(try world.count("crl") == 1)
    }
  }

  @Test func `a list from a file needs no network, and speaks for its issuer only`() throws {
    let world = try TrustWorld.shared()
    let server = try TLSServer(world, "good")
    let place = "https://localhost:\(server.port)"
    func policy(_ list: String) -> [String] {
      [world.root, lists(", network: false, crl_files: [\(world.file(list))]" + RevocationByOCSPTests.hard)]
    }
    let whole =
      "- revocation: {methods: [crl], network: false, crl_files: [\(world.file("list-good.pem"))], "
      + "require_positive_response: true}"
    let cases = [
      TrustCase("good", place, policy("list-good.pem")), TrustCase("revoked", place, policy("list-revoked.pem")),
      TrustCase("chain", place, [world.root, whole]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      try proxy.expectTrusted("good")
      try proxy.expectRefused("revoked", "revocation: revoked")
      // It does not cover the intermediate, which the root issued.
      try proxy.expectRefused("chain", "revocation: revocation_unknown")
    }
  }

  @Test func `methods are tried in order, and the next one where one has no answer`() throws {
    let world = try TrustWorld()
    try world.set("both-ocsp", "error")
    try world.set("both-crl", "revoked")
    let server = try TLSServer(world, "both")
    let place = "https://localhost:\(server.port)"
    let cases = [TrustCase("both", place, [world.root, "- revocation: {check: leaf, methods: [ocsp, crl]}"])]
    try withProxy(TrustCase.configuration(cases, top: RevocationByOCSPTests.loopback)) { proxy in
      try proxy.expectRefused("both", "revocation: revoked")
      #expect(try world.count("both-ocsp") == 1)
      #expect(try world.count("both-crl") == 1)
    }
    try world.set("both-ocsp", "good")
    try withProxy(TrustCase.configuration(cases, top: RevocationByOCSPTests.loopback)) { proxy in
      try proxy.expectTrusted("both")
      #expect(try world.count("both-crl") == 1)
    }
  }
}
