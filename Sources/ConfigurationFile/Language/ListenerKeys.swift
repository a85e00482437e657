import Settings

/// An entry of `listen`.
struct ListenerKeys: KeySet {
  static let table = KeyTable(ListenerKeys())

  enum Clients: String { case required, optional }

  let socket = SocketKeys()
  let clients = Key(
    "clients", .choice([Clients.required, .optional]),
    .otherwise("required if 'clients' is configured or the address is neither loopback nor unix, else optional"),
    "Says whether an app must prove which client it is.")
}

/// `admin`.
struct AdminKeys: KeySet {
  static let table = KeyTable(AdminKeys())

  let socket = SocketKeys()
  let expose = Key(
    "expose", .texts(of: .words(AdminSettings.Page.allCases.map(\.rawValue))),
    .otherwise("healthz, readyz and metrics; on loopback or unix also status"), "Lists the pages that the listener serves.")
}

/// The address of a listener, and the permissions of a unix socket.
struct SocketKeys: KeyGroup {
  let address = Key("address", .text(.listenAddress), .required, "The address to listen on; port 0 means a free port.")
  let mode = Key("mode", .text(.permissions), .otherwise("as the umask says"), "Sets the permissions of a unix socket.")
  let owner = Key("owner", .text(.userOrGroup), .otherwise("the proxy's user"), "Sets the owner of a unix socket.")
  let group = Key("group", .text(.userOrGroup), .otherwise("the proxy's group"), "Sets the group of a unix socket.")
}
