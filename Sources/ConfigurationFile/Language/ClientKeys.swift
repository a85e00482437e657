/// An entry of `clients`.
struct ClientKeys: KeySet {
  static let table = KeyTable(ClientKeys())

  let name = Key("name", .text(.name), .required, "Names the client; it is also the user name that the client sends.")
  let password = Key(
    "password", .secret, .otherwise("the client is identified by its address"),
    "The password that the client sends in Proxy-Authorization: Basic.")
  let from = Key(
    "from", .texts(.addressBlock), .otherwise("the client is identified by its password"),
    "Lists the addresses that the client connects from.")
  let access = AccessKeys(everything: "everything")
}

/// `anonymous`.
struct AnonymousKeys: KeySet {
  static let table = KeyTable(AnonymousKeys())

  let access = AccessKeys(everything: "required, unless 'max_requests' is there; then as if this section were absent")
}

/// What a client, or an app without credentials, may do.
struct AccessKeys: KeyGroup {
  let allow: Key<[TextItem]?>
  let maxRequests = Key(
    "max_requests", .integer(1...1_000_000), .otherwise("no limit"),
    "Bounds requests in flight, tunnels included; more get 429.")

  /// - Parameter everything: what applies without `allow`.
  init(everything: String) {
    allow = Key(
      "allow", .texts(of: .oneOf([.text(.nameInUpstreams), .text(.hostPattern)])), .otherwise(everything),
      "Lists what the proxy allows: upstream entries by name, unlisted hosts and tunnels by pattern.")
  }
}

/// `connect`.
struct ConnectKeys: KeySet {
  static let table = KeyTable(ConnectKeys())

  let allow = Key("allow", .texts(.hostPattern), .list([]), "Lists where tunnels may go.")
}
