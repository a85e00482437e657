import COpenSSL
import Crypto

/// Makes certificates at run time: for interception, for the demo's servers, and for tests. Can also make ones that a client must
/// refuse.
public struct CertificateBuilder: Sendable {
  public enum Purpose: String, Sendable, Hashable {
    case serverAuth, clientAuth, codeSigning
    case ocspSigning = "OCSPSigning"
  }
  public enum Digest: Sendable, Hashable { case sha256, sha1 }

  /// Empty: the subject has no name at all, and the alternative names are critical (RFC 5280 section 4.1.2.6).
  public var commonName: String
  public var names = AlternativeNames()
  public var isCA = false
  /// Most authorities below this one.
  public var pathLength: Int?
  /// Seconds since 1970.
  public var notBefore: Int64
  public var notAfter: Int64
  public var purposes: [Purpose] = []
  public var revocation = RevocationPlaces()
  public var constraints = NameConstraints()
  public var digest = Digest.sha256

  /// URLs where the state of the certificate can be asked for.
  public struct RevocationPlaces: Sendable {
    public var responders: [String] = []
    public var lists: [String] = []
  }

  /// For whom a certificate speaks.
  public struct AlternativeNames: Sendable {
    public var dns: [String] = []
    /// Textual addresses.
    public var addresses: [String] = []
    public var uris: [String] = []

    /// In the words of OpenSSL's configuration.
    fileprivate var texts: [String] {
      dns.map { "DNS:" + $0 } + addresses.map { "IP:" + $0 } + uris.map { "URI:" + $0 }
    }
  }

  public var dnsNames: [String] {
    get { names.dns }
    set { names.dns = newValue }
  }
  public var addresses: [String] {
    get { names.addresses }
    set { names.addresses = newValue }
  }

  /// Valid from one hour ago, for `days`.
  public init(commonName: String, days: Int = 30) {
    self.commonName = commonName
    notBefore = wallClock() - 3600
    notAfter = wallClock() + Int64(days) * 86_400
  }

  public static func authority(_ commonName: String, pathLength: Int? = nil) -> CertificateBuilder {
    var builder = CertificateBuilder(commonName: commonName)
    builder.isCA = true
    builder.pathLength = pathLength
    return builder
  }

  /// For a TLS server. IP literals become IP names.
  public static func server(_ names: [String]) -> CertificateBuilder {
    var builder = CertificateBuilder(commonName: names.first ?? "server")
    builder.purposes = [.serverAuth]
    for name in names {
      if PeerName(name).address == nil { builder.dnsNames.append(name) } else { builder.addresses.append(name) }
    }
    return builder
  }

  public func selfSigned(with key: PrivateKey) throws(OpenSSLError) -> Certificate {
    try make(for: key, issuer: nil, signer: key)
  }

  /// For the public half of `key`. Does not check the issuer: tests need issuers that may not issue.
  public func issued(to key: PrivateKey, by issuer: Certificate, _ issuerKey: PrivateKey) throws(OpenSSLError) -> Certificate {
    try make(for: key, issuer: issuer, signer: issuerKey)
  }

  private func make(for key: PrivateKey, issuer: Certificate?, signer: PrivateKey) throws(OpenSSLError) -> Certificate {
    ERR_clear_error()
    guard let pointer = X509_new() else { throw .drained(.encoding, "certificate") }
    let result = Certificate(owning: pointer)
    // With the zero before it that keeps it positive at most 17 of the 20 bytes that it may have (RFC 5280 section 4.1.2.2).
    let serial = try SecureRandom.bytes(16)
    guard X509_set_version(pointer, 2) == 1, set(serial, on: pointer),
      ASN1_TIME_set(X509_getm_notBefore(pointer), Int(notBefore)) != nil,
      ASN1_TIME_set(X509_getm_notAfter(pointer), Int(notAfter)) != nil,
      let name = X509_get_subject_name(pointer),
      commonName.isEmpty
        || X509_NAME_add_entry_by_txt(
          name, "CN", MBSTRING_UTF8, Array(commonName.utf8), Int32(commonName.utf8.count), -1, 0) == 1,
      X509_set_issuer_name(pointer, issuer.map { X509_get_subject_name($0.pointer) } ?? name) == 1,
      X509_set_pubkey(pointer, key.pointer) == 1
    else { throw .drained(.encoding, "certificate") }
    try addExtensions(to: pointer, issuer: issuer?.pointer ?? pointer, of: key)
    guard X509_sign(pointer, signer.pointer, digest == .sha1 ? EVP_sha1() : EVP_sha256()) > 0 else {
      throw .drained(.crypto, "signing a certificate")
    }
    // Parse it again from its bytes: OpenSSL caches what it saw while the certificate was built.
    return try Certificate(der: result.der)
  }

  private func set(_ serial: [UInt8], on certificate: OpaquePointer) -> Bool {
    guard let number = BN_bin2bn(serial, Int32(serial.count), nil) else { return false }
    defer { BN_free(number) }
    return BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil
  }

  private func addExtensions(to certificate: OpaquePointer, issuer: OpaquePointer, of key: PrivateKey) throws(OpenSSLError) {
    var values: [(Int32, String)] = [
      (NID_basic_constraints, isCA ? "critical,CA:TRUE" + (pathLength.map { ",pathlen:\($0)" } ?? "") : "critical,CA:FALSE"),
      (NID_key_usage, "critical," + keyUsage(of: key)),
      (NID_subject_key_identifier, "hash"),
      // By name and serial number only where the issuer has no identifier.
      (NID_authority_key_identifier, "keyid,issuer"),
    ]
    if !constraints.isEmpty { values.append((NID_name_constraints, constraints.text)) }
    let names = self.names.texts
    let lists: [(Int32, [String])] = [
      (NID_subject_alt_name, names.isEmpty || !commonName.isEmpty ? names : ["critical"] + names),
      (NID_ext_key_usage, purposes.map(\.rawValue)),
      (NID_info_access, revocation.responders.map { "OCSP;URI:" + $0 }),
      (NID_crl_distribution_points, revocation.lists.map { "URI:" + $0 }),
    ]
    for (identifier, list) in lists where !list.isEmpty { values.append((identifier, list.joined(separator: ","))) }
    for (identifier, value) in values {
      var context = X509V3_CTX()
      X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
      guard let made = X509V3_EXT_nconf_nid(nil, &context, identifier, value) else { throw .drained(.encoding, "extension") }
      defer { X509_EXTENSION_free(made) }
      guard X509_add_ext(certificate, made, -1) == 1 else { throw .drained(.encoding, "extension") }
    }
  }
  /// Only an RSA key can be encrypted to (RFC 8813 section 3).
  private func keyUsage(of key: PrivateKey) -> String {
    if isCA { return "keyCertSign,cRLSign,digitalSignature" }
    if case .rsa = key.algorithm { return "digitalSignature,keyEncipherment" }
    return "digitalSignature"
  }
}
