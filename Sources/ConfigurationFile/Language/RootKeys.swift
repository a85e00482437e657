import Settings

/// The top level of the file.
struct RootKeys: KeySet {
  static let table = KeyTable(RootKeys())

  let name = Key(
    "name", .text(.pseudonym), .text(Settings.standardName),
    "Names the proxy in Via and Proxy-Status; two chained proxies need two names.")
  let listen = Key(
    "listen", .oneOrMore(of: .text(.text(.listenAddress), or: ListenerKeys.self)), .required,
    "Says where apps connect; an address alone is short for a section with this address.")
  let admin = Key(
    "admin", .text(.text(.listenAddress), or: AdminKeys.self), .otherwise("no admin listener"),
    "Says where health, metrics and status are served; an address alone is short for a section with this address.")
  let threads = Key("threads", .integer(1...256, or: "auto"), default: nil, "Sets the number of event loops.")
  let watchFiles = Key(
    "watch_files", .duration(atLeast: 100, or: "off"), default: 10_000,
    "Sets how often the proxy checks whether files that the configuration names have changed.")
  let log = Key("log", .section(LogKeys.self), .otherwise("its defaults"), "Sets what the proxy logs, and where to.")
  let limits = Key("limits", .section(LimitKeys.self), .otherwise("its defaults"), "Bounds what the proxy holds at once.")
  let timeouts = Key("timeouts", .section(TimeoutKeys.self), .otherwise("its defaults"), "Sets how long the proxy waits.")
  let clients = Key(
    "clients", .list(of: .section(ClientKeys.self)), .otherwise("everybody who reaches a listener may use the proxy"),
    "Lists who may use the proxy, and what for.")
  let anonymous = Key(
    "anonymous", .section(AnonymousKeys.self), .otherwise("nothing if 'clients' exists, else everything"),
    "Says what requests without credentials may reach on an optional listener.")
  let unlistedHosts = Key(
    "unlisted_hosts", .choice([Settings.UnlistedHosts.deny, .forward]), default: .deny,
    "Says what happens to requests for hosts that no upstream entry matches.")
  let connect = Key("connect", .section(ConnectKeys.self), .otherwise("no tunnels"), "Rules CONNECT tunnels.")
  let intercept = Key(
    "intercept", .section(InterceptKeys.self), .otherwise("nothing is intercepted"),
    "Rules how the proxy answers TLS for https:// matches.")
  let forbiddenAddresses = Key(
    "forbidden_addresses", .texts(of: .oneOf([.words(["default"]), .text(.addressBlock)])), .list(["default"]),
    "Lists resolved addresses that the proxy never connects to.")
  let ways = WayKeys()
  let upstreams = Key(
    "upstreams", .list(of: .section(UpstreamKeys.self)), .otherwise("none"), "Lists where requests may go.")
  let credentials = Key(
    "credentials", .map(of: .section(CredentialKeys.self)), .otherwise("none"),
    "Defines credentials by name, for upstream entries to refer to.")
  let tokenStore = Key(
    "token_store", .text(.words([TokenStoreKeys.memory]), or: TokenStoreKeys.self), .text(TokenStoreKeys.memory),
    "Says where rotated refresh tokens live.")
  let allHostsMustBeEvaluated = Key(
    "all_hosts_must_be_evaluated", .boolean, default: false,
    "Refuses every https origin and token endpoint that names no 'trust' of its own.")
  let trust = Key(
    "trust", .map(of: .list(of: .section(EvaluatorKeys.self))), .otherwise("the system's roots judge every origin"),
    "Defines trust policies by name; every evaluator of a policy must pass.")
}
