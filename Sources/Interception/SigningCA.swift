import Crypto
import TLS

/// A certificate that signs leafs, with its key and the certificates above it. Checked when it is made: what verifiers would refuse
/// does not come to be.
public final class SigningCA: Sendable {
  /// The signing certificate first, the root last; they may be one.
  public let chain: [Certificate]
  let key: PrivateKey
  /// Names this authority wherever a short name is needed: SHA-256 of the signing certificate, 32 bytes.
  public let fingerprint: [UInt8]
  /// Seconds since 1970: when the first certificate of the chain ends.
  public let notAfter: Int64
  private let constraints: [NameConstraints]

  /// - Parameters:
  ///   - chain: the signing certificate, then those above it up to the root.
  ///   - allowsUnconstrained: the authority may sign for any name.
  ///   - now: seconds since 1970.
  public init(
    chain: [Certificate], key: PrivateKey, allowsUnconstrained: Bool = false, now: Int64
  ) throws(SigningCAError) {
    try Self.check(chain, key, now)
    constraints = chain.compactMap(\.nameConstraints)
    guard allowsUnconstrained || constraints.contains(where: { $0.isCritical && $0.boundsNames }) else { throw .unconstrained }
    self.chain = chain
    self.key = key
    fingerprint = chain[0].fingerprint
    notAfter = chain.map(\.notAfter).min() ?? 0
  }

  public convenience init(_ authority: LocalAuthority, now: Int64) throws(SigningCAError) {
    try self.init(chain: [authority.issuer, authority.root], key: authority.key, now: now)
  }

  /// What apps trust.
  public var root: Certificate { chain[chain.count - 1] }

  /// SubjectPublicKeyInfo's SHA-256: no chain with this key in it may come from an origin.
  public var publicKeyDigest: [UInt8] { chain[0].publicKeyDigest }

  /// Signing takes milliseconds, not microseconds: not on an event loop.
  public var signsSlowly: Bool { if case .rsa = key.algorithm { true } else { false } }

  /// - Parameter now: seconds since 1970.
  public func isExpired(at now: Int64) -> Bool { notAfter <= now }

  public func permits(_ host: PeerName) -> Bool { constraints.allSatisfy { $0.permits(host) } }

  /// Whether it may sign for every name below `base`.
  /// - Parameter base: lower-case, without a trailing dot.
  public func permits(namesBelow base: String) -> Bool { constraints.allSatisfy { $0.permits(namesBelow: base) } }

  /// Java 17 ignores the constraints of a root.
  public var isConstrainedByRootAlone: Bool {
    func bounds(_ certificate: Certificate) -> Bool { certificate.nameConstraints.map(\.boundsNames) ?? false }
    return bounds(root) && !chain.dropLast().contains(where: bounds)
  }

  /// What the signing certificate's own constraints permit, or those of the next above it that has some; nil: everything.
  public var permittedSubtrees: [NameConstraints.Subtree]? { constraints.first { $0.boundsNames }?.permitted }
}

extension SigningCA: Hashable {
  public static func == (one: SigningCA, other: SigningCA) -> Bool { one.chain == other.chain }
  public func hash(into hasher: inout Hasher) { hasher.combine(fingerprint) }
}

/// Why certificates and a key are no authority to sign with. Says which certificate by its subject, never anything of the key.
public enum SigningCAError: Error, Sendable, Hashable {
  case noCertificate
  case notAuthority(String)
  case mayNotSign(String)
  case notForServers(String)
  /// - at: seconds since 1970.
  case expired(String, at: Int64)
  case notYetValid(String, until: Int64)
  case weakSignature(String)
  /// It bounds names, but nobody can say which.
  case unreadableConstraints(String)
  case weakKey(String, bits: Int)
  case unknownKey(String)
  /// The one was not signed by the other, which follows it.
  case notIssued(String, by: String)
  case notSelfSigned(String)
  /// More authorities follow than a path length permits.
  case pathTooLong(String)
  case foreignKey
  case unconstrained
}

extension SigningCA {
  private static func check(_ chain: [Certificate], _ key: PrivateKey, _ now: Int64) throws(SigningCAError) {
    guard let signing = chain.first, let root = chain.last else { throw .noCertificate }
    for certificate in chain { try check(certificate, now) }
    for (lower, upper) in zip(chain, chain.dropFirst()) where !lower.isIssued(by: upper) {
      throw .notIssued(lower.subject, by: upper.subject)
    }
    guard root.isIssued(by: root) else { throw .notSelfSigned(root.subject) }
    // As many authorities stand below it as its depth says (RFC 5280 section 4.2.1.9).
    for (depth, certificate) in chain.enumerated() {
      if let length = certificate.pathLength, length < depth { throw .pathTooLong(certificate.subject) }
    }
    guard signing.publicKeyInfo == key.publicKeyInfo else { throw .foreignKey }
  }

  private static func check(_ certificate: Certificate, _ now: Int64) throws(SigningCAError) {
    let subject = certificate.subject
    // First, as OpenSSL holds such a certificate for no CA at all.
    guard !certificate.hasUnreadableNameConstraints else { throw .unreadableConstraints(subject) }
    guard certificate.isMarkedAuthority else { throw .notAuthority(subject) }
    guard certificate.maySignCertificates else { throw .mayNotSign(subject) }
    guard certificate.mayServeTLS else { throw .notForServers(subject) }
    guard certificate.notAfter > now else { throw .expired(subject, at: certificate.notAfter) }
    guard certificate.notBefore <= now else { throw .notYetValid(subject, until: certificate.notBefore) }
    guard !certificate.isWeaklySigned else { throw .weakSignature(subject) }
    switch certificate.publicKey {
    case .rsa(let bits) where bits < 2048: throw .weakKey(subject, bits: bits)
    case .ellipticCurve(let bits) where bits < 256: throw .weakKey(subject, bits: bits)
    case .rsa, .ellipticCurve: break
    case .other: throw .unknownKey(subject)
    }
  }
}

extension SigningCAError: CustomStringConvertible {
  /// A clause that follows the file's name.
  public var description: String {
    switch self {
    case .noCertificate: "holds no certificate"
    case .notAuthority(let subject): "\(subject) is no CA by its basic constraints"
    case .mayNotSign(let subject): "\(subject) lacks keyCertSign in its key usage"
    case .notForServers(let subject): "\(subject) has an extended key usage without serverAuth"
    case .expired(let subject, _): "\(subject) has expired"
    case .notYetValid(let subject, _): "\(subject) is not valid yet"
    case .weakSignature(let subject): "\(subject) is signed with SHA-1"
    case .unreadableConstraints(let subject): "\(subject) has name constraints twice, or some that cannot be read"
    case .weakKey(let subject, let bits): "\(subject) has a key of \(bits) bits; it needs 2048 for RSA, 256 for EC"
    case .unknownKey(let subject): "\(subject) has a key that is neither RSA nor EC"
    case .notIssued(let lower, let upper): "\(lower) is not signed by the certificate that follows it, \(upper)"
    case .notSelfSigned(let subject): "\(subject) is the last certificate and not self-signed; the root goes last"
    case .pathTooLong(let subject): "\(subject) has a path length that permits fewer CAs below it than there are"
    case .foreignKey: "has a first certificate that the key does not belong to"
    case .unconstrained:
      "may sign for any name: neither its signing certificate nor one above has critical name constraints for DNS names"
    }
  }
}
