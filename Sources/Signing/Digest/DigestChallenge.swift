import Credentials
import HTTPWire

/// What a server asks with `Digest` (RFC 7616 section 3.3, RFC 2617, RFC 2069).
public struct DigestChallenge: Sendable, Hashable {
  /// What the answer covers: `qop`.
  public enum Protection: Sendable, Hashable {
    case request
    /// The body, too: auth-int.
    case body
    /// RFC 2069: the answer has neither count nor nonce of the client.
    case legacy
  }

  /// How to answer, without what each nonce changes. Another one is another question, not a refusal.
  public struct Rules: Sendable, Hashable {
    public let realm: [UInt8]
    public let algorithm: DigestPolicy.Algorithm
    /// `-sess`: nonces are part of the secret.
    public let isSession: Bool
    /// The challenge says which algorithm it is. Without, it is MD5.
    public let namesAlgorithm: Bool
    public let protection: Protection
    public let hashesUserName: Bool
    /// The server reads user names as UTF-8.
    public let isUTF8: Bool
  }

  /// Bytes of realm, nonce and opaque together. An answer repeats them with each request.
  public static let sizeLimit = 6_144

  public let rules: Rules
  public let nonce: [UInt8]
  public let opaque: [UInt8]?
  /// The answer was right, but its nonce is too old.
  public let isStale: Bool

  /// nil: it is no `Digest`, is malformed, or asks something unknown.
  public init?(_ challenge: Challenge, in head: UnsafeRawBufferPointer) {
    guard challenge.uses("Digest", in: head), !challenge.isMalformed, challenge.token68.isEmpty,
      let realm = challenge.text("realm", in: head), let nonce = challenge.text("nonce", in: head), !nonce.isEmpty,
      let (algorithm, isSession) = Self.algorithm(challenge.parameter("algorithm", in: head), in: head),
      let protection = Self.protection(challenge.parameter("qop", in: head), in: head)
    else { return nil }
    let opaque = challenge.text("opaque", in: head)
    // Both grow by a backslash for each quotation mark.
    let size = [realm, nonce, opaque ?? []].reduce(0) { $0 + QuotedText.size($1) }
    guard size <= Self.sizeLimit else { return nil }
    rules = Rules(
      realm: realm, algorithm: algorithm, isSession: isSession,
      namesAlgorithm: challenge.parameter("algorithm", in: head) != nil, protection: protection,
      hashesUserName: Self.says("true", challenge.parameter("userhash", in: head), in: head),
      isUTF8: Self.says("UTF-8", challenge.parameter("charset", in: head), in: head))
    self.nonce = nonce
    self.opaque = opaque
    isStale = Self.says("true", challenge.parameter("stale", in: head), in: head)
  }

  /// The one with the algorithm that comes first in `algorithms`, and of these the one with the best protection that needs no body; nil:
  /// there is none to answer.
  /// - Parameter id: WWW-Authenticate or Proxy-Authenticate.
  public static func best(
    in fields: ContiguousArray<Field>, named id: FieldName, of head: UnsafeRawBufferPointer,
    among algorithms: [DigestPolicy.Algorithm]
  ) -> DigestChallenge? {
    var best: (challenge: DigestChallenge, rank: Int)?
    for field in fields where field.id == id {
      var challenges = Challenges(field.value, in: head)
      while let challenge = challenges.next() {
        guard let digest = DigestChallenge(challenge, in: head),
          let preference = algorithms.firstIndex(of: digest.rules.algorithm)
        else { continue }
        let rank = 3 * preference + digest.rules.protection.rank
        if rank < best?.rank ?? .max { best = (digest, rank) }
      }
    }
    return best?.challenge
  }

  private static func says(_ word: StaticString, _ parameter: Challenge.Parameter?, in head: UnsafeRawBufferPointer) -> Bool {
    parameter?.value.equalsIgnoringCase(word, in: head) ?? false
  }

  /// nil: unknown.
  private static func algorithm(
    _ parameter: Challenge.Parameter?, in head: UnsafeRawBufferPointer
  ) -> (DigestPolicy.Algorithm, isSession: Bool)? {
    guard let parameter else { return (.md5, false) }
    let (name, suffix) = (parameter.value.bytes(in: head), 5)
    for algorithm in DigestPolicy.Algorithm.allCases {
      if equalsIgnoringCase(name, algorithm.text) { return (algorithm, false) }
      let plain = name.count - suffix
      if plain > 0, equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: name[plain...]), "-sess"),
        equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: name[..<plain]), algorithm.text)
      {
        return (algorithm, true)
      }
    }
    return nil
  }

  /// nil: all that the server offers is unknown.
  private static func protection(_ parameter: Challenge.Parameter?, in head: UnsafeRawBufferPointer) -> Protection? {
    guard let parameter else { return .legacy }
    var members = ListMembers(parameter.value, in: head)
    var (isEmpty, found) = (true, Protection?.none)
    while let member = members.next() {
      isEmpty = false
      if member.equalsIgnoringCase("auth", in: head) { return .request }
      if member.equalsIgnoringCase("auth-int", in: head) { found = .body }
    }
    return isEmpty ? .legacy : found
  }
}

extension DigestChallenge.Protection {
  fileprivate var rank: Int {
    switch self {
    case .request: 0
    case .body: 1
    case .legacy: 2
    }
  }
}

extension DigestPolicy.Algorithm {
  /// As challenges and answers name it.
  var text: StaticString {
    switch self {
    case .sha512t256: "SHA-512-256"
    case .sha256: "SHA-256"
    case .md5: "MD5"
    }
  }
}
