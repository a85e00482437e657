import Credentials
import Crypto
import EventIO
import Forwarding
import HTTPWire
import Signing

/// Answers Digest challenges (RFC 7616). The first request to an origin goes without; its 401 teaches, and then every request carries an
/// answer, with the nonce that the origin has named last.
final class DigestSigner: RequestSigner {
  /// Below a wildcard each host is an origin of its own.
  private static let maximumOrigins = 1_024
  private static let info = Array("Authentication-Info".utf8)

  private var spaces: [OriginAuthority: DigestSpaces] = [:]
  private let hashes = DigestHashes()
  private let room = NonceRoom()

  /// What is known of one request.
  private final class Noted {
    var algorithms: [DigestPolicy.Algorithm] = []
    /// Without the query; its beginning, if it is too long to be remembered.
    var path: [UInt8] = []
    /// Of the challenge that it has got.
    var session: DigestSession?
    /// What its last attempt answered to; nil: it went without.
    var answered: (session: DigestSession, rules: DigestChallenge.Rules, nonce: [UInt8])?
    /// It was sent again because its nonce was too old.
    var wasStale = false
    /// What its body is hashed with; nil: it streams.
    var bodyHash: RunningDigest.Algorithm?
  }

  /// One for the challenge of an origin that was unknown, or that asks by other rules; one for a nonce that is too old.
  override var rounds: UInt8 { 2 }

  override func note(_ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer) throws(ProxyError) -> AnyObject? {
    Noted()
  }

  /// Of the challenge that was read last.
  private var reason = RelayReason.challengedAgain
  override var unansweredReason: RelayReason { reason }

  override func bodyUse(of head: WrittenHead, length: Int64?, noted: AnyObject?) -> BodyUse {
    (noted as? Noted)?.bodyHash.map { .hashed($0) } ?? .streams
  }

  override func sizeLimit(of head: UnsafeRawBufferPointer, noted: AnyObject?) -> Int {
    DigestSession.sizeLimit(target: WrittenHead(head)?.target.count ?? 0) + 32
  }

  override func prepare(_ draft: borrowing Draft, into block: Block) -> Preparation {
    guard case .digest(let policy)? = draft.credential.material, let noted = draft.noted as? Noted else {
      return .refused(.internalError, why: "no material")
    }
    noted.algorithms = policy.algorithms
    noted.answered = nil
    let target = draft.head.target.bytes(in: draft.head.bytes)
    noted.path = Array(target.prefix { $0 != UInt8(ascii: "?") }.prefix(DigestSpaces.longestPath + 1))
    guard let session = noted.session ?? spaces[draft.origin]?.session(for: noted.path),
      policy.algorithms.contains(session.rules.algorithm), !session.isUsedUp
    else { return .ready }
    var body = DigestSession.Request.Body.bytes(UnsafeRawBufferPointer(start: nil, count: 0))
    if session.rules.protection == .body {
      let algorithm = session.rules.algorithm.running
      switch draft.body {
      case .none: break
      case .whole(let bytes):
        // The origin may have asked for another algorithm since it was hashed.
        if let digest = draft.digest, noted.bodyHash == algorithm { body = .digest(digest) } else { body = .bytes(bytes) }
      case .streamed:
        noted.bodyHash = algorithm
        return .needsBody
      }
    }
    let head = draft.head
    let request = DigestSession.Request(
      method: head.method.bytes(in: head.bytes), target: head.target.bytes(in: head.bytes), body: body)
    do throws(OpenSSLError) {
      let clientNonce = try DigestSession.newClientNonce()
      block.append("Authorization: ")
      var writer = ByteWriter(block.base, capacity: block.capacity, count: block.end)
      try session.answer(
        request, by: policy, version: draft.credential.version, clientNonce: clientNonce, hashes: hashes, into: &writer)
      block.end = writer.count
      block.append("\r\n")
    } catch {
      return .refused(.internalError, why: error.message)
    }
    noted.answered = (session, session.rules, session.nonce)
    return .ready
  }

  override func read(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, of noted: AnyObject?, from origin: OriginAuthority,
    isNews: Bool
  ) -> Reading {
    let isFinal = isNews && head.status >= 200
    let info = head.fields.only("Authentication-Info", in: bytes)
    head.fields.drop(named: Self.info, in: bytes)
    guard isFinal, let noted = noted as? Noted else { return .other }
    if let info, let session = noted.answered?.session {
      session.take(info: Challenges.parameters(of: info.value, in: bytes), in: bytes)
    }
    guard head.status == 401 else { return .other }
    let challenge = DigestChallenge.best(in: head.fields, named: .wwwAuthenticate, of: bytes, among: noted.algorithms)
    // Without a challenge that it could answer, a request that went without says nothing about the credential.
    guard let challenge else {
      reason = .challengeUnknown
      return noted.answered == nil ? .challenge(canAnswer: false) : .other
    }
    reason = .challengedAgain
    return judge(challenge, noted, origin)
  }

  private func judge(_ challenge: DigestChallenge, _ noted: Noted, _ origin: OriginAuthority) -> Reading {
    guard let answered = noted.answered else {
      noted.session = learn(challenge, of: origin, at: noted.path)
      return .challenge(canAnswer: true)
    }
    // It does not replace a nonce that came meanwhile.
    let isOther = challenge.nonce != answered.nonce || challenge.rules != answered.rules
    if isOther { noted.session = learn(challenge, of: origin, at: noted.path) }
    // Another realm, or another way to answer, is no refusal of this answer.
    if challenge.rules != answered.rules { return .challenge(canAnswer: true) }
    guard challenge.isStale else { return .other }
    defer { noted.wasStale = true }
    return .challenge(canAnswer: !noted.wasStale && (noted.session ?? answered.session).nonce != answered.nonce)
  }

  private func learn(_ challenge: DigestChallenge, of origin: OriginAuthority, at path: [UInt8]) -> DigestSession {
    // Any of them: its origin will challenge again.
    if spaces[origin] == nil, spaces.count >= Self.maximumOrigins { spaces.remove(at: spaces.startIndex) }
    return spaces[origin, default: DigestSpaces(room: room)].learn(challenge, at: path)
  }
}

extension DigestPolicy.Algorithm {
  fileprivate var running: RunningDigest.Algorithm {
    switch self {
    case .sha512t256: .sha512t256
    case .sha256: .sha256
    case .md5: .md5
    }
  }
}
