import Crypto
import TLS

/// A request that the caller must make. Anything but a 200 within the limits is a failure.
public struct FetchRequest: Sendable {
  public enum Subject: Sendable {
    case ocsp(Certificate, issuer: Certificate)
    case list(issuer: Certificate)
  }
  /// 33 bytes: the key in the cache, also for running fetches.
  public let key: [UInt8]
  /// The answer judges a parent proxy, so it is not fetched through a parent that must be judged by such answers itself: both would
  /// wait for each other. What comes of the same question elsewhere, over other ways, is another matter, but for answers: they are
  /// signed.
  public let judgesParent: Bool
  /// Key of the same question asked for the other purpose.
  let otherKey: [UInt8]
  /// http: only, unless the operator configured it.
  public let url: String
  /// Not nil: a POST of `application/ocsp-request`; else a GET. OCSP uses POST, which every responder accepts. GET is optional,
  /// limited to 255 bytes and often unescaped wrongly (RFC 6960 appendix A.1).
  public let body: [UInt8]?
  public let limitBytes: Int
  /// Milliseconds.
  public let timeout: Int
  /// The operator configured the address, so `forbidden_addresses` does not apply.
  public let isConfigured: Bool
  public let subject: Subject

  /// Far more than a responder with its certificates needs.
  static let ocspLimit = 64 * 1024
  static let listLimit = 10 * 1024 * 1024

  private init(
    _ question: [UInt8], judgesParent: Bool, url: String, body: [UInt8]?, limitBytes: Int, timeout: Int, isConfigured: Bool,
    subject: Subject
  ) {
    key = question + [judgesParent ? 1 : 0]
    otherKey = question + [judgesParent ? 0 : 1]
    self.judgesParent = judgesParent
    self.url = url
    self.body = body
    self.limitBytes = limitBytes
    self.timeout = timeout
    self.isConfigured = isConfigured
    self.subject = subject
  }

  static func ocsp(
    _ url: String, _ certificate: Certificate, _ issuer: Certificate, timeout: Int, isConfigured: Bool,
    judgesParent: Bool = false
  ) -> FetchRequest? {
    guard let body = try? OCSP.request(for: certificate, issuer: issuer) else { return nil }
    // A failure because of the rules for untrusted addresses must not count for an address that the operator configured.
    let kind = isConfigured ? "responder" : "ocsp"
    return FetchRequest(
      SHA256.digest(Array("\(kind)\n\(url)\n".utf8) + certificate.fingerprint + issuer.fingerprint),
      judgesParent: judgesParent, url: url, body: body, limitBytes: ocspLimit, timeout: timeout, isConfigured: isConfigured,
      subject: .ocsp(certificate, issuer: issuer))
  }

  static func list(_ url: String, _ issuer: Certificate, timeout: Int, judgesParent: Bool = false) -> FetchRequest {
    FetchRequest(
      SHA256.digest(Array("list\n\(url)\n".utf8) + issuer.fingerprint), judgesParent: judgesParent, url: url, body: nil,
      limitBytes: listLimit, timeout: timeout, isConfigured: false, subject: .list(issuer: issuer))
  }
}

/// The result of a fetch, parsed and verified. Pure. For a large list it takes as long as hashing it, so run it in a lane.
public enum FetchOutcome: Sendable {
  case status(RevocationStatus)
  /// With a verified signature. `bytes` is the size of its encoding.
  case list(CertificateList, bytes: Int)
  /// No answer, or an unusable one.
  case failed

  public static func read(_ body: [UInt8], for request: FetchRequest, now: Int64) -> FetchOutcome {
    guard body.count <= request.limitBytes else { return .failed }
    switch request.subject {
    case .ocsp(let certificate, let issuer):
      return .status(OCSP.status(body, of: certificate, issuer: issuer, now: now))
    case .list(let issuer):
      // Authorities serve DER (RFC 5280 section 4.2.1.13); internal ones often serve PEM.
      guard let list = try? CertificateList.parse(body).first(where: { $0.names(issuer: issuer) }),
        list.flawOfSignature(by: issuer) == nil
      else { return .failed }
      return .list(list, bytes: body.count)
    }
  }
}
