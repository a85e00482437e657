import Crypto
import Glibc
import Testing

@testable import TLS

/// Two ends of a TLS connection over a pair of sockets, driven alternately on one thread.
final class Wire {
  /// Seconds since 1970.
  static var now: Int64 { Int64(time(nil)) }
  let descriptors: (Int32, Int32)
  let client: TLSConnection
  let server: TLSConnection

  init(
    _ clientContext: TLSContext, _ serverContext: TLSContext, host: String, offering offer: ALPNOffer? = nil,
    session: TLSSession? = nil, over pair: (Int32, Int32)? = nil
  ) throws {
    signal(SIGPIPE, SIG_IGN)
    descriptors = pair ?? Self.unixPair()
    client = try TLSConnection(
      context: clientContext, descriptor: descriptors.0, serverName: host, offering: offer, session: session)
    server = try TLSConnection(context: serverContext, accepting: descriptors.1)
  }

  private static func unixPair() -> (Int32, Int32) {
    var pair: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
    return (pair[0], pair[1])
  }

  deinit {
    close(descriptors.0)
    close(descriptors.1)
  }

  /// The client's result; `server.lastError` has the server's failure.
  func handshake() -> HandshakeResult {
    var serverDone = false
    for _ in 0..<20 {
      let result = client.handshake()
      if case .failed = result {
        _ = server.handshake()
        return result
      }
      if !serverDone {
        switch server.handshake() {
        case .done: serverDone = true
        case .failed:
          let last = client.handshake()
          return last == .done ? .done : last
        default: break
        }
      }
      if result == .done, serverDone { return .done }
    }
    return .wantRead
  }

  /// What `receiver` reads until there is no more.
  func drain(_ receiver: TLSConnection, size: Int = 65_536) -> (bytes: [UInt8], last: Int) {
    var result: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: size)
    while true {
      let count = buffer.withUnsafeMutableBytes { receiver.read(into: $0) }
      guard count > 0 else { return (result, count) }
      result += buffer[..<count]
    }
  }
}

extension TLSConnection {
  func send(_ text: String) -> Int { Array(text.utf8).withUnsafeBytes { write($0) } }
}

/// An authority with one server.
struct Authority {
  let key: PrivateKey
  let certificate: Certificate

  init(_ name: String = "Test Root") throws {
    key = try .generateP256()
    certificate = try CertificateBuilder.authority(name).selfSigned(with: key)
  }

  func identity(_ builder: CertificateBuilder, key leafKey: PrivateKey? = nil) throws -> TLSIdentity {
    let leafKey = try leafKey ?? .generateP256()
    return try TLSIdentity(chain: [builder.issued(to: leafKey, by: certificate, key)], key: leafKey)
  }

  func client(_ change: (inout ClientOptions) -> Void = { _ in }) throws -> TLSContext {
    var options = ClientOptions(anchors: try .certificates([certificate.der]), verifier: ChainAndHostVerifier())
    change(&options)
    return try TLSContext.client(options)
  }

  func server(_ name: String = "api.example.com", _ change: (inout ServerOptions) -> Void = { _ in }) throws -> TLSContext {
    var options = ServerOptions(identity: try identity(.server([name])))
    change(&options)
    return try TLSContext.server(options)
  }
}

/// Chain and host only.
final class ChainAndHostVerifier: PeerVerifier {
  init() {}
  var buildsChain: Bool { true }
  func judge(_ evidence: PeerEvidence) -> PeerRefusal? {
    if case .failed(let failure) = evidence.chain {
      return PeerRefusal(evaluator: "default", reason: failure.reason, detail: failure.detail)
    }
    guard evidence.hostMatches else {
      return PeerRefusal(
        evaluator: "default", reason: .hostMismatch, detail: "the certificate does not name \(evidence.host)")
    }
    return nil
  }
}
