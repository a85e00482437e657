import Testing

/// `client_certificate`, with plain and encrypted keys, against servers that require one.
@Suite struct MutualTLSTests {
  @Test(arguments: ["-tls1_2", "-tls1_3"])
  func `a server that demands a certificate gets the entry's`(version: String) throws {
    let world = try TrustWorld.shared()
    let server = try TLSServer(
      world, "good", options: [version, "-Verify", "2", "-verify_return_error", "-CAfile", world.file("root.pem")])
    let place = "https://localhost:\(server.port)"
    let certificate = world.file("client.pem")
    let cases = [
      TrustCase(
        "clear", place, [world.root],
        entry: ["client_certificate: {certificate: \(certificate), key: {file: \(world.file("client.key"))}}"]),
      TrustCase(
        "encrypted", place, [world.root],
        entry: [
          "client_certificate:", "  certificate: \(certificate)", "  key: {file: \(world.file("client-encrypted.key"))}",
          "  passphrase: {env: KEY_PASSPHRASE}",
        ]),
      TrustCase(
        "encrypted-old", place, [world.root],
        entry: [
          "client_certificate:", "  certificate: \(certificate)", "  key: {file: \(world.file("client-encrypted-old.key"))}",
          "  passphrase: {env: KEY_PASSPHRASE}",
        ]),
      TrustCase("none", place, [world.root]),
    ]
    try withProxy(TrustCase.configuration(cases), environment: ["KEY_PASSPHRASE": "5ecret passphrase"]) { proxy in
      try proxy.expectTrusted("clear")
      try proxy.expectTrusted("encrypted")
      try proxy.expectTrusted("encrypted-old")
      let refused = try proxy.ask("http://none.test/")
      #expect(refused.status == 502, "\(refused.head)")
    }
  }

  @Test func `connections with a certificate are not lent to those without`() throws {
    let origin = try Origin()
    let world = try TrustWorld.shared()
    let anchored = "- default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}"
    let place = "https://localhost:\(origin.ports.https)"
    let cases = [
      TrustCase(
        "with", place, [anchored],
        entry: ["client_certificate: {certificate: \(world.file("client.pem")), key: {file: \(world.file("client.key"))}}"]),
      TrustCase("without", place, [anchored]),
    ]
    try withProxy(TrustCase.configuration(cases, top: "threads: 1")) { proxy in
      for _ in 0..<3 {
        try proxy.expectTrusted("with")
        try proxy.expectTrusted("without")
      }
      #expect(try origin.connections("https").accepted == 2)
    }
  }

  @Test func `a wrong passphrase is an error at load`() throws {
    let world = try TrustWorld.shared()
    let entry = [
      "client_certificate:", "  certificate: \(world.file("client.pem"))",
      "  key: {file: \(world.file("client-encrypted.key"))}",
      "  passphrase: {env: KEY_PASSPHRASE}",
    ]
    let configuration = TrustCase.configuration([TrustCase("api", "https://localhost", [world.root], entry: entry)])
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("listen: 127.0.0.1:0\n" + configuration, to: folder + "/proxy.conf")
    let run = try ChildProcess.run(
      Surroundings.program, ["run", "--config", folder + "/proxy.conf"], environment: ["KEY_PASSPHRASE": "5ecret, another"])
    #expect(run.status == .exited(78))
    #expect(run.errors.contains("passphrase"), "\(run.errors)")
    #expect(!run.errors.contains(Configuration.secretMark))
  }
}
