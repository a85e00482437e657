import COpenSSL
import Glibc

extension Certificate {
  public enum AlternativeName: Sendable, Hashable {
    case dns(String)
    /// 4 or 16 bytes.
    case ip([UInt8])
    case uri(String)
    case other
  }

  public var alternativeNames: [AlternativeName] {
    guard let names = X509_get_ext_d2i(pointer, NID_subject_alt_name, nil, nil) else { return [] }
    let stack = OpaquePointer(names)
    defer { GENERAL_NAMES_free(stack) }
    return Self.names(stack)
  }

  /// The certificate's http: pointers to its OCSP responders (RFC 5280 section 4.2.2.1).
  public var ocspURLs: [String] {
    guard let stack = X509_get1_ocsp(pointer) else { return [] }
    defer { X509_email_free(stack) }
    return stack.stackElements().map { String(cString: $0.assumingMemoryBound(to: CChar.self)) }.filter(Self.isHTTP)
  }

  /// The certificate's http: pointers to complete lists by its own issuer (RFC 5280 section 4.2.1.13).
  public var revocationListURLs: [String] {
    guard let points = X509_get_ext_d2i(pointer, NID_crl_distribution_points, nil, nil) else { return [] }
    let stack = OpaquePointer(points)
    defer { CRL_DIST_POINTS_free(stack) }
    var result: [String] = []
    for element in stack.stackElements() {
      let point = element.assumingMemoryBound(to: DIST_POINT.self).pointee
      guard point.reasons == nil, point.CRLissuer == nil, let name = point.distpoint?.pointee, name.type == 0 else { continue }
      result += Self.uris(name.name.fullname).filter(Self.isHTTP)
    }
    return result
  }

  static func names(_ stack: OpaquePointer) -> [AlternativeName] {
    stack.stackElements().map { element in
      var type: Int32 = 0
      let name = element.assumingMemoryBound(to: GENERAL_NAME.self)
      let value = GENERAL_NAME_get0_value(name, &type)
      let content = bytes(of: value.map { UnsafePointer($0.assumingMemoryBound(to: ASN1_STRING.self)) })
      switch type {
      case GEN_DNS: return .dns(String(decoding: content, as: UTF8.self))
      case GEN_IPADD: return .ip(content)
      case GEN_URI: return .uri(String(decoding: content, as: UTF8.self))
      default: return .other
      }
    }
  }

  static func uris(_ stack: OpaquePointer?) -> [String] {
    guard let stack else { return [] }
    return names(stack).compactMap { if case .uri(let text) = $0 { text } else { nil } }
  }

  private static func isHTTP(_ url: String) -> Bool { url.utf8.prefix(7).elementsEqual("http://".utf8) }

  /// Whether this certificate names `host`. Compares only with subject alternative names; a wildcard matches one whole
  /// left-most label; addresses match IP names (RFC 6125 section 6.4, RFC 9110 section 4.3.4).
  public func isValid(for host: PeerName) -> Bool {
    defer { ERR_clear_error() }
    let flags = UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)
    if let address = host.address { return X509_check_ip(pointer, address, address.count, flags) == 1 }
    // With a leading dot OpenSSL would match any name below.
    guard let first = host.text.utf8.first, first != UInt8(ascii: ".") else { return false }
    return X509_check_host(pointer, host.text, host.text.utf8.count, flags, nil) == 1
  }
}

/// The name or address of a connection's peer: lower-case, without trailing dot and brackets.
public struct PeerName: Sendable, Hashable, CustomStringConvertible {
  public let text: String
  /// Network byte order, 4 or 16 bytes; nil for a name. An IP literal gets no SNI (RFC 6066 section 3).
  public let address: [UInt8]?

  public init(_ host: String) {
    var text = host.lowercased()
    if text.hasPrefix("["), text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
    if text.hasSuffix(".") { text.removeLast() }
    self.text = text
    var v4 = in_addr()
    var v6 = in6_addr()
    if inet_pton(AF_INET, text, &v4) == 1 {
      address = withUnsafeBytes(of: &v4) { Array($0) }
    } else if inet_pton(AF_INET6, text, &v6) == 1 {
      address = withUnsafeBytes(of: &v6) { Array($0) }
    } else {
      address = nil
    }
  }

  public var description: String { text }
}
