import Crypto

/// An alert of TLS, sent or received (RFC 8446 section 6).
public struct TLSAlert: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let closeNotify = TLSAlert(rawValue: 0)
  public static let handshakeFailure = TLSAlert(rawValue: 40)
  public static let badCertificate = TLSAlert(rawValue: 42)
  public static let unsupportedCertificate = TLSAlert(rawValue: 43)
  public static let certificateRevoked = TLSAlert(rawValue: 44)
  public static let certificateExpired = TLSAlert(rawValue: 45)
  public static let certificateUnknown = TLSAlert(rawValue: 46)
  public static let unknownCA = TLSAlert(rawValue: 48)
  public static let accessDenied = TLSAlert(rawValue: 49)
  public static let decodeError = TLSAlert(rawValue: 50)
  public static let protocolVersion = TLSAlert(rawValue: 70)
  public static let internalError = TLSAlert(rawValue: 80)
  public static let unrecognizedName = TLSAlert(rawValue: 112)
  public static let noApplicationProtocol = TLSAlert(rawValue: 120)

  /// The peer does not trust the certificate that it was shown.
  public var refusesCertificate: Bool {
    switch self {
    case .badCertificate, .unsupportedCertificate, .certificateRevoked, .certificateExpired, .certificateUnknown, .unknownCA,
      .accessDenied:
      true
    default: false
    }
  }

  /// The name that the RFCs have for it; `alert_N` where they have none.
  public var description: String { Self.names[rawValue] ?? "alert_\(rawValue)" }

  private static let names: [UInt8: String] = [
    0: "close_notify", 10: "unexpected_message", 20: "bad_record_mac", 21: "decryption_failed", 22: "record_overflow",
    30: "decompression_failure", 40: "handshake_failure", 41: "no_certificate", 42: "bad_certificate",
    43: "unsupported_certificate", 44: "certificate_revoked", 45: "certificate_expired", 46: "certificate_unknown",
    47: "illegal_parameter", 48: "unknown_ca", 49: "access_denied", 50: "decode_error", 51: "decrypt_error",
    60: "export_restriction", 70: "protocol_version", 71: "insufficient_security", 80: "internal_error",
    86: "inappropriate_fallback", 90: "user_canceled", 100: "no_renegotiation", 109: "missing_extension",
    110: "unsupported_extension", 111: "certificate_unobtainable", 112: "unrecognized_name",
    113: "bad_certificate_status_response", 114: "bad_certificate_hash_value", 115: "unknown_psk_identity",
    116: "certificate_required", 120: "no_application_protocol",
  ]
}

extension OpenSSLError {
  /// The alert with which the peer ended the connection; nil: by none.
  public var alert: TLSAlert? { alertNumber.map(TLSAlert.init(rawValue:)) }
}
