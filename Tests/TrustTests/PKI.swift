import Crypto
import Glibc
import Synchronization
import TLS
import Testing

@testable import Trust

/// Seconds since 1970.
var now: Int64 { Int64(time(nil)) }

/// An authority, made at test time.
struct Authority {
  let key: PrivateKey
  let certificate: Certificate

  init(_ name: String = "Test Root", _ change: (inout CertificateBuilder) -> Void = { _ in }) throws {
    key = try .generateP256()
    var builder = CertificateBuilder.authority(name)
    change(&builder)
    certificate = try builder.selfSigned(with: key)
  }

  private init(_ key: PrivateKey, _ certificate: Certificate) {
    self.key = key
    self.certificate = certificate
  }

  func intermediate(
    _ name: String = "Test Intermediate", _ change: (inout CertificateBuilder) -> Void = { _ in }
  ) throws -> Authority {
    let key = try PrivateKey.generateP256()
    var builder = CertificateBuilder.authority(name)
    change(&builder)
    return Authority(key, try builder.issued(to: key, by: certificate, self.key))
  }

  func leaf(
    _ names: [String] = ["api.example.com"], key leafKey: PrivateKey? = nil,
    _ change: (inout CertificateBuilder) -> Void = { _ in }
  ) throws -> (certificate: Certificate, key: PrivateKey) {
    let leafKey = try leafKey ?? .generateP256()
    var builder = CertificateBuilder.server(names)
    change(&builder)
    return (try builder.issued(to: leafKey, by: certificate, key), leafKey)
  }
}

/// Collects the warnings of evaluations.
final class Warnings: Sendable {
  private let list = Mutex<[TrustWarning]>([])
  var all: [TrustWarning] { list.withLock { $0 } }
  func add(_ warning: TrustWarning) { list.withLock { $0.append(warning) } }
}

/// A handshake over a socket pair, judged by a policy.
struct Judged {
  var result: HandshakeResult
  var refusal: TrustRefusal?
  var client: TLSConnection
  var session: TLSSession?

  /// Pass the same contexts again for a resumption.
  init(
    _ client: TLSContext, _ server: TLSContext, host: String = "api.example.com", session: TLSSession? = nil
  ) throws {
    signal(SIGPIPE, SIG_IGN)
    var pair: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
    defer {
      close(pair[0])
      close(pair[1])
    }
    let connection = try TLSConnection(context: client, descriptor: pair[0], serverName: host, session: session)
    let other = try TLSConnection(context: server, accepting: pair[1])
    var result = HandshakeResult.wantRead
    var served = false
    for _ in 0..<8 {
      result = connection.handshake()
      if case .failed = result { break }
      if !served { served = other.handshake() == .done }
      if result == .done, served { break }
    }
    var buffer = [UInt8](repeating: 0, count: 16)
    if result == .done { _ = buffer.withUnsafeMutableBytes { connection.read(into: $0) } }
    self.result = result
    self.client = connection
    self.session = connection.takeSession()
    refusal = connection.refusal
  }

  static func context(
    _ policy: TrustPolicy, _ warnings: Warnings? = nil
  ) throws -> TLSContext {
    let evaluation = try TrustEvaluation(policy) { warnings?.add($0) }
    return try .client(evaluation.clientOptions(anchors: AnchorStores().store(for: policy)))
  }

  static func server(
    _ chain: [Certificate], _ key: PrivateKey, _ change: (inout ServerOptions) -> Void = { _ in }
  ) throws -> TLSContext {
    var options = ServerOptions(identity: try TLSIdentity(chain: chain, key: key))
    // The server must be able to present what the client has to refuse.
    options.securityLevel = 0
    change(&options)
    return try .server(options)
  }
}

extension TrustPolicy {
  /// These evaluators, with one anchor.
  static func over(_ anchor: Certificate?, _ evaluators: [Evaluator] = [.chain(Validation())]) -> TrustPolicy {
    TrustPolicy(name: "test", anchors: .only(anchor.map { [$0.der] } ?? []), evaluators: evaluators)
  }
}
