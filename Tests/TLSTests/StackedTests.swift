import Crypto
import Testing

@testable import TLS

/// TLS inside of TLS: an app that speaks TLS to the proxy, and inside to a host.
@Suite struct StackedTests {
  private let authority: Authority
  private let outer: TLSIdentity
  private let inner: TLSIdentity

  init() throws {
    authority = try Authority()
    outer = try authority.identity(.server(["proxy.example.com"]))
    inner = try authority.identity(.server(["api.example.com"]))
  }

  /// Both pairs, the inner one brought up through the outer one.
  private func stacked(portion: Int = .max, _ version: ProtocolVersion = .tls13) throws -> (
    wire: AcceptedWire, client: TLSConnection, server: TLSConnection
  ) {
    let clientContext = try authority.client()
    let context = try authority.accepting()
    let wire = try AcceptedWire(
      clientContext, context, serverName: "proxy.example.com", for: "proxy.example.com", identity: outer)
    wire.client.limit(to: version)
    wire.portion = portion
    #expect(try wire.handshake() == .done)
    let client = try TLSConnection(context: clientContext, over: wire.client, descriptor: -1, serverName: "api.example.com")
    let server = try TLSConnection(context: context, acceptingOver: wire.server, for: PeerName("api.example.com"))
    client.becomeEdgeTriggered()
    server.becomeEdgeTriggered()
    var near = HandshakeResult.wantRead
    var far = AcceptResult.wantRead
    for _ in 0..<20 where near != .done || far != .done {
      if near != .done { near = client.handshake() }
      pass(wire, client, server) {
        if far != .done { far = server.accept() }
        if case .wantIdentity = far {
          try? server.serve(inner, sessionContext: [])
          far = server.accept()
        }
      }
    }
    #expect(near == .done && far == .done)
    #expect(client.verifiedChain.first == inner.chain[0])
    return (wire, client, server)
  }

  /// Hands on the ciphertext of both directions, as events would announce it.
  private func pass(_ wire: AcceptedWire, _ client: TLSConnection, _ server: TLSConnection, _ step: () -> Void = {}) {
    var rest = wire.fromClient()[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(wire.portion))
      rest = rest.dropFirst(part.count)
      wire.deliver(part)
      server.noteReadable(readsToTheEnd: false)
      step()
    }
    let back = wire.fromServer()
    guard !back.isEmpty else { return }
    wire.giveToClient(back)
    client.noteReadable(readsToTheEnd: false)
  }

  private func read(_ connection: TLSConnection) -> (bytes: [UInt8], last: Int) {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = buffer.withUnsafeMutableBytes { connection.read(into: $0) }
      guard count > 0 else { return (bytes, count) }
      bytes += buffer[..<count]
    }
  }

  @Test(arguments: [ProtocolVersion.tls12, .tls13], [Int.max, 1])
  func `it is the same code, whatever lies below`(_ version: ProtocolVersion, _ portion: Int) throws {
    let (wire, client, server) = try stacked(portion: portion, version)
    #expect(client.send("request") == 7)
    var text: [UInt8] = []
    pass(wire, client, server) { text += read(server).bytes }
    #expect(text == Array("request".utf8))
    #expect(read(server).last == TLSIO.wantRead)
    #expect(server.unread() == .nothing)
    #expect(server.send("answer") == 6)
    pass(wire, client, server)
    #expect(read(client).bytes == Array("answer".utf8))
  }

  @Test func `two records in one of those below are read without asking the socket`() throws {
    let (wire, client, server) = try stacked()
    _ = read(server)
    #expect(client.send("one") == 3 && client.send("two") == 3)
    pass(wire, client, server)
    var buffer = [UInt8](repeating: 0, count: 100)
    #expect(buffer.withUnsafeMutableBytes { server.read(into: $0) } == 3)
    #expect(buffer.withUnsafeMutableBytes { server.readBuffered(into: $0) } == 3)
    #expect(buffer.withUnsafeMutableBytes { server.readBuffered(into: $0) } == TLSIO.wantRead)
  }

  @Test func `a full socket stops the writer above, which goes on where it was`() throws {
    let (wire, client, server) = try stacked()
    let all = (0..<(4 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    var (written, received, stops): (Int, [UInt8], Int) = (0, [], 0)
    while received.count < all.count {
      while written < all.count {
        let count = all[written...].withUnsafeBytes { server.write($0) }
        if count == TLSIO.wantWrite { stops += 1 }
        guard count > 0 else { break }
        written += count
      }
      let before = received.count
      pass(wire, client, server)
      received += read(client).bytes
      guard received.count > before || written < all.count else { break }
    }
    #expect(received == all)
    #expect(stops > 0)
  }

  @Test func `the goodbye above leaves what lies below open; at the end both say it`() throws {
    let (wire, client, server) = try stacked()
    client.sendCloseNotify()
    pass(wire, client, server)
    #expect(read(server).last == TLSIO.endOfStream)
    #expect(server.send("late") == 4)
    pass(wire, client, server)
    #expect(read(client).bytes == Array("late".utf8))
    server.sendCloseNotifies()
    pass(wire, client, server)
    #expect(read(client).last == TLSIO.endOfStream)
    #expect(read(wire.client).last == TLSIO.endOfStream)
  }

  @Test func `an end below is a cut above`() throws {
    let (wire, client, server) = try stacked()
    wire.client.sendCloseNotify()
    pass(wire, client, server)
    #expect(read(server).last == TLSIO.truncated)
    let (other, _, above) = try stacked()
    other.hangUp()
    above.noteReadable(readsToTheEnd: true)
    #expect(read(above).last == TLSIO.truncated)
  }
}
