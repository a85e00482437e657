import COpenSSL

/// What one answer or list says of one certificate, after everything about it was checked.
public enum RevocationStatus: Sendable, Hashable {
  /// Holds until then, in seconds since 1970.
  case good(until: Int64)
  /// When, in seconds since 1970. Stands also where the answer is stale: nothing takes a revocation back.
  case revoked(at: Int64)
  /// No answer: it must not be taken for a good one.
  case unusable(Flaw)

  public enum Flaw: String, Sendable, Hashable, CaseIterable {
    case malformed
    /// The responder does not know the certificate.
    case unknown
    /// The responder may not or will not answer for it.
    case unauthorized
    /// Any other error of the responder: internal error, try later, signature required.
    case responderError = "responder_error"
    case badSignature = "bad_signature"
    case weakSignature = "weak_signature"
    /// Signed by one whom the issuer did not make its responder.
    case wrongSigner = "wrong_signer"
    /// About other certificates only; of a list: by another issuer, partial, or for another kind.
    case notCovering = "not_covering"
    /// It has a critical extension that is not processed here.
    case unknownExtension = "unknown_extension"
    case notYetValid = "not_yet_valid"
    case stale
  }

  /// How long an answer without nextUpdate is good, in seconds from its thisUpdate. It says that newer information can be had
  /// at any time (RFC 6960 section 4.2.2.1), so it cannot stand for long.
  public static let lifetimeWithoutNextUpdate: Int64 = 15 * 60
  /// How far the responder's clock may be from ours, in seconds.
  public static let clockAllowance: Int64 = 5 * 60

  /// The dates of an answer that says good.
  static func good(thisUpdate: Int64?, nextUpdate: Int64?, hasNextUpdate: Bool, now: Int64) -> RevocationStatus {
    guard let thisUpdate, !hasNextUpdate || nextUpdate != nil else { return .unusable(.malformed) }
    guard thisUpdate <= now + clockAllowance else { return .unusable(.notYetValid) }
    let until = nextUpdate ?? thisUpdate + lifetimeWithoutNextUpdate
    guard until >= thisUpdate else { return .unusable(.malformed) }
    return now <= until + clockAllowance ? .good(until: until) : .unusable(.stale)
  }
}

/// Whether a signature algorithm hashes with what security level 2 still accepts.
func isStrongSignature(_ signatureAlgorithm: Int32) -> Bool {
  var digest: Int32 = 0
  var key: Int32 = 0
  guard OBJ_find_sigid_algs(signatureAlgorithm, &digest, &key) == 1 else { return false }
  return ![NID_md2, NID_md4, NID_md5, NID_md5_sha1, NID_sha1, NID_ripemd160].contains(digest)
}

/// 112 bits of security: RSA 2048, curves of 224 bits.
func isStrongKey(_ key: OpaquePointer?) -> Bool { key.map { EVP_PKEY_get_security_bits($0) >= 112 } ?? false }
