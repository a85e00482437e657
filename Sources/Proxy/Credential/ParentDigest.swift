import Credentials
import Crypto
import HTTPWire
import Signing
import Upstreams

/// What one loop's connections to a parent proxy have learned of it, where it wants each request answered anew. Answers in absolute-form
/// may be an origin's, so they teach nothing that requests to others depend on.
final class ParentMemory {
  /// Of the parent's last challenge to CONNECT.
  fileprivate var session: DigestSession?
  /// Of the last challenge to a request in absolute-form, by `http://host:port` of its target.
  fileprivate var sessions: [[UInt8]: DigestSession] = [:]
  fileprivate let hashes = DigestHashes()
  /// Origins of which something is remembered.
  fileprivate static let capacity = 64
  /// The parent refuses tickets up to this version; 0: none.
  var refusedTicket: UInt64 = 0
  /// What may be an origin has refused this version: another ticket is fetched, and this one used until that comes; 0: none.
  var doubtedTicket: UInt64 = 0
  /// Until when no other one is fetched for that, in nanoseconds of the loop's clock.
  var doubtPause: Int64 = .min

  /// What an answer to a request for it is made of.
  fileprivate func session(of origin: [UInt8]?) -> DigestSession? { origin.flatMap { sessions[$0] } ?? session }

  /// - Parameter origin: nil: of CONNECT.
  fileprivate func learn(_ challenge: DigestChallenge, of origin: [UInt8]?) {
    guard let origin else {
      if let session { session.take(challenge) } else { session = DigestSession(challenge) }
      return
    }
    if let known = sessions[origin] { return known.take(challenge) }
    if sessions.count >= Self.capacity { sessions.remove(at: sessions.startIndex) }
    sessions[origin] = DigestSession(challenge)
  }
}

extension ParentRequest {
  /// Of a request in absolute-form: `http://host:port`; nil: CONNECT.
  var origin: [UInt8]? {
    let scheme = Array("http://".utf8)
    guard target.starts(with: scheme) else { return nil }
    let authority = target.dropFirst(scheme.count).prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
    return scheme + authority
  }
}

/// Digest towards a parent proxy (RFC 7616), over one connection. What the first challenge to CONNECT taught, all connections of the loop
/// use, and what one in absolute-form taught, those for the same origin. So no request is sent only to be challenged.
final class ParentDigest: ParentAuthentication {
  private let policy: DigestPolicy
  private let version: UInt64
  private let memory: ParentMemory
  /// What the last request answered to; nil: it went without.
  private var answered: (rules: DigestChallenge.Rules, nonce: [UInt8])?
  /// Of the last request; nil: it was CONNECT.
  private var origin: [UInt8]?
  /// The last challenge said that the nonce was too old.
  private var wasStale = false

  init(_ policy: DigestPolicy, _ version: UInt64, _ memory: ParentMemory) {
    self.policy = policy
    self.version = version
    self.memory = memory
  }

  var hasAnswered: Bool { answered != nil }
  var pauseAfterRefusal: Int64? { nil }

  func sizeLimit(target: Int) -> Int { DigestSession.sizeLimit(target: target) }

  func value(for request: ParentRequest) -> ParentValue {
    answered = nil
    origin = request.origin
    guard let session = memory.session(of: origin), policy.algorithms.contains(session.rules.algorithm), !session.isUsedUp
    else { return .none }
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
      let session = origin.map { memory.sessions[$0] } ?? memory.session
      session?.take(info: Challenges.parameters(of: info.value, in: bytes), in: bytes)
    }
    guard head.status == 407 else {
      wasStale = false
      return .other
    }
    let found = DigestChallenge.best(in: head.fields, named: .proxyAuthenticate, of: bytes, among: policy.algorithms)
    guard let challenge = found else { return .refused(pause: answered == nil ? ParentReading.pause : nil) }
    guard let answered else {
      memory.learn(challenge, of: origin)
      return .challenge(.anyConnection)
    }
    // It does not replace a nonce that came meanwhile.
    if challenge.nonce != answered.nonce || challenge.rules != answered.rules { memory.learn(challenge, of: origin) }
    // Another realm, or another way to answer, is no refusal of this answer.
    if challenge.rules != answered.rules { return .challenge(.otherRules) }
    // RFC 7616 section 3.3: without `stale`, name or password are wrong.
    guard challenge.isStale else { return .refused(pause: nil) }
    guard !wasStale, challenge.nonce != answered.nonce else { return .refused(pause: ParentReading.pause) }
    wasStale = true
    return .challenge(.anyConnection)
  }
}
