import Testing

@testable import TLS

/// What is no ClientHello, or none that is whole.
@Suite struct MangledHelloTests {
  private let authority: Authority
  init() throws { authority = try Authority() }

  private func hello() throws -> [UInt8] {
    let wire = try AcceptedWire(authority.client(), authority.accepting())
    _ = wire.client.handshake()
    return wire.fromClient()
  }

  @Test func `what came before there was a connection is read first`() throws {
    let hello = try hello()
    for count in [0, 1, 5, hello.count - 1, hello.count] {
      let wire = try AcceptedWire(authority.client(), authority.accepting(), received: Array(hello[..<count]))
      try wire.accept()
      if count < hello.count {
        #expect(wire.accepted == .wantRead)
        wire.give(Array(hello[count...]))
      }
      #expect(wire.hellos.map(\.serverName) == ["api.example.com"], "\(count)")
    }
  }

  @Test func `half a ClientHello waits for its rest, however often it is looked at`() throws {
    let hello = try hello()
    for count in stride(from: 0, to: hello.count, by: 7) {
      let wire = try AcceptedWire(authority.client(), authority.accepting())
      wire.give(Array(hello[..<count]))
      for _ in 0..<3 { #expect(wire.server.accept() == .wantRead, "\(count)") }
    }
  }

  @Test func `a changed ClientHello is refused, waits, or is one`() throws {
    let hello = try hello()
    let identity = try authority.identity(.server(["api.example.com"]))
    for index in hello.indices {
      for value in [0, 0xFF, hello[index] ^ 1, hello[index] &+ 1] as [UInt8] where value != hello[index] {
        var changed = hello
        changed[index] = value
        let wire = try AcceptedWire(authority.client(), authority.accepting(), identity: identity)
        wire.give(changed)
        switch wire.accepted {
        case .failed(let failure): #expect(failure.reason != .closed || failure.error.kind == .transport, "\(index)")
        case .wantRead: break
        case .done, .wantWrite, .wantIdentity: Issue.record("byte \(index) as \(value): \(wire.accepted)")
        }
        wire.hangUp()
        try wire.accept()
        #expect(wire.failure != nil, "byte \(index) as \(value)")
      }
    }
  }

  @Test(arguments: [
    "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\u{16}\u{03}\u{01}", "\u{80}\u{2e}\u{01}\u{03}\u{01}", "SSH-2.0-x\r\n",
  ])
  func `what is no ClientHello is no handshake`(_ text: String) throws {
    let wire = try AcceptedWire(authority.client(), authority.accepting())
    wire.give(text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
    wire.hangUp()
    try wire.accept()
    #expect(wire.failure != nil)
    #expect(wire.hellos.isEmpty)
  }

  @Test(
    arguments: [
      ([0, 8, 0, 0, 5, 97, 46, 98, 46, 99], "a.b.c"), ([0, 8, 0, 0, 5, 97, 46, 98, 46], nil),
      ([0, 8, 1, 0, 5, 97, 46, 98, 46, 99], nil),
      ([0, 7, 0, 0, 5, 97, 46, 98, 46, 99], nil), ([0, 3, 0, 0, 0], nil), ([0, 4, 0, 0, 1, 0], nil),
      ([0, 4, 0, 0, 1, 32], nil),
      ([0, 8, 0, 0, 1, 97, 0, 0, 1, 98], nil), ([], nil), ([0], nil), ([0, 0], nil),
    ] as [([UInt8], String?)])
  func `a server name is one name`(_ bytes: [UInt8], _ name: String?) {
    #expect(bytes.withUnsafeBytes { ClientHello.serverName($0) } == name)
  }

  @Test(
    arguments: [
      ([0, 3, 2, 104, 50], ["h2"]), ([0, 5, 2, 104, 50, 1, 120], ["h2", "x"]), ([0, 0], nil), ([0, 1, 0], nil),
      ([0, 3, 3, 104, 50], nil),
      ([0, 2, 2, 104, 50], nil), ([], nil), ([0], nil), ([0, 4, 2, 104, 50, 0], nil),
    ] as [([UInt8], [String]?)])
  func `protocols are names that are not empty`(_ bytes: [UInt8], _ names: [String]?) {
    #expect(bytes.withUnsafeBytes { ClientHello.protocols($0) } == names.map { $0.map { Array($0.utf8) } })
  }
}
