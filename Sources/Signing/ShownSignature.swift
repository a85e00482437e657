import Credentials
import Crypto
import Forwarding

/// What a credential would sign of a request without a body and without fields of the app's: for people, so without secrets. A nonce, and
/// the credential's own values, are `***`.
public enum ShownSignature {
  private static let hidden = Array("***".utf8)

  /// The signature base (RFC 9421 section 2.5).
  /// - Parameters:
  ///   - target: as it would be written.
  ///   - host: the value of Host.
  ///   - now: seconds since 1970.
  /// - Returns: nil: the request cannot be written.
  public static func base(
    _ policy: HTTPSignaturePolicy, method: String, target: String, host: String, isTLS: Bool, now: Int64
  ) throws(OpenSSLError) -> [UInt8]? {
    let signing = try HTTPSigning(policy)
    return request(method, target, host, isTLS) {
      signing.shownBase(for: $0, at: .init(created: now), nonce: signing.needsNonce ? hidden : nil)
    }
  }

  /// The message of an `hmac` credential; parameters as above.
  public static func message(
    _ policy: HMACPolicy, method: String, target: String, host: String, isTLS: Bool, now: Int64
  ) throws(OpenSSLError) -> [UInt8]? {
    let signing = try HMACSigning(policy)
    return request(method, target, host, isTLS) { signing.shownMessage(for: $0, at: .init(wall: now * 1000), nonce: hidden) }
  }

  private static func request(
    _ method: String, _ target: String, _ host: String, _ isTLS: Bool, _ show: (SignableRequest) -> [UInt8]
  ) -> [UInt8]? {
    Array("\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n".utf8).withUnsafeBytes { bytes in
      WrittenHead(bytes).map { show(SignableRequest($0, isTLS: isTLS)) }
    }
  }
}
