/// `upstreams.redirects`.
struct RedirectKeys: KeySet {
  static let table = KeyTable(RedirectKeys())
  /// No redirect is followed.
  static let relay = "relay"
  static let limit = 1...20
  static let methods = ["GET", "HEAD"]

  let follow = Key("follow", .integer(limit), .required, "Sets how many redirects of a request the proxy follows.")
  let methods = Key(
    "methods", .texts(.method), .list(methods), "Lists the methods of the app's requests whose redirects the proxy follows.")
  let to = Key(
    "to", .texts(of: .oneOf([.text(.hostPattern), .text(.nameInUpstreams)])), .list([]),
    "Lists targets besides the entry's own origin: https hosts, asked without a credential, and entries, asked with their own.")
}
