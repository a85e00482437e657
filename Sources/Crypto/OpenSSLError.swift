import COpenSSL
import Glibc

/// An OpenSSL error as a value, drained from its error queue. Never contains a secret.
public struct OpenSSLError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// The given parts do not make a context, store or identity.
    case configuration
    /// A key could not be read (or: wrong passphrase), or does not fit its certificate.
    case key
    /// A certificate, list or answer could not be read.
    case encoding
    /// The handshake failed for a reason other than the peer's certificate.
    case handshake
    /// The verifier refused the peer; `TLSConnection.refusal` has the reason.
    case refused
    /// The peer ended the connection with an alert.
    case alert
    /// The transport failed or ended.
    case transport
    /// A cryptographic operation failed; for `AESGCM.open`: the input is not authentic.
    case crypto
  }

  public var kind: Kind
  public var message: String
  /// errno of a transport failure, else 0.
  public var systemError: Int32
  /// Number of the alert with which the peer ended the connection (RFC 8446 section 6); nil: by none.
  public var alertNumber: UInt8?

  public init(_ kind: Kind, _ message: String, systemError: Int32 = 0, alertNumber: UInt8? = nil) {
    self.kind = kind
    self.message = message
    self.systemError = systemError
    self.alertNumber = alertNumber
  }

  public var description: String { message }
}

extension OpenSSLError {
  /// Drains this thread's error queue. The oldest entry is the cause; the later ones are its callers.
  package static func drained(_ kind: Kind, _ what: String) -> OpenSSLError {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0 else { return OpenSSLError(kind, what) }
    let reason = ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
    return OpenSSLError(kind, what.isEmpty ? reason : "\(what): \(reason)")
  }

  /// The error of an SSL call that failed just now on this thread.
  package static func ofConnection(_ kind: Kind, _ what: String, systemError: Int32) -> OpenSSLError {
    if systemError != 0 {
      ERR_clear_error()
      return OpenSSLError(.transport, "\(what): \(String(cString: strerror(systemError)))", systemError: systemError)
    }
    // Reasons of received alerts start at 1000 (SSL_AD_REASON_OFFSET).
    let reason = Int32(truncatingIfNeeded: ERR_peek_error() & 0x7F_FFFF)
    guard let alert = UInt8(exactly: reason - SSL_AD_REASON_OFFSET) else { return drained(kind, what) }
    var error = drained(.alert, what)
    error.alertNumber = alert
    return error
  }
}
