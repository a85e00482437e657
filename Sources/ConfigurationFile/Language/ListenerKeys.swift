import Settings
import Trust

/// An entry of `listen`.
struct ListenerKeys: KeySet {
  static let table = KeyTable(ListenerKeys())

  enum Clients: String { case required, optional }

  let socket = SocketKeys()
  let clients = Key(
    "clients", .choice([Clients.required, .optional]),
    .otherwise("required if 'clients' is configured or the address is neither loopback nor unix, else optional"),
    "Says whether an app must prove which client it is.")
  let tls = Key(
    "tls", .section(ListenerTLSKeys.self), .otherwise("apps speak to the proxy in the clear"),
    "Makes apps speak TLS to the proxy itself.")
  let proxyProtocol = Key(
    "proxy_protocol", .texts(of: .oneOf([.words(["unix"]), .text(.addressBlock)])), .otherwise("no connection begins with one"),
    "Lists the peers whose connections begin with a PROXY header; unix means the peers of a unix socket.")
}

/// `listen.tls`.
struct ListenerTLSKeys: KeySet {
  static let table = KeyTable(ListenerTLSKeys())

  let certificate = Key(
    "certificate", .file, .otherwise("a leaf for 'names'"), "Names the file of the certificate, leaf first, then intermediates."
  )
  let key = Key("key", .secret, .otherwise("a leaf for 'names'"), "Is the certificate's private key in PEM form.")
  let passphrase = Key("passphrase", .secret, .otherwise("the key is not encrypted"), "Opens the private key.")
  let names = Key(
    "names", .texts(.hostName), .otherwise("'certificate' and 'key'"),
    "Lists names and addresses that a CA of 'intercept' signs for.")
  let clientCertificates = Key(
    "client_certificates", .section(ClientVerificationKeys.self), .otherwise("clients are not asked for certificates"),
    "Verifies the certificates of clients in the handshake.")
  let minVersion = Key(
    "min_version", .choice([TrustPolicy.TLSVersion.tls12, .tls13]), default: .tls12, "Refuses TLS versions below it.")
}

/// `listen.tls.client_certificates`.
struct ClientVerificationKeys: KeySet {
  static let table = KeyTable(ClientVerificationKeys())

  let caFile = Key("ca_file", .file, .required, "Names the file of the anchors that clients' certificates end in.")
  let required = Key("required", .boolean, default: false, "Refuses clients without a certificate.")
}

/// `admin`.
struct AdminKeys: KeySet {
  static let table = KeyTable(AdminKeys())

  let socket = SocketKeys()
  let expose = Key(
    "expose", .texts(of: .words(AdminSettings.Page.allCases.map(\.rawValue))),
    .otherwise("healthz, readyz and metrics; on loopback or unix also status and dashboard, on unix also purge"),
    "Lists the pages that the listener serves; dashboard is /, with status, and purge is POST /cache/purge.")
  let hosts = Key(
    "hosts", .texts(.hostPattern), .otherwise("addresses and localhost alone"),
    "Lists names that dashboard, status and purge answer to; a request whose Host is another gets 421.")
}

/// The address of a listener, and the permissions of a unix socket.
struct SocketKeys: KeyGroup {
  let address = Key("address", .text(.listenAddress), .required, "The address to listen on; port 0 means a free port.")
  let mode = Key("mode", .text(.permissions), .otherwise("as the umask says"), "Sets the permissions of a unix socket.")
  let owner = Key("owner", .text(.userOrGroup), .otherwise("the proxy's user"), "Sets the owner of a unix socket.")
  let group = Key("group", .text(.userOrGroup), .otherwise("the proxy's group"), "Sets the group of a unix socket.")
}
