import Settings

/// `log`.
struct LogKeys: KeySet {
  static let table = KeyTable(LogKeys())
  private static let standard = LogSettings()

  let level = Key(
    "level", .choice(LogSettings.Level.allCases), default: standard.level, "Leaves out messages below this level.")
  let format = Key("format", .choice([.json, .text]), default: standard.format, "Sets the form of a line.")
  let access = Key("access", .boolean, default: standard.access, "Logs one line for each request.")
  let file = Key(
    "file", .text(shape: .oneOf([.words([standardOutput, standardError]), .text(.file)])), .text(standardOutput),
    "Says where the log goes; SIGUSR1 reopens a file.")

  static let standardOutput = "stdout"
  static let standardError = "stderr"
}

/// `limits`.
struct LimitKeys: KeySet {
  static let table = KeyTable(LimitKeys())
  private static let standard = Limits()

  let connections = Key(
    "connections", .integer(1...10_000_000), default: standard.connections,
    "Bounds client connections; over it the proxy stops accepting for a while.")
  let requestHead = Key(
    "request_head", .size(1024...(1 << 20)), default: standard.requestHead,
    "Bounds a request's head; a larger one is answered 431, or 414 if its target alone is too long.")
  let responseHead = Key(
    "response_head", .size(1024...(1 << 20)), default: standard.responseHead,
    "Bounds a response's head; a larger one becomes 502.")
  let replayBody = Key(
    "replay_body", .size(0...(1 << 30)), default: standard.replayBody,
    "Bounds the part of a request's body that is kept for a retry.")
  let waitingForCredential = Key(
    "waiting_for_credential", .integer(0...10_000_000), default: standard.waitingForCredential,
    "Bounds requests that wait for one credential's token; more are answered 503.")
  let upstreamConnections = Key(
    "upstream_connections", .integer(1...1_000_000), default: standard.upstreamConnections,
    "Bounds connections to one origin; over it a request waits up to 'connect', then is answered 503.")
}

/// `timeouts`.
struct TimeoutKeys: KeySet {
  static let table = KeyTable(TimeoutKeys())
  private static let standard = Timeouts()

  let requestHead = Key(
    "request_head", .duration(), default: standard.requestHead, "Bounds the wait for a request's whole head.")
  let idle = Key(
    "idle", .duration(), default: standard.idle, "Closes client connections that are kept alive without a request.")
  let ofOrigin = OriginTimeoutKeys { .text(Units.text(duration: standard[keyPath: $0])) }
  let shutdownDelay = Key(
    "shutdown_delay", .duration(atLeast: 0), default: standard.shutdownDelay,
    "After SIGTERM, keeps accepting this long while /readyz says 503; then the drain begins.")
  let drain = Key("drain", .duration(atLeast: 0), default: standard.drain, "Bounds the drain.")
}

/// `timeouts` of an upstream entry.
struct UpstreamTimeoutKeys: KeySet {
  static let table = KeyTable(UpstreamTimeoutKeys())
  static var misplaced: [String: String] {
    let here = Set(descriptions.map(\.name))
    let others = TimeoutKeys.descriptions.map(\.name).filter { !here.contains($0) }
    return Dictionary(
      uniqueKeysWithValues: others.map { ($0, "concerns no single upstream; it belongs to the global 'timeouts'") })
  }

  let ofOrigin = OriginTimeoutKeys { _ in .otherwise("the one in the global 'timeouts'") }
}

/// Timeouts that concern one origin.
struct OriginTimeoutKeys: KeyGroup {
  let upstreamIdle: Key<Int?>
  let resolve: Key<Int?>
  let connect: Key<Int?>
  let responseHead: Key<Int?>
  let stall: Key<Int?>
  let tunnel: Key<Int?>
  let credential: Key<Int?>

  init(_ absence: (Swift.KeyPath<Timeouts, Int>) -> KeyDescription.Absence) {
    upstreamIdle = Key(
      "upstream_idle", .duration(), absence(\.upstreamIdle),
      "Closes connections to origins that are kept alive without a request.")
    resolve = Key("resolve", .duration(), absence(\.resolve), "Bounds the resolution of an origin's name.")
    connect = Key("connect", .duration(), absence(\.connect), "Bounds TCP and TLS together.")
    responseHead = Key(
      "response_head", .duration(), absence(\.responseHead), "Bounds the wait for the head of a final response.")
    stall = Key(
      "stall", .duration(), absence(\.stall), "Ends a message in flight when no byte moves in either direction for this long.")
    tunnel = Key(
      "tunnel", .duration(), absence(\.tunnel), "Closes idle tunnels, upgraded connections and event streams.")
    credential = Key("credential", .duration(), absence(\.credential), "Bounds the wait of a request for a token.")
  }
}
