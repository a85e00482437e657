/// A credential that is a Kerberos ticket, presented in SPNEGO (RFC 4559, RFC 4178).
public struct NegotiatePolicy: Sendable, Hashable {
  public enum Source: Sendable, Hashable {
    /// Absolute path.
    case keytab(String)
    /// `TYPE:residual`, kept fresh by others.
    case cache(String)
    case password(Secret)

    /// Where it comes from, without secrets.
    var continuity: [[UInt8]] {
      switch self {
      case .keytab(let path): ["keytab", path].map { Array($0.utf8) }
      case .cache(let name): ["cache", name].map { Array($0.utf8) }
      case .password: [Array("password".utf8)]
      }
    }
  }
  public enum Mutual: String, Sendable, Hashable, CaseIterable { case optional, required }

  public let source: Source
  /// nil: the keytab's first, or the cache's.
  public let principal: String?
  /// nil: `HTTP/` and the origin's host as it is written.
  public let servicePrincipal: String?
  public let bindsChannel: Bool
  public let mutual: Mutual

  public init(
    source: Source, principal: String? = nil, servicePrincipal: String? = nil, bindsChannel: Bool = true,
    mutual: Mutual = .optional
  ) {
    self.source = source
    self.principal = principal
    self.servicePrincipal = servicePrincipal
    self.bindsChannel = bindsChannel
    self.mutual = mutual
  }

  /// What decides whose tickets it has, and for which services. What is asked of answers, and what tokens are bound to, is not of the
  /// tickets: they outlive a change of it.
  var continuity: [[UInt8]] {
    var parts = [Array("negotiate".utf8)] + source.continuity
    if let principal { parts += ["principal", principal].map { Array($0.utf8) } }
    if let servicePrincipal { parts += ["service", servicePrincipal].map { Array($0.utf8) } }
    return parts
  }

  /// Tickets that were fetched under one of both serve under the other.
  public func hasSameTickets(as other: NegotiatePolicy) -> Bool {
    source == other.source && principal == other.principal && servicePrincipal == other.servicePrincipal
  }
}
