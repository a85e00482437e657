import CGSSAPI

/// A ticket for one service, alone in a cache of its own: what is made with it asks no KDC.
final class HeldTicket: ServiceTicket {
  let cache: TicketCache
  /// The service by its full name, as the KDC knows it.
  let service: String
  let client: String
  let lifetime: Int64
  let tokenLimit: Int
  let provesKey: Bool

  /// - Parameter provesKey: the ticket-granting ticket was had just now, with the key.
  init(
    _ service: String, _ granting: TicketClient.GrantingTicket, provesKey: Bool, _ library: Library
  ) throws(KerberosProblem) {
    let subject = KerberosProblem.Subject(client: granting.client, service: service)
    let context = library.context
    let source = try granting.cache.open(library)
    defer { krb5_cc_close(context, source) }
    var wanted = krb5_creds()
    // The empty realm leaves it to [domain_realm] and to referrals. The type of a plain principal leaves DNS out.
    wanted.server = try library.principal(Self.hasRealm(service) ? service : service + "@", subject)
    defer { krb5_free_principal(context, wanted.server) }
    try library.check(krb5_cc_get_principal(context, source, &wanted.client), subject)
    defer { krb5_free_principal(context, wanted.client) }
    var found: UnsafeMutablePointer<krb5_creds>?
    try library.check(krb5_get_credentials(context, krb5_flags(KRB5_GC_NO_STORE), source, &wanted, &found), subject)
    guard let found else { throw KerberosProblem(.temporary, "no ticket") }
    defer { krb5_free_creds(context, found) }
    cache = try TicketCache(library, of: found.pointee.client)
    try cache.store(found, library)
    self.service = library.name(of: found.pointee.server)
    client = library.name(of: found.pointee.client)
    // Around the ticket: its names, an authenticator, and two frames.
    self.provesKey = provesKey
    tokenLimit = Int(found.pointee.ticket.length) + 1_024
    lifetime = Library.seconds(found.pointee.times.endtime) - library.now()
  }

  func initiator() throws(KerberosProblem) -> any Initiator { try GSSInitiator(self) }

  static func hasRealm(_ principal: String) -> Bool {
    var isEscaped = false
    for byte in principal.utf8 {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "@") {
        return true
      }
    }
    return false
  }
}
