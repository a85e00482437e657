import COpenSSL

/// Makes OCSP answers: the demo's responder, and what tests need of right and wrong ones.
public struct OCSPAnswerBuilder: Sendable {
  public enum Status: Sendable, Hashable {
    case good
    case revoked(at: Int64)
    case unknown
  }
  public struct Entry: Sendable {
    public var certificate: Certificate
    public var issuer: Certificate
    public var status: Status
    public var thisUpdate: Int64
    public var nextUpdate: Int64?

    /// Of now, good for an hour.
    public init(_ certificate: Certificate, issuer: Certificate, _ status: Status) {
      self.certificate = certificate
      self.issuer = issuer
      self.status = status
      thisUpdate = wallClock()
      nextUpdate = thisUpdate + 3600
    }
  }

  public var entries: [Entry]
  public var digest = CertificateBuilder.Digest.sha256
  /// Adds an extension of no known kind to the whole answer, or to each entry: critical, or not.
  public var strangeExtension: (ofEntries: Bool, critical: Bool)?
  public init(_ entries: [Entry]) { self.entries = entries }

  /// DER of an OCSPResponse. The signer's certificate goes along.
  public func signed(by signer: Certificate, _ key: PrivateKey) throws(TLSError) -> [UInt8] {
    ERR_clear_error()
    guard let basic = OCSP_BASICRESP_new() else { throw .drained(.encoding, "OCSP answer") }
    defer { OCSP_BASICRESP_free(basic) }
    for entry in entries {
      guard let identity = OCSP_cert_to_id(EVP_sha1(), entry.certificate.pointer, entry.issuer.pointer) else {
        throw .drained(.encoding, "OCSP answer")
      }
      defer { OCSP_CERTID_free(identity) }
      let (code, revocation): (Int32, Int64?) =
        switch entry.status {
        case .good: (V_OCSP_CERTSTATUS_GOOD, nil)
        case .revoked(let at): (V_OCSP_CERTSTATUS_REVOKED, at)
        case .unknown: (V_OCSP_CERTSTATUS_UNKNOWN, nil)
        }
      let times = [revocation, entry.thisUpdate, entry.nextUpdate].map { $0.flatMap { ASN1_GENERALIZEDTIME_set(nil, Int($0)) } }
      defer { for time in times { ASN1_GENERALIZEDTIME_free(time) } }
      guard let single = OCSP_basic_add1_status(basic, identity, code, 0, times[0], times[1], times[2]) else {
        throw .drained(.encoding, "OCSP answer")
      }
      if strangeExtension?.ofEntries == true { try addStrangeExtension { OCSP_SINGLERESP_add_ext(single, $0, -1) } }
    }
    if strangeExtension?.ofEntries == false { try addStrangeExtension { OCSP_BASICRESP_add_ext(basic, $0, -1) } }
    guard OCSP_basic_sign(basic, signer.pointer, key.pointer, digest == .sha1 ? EVP_sha1() : EVP_sha256(), nil, 0) == 1,
      let response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic)
    else { throw .drained(.crypto, "OCSP answer") }
    defer { OCSP_RESPONSE_free(response) }
    return encodedDER { i2d_OCSP_RESPONSE(response, $0) }
  }

  private func addStrangeExtension(_ add: (OpaquePointer) -> Int32) throws(TLSError) {
    let value = (strangeExtension?.critical == true ? "critical," : "") + "DER:0500"
    guard let made = X509V3_EXT_nconf(nil, nil, "1.3.6.1.4.1.55555.1", value) else { throw .drained(.encoding, "extension") }
    defer { X509_EXTENSION_free(made) }
    guard add(made) == 1 else { throw .drained(.encoding, "extension") }
  }

  /// An answer that is only an error: 3 = try later, 6 = unauthorized (RFC 6960 section 4.2.1).
  public static func error(_ status: Int32) -> [UInt8] {
    guard let response = OCSP_response_create(status, nil) else { return [] }
    defer { OCSP_RESPONSE_free(response) }
    return encodedDER { i2d_OCSP_RESPONSE(response, $0) }
  }

  /// Which serial numbers a request asks about; nil where it is no request.
  public static func serialNumbers(ofRequest der: [UInt8]) -> [[UInt8]]? {
    ERR_clear_error()
    defer { ERR_clear_error() }
    guard let request = decodedDER(der, { d2i_OCSP_REQUEST(nil, $0, $1) }, { OCSP_REQUEST_free($0) }) else { return nil }
    defer { OCSP_REQUEST_free(request) }
    return (0..<max(0, OCSP_request_onereq_count(request))).map { index in
      var serial: UnsafeMutablePointer<ASN1_INTEGER>?
      guard let one = OCSP_request_onereq_get0(request, index), let identity = OCSP_onereq_get0_id(one) else { return [] }
      OCSP_id_get0_info(nil, nil, nil, &serial, identity)
      return bytes(of: serial)
    }
  }
}

/// Makes revocation lists.
public struct CertificateListBuilder: Sendable {
  public var revoked: [(serialNumber: [UInt8], at: Int64)] = []
  public var thisUpdate: Int64
  public var nextUpdate: Int64?
  public var digest = CertificateBuilder.Digest.sha256
  /// The value of an issuingDistributionPoint in OpenSSL's notation, such as `onlyuser:TRUE`.
  public var scope: String?
  /// Further extensions of the list, and of each of its entries: a name or a dotted identifier, and a value in OpenSSL's notation,
  /// such as `critical,DER:020107`.
  public var extensions: [(name: String, value: String)] = []
  public var entryExtensions: [(name: String, value: String)] = []

  /// Of now, good for an hour.
  public init(revoking certificates: [Certificate] = []) {
    thisUpdate = wallClock()
    nextUpdate = thisUpdate + 3600
    revoked = certificates.map { ($0.serialNumber, wallClock()) }
  }

  public func signed(by issuer: Certificate, _ key: PrivateKey) throws(TLSError) -> CertificateList {
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
  ) throws(TLSError) -> OpaquePointer {
    var context = X509V3_CTX()
    X509V3_set_ctx(&context, issuer?.pointer, nil, nil, list, 0)
    guard let made = X509V3_EXT_nconf(nil, &context, `extension`.name, `extension`.value) else {
      throw .drained(.encoding, "extension")
    }
    return made
  }

  private func add(_ entry: (serialNumber: [UInt8], at: Int64), to list: OpaquePointer) throws(TLSError) {
    let number = BN_bin2bn(entry.serialNumber, Int32(entry.serialNumber.count), nil)
    let serial = BN_to_ASN1_INTEGER(number, nil)
    let time = ASN1_TIME_set(nil, Int(entry.at))
    defer {
      BN_free(number)
      ASN1_INTEGER_free(serial)
      ASN1_TIME_free(time)
    }
    guard let serial, let time, let revoked = X509_REVOKED_new() else { throw .drained(.encoding, "revocation list") }
    do throws(TLSError) {
      for one in entryExtensions {
        let made = try Self.made(one, nil, list)
        defer { X509_EXTENSION_free(made) }
        guard X509_REVOKED_add_ext(revoked, made, -1) == 1 else { throw TLSError.drained(.encoding, "extension") }
      }
      guard X509_REVOKED_set_serialNumber(revoked, serial) == 1, X509_REVOKED_set_revocationDate(revoked, time) == 1,
        X509_CRL_add0_revoked(list, revoked) == 1
      else { throw TLSError.drained(.encoding, "revocation list") }
    } catch {
      X509_REVOKED_free(revoked)
      throw error
    }
  }
}
