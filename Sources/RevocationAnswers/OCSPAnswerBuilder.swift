import COpenSSL
import Crypto
import TLS

/// Builds OCSP answers, for the demo's responder and for tests; also wrong ones.
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

    /// Issued now, valid for an hour.
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
  /// Adds an extension of an unknown kind to the whole answer, or to each entry, critical or not.
  public var strangeExtension: (ofEntries: Bool, critical: Bool)?
  public init(_ entries: [Entry]) { self.entries = entries }

  /// An OCSPResponse in DER, with the signer's certificate.
  public func signed(by signer: Certificate, _ key: PrivateKey) throws(OpenSSLError) -> [UInt8] {
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

  private func addStrangeExtension(_ add: (OpaquePointer) -> Int32) throws(OpenSSLError) {
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

  /// The serial numbers in a request; nil if it is not a request.
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
