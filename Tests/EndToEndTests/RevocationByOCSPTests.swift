import Testing

/// OCSP over the network: right answers, wrong ones and none.
@Suite struct RevocationByOCSPTests {
  /// Pointers of the tests' certificates lead to loopback.
  static let loopback = "forbidden_addresses: []"

  static func check(_ more: String = "") -> String { "- revocation: {check: leaf, methods: [ocsp]\(more)}" }
  static let hard = ", require_positive_response: true"

  @Test func `a good certificate passes and a revoked one does not, by openssl ocsp`() throws {
    let world = try TrustWorld.shared()
    let responder = try OpenSSLResponder(world)
    let servers = try ["ocsp", "ocsp-too", "crl"].map { try TLSServer(world, $0) }
    let asked = ", responder: \"\(responder.url)\""
    let cases = [
      TrustCase("good", "https://localhost:\(servers[0].port)", [world.root, Self.check(asked + Self.hard)]),
      TrustCase("revoked", "https://localhost:\(servers[1].port)", [world.root, Self.check(asked)]),
      TrustCase("unknown", "https://localhost:\(servers[2].port)", [world.root, Self.check(asked)]),
      TrustCase("unknown-hard", "https://localhost:\(servers[2].port)", [world.root, Self.check(asked + Self.hard)]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      try proxy.expectTrusted("good")
      try proxy.expectRefused("revoked", "revocation: revoked")
      try proxy.expectTrusted("unknown")
      try proxy.expectRefused("unknown-hard", "revocation: revocation_unknown")
    }
  }

  @Test func `what is no answer lets a certificate pass with a warning, and fails where an answer is required`() throws {
    let world = try TrustWorld()
    let server = try TLSServer(world, "ocsp")
    let place = "https://localhost:\(server.port)"
    let modes = [
      "unknown", "expired", "wrong-key", "delegate-without-purpose", "other-certificate", "unauthorized", "garbage", "error",
      "oversized",
    ]
    let cases = modes.flatMap { mode in
      let asked = ", responder: \"\(world.url)/ocsp/\(mode)\""
      return [
        TrustCase("soft-\(mode)", place, [world.root, Self.check(asked)]),
        TrustCase("hard-\(mode)", place, [world.root, Self.check(asked + Self.hard)]),
      ]
    }
    try withProxy(TrustCase.configuration(cases)) { proxy in
      each(modes) { mode in
        try proxy.expectTrusted("soft-\(mode)")
        try proxy.expectRefused("hard-\(mode)", "revocation: revocation_unknown")
        // The proxy remembers the failure: both policies ask the same question.
        #expect(try world.count(mode) == 1, "\(mode)")
      }
      // The log line comes after the response.
      _ = try eventually { proxy.warnings("revocation_unknown") >= modes.count }
      #expect(proxy.warnings("revocation_unknown") == modes.count)
    }
  }

  @Test func `a responder that the issuer has delegated to is believed`() throws {
    let world = try TrustWorld.shared()
    let server = try TLSServer(world, "ocsp")
    let policy = [world.root, Self.check(", responder: \"\(world.url)/ocsp/delegated\"" + Self.hard)]
    try withProxy(TrustCase.configuration([TrustCase("delegated", "https://localhost:\(server.port)", policy)])) { proxy in
      try proxy.expectTrusted("delegated")
    }
  }

  @Test func `the certificate's own pointer is asked, once for all connections, and the whole chain where it is told to`()
    throws
  {
    let world = try TrustWorld()
    let server = try TLSServer(world, "ocsp")
    let place = "https://localhost:\(server.port)"
    let whole = "- revocation: {methods: [ocsp], require_positive_response: true}"
    let cases = [
      TrustCase("leaf", place, [world.root, Self.check(Self.hard)]), TrustCase("chain", place, [world.root, whole]),
    ]
    let configuration = TrustCase.configuration(cases, top: Self.loopback)
    try withProxy(configuration) { proxy in
      for _ in 0..<5 { try proxy.expectTrusted("leaf") }
      #expect(try world.count("ocsp") == 1)
      #expect(try world.count("intermediate") == 0)
      try proxy.expectTrusted("chain")
      #expect(try world.count("ocsp") == 1)
      #expect(try world.count("intermediate") == 1)
    }
    try world.set("intermediate", "revoked")
    try withProxy(configuration) { proxy in
      try proxy.expectTrusted("leaf")
      try proxy.expectRefused("chain", "revocation: revoked")
    }
  }

  @Test func `a pointer to a forbidden address is not followed; a responder that the operator named is`() throws {
    let world = try TrustWorld()
    try world.set("ocsp", "revoked")
    let server = try TLSServer(world, "ocsp")
    let place = "https://localhost:\(server.port)"
    let cases = [
      TrustCase("pointer", place, [world.root, Self.check()]),
      TrustCase("named", place, [world.root, Self.check(", responder: \"\(world.url)/live/ocsp\"")]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      try proxy.expectTrusted("pointer")
      #expect(try world.count("ocsp") == 0)
      try proxy.expectRefused("named", "revocation: revoked")
    }
  }

  @Test func `a responder that is down or too slow: soft passes within its time limit, hard fails`() throws {
    let world = try TrustWorld()
    let server = try TLSServer(world, "ocsp")
    let nobody = try TestListener(backlog: nil)
    let place = "https://localhost:\(server.port)"
    let down = ", responder: \"http://127.0.0.1:\(nobody.port)/\""
    let slow = ", timeout: 500ms, responder: \"\(world.url)/ocsp/good?delay=20\""
    let cases = [
      TrustCase("down", place, [world.root, Self.check(down)]),
      TrustCase("down-hard", place, [world.root, Self.check(down + Self.hard)]),
      TrustCase("slow", place, [world.root, Self.check(slow)]),
      TrustCase("slow-hard", place, [world.root, Self.check(slow + Self.hard)]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      try proxy.expectTrusted("down")
      try proxy.expectRefused("down-hard", "revocation: revocation_unknown")
      try proxy.expectTrusted("slow")
      try proxy.expectRefused("slow-hard", "revocation: revocation_unknown")
      proxy.awaitWarning("revocation_unknown")
    }
  }
}
