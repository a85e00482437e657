import Settings
import WayOut

/// How origins are reached: `via`, of the file, of a route and of an entry.
enum ViaWords {
  static let direct = "direct"
  static let environment = "environment"
}

extension Form where Value == Listed<TextItem> {
  static var via: Form {
    .oneOrMore(
      of: .item(shape: .oneOf([.words([ViaWords.direct, ViaWords.environment]), .text(.nameInParents)])))
  }
}

extension Form where Value == TextItem {
  fileprivate static func item(shape: Shape) -> Form {
    Form(shape: shape) { reading, written in
      reading.text(written.node, written.path).map { TextItem(text: $0, path: written.path) }
    }
  }
}

/// Keys of the file that say how origins are reached.
struct WayKeys: KeyGroup {
  let via = Key(
    "via", .via, .text(ViaWords.direct),
    "Says how the proxy reaches origins: direct, by http_proxy and its like, or by a parent proxy; a list is in order.")
  let routes = Key(
    "routes", .list(of: .section(RouteKeys.self)), .otherwise("every host as 'via' says"),
    "Lists other ways by host; the first match wins.")
  let parents = Key(
    "parents", .map(of: .section(ParentKeys.self)), .otherwise("none"), "Defines parent proxies by name, for 'via' to refer to."
  )
  let hosts = Key(
    "hosts", .map(of: .texts(.address)), .otherwise("every name is resolved"),
    "Gives addresses of hosts, which the proxy uses without resolving; name, SNI and trust stay.")
  let outbound = OutboundKeys()
}

/// `routes`.
struct RouteKeys: KeySet {
  static let table = KeyTable(RouteKeys())

  let match = Key(
    "match", .oneOrMore(of: .item(.routePattern)), .required,
    "Says for which hosts the route is; a name is never resolved to compare it with an address.")
  let via = Key("via", .via, .required, "Says how the proxy reaches them.")
}

/// An entry of `parents`.
struct ParentKeys: KeySet {
  static let table = KeyTable(ParentKeys())

  enum Resolve: String, Sendable { case parent, here }

  let url = Key("url", .text(.parentURL), .required, "Says where the parent is; the port is required.")
  let credential = Key(
    "credential", .text(.nameInCredentials), .otherwise("none"),
    "Names the credential for the parent, and for nothing else: Proxy-Authorization, or the login of SOCKS.")
  let trust = Key(
    "trust", .text(.nameInTrust), .otherwise("the policy named 'default' if there is one, else the system's roots"),
    "Names the trust policy that an https:// parent itself must satisfy.")
  let clientCertificate = Key(
    "client_certificate", .section(ClientCertificateKeys.self), .otherwise("none"),
    "The certificate that the proxy presents to an https:// parent.")
  let resolve = Key(
    "resolve", .choice([Resolve.parent, .here]), default: .parent,
    "Says who resolves names: the parent, or the proxy, which then checks and asks for an address.")
  let tunnelHTTP = Key(
    "tunnel_http", .boolean, default: false, "Uses CONNECT for http:// origins, too, not the absolute-form.")
  let connectHeaders = Key(
    "connect_headers", .map(of: .text(.anything)), .otherwise("none"), "Adds fields to the CONNECT request.")
}

/// Of the file, and of an entry.
struct OutboundKeys: KeyGroup {
  let bind: Key<[TextItem]?>
  let family: Key<OutboundAddressing.Family?>

  /// - Parameter outer: what applies without the keys; nil: their defaults.
  init(outer: String? = nil) {
    bind = Key(
      "bind", .texts(.address), outer.map { .otherwise($0) } ?? .list([]),
      "Lists the proxy's own addresses on the way out, at most one per family; a family without one is not used.")
    family = Key(
      "address_family", .choice(OutboundAddressing.Family.allCases),
      outer.map { .otherwise($0) } ?? .text(OutboundAddressing.Family.auto.rawValue),
      "Says which addresses the proxy connects to.")
  }
}

/// Of an entry.
struct EntryWayKeys: KeyGroup {
  let via = Key(
    "via", .via, .otherwise("'routes' and 'via' of the file"),
    "Says how the proxy reaches the entry's origin, whatever 'routes' say.")
  let outbound = OutboundKeys(outer: "as in the file")
}
