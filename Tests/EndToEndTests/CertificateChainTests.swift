import Testing

/// Valid and invalid chains, each served by `openssl s_server`.
@Suite struct CertificateChainTests {
  private static let refused = [
    ("expired", "expired"), ("not-yet-valid", "not_yet_valid"), ("wrong-host", "host_mismatch"), ("cn-only", "host_mismatch"),
    ("untrusted-root", "untrusted_root"), ("self-signed", "self_signed"), ("incomplete", "unknown_issuer"),
    ("client-purpose", "wrong_purpose"), ("issued-by-leaf", "issuer_not_ca"), ("path-length", "path_length"),
    ("name-constraints", "name_constraints"), ("weak-key", "weak_key"), ("sha1", "weak_signature"),
  ]

  @Test func `a chain with one thing wrong is refused for that thing, and not a byte of the request is sent`() throws {
    let world = try TrustWorld.shared()
    let servers = try Self.refused.map { certificate, _ in
      // Below level 2 only to serve what must be refused.
      try TLSServer(world, certificate, answers: false, options: ["-cipher", "DEFAULT@SECLEVEL=0"])
    }
    let cases = zip(Self.refused, servers).map { item, server in
      TrustCase(item.0, "https://localhost:\(server.port)", [world.root])
    }
    try withProxy(TrustCase.configuration(cases)) { proxy in
      each(Self.refused.map(\.0)) { name in
        let reason = Self.refused.first { $0.0 == name }?.1 ?? ""
        try proxy.expectRefused(name, "default: \(reason)")
      }
      for (item, server) in zip(Self.refused, servers) { #expect(!server.sawRequest, "\(item.0): \(server.output)") }
    }
  }

  @Test func `a chain served in disorder and with strangers in it is found`() throws {
    let world = try TrustWorld.shared()
    let names = ["good", "reversed", "with-stranger"]
    let servers = try names.map { try TLSServer(world, $0) }
    let cases = zip(names, servers).map { TrustCase($0, "https://localhost:\($1.port)", [world.root]) }
    try withProxy(TrustCase.configuration(cases)) { proxy in
      each(names) { try proxy.expectTrusted($0) }
    }
  }

  @Test func `an address as origin wants an address in the certificate`() throws {
    let world = try TrustWorld.shared()
    let (right, wrong) = (try TLSServer(world, "good"), try TLSServer(world, "no-address"))
    let cases = [
      TrustCase("right", "https://127.0.0.1:\(right.port)", [world.root]),
      TrustCase("wrong", "https://127.0.0.1:\(wrong.port)", [world.root]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      try proxy.expectTrusted("right")
      try proxy.expectRefused("wrong", "default: host_mismatch")
    }
  }

  @Test func `what a policy does not ask for is not judged`() throws {
    let world = try TrustWorld.shared()
    let (host, own) = (try TLSServer(world, "wrong-host"), try TLSServer(world, "self-signed-expired"))
    let anchored = "- default: {ca_file: \(world.file("root.pem")), system_roots: false, validate_host: false}"
    let cases = [
      TrustCase("any-host", "https://localhost:\(host.port)", [anchored]),
      TrustCase("disabled", "https://localhost:\(own.port)", ["- disabled: {}"]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      try proxy.expectTrusted("any-host")
      try proxy.expectTrusted("disabled")
    }
  }

  @Test func `TLS 1.1 is refused, and TLS 1.2 where 1.3 is the least`() throws {
    let world = try TrustWorld.shared()
    let old = try TLSServer(world, "good", options: ["-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"])
    let middle = try TLSServer(world, "good", options: ["-tls1_2"])
    let newest = try TLSServer(world, "good", options: ["-tls1_3"])
    let strict = "- default: {ca_file: \(world.file("root.pem")), system_roots: false, min_version: tls1.3}"
    let cases = [
      TrustCase("old", "https://localhost:\(old.port)", [world.root]),
      TrustCase("middle", "https://localhost:\(middle.port)", [world.root]),
      TrustCase("too-old", "https://localhost:\(middle.port)", [strict]),
      TrustCase("newest", "https://localhost:\(newest.port)", [strict]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      expectOwnAnswer(try proxy.ask("http://old.test/"), 502, "tls_protocol_error")
      expectOwnAnswer(try proxy.ask("http://too-old.test/"), 502, "tls_protocol_error")
      try proxy.expectTrusted("middle")
      try proxy.expectTrusted("newest")
    }
  }
}
