import COpenSSL

/// What one answer or list says about one certificate, after all checks.
public enum RevocationStatus: Sendable, Hashable {
  /// Valid until then, in seconds since 1970.
  case good(until: Int64)
  /// Time of revocation, in seconds since 1970. Also counts if the answer has expired, as a revocation is final.
  case revoked(at: Int64)
  /// No usable answer; must not count as good.
  case unusable(Flaw)

  public enum Flaw: String, Sendable, Hashable, CaseIterable {
    case malformed
    /// The responder does not know the certificate.
    case unknown
    /// The responder may not or will not answer about it.
    case unauthorized
    /// Any other error of the responder: internal error, try later, signature required.
    case responderError = "responder_error"
    case badSignature = "bad_signature"
    case weakSignature = "weak_signature"
    /// The signer is not authorised by the issuer.
    case wrongSigner = "wrong_signer"
    /// About other certificates only; for a list: by another issuer, partial, or for another kind.
    case notCovering = "not_covering"
    /// It has a critical extension that this program does not process.
    case unknownExtension = "unknown_extension"
    case notYetValid = "not_yet_valid"
    case stale
  }

  /// How long an answer without nextUpdate is valid, in seconds from its thisUpdate. Such an answer says that newer information
  /// is available at any time (RFC 6960 section 4.2.2.1), so it is valid only for a short time.
  public static let lifetimeWithoutNextUpdate: Int64 = 15 * 60
  /// Allowed difference between the responder's clock and this one, in seconds.
  public static let clockAllowance: Int64 = 5 * 60

  /// The dates of a good answer.
  static func good(thisUpdate: Int64?, nextUpdate: Int64?, hasNextUpdate: Bool, now: Int64) -> RevocationStatus {
    guard let thisUpdate, !hasNextUpdate || nextUpdate != nil else { return .unusable(.malformed) }
    guard thisUpdate <= now + clockAllowance else { return .unusable(.notYetValid) }
    let until = nextUpdate ?? thisUpdate + lifetimeWithoutNextUpdate
    guard until >= thisUpdate else { return .unusable(.malformed) }
    return now <= until + clockAllowance ? .good(until: until) : .unusable(.stale)
  }
}

/// Whether security level 2 accepts the hash of a signature algorithm.
func isStrongSignature(_ signatureAlgorithm: Int32) -> Bool {
  var digest: Int32 = 0
  var key: Int32 = 0
  guard OBJ_find_sigid_algs(signatureAlgorithm, &digest, &key) == 1 else { return false }
  return ![NID_md2, NID_md4, NID_md5, NID_md5_sha1, NID_sha1, NID_ripemd160].contains(digest)
}

/// 112 bits of security: RSA 2048, curves of 224 bits.
func isStrongKey(_ key: OpaquePointer?) -> Bool { key.map { EVP_PKEY_get_security_bits($0) >= 112 } ?? false }
