import TLS

/// What became of a handshake that an app began.
public enum HandshakeOutcome: String, Sendable, CaseIterable {
  case full
  case resumed
  /// The app sent an alert about the certificate.
  case refusedByClient = "refused_by_client"
  /// The app went without an alert; or after the handshake, without a byte.
  case closed
  case wrongName = "wrong_name"
  case noCommonProtocol = "no_common_protocol"
  case timeout
  case failed

  init(_ reason: AcceptFailure.Reason) {
    switch reason {
    case .refusedByClient: self = .refusedByClient
    case .wrongName: self = .wrongName
    case .noCommonProtocol: self = .noCommonProtocol
    case .closed: self = .closed
    case .failed: self = .failed
    }
  }
}

/// Handshakes that an app gave up, as it does not trust the certificate.
public struct HandshakeRefusal: Sendable {
  /// A name, or an address.
  public var client: String
  public var host: String
  /// nil: the host is a listener of the proxy.
  public var port: UInt16?
  /// nil: the app closed without one.
  public var alert: TLSAlert?
  /// How many handshakes this stands for.
  public var count: Int
}
