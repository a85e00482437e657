import Testing

/// OCSP answers that the server staples (RFC 6066 section 8). In TLS 1.2 they come after the certificate was judged.
@Suite struct StapledAnswerTests {
  private let noNetwork = "- revocation: {check: leaf, network: false, require_positive_response: true}"

  @Test(arguments: ["-tls1_2", "-tls1_3"])
  func `a stapled answer counts if it is good, in time, and about this certificate`(version: String) throws {
    let world = try TrustWorld.shared()
    let modes = ["good", "revoked", "expired", "other-certificate"]
    let servers = try modes.map {
      try TLSServer(world, "good", options: [version, "-status_file", world.file("staple-\($0).der")])
    }
    let bare = try TLSServer(world, "good", options: [version])
    let cases =
      zip(modes, servers).map { TrustCase($0, "https://localhost:\($1.port)", [world.root, noNetwork]) }
      + [TrustCase("none", "https://localhost:\(bare.port)", [world.root, noNetwork])]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      try proxy.expectTrusted("good")
      try proxy.expectTrusted("good")
      try proxy.expectRefused("revoked", "revocation: revoked")
      try proxy.expectRefused("expired", "revocation: revocation_unknown")
      try proxy.expectRefused("other-certificate", "revocation: revocation_unknown")
      try proxy.expectRefused("none", "revocation: revocation_unknown")
    }
  }

  @Test func `a good stapled answer spares the question; a bad one leads to it`() throws {
    let world = try TrustWorld()
    let (good, bad) = (
      try TLSServer(world, "good", options: ["-status_file", world.file("staple-good.der")]),
      try TLSServer(world, "good", options: ["-status_file", world.file("staple-expired.der")])
    )
    let asks = RevocationByOCSPTests.check(", responder: \"\(world.url)/ocsp/revoked\"")
    let cases = [
      TrustCase("good", "https://localhost:\(good.port)", [world.root, asks]),
      TrustCase("bad", "https://localhost:\(bad.port)", [world.root, asks]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      try proxy.expectTrusted("good")
      #expect(try world.count("revoked") == 0)
      try proxy.expectRefused("bad", "revocation: revoked")
    }
  }
}
