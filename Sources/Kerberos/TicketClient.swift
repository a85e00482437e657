import CGSSAPI
import Synchronization

/// Gets tickets from the KDC for one principal. Its calls block for as long as KDCs do: seconds to minutes.
///
/// Nobody's file is written: what a file holds is copied into memory. Tickets are not forwardable, so that no service can act as the
/// proxy elsewhere.
public final class TicketClient: TicketSource {
  public enum Source: Sendable {
    /// Absolute path.
    case keytab(String)
    /// `TYPE:residual`.
    case cache(String)
    /// Where its owner keeps it, without NUL: no copy stays here.
    case password(@Sendable () -> [UInt8])
  }

  let source: Source
  /// nil: the keytab's first, or the cache's.
  let principal: String?
  private let granting = Mutex<GrantingTicket?>(nil)

  /// What tickets for services are had with.
  struct GrantingTicket {
    var cache: TicketCache
    var client: String
    /// Seconds by the KDC's clock. In the last quarter of its life, another one is fetched: tickets for services end with it.
    var renewal: Int64
    /// The same; it serves until then if there is no other one. 0: a copy, which serves once.
    var end: Int64
  }

  public init(_ source: Source, principal: String?) {
    self.source = source
    self.principal = principal
  }

  public func ticket(for service: String, isFresh: Bool) throws(KerberosProblem) -> any ServiceTicket {
    let library = try Library()
    let held = granting.withLock { $0 }
    let (granting, isNew) = try grantingTicket(library, held: isFresh ? nil : held)
    self.granting.withLock { $0 = granting }
    do throws(KerberosProblem) { return try HeldTicket(service, granting, provesKey: isNew, library) } catch {
      // The KDC may take it no longer: the next try begins with another one.
      if error.kind == .temporary { self.granting.withLock { $0 = nil } }
      throw error
    }
  }

  // MARK: The ticket-granting ticket

  /// Seconds between two tries to renew one that is still good.
  private static let renewalPause: Int64 = 60

  /// The held one, or a new one if there is none or its last quarter has begun. While the KDC gives no new one, the held one serves until
  /// it ends. Where no KDC answers, tickets for services are not to be had either.
  private func grantingTicket(
    _ library: Library, held: GrantingTicket?
  ) throws(KerberosProblem) -> (ticket: GrantingTicket, isNew: Bool) {
    guard var held else { return (try newGrantingTicket(library), true) }
    if library.now() < held.renewal { return (held, false) }
    do throws(KerberosProblem) { return (try newGrantingTicket(library), true) } catch {
      let now = library.now()
      guard error.kind != .temporary, now < held.end else { throw error }
      // Each try with a refused key counts as a failed login.
      held.renewal = error.kind == .keyRefused ? held.end : min(now + Self.renewalPause, held.end)
      return (held, false)
    }
  }

  private func newGrantingTicket(_ library: Library) throws(KerberosProblem) -> GrantingTicket {
    switch source {
    case .keytab(let path): try initial(library, path: path)
    case .password(let password): try initial(library, password: password())
    case .cache(let name): try copied(library, name)
    }
  }

  private func initial(_ library: Library, path: String) throws(KerberosProblem) -> GrantingTicket {
    var subject = KerberosProblem.Subject(client: principal ?? "", source: path)
    var keytab: krb5_keytab?
    try library.check(krb5_kt_resolve(library.context, "FILE:" + path, &keytab), subject)
    defer { krb5_kt_close(library.context, keytab) }
    let client = try client(of: keytab, library, subject)
    defer { krb5_free_principal(library.context, client) }
    subject.client = library.name(of: client)
    return try request(library, client, subject) { ticket, options in
      krb5_get_init_creds_keytab(library.context, ticket, client, keytab, 0, nil, options)
    }
  }

  /// The configured principal, or the keytab's first one. The caller frees it.
  func client(
    of keytab: krb5_keytab?, _ library: Library, _ subject: KerberosProblem.Subject
  ) throws(KerberosProblem) -> krb5_principal {
    if let principal { return try library.principal(principal, subject) }
    var cursor: krb5_kt_cursor?
    try library.check(krb5_kt_start_seq_get(library.context, keytab, &cursor), subject)
    defer { krb5_kt_end_seq_get(library.context, keytab, &cursor) }
    var entry = krb5_keytab_entry()
    try library.check(krb5_kt_next_entry(library.context, keytab, &entry, &cursor), subject)
    defer { krb5_free_keytab_entry_contents(library.context, &entry) }
    var copy: krb5_principal?
    try library.check(krb5_copy_principal(library.context, entry.principal, &copy), subject)
    guard let copy else { throw KerberosProblem(.temporary, "out of memory") }
    return copy
  }

  private func initial(_ library: Library, password: [UInt8]) throws(KerberosProblem) -> GrantingTicket {
    var subject = KerberosProblem.Subject(client: principal ?? "")
    let client = try library.principal(principal ?? "", subject)
    defer { krb5_free_principal(library.context, client) }
    subject.client = library.name(of: client)
    let text = UnsafeMutableBufferPointer<CChar>.allocate(capacity: password.count + 1)
    text.initialize(repeating: 0)
    for (index, byte) in password.enumerated() { text[index] = CChar(bitPattern: byte) }
    defer {
      if let base = text.baseAddress { explicit_bzero(base, text.count) }
      text.deallocate()
    }
    return try request(library, client, subject) { ticket, options in
      // Without a prompter it asks nobody for another password.
      krb5_get_init_creds_password(library.context, ticket, client, text.baseAddress, nil, nil, 0, nil, options)
    }
  }

  private func request(
    _ library: Library, _ client: krb5_principal, _ subject: KerberosProblem.Subject,
    _ call: (UnsafeMutablePointer<krb5_creds>, UnsafeMutablePointer<krb5_get_init_creds_opt>) -> krb5_error_code
  ) throws(KerberosProblem) -> GrantingTicket {
    var options: UnsafeMutablePointer<krb5_get_init_creds_opt>?
    try library.check(krb5_get_init_creds_opt_alloc(library.context, &options), subject)
    guard let options else { throw KerberosProblem(.temporary, "out of memory") }
    defer { krb5_get_init_creds_opt_free(library.context, options) }
    krb5_get_init_creds_opt_set_forwardable(options, 0)
    krb5_get_init_creds_opt_set_proxiable(options, 0)
    var ticket = krb5_creds()
    try library.check(call(&ticket, options), subject)
    defer { krb5_free_cred_contents(library.context, &ticket) }
    let cache = try TicketCache(library, of: ticket.client ?? client)
    try cache.store(&ticket, library)
    return GrantingTicket(
      cache: cache, client: library.name(of: ticket.client), renewal: Self.renewal(of: ticket.times),
      end: Library.seconds(ticket.times.endtime))
  }

  private static func renewal(of times: krb5_ticket_times) -> Int64 {
    let start = Library.seconds(times.starttime == 0 ? times.authtime : times.starttime)
    let end = Library.seconds(times.endtime)
    return end - (end - start) / 4
  }

  /// What others keep fresh: only ticket-granting tickets, so that no old ticket of the service is found there.
  private func copied(_ library: Library, _ name: String) throws(KerberosProblem) -> GrantingTicket {
    var subject = KerberosProblem.Subject(client: principal ?? "", source: name)
    let context = library.context
    var source: krb5_ccache?
    try library.check(krb5_cc_resolve(context, name, &source), subject)
    defer { krb5_cc_close(context, source) }
    var owner: krb5_principal?
    try library.check(krb5_cc_get_principal(context, source, &owner), subject)
    guard let owner else { throw KerberosProblem(.needsOperator, "\(name) has no principal") }
    defer { krb5_free_principal(context, owner) }
    subject.client = library.name(of: owner)
    if let principal {
      let wanted = try library.principal(principal, subject)
      defer { krb5_free_principal(context, wanted) }
      guard krb5_principal_compare(context, wanted, owner) != 0 else {
        throw KerberosProblem(.needsOperator, "\(name) has tickets of \(subject.client), not of \(principal)")
      }
    }
    let cache = try TicketCache(library, of: owner)
    var cursor: krb5_cc_cursor?
    try library.check(krb5_cc_start_seq_get(context, source, &cursor), subject)
    defer { krb5_cc_end_seq_get(context, source, &cursor) }
    var end: Int64?
    let realm = owner.pointee.realm
    while true {
      var ticket = krb5_creds()
      let code = krb5_cc_next_cred(context, source, &cursor, &ticket)
      if code == krb5_error_code(KRB5_CC_END) { break }
      try library.check(code, subject)
      defer { krb5_free_cred_contents(context, &ticket) }
      guard Self.isGranting(ticket.server) else { continue }
      try cache.store(&ticket, library)
      // Tickets for other realms are had with the one for this realm.
      if let server = ticket.server?.pointee, Self.equal(server.realm, realm), Self.equal(server.data[1], realm) {
        end = max(end ?? 0, Library.seconds(ticket.times.endtime))
      }
    }
    let isMissing = end == nil
    guard let end, end > library.now() else {
      let code = isMissing ? KRB5_CC_NOTFOUND : KRB5KRB_AP_ERR_TKT_EXPIRED
      throw KerberosProblem(krb5_error_code(code), "", subject)
    }
    // Copying is cheap, and its keeper may have renewed it.
    return GrantingTicket(cache: cache, client: subject.client, renewal: 0, end: 0)
  }

  private static func isGranting(_ server: krb5_principal?) -> Bool {
    guard let server, server.pointee.length == 2, let parts = server.pointee.data else { return false }
    let first = parts[0]
    return UnsafeRawBufferPointer(start: first.data, count: Int(first.length)).elementsEqual("krbtgt".utf8)
  }

  private static func equal(_ left: krb5_data, _ right: krb5_data) -> Bool {
    UnsafeRawBufferPointer(start: left.data, count: Int(left.length))
      .elementsEqual(UnsafeRawBufferPointer(start: right.data, count: Int(right.length)))
  }
}
