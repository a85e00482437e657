import COpenSSL
import Crypto

/// Online certificate status (RFC 6960). Without nonce, as answers may come from caches (RFC 5019).
public enum OCSP {
  /// The body of a POST that asks about one certificate. Its CertID uses SHA-1, the only hash that every responder supports
  /// (RFC 5019 section 2.1.1). It identifies the certificate and protects nothing.
  public static func request(for certificate: Certificate, issuer: Certificate) throws(OpenSSLError) -> [UInt8] {
    ERR_clear_error()
    guard let request = OCSP_REQUEST_new() else { throw .drained(.encoding, "OCSP request") }
    defer { OCSP_REQUEST_free(request) }
    guard let identity = OCSP_cert_to_id(EVP_sha1(), certificate.pointer, issuer.pointer) else {
      throw .drained(.encoding, "OCSP request")
    }
    // From here on the request owns the identity.
    guard OCSP_request_add0_id(request, identity) != nil else {
      OCSP_CERTID_free(identity)
      throw .drained(.encoding, "OCSP request")
    }
    return encodedDER { i2d_OCSP_REQUEST(request, $0) }
  }

  /// What an answer says about `certificate`, which `issuer` must have issued. `now` in seconds since 1970.
  public static func status(
    _ der: [UInt8], of certificate: Certificate, issuer: Certificate, now: Int64
  ) -> RevocationStatus {
    ERR_clear_error()
    defer { ERR_clear_error() }
    guard let response = decodedDER(der, { d2i_OCSP_RESPONSE(nil, $0, $1) }, { OCSP_RESPONSE_free($0) }) else {
      return .unusable(.malformed)
    }
    defer { OCSP_RESPONSE_free(response) }
    switch OCSP_response_status(response) {
    case OCSP_RESPONSE_STATUS_SUCCESSFUL: break
    case OCSP_RESPONSE_STATUS_UNAUTHORIZED: return .unusable(.unauthorized)
    default: return .unusable(.responderError)
    }
    guard let basic = OCSP_response_get1_basic(response) else { return .unusable(.malformed) }
    defer { OCSP_BASICRESP_free(basic) }
    if let flaw = flawOfSignature(basic, issuer, now) { return .unusable(flaw) }
    guard let single = entry(of: basic, for: certificate, issuer) else { return .unusable(.notCovering) }
    // None of an answer's extensions is processed here, and none has to be critical (RFC 6960 section 4.4).
    guard OCSP_BASICRESP_get_ext_by_critical(basic, 1, -1) < 0, OCSP_SINGLERESP_get_ext_by_critical(single, 1, -1) < 0 else {
      return .unusable(.unknownExtension)
    }
    return status(of: single, now: now)
  }

  private static func status(of single: OpaquePointer, now: Int64) -> RevocationStatus {
    var reason: Int32 = 0
    var revocation: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
    var thisUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
    var nextUpdate: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
    switch OCSP_single_get0_status(single, &reason, &revocation, &thisUpdate, &nextUpdate) {
    case V_OCSP_CERTSTATUS_GOOD:
      return .good(
        thisUpdate: unixTime(thisUpdate), nextUpdate: unixTime(nextUpdate), hasNextUpdate: nextUpdate != nil, now: now)
    case V_OCSP_CERTSTATUS_REVOKED: return .revoked(at: unixTime(revocation) ?? 0)
    default: return .unusable(.unknown)
    }
  }

  /// The entry whose CertID matches this certificate, with any hash that the responder chose.
  private static func entry(of basic: OpaquePointer, for certificate: Certificate, _ issuer: Certificate) -> OpaquePointer? {
    for index in 0..<max(0, OCSP_resp_count(basic)) {
      guard let single = OCSP_resp_get0(basic, index), let theirs = OCSP_SINGLERESP_get0_id(single) else { continue }
      var algorithm: OpaquePointer?
      OCSP_id_get0_info(nil, &algorithm, nil, nil, theirs)
      guard let algorithm, let digest = EVP_get_digestbyname(OBJ_nid2sn(OBJ_obj2nid(algorithm))),
        let ours = OCSP_cert_to_id(digest, certificate.pointer, issuer.pointer)
      else { continue }
      defer { OCSP_CERTID_free(ours) }
      if OCSP_id_cmp(ours, theirs) == 0 { return single }
    }
    return nil
  }

  /// nil if the issuer itself signed, or a responder that it authorised (RFC 6960 section 4.2.2.2).
  private static func flawOfSignature(_ basic: OpaquePointer, _ issuer: Certificate, _ now: Int64) -> RevocationStatus.Flaw? {
    guard let candidates = OPENSSL_sk_new_null() else { return .malformed }
    defer { OPENSSL_sk_free(candidates) }
    OPENSSL_sk_push(candidates, UnsafeRawPointer(issuer.pointer))
    var found: OpaquePointer?
    guard OCSP_resp_get0_signer(basic, &found, candidates) == 1, let found else { return .wrongSigner }
    let signer = Certificate(sharing: found)
    // Checks only the signature. The code below decides who may sign, without a store of roots.
    guard OCSP_basic_verify(basic, candidates, nil, UInt(OCSP_NOVERIFY)) == 1 else { return .badSignature }
    guard let algorithm = OCSP_resp_get0_tbs_sigalg(basic), isStrongSignature(OBJ_obj2nid(algorithm.pointee.algorithm)),
      isStrongKey(X509_get0_pubkey(found))
    else { return .weakSignature }
    if signer == issuer { return nil }
    let usage = X509_get_extended_key_usage(found)
    let flags = X509_get_extension_flags(found)
    guard flags & UInt32(EXFLAG_XKUSAGE) != 0, flags & UInt32(EXFLAG_CRITICAL) == 0, usage & UInt32(XKU_OCSP_SIGN) != 0,
      signer.isIssued(by: issuer), signer.notBefore <= now, now <= signer.notAfter
    else { return .wrongSigner }
    return isStrongSignature(X509_get_signature_nid(found)) ? nil : .weakSignature
  }
}
