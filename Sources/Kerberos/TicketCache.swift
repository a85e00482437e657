import CGSSAPI

/// Tickets in this process's memory. Their content is gone when the last reference is.
final class TicketCache: Sendable {
  /// `MEMORY:...`, the same for every thread.
  let name: String

  /// - Parameter client: whose tickets it holds.
  init(_ library: Library, of client: krb5_principal) throws(KerberosProblem) {
    var cache: krb5_ccache?
    try library.check(krb5_cc_new_unique(library.context, "MEMORY", nil, &cache), KerberosProblem.Subject())
    guard let cache else { throw KerberosProblem(.temporary, "out of memory") }
    defer { krb5_cc_close(library.context, cache) }
    var text: UnsafeMutablePointer<CChar>?
    try library.check(krb5_cc_get_full_name(library.context, cache, &text), KerberosProblem.Subject())
    name = text.map { String(cString: $0) } ?? ""
    krb5_free_string(library.context, text)
    try library.check(krb5_cc_initialize(library.context, cache, client), KerberosProblem.Subject())
  }

  deinit {
    guard let library = try? Library() else { return }
    var cache: krb5_ccache?
    if krb5_cc_resolve(library.context, name, &cache) == 0 { krb5_cc_destroy(library.context, cache) }
  }

  func store(_ ticket: UnsafeMutablePointer<krb5_creds>, _ library: Library) throws(KerberosProblem) {
    let cache = try open(library)
    defer { krb5_cc_close(library.context, cache) }
    try library.check(krb5_cc_store_cred(library.context, cache, ticket), KerberosProblem.Subject())
  }

  /// - Returns: to be closed by the caller.
  func open(_ library: Library) throws(KerberosProblem) -> krb5_ccache {
    var cache: krb5_ccache?
    try library.check(krb5_cc_resolve(library.context, name, &cache), KerberosProblem.Subject())
    guard let cache else { throw KerberosProblem(.temporary, "out of memory") }
    return cache
  }
}
