/// What the proxy needs of Kerberos, so that it can be tested without a KDC.
public protocol TicketSource: Sendable {
  /// Fetches a ticket. Blocks for as long as KDCs do. One call at a time.
  /// - Parameters:
  ///   - service: `HTTP/host`; without a realm, krb5.conf's [domain_realm] and the KDC's referrals find it.
  ///   - isFresh: nothing that was had before may be used: keytab, cache or the service's key may have changed.
  func ticket(for service: String, isFresh: Bool) throws(KerberosProblem) -> any ServiceTicket
}

/// A ticket for one service. What is made with it asks no KDC.
public protocol ServiceTicket: AnyObject, Sendable {
  /// Whose it is.
  var client: String { get }
  /// Seconds that it was good for when it was made.
  var lifetime: Int64 { get }
  /// Upper bound of the tokens that are made with it, in bytes.
  var tokenLimit: Int { get }
  /// The KDC has taken the key or the password when it was fetched: it was not had with a ticket of before.
  var provesKey: Bool { get }
  /// A new one for a loop.
  func initiator() throws(KerberosProblem) -> any Initiator
}

/// Authenticates to the service with one ticket. Confined to a loop.
public protocol Initiator: AnyObject {
  /// - Parameter binding: the application data of RFC 5929 (`tls-server-end-point:` and a hash); nil: no channel is bound.
  func authentication(binding: [UInt8]?) -> any Authentication
}

/// One authentication to the service. Confined to a loop.
public protocol Authentication: AnyObject {
  /// - Parameter input: the service's token; nil: the first step.
  func step(_ input: UnsafeRawBufferPointer?) throws(KerberosProblem) -> AuthenticationStep
}

public struct AuthenticationStep: Sendable, Hashable {
  /// What is to be sent; empty: nothing.
  public let token: [UInt8]
  /// The service's last token has been checked.
  public let isComplete: Bool
  /// The service has proved that it has its key.
  public let isMutual: Bool

  public init(token: [UInt8], isComplete: Bool, isMutual: Bool) {
    self.token = token
    self.isComplete = isComplete
    self.isMutual = isMutual
  }
}
