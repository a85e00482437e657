import Credentials
import Kerberos
import Proxy
import Settings

extension Describing {
  /// Names principal and source; asks no KDC.
  static func negotiate(_ policy: NegotiatePolicy) -> String {
    var parts = ["negotiate as \(principal(policy))", source(policy.source)]
    parts.append("for \(policy.servicePrincipal ?? "HTTP/<the origin's host>")")
    if !policy.bindsChannel { parts.append("tokens are NOT bound to the origin's certificate") }
    if policy.mutual == .required { parts.append("answers must prove the service's key") }
    return parts.joined(separator: "; ")
  }

  /// The service that tickets are for; nil: it has none.
  static func service(of policy: CredentialPolicy, for origin: UpstreamSettings.Origin) -> String? {
    guard case .negotiate(let negotiate) = policy.kind else { return nil }
    let host = origin.host.isEmpty ? "<the request's own host>" : origin.host
    return "tickets for \(negotiate.servicePrincipal ?? "HTTP/\(host)")"
  }

  /// How a parent gets it, where that is more than a fixed value.
  static func parentLogin(_ policy: CredentialPolicy, _ parent: ParentSettings) -> String {
    switch policy.kind {
    case .digest: ", in answer to its challenge (Digest)"
    case .negotiate(let negotiate):
      ", with tickets for \(negotiate.servicePrincipal ?? "HTTP/\(parent.host)"), once for each connection (Negotiate)"
    default: ""
    }
  }

  private static func principal(_ policy: NegotiatePolicy) -> String {
    do throws(KerberosProblem) { return try TicketClient(policy).clientName() } catch {
      return "\(policy.principal ?? "<unknown>") (now: \(error))"
    }
  }

  private static func source(_ source: NegotiatePolicy.Source) -> String {
    switch source {
    case .keytab(let path): "keytab \(path)"
    case .cache(let name): "ticket cache \(name)"
    case .password: "by password"
    }
  }
}
