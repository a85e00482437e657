import Settings

/// `log`.
struct LogKeys: KeySet {
  static let table = KeyTable(LogKeys())
  private static let standard = LogSettings()

  let level = Key(
    "level", .choice(LogSettings.Level.allCases), default: standard.level, "Drops messages below this level.")
  let format = Key("format", .choice([.json, .text]), default: standard.format, "Sets the format of a line.")
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
    "Bounds client connections; at this number the proxy pauses accepting.")
  let requestHead = Key(
    "request_head", .size(1024...(1 << 20)), default: standard.requestHead,
    "Bounds a request's head; a larger one gets 431, or 414 if its target alone is too long.")
  let responseHead = Key(
    "response_head", .size(1024...(1 << 20)), default: standard.responseHead,
    "Bounds a response's head; a larger one becomes 502.")
  let replayBody = Key(
    "replay_body", .size(0...(1 << 30)), default: standard.replayBody,
    "Bounds the request body that the proxy keeps for a retry.")
  let hashedBody = Key(
    "hashed_body", .size(0...(1 << 30)), default: standard.hashedBody,
    "Bounds a request body that is read whole because the head is signed over it; a larger one gets 413.")
  let buffers = Key(
    "buffers", .size((64 << 10)...(1 << 40)), default: standard.buffers,
    "Bounds all request bodies that the proxy keeps; when it is used up, no body is kept for a retry, and those that must be read whole get 503."
  )
  let waitingForCredential = Key(
    "waiting_for_credential", .integer(0...10_000_000), default: standard.waitingForCredential,
    "Bounds requests that wait for one credential's token; more get 503.")
  let subjectTokens = Key(
    "subject_tokens", .integer(1...1_000_000), default: standard.subjectTokens,
    "Bounds the users for whom a credential keeps a token of their own; the least recently used one is evicted.")
  let upstreamConnections = Key(
    "upstream_connections", .integer(1...1_000_000), default: standard.upstreamConnections,
    "Bounds connections to one origin; above it a request waits up to 'connect', then gets 503.")
  let upstreamStreams = Key(
    "upstream_streams", .integer(1...1000), default: standard.upstreamStreams,
    "Bounds requests at once on one HTTP/2 connection to an origin, whose own limit holds too.")
  let clientStreams = Key(
    "client_streams", .integer(1...1000), default: standard.clientStreams,
    "Bounds requests at once on one HTTP/2 connection of an app.")
  let cache = Key(
    "cache", .size(0...(1 << 40)), default: standard.cache,
    "Bounds the memory of all stored answers; it is taken as they come.")
}

/// `timeouts`.
struct TimeoutKeys: KeySet {
  static let table = KeyTable(TimeoutKeys())
  private static let standard = Timeouts()

  let requestHead = Key(
    "request_head", .duration(), default: standard.requestHead, "Bounds the wait for a request's whole head.")
  let idle = Key(
    "idle", .duration(), default: standard.idle, "Closes client connections that are idle for this long.")
  let handshake = Key(
    "handshake", .duration(), default: standard.ofClients.handshake,
    "Bounds an app's TLS handshake, from the 200 of its CONNECT or from its connection on.")
  let ofOrigin = OriginTimeoutKeys { .text(Units.text(duration: $0(standard))) }
  let shutdownDelay = Key(
    "shutdown_delay", .duration(atLeast: 0), default: standard.shutdownDelay,
    "Sets how long the proxy accepts after SIGTERM, while /readyz says 503, before it drains.")
  let drain = Key(
    "drain", .duration(atLeast: 0), default: standard.drain, "Bounds the time that requests in flight have to finish.")
}

/// `timeouts` of an upstream entry.
struct UpstreamTimeoutKeys: KeySet {
  static let table = KeyTable(UpstreamTimeoutKeys())
  static var misplaced: [String: String] {
    let here = Set(descriptions.map(\.name))
    let others = TimeoutKeys.descriptions.map(\.name).filter { !here.contains($0) }
    return Dictionary(
      uniqueKeysWithValues: others.map { ($0, "does not apply to a single upstream; it belongs to the global 'timeouts'") })
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
  let collapse: Key<Int?>

  init(_ absence: ((Timeouts) -> Int) -> KeyDescription.Absence) {
    upstreamIdle = Key(
      "upstream_idle", .duration(), absence(\.upstreamIdle),
      "Closes pooled connections to origins that are idle for this long.")
    resolve = Key("resolve", .duration(), absence(\.resolve), "Bounds the time to resolve an origin's name.")
    connect = Key("connect", .duration(), absence(\.connect), "Bounds the time for TCP and TLS together.")
    responseHead = Key(
      "response_head", .duration(), absence(\.responseHead), "Bounds the wait for the head of a final response.")
    stall = Key(
      "stall", .duration(), absence(\.stall),
      "Ends a message in flight if no byte moves in either direction for this long.")
    tunnel = Key(
      "tunnel", .duration(), absence(\.tunnel),
      "Closes tunnels, upgraded connections and event streams that are idle for this long.")
    credential = Key("credential", .duration(), absence(\.credential), "Bounds the time that a request waits for a token.")
    collapse = Key(
      "collapse", .duration(), absence(\.collapse),
      "Bounds the time that a request waits for the answer to an identical one.")
  }
}
