import Credentials
import Crypto
import HTTPWire
import Signing
import Upstreams

/// What one loop's connections to a parent proxy have learned of it, where it wants each request answered anew.
final class ParentMemory {
  /// Of the parent's last challenge.
  fileprivate(set) var session: DigestSession?
  fileprivate let hashes = DigestHashes()
  /// The parent refuses tickets up to this version; 0: none.
  var refusedTicket: UInt64 = 0
  /// The parent wants a token with each request, also over a connection that is authenticated.
  var wantsEachRequest = false

  /// How long a parent is not asked again whose challenge has no answer here, in nanoseconds: nothing secret was sent.
  static let pause: Int64 = 30_000_000_000
}

/// Digest towards a parent proxy (RFC 7616), over one connection. What the first challenge taught, all connections of the loop use, so that
/// no request is sent only to be challenged.
final class ParentDigest: ParentAuthentication {
  private let policy: DigestPolicy
  private let version: UInt64
  private let memory: ParentMemory
  /// What the last request answered to; nil: it went without.
  private var answered: (rules: DigestChallenge.Rules, nonce: [UInt8])?
  /// The last challenge said that the nonce was too old.
  private var wasStale = false

  init(_ policy: DigestPolicy, _ version: UInt64, _ memory: ParentMemory) {
    self.policy = policy
    self.version = version
    self.memory = memory
  }

  var hasAnswered: Bool { answered != nil }

  func sizeLimit(target: Int) -> Int { DigestSession.sizeLimit(target: target) }

  func value(for request: ParentRequest) -> ParentValue {
    answered = nil
    guard let session = memory.session, policy.algorithms.contains(session.rules.algorithm), !session.isUsedUp else {
      return .none
    }
    guard session.rules.protection != .body || !request.hasBody else {
      return .failed("the parent wants bodies hashed before they are sent (qop=auth-int); use tunnel_http")
    }
    let capacity = sizeLimit(target: request.target.count)
    let message = DigestSession.Request(
      method: request.method, target: request.target, body: .bytes(UnsafeRawBufferPointer(start: nil, count: 0)))
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 1)
    defer { buffer.deallocate() }
    do throws(OpenSSLError) {
      var writer = ByteWriter(buffer)
      let clientNonce = try DigestSession.newClientNonce()
      try session.answer(
        message, by: policy, version: version, clientNonce: clientNonce, hashes: memory.hashes, into: &writer)
      answered = (session.rules, session.nonce)
      return .field(Array(writer.written))
    } catch {
      return .failed(error.message)
    }
  }

  func read(_ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer) -> ParentReading {
    if let info = head.fields.only("Proxy-Authentication-Info", in: bytes), answered != nil {
      memory.session?.take(info: Challenges.parameters(of: info.value, in: bytes), in: bytes)
    }
    guard head.status == 407 else {
      wasStale = false
      return .other
    }
    let found = DigestChallenge.best(in: head.fields, named: .proxyAuthenticate, of: bytes, among: policy.algorithms)
    guard let challenge = found else { return .refused(pause: answered == nil ? ParentMemory.pause : nil) }
    guard let answered else {
      learn(challenge)
      return .challenge(.anyConnection)
    }
    // It does not replace a nonce that came meanwhile.
    if challenge.nonce != answered.nonce || challenge.rules != answered.rules { learn(challenge) }
    // Another realm, or another way to answer, is no refusal of this answer.
    if challenge.rules != answered.rules { return .challenge(.anyConnection) }
    // RFC 7616 section 3.3: without `stale`, name or password are wrong.
    guard challenge.isStale else { return .refused(pause: nil) }
    guard !wasStale, challenge.nonce != answered.nonce else { return .refused(pause: ParentMemory.pause) }
    wasStale = true
    return .challenge(.anyConnection)
  }

  private func learn(_ challenge: DigestChallenge) {
    if let session = memory.session { session.take(challenge) } else { memory.session = DigestSession(challenge) }
  }
}
