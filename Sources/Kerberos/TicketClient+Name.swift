import CGSSAPI

extension TicketClient {
  /// Whose tickets it gets, by its files alone: no KDC is asked.
  public func clientName() throws(KerberosProblem) -> String {
    let library = try Library()
    switch source {
    case .keytab(let path):
      var keytab: krb5_keytab?
      let subject = KerberosProblem.Subject(client: principal ?? "", source: path)
      try library.check(krb5_kt_resolve(library.context, "FILE:" + path, &keytab), subject)
      defer { krb5_kt_close(library.context, keytab) }
      let client = try client(of: keytab, library, subject)
      defer { krb5_free_principal(library.context, client) }
      var entry = krb5_keytab_entry()
      try library.check(
        krb5_kt_get_entry(library.context, keytab, client, 0, 0, &entry),
        KerberosProblem.Subject(client: library.name(of: client), source: path))
      krb5_free_keytab_entry_contents(library.context, &entry)
      return library.name(of: client)
    case .cache(let name):
      let subject = KerberosProblem.Subject(client: principal ?? "", source: name)
      var cache: krb5_ccache?
      try library.check(krb5_cc_resolve(library.context, name, &cache), subject)
      defer { krb5_cc_close(library.context, cache) }
      var owner: krb5_principal?
      try library.check(krb5_cc_get_principal(library.context, cache, &owner), subject)
      defer { krb5_free_principal(library.context, owner) }
      return library.name(of: owner)
    case .password:
      let client = try library.principal(principal ?? "", KerberosProblem.Subject(client: principal ?? ""))
      defer { krb5_free_principal(library.context, client) }
      return library.name(of: client)
    }
  }
}
