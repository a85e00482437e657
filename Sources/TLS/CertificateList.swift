import COpenSSL
import Crypto

/// A certificate revocation list (RFC 5280 section 5).
// SAFETY: the X509_CRL does not change after init, except for its sorting, which OpenSSL guards with the list's own lock.
public final class CertificateList: @unchecked Sendable {
  let pointer: OpaquePointer
  /// Whether the list or one of its entries has a critical extension that this program does not process. Then it must not be
  /// used for any certificate (RFC 5280 sections 5.2 and 5.3).
  private let hasUnknownExtension: Bool

  package init(owning pointer: OpaquePointer) {
    self.pointer = pointer
    hasUnknownExtension = Self.hasUnknownExtension(pointer)
  }
  deinit { X509_CRL_free(pointer) }

  public convenience init(der: [UInt8]) throws(OpenSSLError) {
    ERR_clear_error()
    guard let pointer = decodedDER(der, { d2i_X509_CRL(nil, $0, $1) }, { X509_CRL_free($0) }) else {
      throw .drained(.encoding, "no revocation list")
    }
    self.init(owning: pointer)
  }

  /// One list in DER, or every list of a PEM file; at least one.
  public static func parse(_ bytes: [UInt8]) throws(OpenSSLError) -> [CertificateList] {
    if bytes.first == 0x30, let one = try? CertificateList(der: bytes) { return [one] }
    guard let input = MemoryBIO(bytes) else { throw .drained(.encoding, "out of memory") }
    ERR_clear_error()
    var result: [CertificateList] = []
    while let pointer = PEM_read_bio_X509_CRL(input.pointer, nil, nil, nil) { result.append(CertificateList(owning: pointer)) }
    let noMore = Int32(truncatingIfNeeded: ERR_peek_last_error() & 0x7F_FFFF) == PEM_R_NO_START_LINE
    guard noMore else { throw .drained(.encoding, "revocation list \(result.count + 1)") }
    ERR_clear_error()
    guard !result.isEmpty else { throw OpenSSLError(.encoding, "it contains no revocation list") }
    return result
  }

  public var der: [UInt8] { encodedDER { i2d_X509_CRL(pointer, $0) } }
  public var pem: [UInt8] {
    guard let output = MemoryBIO(), PEM_write_bio_X509_CRL(output.pointer, pointer) == 1 else { return [] }
    return output.takeBytes()
  }
  public var thisUpdate: Int64 { unixTime(X509_CRL_get0_lastUpdate(pointer)) ?? 0 }
  /// Seconds since 1970; nil if the list has none.
  public var nextUpdate: Int64? { unixTime(X509_CRL_get0_nextUpdate(pointer)) }

  /// Whether `issuer`'s name is on it: cheap, but no proof.
  public func names(issuer: Certificate) -> Bool {
    X509_NAME_cmp(X509_CRL_get_issuer(pointer), X509_get_subject_name(issuer.pointer)) == 0
  }

  /// nil if `issuer` signed it and may sign lists. Takes as long as hashing the whole list.
  public func flawOfSignature(by issuer: Certificate) -> RevocationStatus.Flaw? {
    defer { ERR_clear_error() }
    guard names(issuer: issuer) else { return .notCovering }
    let usage = X509_get_key_usage(issuer.pointer)
    guard usage & UInt32(KU_CRL_SIGN) != 0 else { return .wrongSigner }
    let key = X509_get0_pubkey(issuer.pointer)
    guard X509_CRL_verify(pointer, key) == 1 else { return .badSignature }
    // The first look-up sorts the list. Do it here, in a lane, and not later on a loop.
    var entry: OpaquePointer?
    _ = X509_CRL_get0_by_cert(pointer, &entry, issuer.pointer)
    return isStrongSignature(X509_CRL_get_signature_nid(pointer)) && isStrongKey(key) ? nil : .weakSignature
  }

  /// What the list says about `certificate`, which `issuer` must have issued. `now` in seconds since 1970. Pass
  /// `signatureIsVerified` only after `flawOfSignature(by:)` returned nil for this issuer.
  public func status(
    of certificate: Certificate, issuer: Certificate, now: Int64, signatureIsVerified: Bool = false
  ) -> RevocationStatus {
    ERR_clear_error()
    defer { ERR_clear_error() }
    if !signatureIsVerified, let flaw = flawOfSignature(by: issuer) { return .unusable(flaw) }
    guard names(issuer: issuer) else { return .unusable(.notCovering) }
    guard !hasUnknownExtension else { return .unusable(.unknownExtension) }
    guard covers(certificate) else { return .unusable(.notCovering) }
    var entry: OpaquePointer?
    if X509_CRL_get0_by_cert(pointer, &entry, certificate.pointer) == 1 {
      return .revoked(at: entry.flatMap { unixTime(X509_REVOKED_get0_revocationDate($0)) } ?? 0)
    }
    return .good(
      thisUpdate: unixTime(X509_CRL_get0_lastUpdate(pointer)), nextUpdate: nextUpdate,
      hasNextUpdate: X509_CRL_get0_nextUpdate(pointer) != nil, now: now)
  }

  /// Of a list's critical extensions only issuingDistributionPoint is processed (`covers`), of an entry's none. RFC 5280
  /// defines others. In a valid list they are either never critical (authorityKeyIdentifier, issuerAltName, cRLNumber,
  /// freshestCRL, reasonCode, invalidityDate), or they make a list that this program does not combine (deltaCRLIndicator,
  /// certificateIssuer).
  private static func hasUnknownExtension(_ list: OpaquePointer) -> Bool {
    var index: Int32 = -1
    while true {
      index = X509_CRL_get_ext_by_critical(list, 1, index)
      guard index >= 0, let found = X509_CRL_get_ext(list, index) else { break }
      guard OBJ_obj2nid(X509_EXTENSION_get_object(found)) == NID_issuing_distribution_point else { return true }
    }
    guard let entries = X509_CRL_get_REVOKED(list) else { return false }
    for index in 0..<max(0, OPENSSL_sk_num(entries)) {
      guard let entry = OPENSSL_sk_value(entries, index) else { continue }
      if X509_REVOKED_get_ext_by_critical(OpaquePointer(entry), 1, -1) >= 0 { return true }
    }
    return false
  }

  /// Whether the absence of the certificate means that it is good: the list is complete, and for certificates of its kind and
  /// place (RFC 5280 sections 5.2.4, 5.2.5).
  private func covers(_ certificate: Certificate) -> Bool {
    guard X509_CRL_get_ext_by_NID(pointer, NID_delta_crl, -1) < 0 else { return false }
    guard X509_CRL_get_ext_by_NID(pointer, NID_issuing_distribution_point, -1) >= 0 else { return true }
    guard let decoded = X509_CRL_get_ext_d2i(pointer, NID_issuing_distribution_point, nil, nil) else { return false }
    let point = decoded.assumingMemoryBound(to: ISSUING_DIST_POINT.self)
    defer { ISSUING_DIST_POINT_free(point) }
    let scope = point.pointee
    guard scope.onlysomereasons == nil, scope.indirectCRL <= 0, scope.onlyattr <= 0 else { return false }
    if scope.onlyuser > 0, certificate.isCA { return false }
    if scope.onlyCA > 0, !certificate.isCA { return false }
    guard let name = scope.distpoint?.pointee else { return true }
    // The issuer has several lists: this must be the one that the certificate points to.
    guard name.type == 0 else { return false }
    let places = Set(certificate.revocationListURLs)
    return Certificate.uris(name.name.fullname).contains { places.contains($0) }
  }
}
