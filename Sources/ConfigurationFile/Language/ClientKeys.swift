/// An entry of `clients`.
struct ClientKeys: KeySet {
  static let table = KeyTable(ClientKeys())

  let name = Key("name", .text(.name), .required, "Names the client; it is also the user name that the client sends.")
  let password = Key(
    "password", .secret, .otherwise("the client is identified by its address"),
    "The password that the client sends in Proxy-Authorization: Basic.")
  let certificate = Key(
    "certificate", .section(ClientCertificateNameKeys.self), .otherwise("the client is identified otherwise"),
    "Identifies the client by its certificate, on listeners that verify certificates.")
  let from = Key(
    "from", .texts(.addressBlock), .otherwise("the client is identified by its password or certificate"),
    "Lists the addresses that the client connects from.")
  let access = AccessKeys(everything: "everything")
}

/// `clients.certificate`.
struct ClientCertificateNameKeys: KeySet {
  static let table = KeyTable(ClientCertificateNameKeys())
  static var alternatives: [(Self) -> DescribedKey] { [\.uri, \.dns, \.pin] }

  let uri = Key("uri", .text(.anything), .otherwise(another), "Is a URI among the certificate's alternative names.")
  let dns = Key("dns", .text(.anything), .otherwise(another), "Is a DNS name among the certificate's alternative names.")
  let pin = Key("pin", .text(.pin), .otherwise(another), "Is the SHA-256 digest of the certificate's public key.")

  private static let another = "another member"
}

/// `anonymous`.
struct AnonymousKeys: KeySet {
  static let table = KeyTable(AnonymousKeys())

  let access = AccessKeys(everything: "required, unless 'max_requests' is there; then as if this section were absent")
}

/// What a client, or an app without credentials, may do.
struct AccessKeys: KeyGroup {
  let allow: Key<[TextItem]?>
  let maxRequests: Key<Int?>

  /// - Parameter everything: what applies without `allow`.
  init(everything: String) {
    allow = Key(
      "allow", .texts(of: .oneOf([.text(.nameInUpstreams), .text(.hostPattern)])), .otherwise(everything),
      "Lists what the proxy allows: upstream entries by name, unlisted hosts and tunnels by pattern.")
    maxRequests = Key(
      "max_requests", .integer(1...1_000_000), .otherwise("no limit"),
      "Bounds requests in flight, tunnels included; more get 429.")
  }
}

/// `connect`.
struct ConnectKeys: KeySet {
  static let table = KeyTable(ConnectKeys())

  let allow = Key("allow", .texts(.hostPattern), .list([]), "Lists where tunnels may go.")
}
