import Credentials

/// `credentials.*.negotiate`.
struct NegotiateKeys: KeySet {
  static let table = KeyTable(NegotiateKeys())
  static var alternatives: [(Self) -> DescribedKey] { [\.keytab, \.ccache, \.password] }

  let keytab = Key("keytab", .file, .otherwise(another), "Names a keytab with the proxy's own keys.")
  let ccache = Key(
    "ccache", .text(.anything), .otherwise(another), "Names a ticket cache, as TYPE:residual, that others keep fresh.")
  let password = Key("password", .secret, .otherwise(another), "The principal's password.")
  let principal = Key(
    "principal", .text(.anything), .otherwise("the keytab's first, or the ticket cache's"),
    "Says who the proxy is: name@REALM.")
  let servicePrincipal = Key(
    "service_principal", .text(.anything), .otherwise("HTTP/ and the origin's host"), "Names the service that tickets are for.")
  let channelBinding = Key(
    "channel_binding", .boolean, default: true, "Binds each token to the origin's TLS certificate (RFC 5929).")
  let mutual = Key(
    "mutual", .choice(NegotiatePolicy.Mutual.allCases), default: .optional,
    "Says whether an answer must prove that the origin has the service's key.")

  private static let another = "another source of tickets"
}
