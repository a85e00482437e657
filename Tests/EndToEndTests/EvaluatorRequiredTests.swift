import Testing

/// `all_hosts_must_be_evaluated`, and contradictory policies: errors before the proxy serves.
@Suite struct EvaluatorRequiredTests {
  private func check(_ configuration: String) throws -> ChildProcess.Finished {
    let path = try Surroundings.newFolder() + "/proxy.conf"
    try ProxyProcess.write("listen: 127.0.0.1:0\n" + configuration, to: path)
    return try ChildProcess.run(Surroundings.program, ["run", "--config", path], seconds: 20)
  }

  @Test func `an https origin without a policy of its own is refused at load; one with is served`() throws {
    let bare = """
      all_hosts_must_be_evaluated: true
      upstreams:
        - match: api.test
          origin: https://localhost:1

      """
    let refused = try check(bare)
    #expect(refused.status == .exited(78), "\(refused.output)")
    #expect(refused.errors.contains("all_hosts_must_be_evaluated"), "\(refused.errors)")

    let origin = try Origin.shared()
    let ca = "- default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}"
    let cases = [TrustCase("api", "https://localhost:\(origin.ports.https)", [ca])]
    try withProxy(TrustCase.configuration(cases, top: "all_hosts_must_be_evaluated: true")) { proxy in
      try proxy.expectTrusted("api")
    }
  }

  @Test(arguments: [
    ("- disabled: {}\n    - default: {}", "must be the only evaluator"),
    ("- pinned_public_keys: {pins: []}", "has no pin"),
    ("- pinned_public_keys: {pins: [sha1/AAAA]}", "SHA-1"),
    ("- pinned_public_keys: {pins: [sha256/AAAA]}", "32"),
    ("- revocation: {validate_chain: false}", "another evaluator"),
    ("- revocation: {network: false, responder: \"http://127.0.0.1/\"}", "contradicts"),
    ("- default: {system_roots: false}", "trusts no root"),
    ("- default: {}\n    - default: {}", "at most one"),
  ])
  func `a policy that cannot be meant is an error with its place`(policy: String, text: String) throws {
    let configuration = """
      upstreams:
        - match: api.test
          origin: https://localhost:1
          trust: odd
      trust:
        odd:
          \(policy)

      """
    let refused = try check(configuration)
    #expect(refused.status == .exited(78), "\(refused.output)")
    #expect(refused.errors.contains("proxy.conf:"), "\(refused.errors)")
    #expect(refused.errors.contains(text), "\(refused.errors)")
  }
}
