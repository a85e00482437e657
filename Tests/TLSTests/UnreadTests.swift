import Glibc
import Testing

@testable import TLS

/// What a connection knows about unread bytes, whatever part of a record they are.
@Suite struct UnreadTests {
  private let authority: Authority
  init() throws { authority = try Authority() }

  /// A client whose ciphertext the test passes on.
  private final class CutWire {
    let client: TLSConnection
    let server: TLSConnection
    /// The client's descriptor and its other end, and the same for the server.
    private let ends: [Int32]

    init(_ clientContext: TLSContext, _ serverContext: TLSContext) throws {
      let ends = nonblockingPairs(2)
      self.ends = ends
      client = try TLSConnection(context: clientContext, descriptor: ends[0], serverName: "api.example.com")
      server = try TLSConnection(context: serverContext, accepting: ends[2])
      client.becomeEdgeTriggered()
      var isDone = false
      while !isDone {
        let near = client.handshake()
        move(ends[1], ends[3])
        let far = server.handshake()
        give(fromServer())
        isDone = near == .done && far == .done
        for case .failed(let error) in [near, far] { throw error }
      }
    }

    deinit { for end in ends { close(end) } }

    /// The ciphertext that the server has written since the last call.
    func fromServer() -> [UInt8] { received(ends[3]) }

    /// Passes ciphertext to the client, with an event.
    func give(_ bytes: some Collection<UInt8>) {
      if bytes.isEmpty { return }
      let bytes = Array(bytes)
      #expect(send(ends[1], bytes, bytes.count, 0) == bytes.count)
      client.noteReadable(readsToTheEnd: false)
    }

    private func received(_ end: Int32) -> [UInt8] {
      var buffer = [UInt8](repeating: 0, count: 1 << 16)
      let count = recv(end, &buffer, buffer.count, 0)
      return count > 0 ? Array(buffer[..<count]) : []
    }

    private func move(_ from: Int32, _ to: Int32) {
      let bytes = received(from)
      if !bytes.isEmpty { #expect(send(to, bytes, bytes.count, 0) == bytes.count) }
    }
  }

  private func read(_ client: TLSConnection, buffered: Bool = false) -> (Int, String) {
    var buffer = [UInt8](repeating: 0, count: 100)
    let count = buffer.withUnsafeMutableBytes { buffered ? client.readBuffered(into: $0) : client.read(into: $0) }
    return (count, String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self))
  }

  @Test(arguments: [ProtocolVersion.tls12, .tls13])
  func `half a record is partial wherever it is cut, and application data once it is whole`(version: ProtocolVersion) throws {
    let wire = try CutWire(
      authority.client(),
      authority.server {
        $0.minimumVersion = version
        $0.maximumVersion = version
      })
    #expect(read(wire.client).0 == TLSIO.wantRead)
    #expect(wire.client.unread() == .nothing)
    for cut in [1, 4, 5, 6, 20, -1] {
      #expect(wire.server.send("answer") == 6)
      let record = wire.fromServer()
      let place = cut < 0 ? record.count + cut : cut
      wire.give(record[..<place])
      #expect(wire.client.unread() == .partialRecord, "cut at \(cut)")
      // It yields nothing: neither a read nor another check.
      #expect(read(wire.client).0 == TLSIO.wantRead)
      #expect(read(wire.client, buffered: true).0 == TLSIO.wantRead)
      #expect(wire.client.unread() == .partialRecord)
      wire.give(record[place...])
      #expect(wire.client.unread() == .bytes)
      #expect(read(wire.client).1 == "answer")
      #expect(wire.client.unread() == .nothing)
    }
  }

  @Test func `what was received with the record before is read without asking the socket`() throws {
    let wire = try CutWire(authority.client(), authority.server())
    #expect(read(wire.client).0 == TLSIO.wantRead)
    #expect(wire.server.send("head") == 4 && wire.server.send("body") == 4)
    let both = wire.fromServer()
    wire.give(both)
    #expect(read(wire.client).1 == "head")
    #expect(read(wire.client, buffered: true).1 == "body")
    #expect(read(wire.client, buffered: true).0 == TLSIO.wantRead)
    // In the socket, but not yet in OpenSSL.
    #expect(wire.server.send("more") == 4)
    wire.give(wire.fromServer())
    #expect(read(wire.client, buffered: true).0 == TLSIO.wantRead)
    #expect(wire.client.unread() == .bytes)
    #expect(read(wire.client).1 == "more")
  }

  @Test func `a close_notify after data is an end`() throws {
    let wire = try CutWire(authority.client(), authority.server())
    #expect(wire.server.send("last") == 4)
    wire.server.sendCloseNotify()
    wire.give(wire.fromServer())
    #expect(read(wire.client).1 == "last")
    #expect(wire.client.unread() == .end)
  }
}
