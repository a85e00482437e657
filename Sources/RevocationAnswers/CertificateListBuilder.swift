import COpenSSL
import Crypto
import TLS

/// Builds revocation lists.
public struct CertificateListBuilder: Sendable {
  public var revoked: [(serialNumber: [UInt8], at: Int64)] = []
  public var thisUpdate: Int64
  public var nextUpdate: Int64?
  public var digest = CertificateBuilder.Digest.sha256
  /// The value of an issuingDistributionPoint in OpenSSL's notation, such as `onlyuser:TRUE`.
  public var scope: String?
  /// More extensions of the list, and of each of its entries: a name or a dotted identifier, and a value in OpenSSL's notation,
  /// such as `critical,DER:020107`.
  public var extensions: [(name: String, value: String)] = []
  public var entryExtensions: [(name: String, value: String)] = []

  /// Issued now, valid for an hour.
  public init(revoking certificates: [Certificate] = []) {
    thisUpdate = wallClock()
    nextUpdate = thisUpdate + 3600
    revoked = certificates.map { ($0.serialNumber, wallClock()) }
  }

  public func signed(by issuer: Certificate, _ key: PrivateKey) throws(OpenSSLError) -> CertificateList {
    ERR_clear_error()
    guard let pointer = X509_CRL_new() else { throw .drained(.encoding, "revocation list") }
    let list = CertificateList(owning: pointer)
    let times = [thisUpdate, nextUpdate].map { $0.flatMap { ASN1_TIME_set(nil, Int($0)) } }
    defer { for time in times { ASN1_TIME_free(time) } }
    guard X509_CRL_set_version(pointer, 1) == 1,
      X509_CRL_set_issuer_name(pointer, X509_get_subject_name(issuer.pointer)) == 1,
      X509_CRL_set1_lastUpdate(pointer, times[0]) == 1,
      times[1] == nil || X509_CRL_set1_nextUpdate(pointer, times[1]) == 1
    else { throw .drained(.encoding, "revocation list") }
    for entry in revoked { try add(entry, to: pointer) }
    let scopes = scope.map { [(name: "issuingDistributionPoint", value: "critical," + $0)] } ?? []
    for one in scopes + extensions {
      let made = try Self.made(one, issuer, pointer)
      defer { X509_EXTENSION_free(made) }
      guard X509_CRL_add_ext(pointer, made, -1) == 1 else { throw .drained(.encoding, "extension") }
    }
    X509_CRL_sort(pointer)
    guard X509_CRL_sign(pointer, key.pointer, digest == .sha1 ? EVP_sha1() : EVP_sha256()) > 0 else {
      throw .drained(.crypto, "signing a revocation list")
    }
    return try CertificateList(der: list.der)
  }

  private static func made(
    _ extension: (name: String, value: String), _ issuer: Certificate?, _ list: OpaquePointer
  ) throws(OpenSSLError) -> OpaquePointer {
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, issuer?.pointer, nil, nil, list, 0)
    guard let made = X509V3_EXT_nconf(nil, &context, `extension`.name, `extension`.value) else {
      throw .drained(.encoding, "extension")
    }
    return made
  }

  private func add(_ entry: (serialNumber: [UInt8], at: Int64), to list: OpaquePointer) throws(OpenSSLError) {
    let number = BN_bin2bn(entry.serialNumber, Int32(entry.serialNumber.count), nil)
    let serial = BN_to_ASN1_INTEGER(number, nil)
    let time = ASN1_TIME_set(nil, Int(entry.at))
    defer {
      BN_free(number)
      ASN1_INTEGER_free(serial)
      ASN1_TIME_free(time)
    }
    guard let serial, let time, let revoked = X509_REVOKED_new() else { throw .drained(.encoding, "revocation list") }
    do throws(OpenSSLError) {
      for one in entryExtensions {
        let made = try Self.made(one, nil, list)
        defer { X509_EXTENSION_free(made) }
        guard X509_REVOKED_add_ext(revoked, made, -1) == 1 else { throw OpenSSLError.drained(.encoding, "extension") }
      }
      guard X509_REVOKED_set_serialNumber(revoked, serial) == 1, X509_REVOKED_set_revocationDate(revoked, time) == 1,
        X509_CRL_add0_revoked(list, revoked) == 1
      else { throw OpenSSLError.drained(.encoding, "revocation list") }
    } catch {
      X509_REVOKED_free(revoked)
      throw error
    }
  }
}
