/// An entry of `clients`.
struct ClientKeys: KeySet {
  static let table = KeyTable(ClientKeys())

  let name = Key("name", .text(.name), .required, "Names the client; it is also the user name that the client sends.")
  let password = Key(
    "password", .secret, .otherwise("the client is known by its address"),
    "Is what the client sends in Proxy-Authorization: Basic.")
  let from = Key(
    "from", .texts(.addressBlock), .otherwise("the client is known by its password"),
    "Lists the addresses that the client connects from.")
  let access = AccessKeys(everything: "everything")
}

/// `anonymous`.
struct AnonymousKeys: KeySet {
  static let table = KeyTable(AnonymousKeys())

  let access = AccessKeys(everything: "required, unless 'max_requests' is there: then as without this section")
}

/// What somebody may do.
struct AccessKeys: KeyGroup {
  let allow: Key<[TextItem]?>
  let maxRequests = Key(
    "max_requests", .integer(1...1_000_000), .otherwise("no limit"),
    "Bounds requests in flight, tunnels included; more are answered 429.")

  /// - Parameter everything: what holds without `allow`.
  init(everything: String) {
    allow = Key(
      "allow", .texts(of: .oneOf([.text(.nameInUpstreams), .text(.hostPattern)])), .otherwise(everything),
      "Lists what may be reached: upstream entries by name, unlisted hosts and tunnels by pattern.")
  }
}

/// `connect`.
struct ConnectKeys: KeySet {
  static let table = KeyTable(ConnectKeys())

  let allow = Key("allow", .texts(.hostPattern), .list([]), "Lists where tunnels may go.")
}
