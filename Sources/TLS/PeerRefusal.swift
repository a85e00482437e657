import COpenSSL

/// Why a peer was not trusted. `evaluator` is its name in the configuration; `reason` comes from a fixed list, as it becomes a
/// metric's label; `detail` is for people and contains no secret.
public struct PeerRefusal: Error, Sendable, Hashable, CustomStringConvertible {
  public var evaluator: String
  public var reason: Reason
  public var detail: String

  public init(evaluator: String, reason: Reason, detail: String) {
    self.evaluator = evaluator
    self.reason = reason
    self.detail = detail
  }

  public var description: String { "\(evaluator): \(reason.rawValue): \(detail)" }

  public enum Reason: String, Sendable, Hashable, CaseIterable {
    case expired
    case notYetValid = "not_yet_valid"
    case hostMismatch = "host_mismatch"
    case selfSigned = "self_signed"
    /// The chain is complete, but its root is not an anchor.
    case untrustedRoot = "untrusted_root"
    /// The server did not send an issuer, and it is not an anchor.
    case unknownIssuer = "unknown_issuer"
    case wrongPurpose = "wrong_purpose"
    case issuerNotCA = "issuer_not_ca"
    case pathLength = "path_length"
    case nameConstraints = "name_constraints"
    case weakKey = "weak_key"
    case weakSignature = "weak_signature"
    case badSignature = "bad_signature"
    case unhandledExtension = "unhandled_extension"
    case malformed
    /// Any other error of RFC 5280's path validation.
    case invalidChain = "invalid_chain"
    /// The chain rests on a CA that is for the proxy's own clients.
    case ownAuthority = "own_authority"
    case pinMismatch = "pin_mismatch"
    case revoked
    /// The policy requires an answer about revocation, and there is none.
    case revocationUnknown = "revocation_unknown"
    /// An earlier verdict has expired, and there is no new one.
    case verdictExpired = "verdict_expired"
  }
}

/// Where and why path validation failed.
public struct ChainFailure: Sendable, Hashable {
  public var reason: PeerRefusal.Reason
  public var detail: String

  public init(reason: PeerRefusal.Reason, detail: String) {
    self.reason = reason
    self.detail = detail
  }

  /// `code` is an X509_V_ERR of the certificate at `depth` (0 = leaf).
  init(code: Int32, depth: Int32, certificate: Certificate?) {
    reason = Self.reason(code, depth)
    let text = X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? "error \(code)"
    let subject = certificate.map { String($0.subject.prefix(120)) } ?? "no certificate"
    detail = "\(text) (\(depth == 0 ? "leaf" : "depth \(depth)"), \(subject))"
  }

  private static func reason(_ code: Int32, _ depth: Int32) -> PeerRefusal.Reason {
    switch code {
    case X509_V_ERR_CERT_HAS_EXPIRED: .expired
    case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
    case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: .hostMismatch
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: .selfSigned
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_CERT_UNTRUSTED, X509_V_ERR_CERT_REJECTED: .untrustedRoot
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
      X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      .unknownIssuer
    case X509_V_ERR_INVALID_CA, X509_V_ERR_INVALID_NON_CA, X509_V_ERR_KEYUSAGE_NO_CERTSIGN: .issuerNotCA
    case X509_V_ERR_INVALID_PURPOSE: .wrongPurpose
    case X509_V_ERR_PATH_LENGTH_EXCEEDED, X509_V_ERR_CERT_CHAIN_TOO_LONG: .pathLength
    case X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION, X509_V_ERR_SUBTREE_MINMAX,
      X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE, X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX, X509_V_ERR_UNSUPPORTED_NAME_SYNTAX:
      .nameConstraints
    case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL: .weakKey
    case X509_V_ERR_CA_MD_TOO_WEAK: .weakSignature
    case X509_V_ERR_CERT_SIGNATURE_FAILURE, X509_V_ERR_UNABLE_TO_DECRYPT_CERT_SIGNATURE: .badSignature
    case X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION: .unhandledExtension
    case X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD, X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD, X509_V_ERR_INVALID_EXTENSION:
      .malformed
    default: .invalidChain
    }
  }
}
