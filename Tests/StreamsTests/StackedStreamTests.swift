import CSystem
import Crypto
import Glibc
import Streams
import TLS
import Testing

/// A stream that becomes TLS after bytes were read from it in the clear, and then TLS inside of that.
@Suite final class StackedStreamTests {
  private let root: Certificate
  private let rootKey: PrivateKey
  private let near: ByteStream
  private let far: ByteStream

  init() throws {
    signal(SIGPIPE, SIG_IGN)
    rootKey = try .generateP256()
    root = try CertificateBuilder.authority("Root").selfSigned(with: rootKey)
    var pair: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
    near = ByteStream(descriptor: pair[0])
    far = ByteStream(descriptor: pair[1])
  }

  deinit {
    Glibc.close(near.descriptor)
    Glibc.close(far.descriptor)
  }

  /// Chain and host.
  private final class Verifier: PeerVerifier {
    var buildsChain: Bool { true }
    func judge(_ evidence: PeerEvidence) -> PeerRefusal? {
      if case .verified = evidence.chain, evidence.hostMatches { return nil }
      return PeerRefusal(evaluator: "test", reason: .invalidChain, detail: "")
    }
  }

  private func identity(_ host: String) throws -> TLSIdentity {
    let key = try PrivateKey.generateP256()
    return try TLSIdentity(chain: [CertificateBuilder.server([host]).issued(to: key, by: root, rootKey)], key: key)
  }

  private func client() throws -> TLSContext {
    try .client(ClientOptions(anchors: .certificates([root.der]), verifier: Verifier()))
  }

  private func write(_ stream: ByteStream, _ text: String) {
    guard case .bytes(text.utf8.count) = Array(text.utf8).withUnsafeBytes({ stream.write($0) }) else {
      Issue.record("'\(text)' was not written whole")
      return
    }
  }

  /// What a stream has, up to where it says so, and that word.
  private func read(_ stream: ByteStream) -> (text: String, last: String) {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1000)
    while true {
      switch buffer.withUnsafeMutableBytes({ stream.read(into: $0) }) {
      case .bytes(let count): bytes += buffer[..<count]
      case .later: return (String(decoding: bytes, as: UTF8.self), "later")
      case .end: return (String(decoding: bytes, as: UTF8.self), "end")
      case .truncated: return (String(decoding: bytes, as: UTF8.self), "truncated")
      case .failed: return (String(decoding: bytes, as: UTF8.self), "failed")
      }
    }
  }

  /// Both handshakes, each direction's event told as it comes.
  private func shake(_ tls: TLSConnection, _ server: TLSConnection, _ identity: TLSIdentity) throws {
    try server.serve(identity, sessionContext: [])
    var (mine, theirs) = (HandshakeResult.wantRead, AcceptResult.wantRead)
    for _ in 0..<10 where mine != .done || theirs != .done {
      if mine != .done { mine = tls.handshake() }
      far.note(EPOLLIN.rawValue)
      if theirs != .done { theirs = server.accept() }
      near.note(EPOLLIN.rawValue)
    }
    #expect(mine == .done && theirs == .done)
  }

  @Test func `the layers come one by one, each with what was read already, and reading says the same at each`() throws {
    write(near, "CONNECT")
    far.note(EPOLLIN.rawValue)
    #expect(read(far) == ("CONNECT", "later"))

    // The hello comes in the same packet as what is before it: it was read in the clear.
    let context = try TLSContext.accepting(AcceptingOptions())
    let outer = try TLSConnection(context: client(), descriptor: near.descriptor, serverName: "proxy.example.com")
    #expect(outer.handshake() == .wantRead)
    var hello = [UInt8](repeating: 0, count: 4000)
    far.note(EPOLLIN.rawValue)
    guard case .bytes(let count) = hello.withUnsafeMutableBytes({ far.read(into: $0) }) else {
      Issue.record("no hello")
      return
    }
    let accepted = try hello[..<count].withUnsafeBytes {
      try TLSConnection(
        context: context, accepting: far.descriptor, for: PeerName("proxy.example.com"), received: $0)
    }
    near.secure(outer)
    far.secure(accepted)
    try shake(outer, accepted, identity("proxy.example.com"))
    write(near, "one")
    #expect(read(far).text == "")
    far.note(EPOLLIN.rawValue)
    #expect(read(far) == ("one", "later"))

    let inner = try TLSConnection(context: client(), over: outer, descriptor: -1, serverName: "api.example.com")
    let above = try TLSConnection(context: context, acceptingOver: accepted, for: PeerName("api.example.com"))
    near.secure(inner)
    far.secure(above)
    try shake(inner, above, identity("api.example.com"))
    _ = read(near)
    _ = read(far)
    guard case .quiet = far.remainder() else {
      Issue.record("nothing was sent")
      return
    }
    write(near, "two")
    // Without an event nobody asks the socket.
    #expect(read(far) == ("", "later"))
    far.note(EPOLLIN.rawValue)
    guard case .unread = far.remainder() else {
      Issue.record("two bytes were sent")
      return
    }
    #expect(read(far) == ("two", "later"))
    write(far, "three")
    near.note(EPOLLIN.rawValue)
    #expect(read(near) == ("three", "later"))

    near.endWriting()
    far.note(EPOLLIN.rawValue)
    #expect(read(far) == ("", "end"))
    write(far, "still")
    near.note(EPOLLIN.rawValue)
    #expect(read(near) == ("still", "later"))
  }
}
