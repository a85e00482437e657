import COpenSSL
import Crypto
import Glibc
import Testing

@testable import TLS

/// A client, and the side that accepts it; the test hands on the ciphertext.
final class AcceptedWire {
  let client: TLSConnection
  let server: TLSConnection
  /// The client's descriptor, its other end; the same of the server.
  private let ends: [Int32]
  /// How many bytes at once reach the server.
  var portion = Int.max
  /// What the accepting side answered last.
  private(set) var accepted = AcceptResult.wantRead
  /// What the client is shown once the server asks for it; nil: the handshake stays where it is.
  var identity: TLSIdentity?
  var sessionContext: [UInt8] = []
  private(set) var hellos: [ClientHello] = []

  init(
    _ clientContext: TLSContext, _ serverContext: TLSContext, serverName: String = "api.example.com",
    for expected: String? = "api.example.com", identity: TLSIdentity? = nil, offering offer: ALPNOffer? = nil,
    accepting protocols: ALPNOffer? = nil, session: TLSSession? = nil, received: [UInt8] = []
  ) throws {
    let ends = nonblockingPairs(2)
    self.ends = ends
    self.identity = identity
    client = try TLSConnection(
      context: clientContext, descriptor: ends[0], serverName: serverName, offering: offer, session: session)
    server = try received.withUnsafeBytes {
      try TLSConnection(
        context: serverContext, accepting: ends[2], for: expected.map { PeerName($0) }, offering: protocols, received: $0)
    }
    client.becomeEdgeTriggered()
    server.becomeEdgeTriggered()
  }

  deinit { for end in ends { close(end) } }

  /// Drives both until nothing moves any more; the client's result.
  @discardableResult
  func handshake() throws -> HandshakeResult {
    var result = HandshakeResult.wantRead
    for _ in 0..<10_000 {
      if result == .wantRead || result == .wantWrite { result = client.handshake() }
      let sent = fromClient()
      give(sent)
      if sent.isEmpty { try accept() }
      let answer = fromServer()
      if !answer.isEmpty { giveToClient(answer) }
      if case .failed = result { return result }
      if sent.isEmpty && answer.isEmpty { break }
    }
    return result
  }

  /// To the server, announced as an event would.
  func deliver(_ bytes: [UInt8]) {
    #expect(send(ends[3], bytes, bytes.count, 0) == bytes.count)
    server.noteReadable(readsToTheEnd: false)
  }

  /// To the server, in portions.
  func give(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(portion))
      rest = rest.dropFirst(part.count)
      deliver(part)
      try? accept()
    }
  }

  func accept() throws {
    if case .failed = accepted { return }
    guard accepted != .done else { return }
    accepted = server.accept()
    while case .wantIdentity(let hello) = accepted {
      hellos.append(hello)
      guard let identity else { return }
      try server.serve(identity, sessionContext: sessionContext)
      accepted = server.accept()
    }
  }

  func fromClient() -> [UInt8] { received(ends[1]) }
  func fromServer() -> [UInt8] { received(ends[3]) }
  func giveToClient(_ bytes: [UInt8]) {
    #expect(send(ends[1], bytes, bytes.count, 0) == bytes.count)
    client.noteReadable(readsToTheEnd: false)
  }

  /// The client's end of the wire goes.
  func hangUp() {
    shutdown(ends[3], Int32(SHUT_WR))
    server.noteReadable(readsToTheEnd: true)
  }

  /// What one side reads once the other's ciphertext is there.
  func clientReads() -> (text: String, last: Int) {
    let bytes = fromServer()
    if !bytes.isEmpty { giveToClient(bytes) }
    return read(client)
  }

  func serverReads() -> (text: String, last: Int) {
    let bytes = fromClient()
    if !bytes.isEmpty { deliver(bytes) }
    return read(server)
  }

  private func read(_ connection: TLSConnection) -> (String, Int) {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = buffer.withUnsafeMutableBytes { connection.read(into: $0) }
      guard count > 0 else { return (String(decoding: bytes, as: UTF8.self), count) }
      bytes += buffer[..<count]
    }
  }

  private func received(_ end: Int32) -> [UInt8] {
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(end, &buffer, buffer.count, 0)
      guard count > 0 else { return result }
      result += buffer[..<count]
    }
  }

  var failure: AcceptFailure? { if case .failed(let failure) = accepted { failure } else { nil } }
}

extension TLSConnection {
  /// The newest version that a client offers.
  func limit(to version: ProtocolVersion) {
    _ = SSL_ctrl(pointer, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(version.rawValue), nil)
  }
}

extension Authority {
  func accepting(_ change: (inout AcceptingOptions) -> Void = { _ in }) throws -> TLSContext {
    var options = AcceptingOptions()
    change(&options)
    return try .accepting(options)
  }
}

/// Both ends of each of these socket pairs, one after the other. The process no longer dies of a peer that is gone.
func nonblockingPairs(_ count: Int) -> [Int32] {
  signal(SIGPIPE, SIG_IGN)
  return (0..<count).flatMap { _ in
    var pair: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
    return pair
  }
}
