import Testing

/// `authproxy pins`, with which operators find pins.
@Suite struct PinsCommandTests {
  private func pins(_ arguments: String...) throws -> ChildProcess.Finished {
    try ChildProcess.run(Surroundings.program, ["pins"] + arguments)
  }

  @Test func `each certificate is shown with its expiry and a pin that OpenSSL agrees with`() throws {
    let world = try TrustWorld.shared()
    let server = try TLSServer(world, "with-stranger")
    let shown = try pins("localhost:\(server.port)", "--ca-file", world.file("root.pem"))
    #expect(shown.status == .exited(0), "\(shown.errors)")
    for name in ["with-stranger", "intermediate", "root", "stranger"] {
      #expect(shown.output.contains("- \"\(try world.pin(name))\""), "\(name): \(shown.output)")
    }
    #expect(shown.output.contains("leaf: CN=with-stranger"))
    #expect(shown.output.contains("the chain is verified"))
    #expect(shown.output.contains("days left"))
    #expect(shown.output.contains("served, but not part of the verified chain"))
    #expect(shown.output.contains("\noffered h2 and http/1.1: the server chose none, which is HTTP/1.1"), "\(shown.output)")
  }

  @Test func `what the server chooses of h2 and 1 point 1 is told`() throws {
    let world = try TrustWorld.shared()
    for (alpn, chosen) in [("h2", "h2"), ("http/1.1", "http/1.1"), ("http/1.1,h2", "http/1.1"), ("h2,http/1.1", "h2")] {
      let server = try TLSServer(world, "good", options: ["-alpn", alpn])
      let shown = try pins("localhost:\(server.port)", "--ca-file", world.file("root.pem"))
      #expect(shown.status == .exited(0), "\(shown.errors)")
      #expect(shown.output.contains("\noffered h2 and http/1.1: the server chose \(chosen)\n"), "\(alpn): \(shown.output)")
    }
    // A server that ends the handshake has chosen nothing.
    let server = try TLSServer(world, "good", options: ["-alpn", "h3"])
    let shown = try pins("localhost:\(server.port)", "--ca-file", world.file("root.pem"))
    #expect(!shown.output.contains("chose"), "\(shown.output)")
  }

  @Test func `what does not verify is shown all the same, with the reason and exit status 1`() throws {
    let world = try TrustWorld.shared()
    for (certificate, reason) in [("expired", "expired"), ("untrusted-root", "untrusted_root")] {
      let server = try TLSServer(world, certificate)
      let shown = try pins("localhost:\(server.port)", "--ca-file", world.file("root.pem"))
      #expect(shown.status == .exited(1))
      #expect(shown.output.contains("NOT verified: \(reason)"), "\(shown.output)")
      #expect(shown.output.contains(try world.pin(certificate)))
    }
    let server = try TLSServer(world, "wrong-host")
    let shown = try pins("localhost:\(server.port)", "--ca-file", world.file("root.pem"))
    #expect(shown.status == .exited(1))
    #expect(shown.output.contains("does NOT name localhost"), "\(shown.output)")
  }

  @Test func `where there is nothing to show, one line says why`() throws {
    let refusing = try TestListener(backlog: nil)
    let silent = try TestListener()
    let cases = [
      (["127.0.0.1:\(refusing.port)"], "Connection refused"), (["does-not-exist.invalid"], "no such host"),
      (["127.0.0.1:\(silent.port)", "--timeout", "1"], "handshake was not complete in time"),
    ]
    for (arguments, text) in cases {
      let shown = try ChildProcess.run(Surroundings.program, ["pins"] + arguments)
      #expect(shown.status == .exited(1))
      #expect(shown.errors.contains(text), "\(shown.errors)")
      #expect(shown.output.isEmpty)
    }
    #expect(try pins("not a host").status == .exited(64))
    #expect(try pins().status == .exited(64))
  }
}
