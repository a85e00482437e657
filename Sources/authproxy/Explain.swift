import ArgumentParser
import CSystem
import Proxy
import Settings
import Trust

struct Explain: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Say what the proxy does with a request: which entry serves it and why, origin, credential, trust.",
    discussion: """
      Sends nothing. METHOD and URL are what an app sends to its proxy: GET http://api.example.com/v1/x, or CONNECT host:443.
      """)

  @Option(name: .long, help: "The configuration file.", completion: .file())
  var config: String

  @Option(name: .long, help: "The client that sends the request, by its name in `clients`.")
  var client: String?

  @Option(name: [.customShort("H"), .long], help: "A field that the app sends, as 'Name: value'; can be given several times.")
  var header: [String] = []

  @Flag(name: .long, help: "Show what the credential signs: the canonical request and the like, without secrets.")
  var sign = false

  @Argument(
    help: "GET, POST, CONNECT, ...",
    completion: .list(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT"]))
  var method: String

  @Argument(help: "An http:// or https:// URL; host:port for CONNECT.")
  var url: String

  func validate() throws {
    for field in header where !field.contains(":") || field.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) {
      throw ValidationError("'\(field)' is no field: write -H 'Name: value'.")
    }
  }

  func run() throws {
    let loaded = loadConfiguration(config)
    for error in loaded.errors { Terminal.error("\(error)") }
    guard let settings = loaded.settings else { throw ExitStatus.badConfiguration }
    var asking: ClientSettings?
    if let client {
      asking = settings.clients.first { $0.name == client }
      guard asking != nil else {
        let known = settings.clients.map(\.name).joined(separator: ", ")
        Terminal.error("authproxy: there is no client '\(client)' in \(config)" + (known.isEmpty ? "" : "; clients: \(known)"))
        throw ExitStatus.usage
      }
    }
    let snapshot: Snapshot
    do { snapshot = try SnapshotBuilder(makesAuthorities: false).build(settings, generation: 1) } catch {
      Terminal.error("\(config): error: \(error)")
      throw ExitStatus.badConfiguration
    }
    let explanation = Explanation.of(method: method, target: url, fields: header, client: asking, in: snapshot)
    let ways = WayReport(settings: settings, places: loaded.places, file: config)
    page(explanation, settings, interception(explanation, settings, asking), ways).print()
  }

  /// What an https:// match has to do with it; nil: nothing, or the client is not let in at all.
  private func interception(
    _ explanation: Explanation, _ settings: Settings, _ asking: ClientSettings?
  ) -> [(label: String, text: String)]? {
    if case .answered(let status, _, _) = explanation.outcome, status == 407 || status == 400 { return nil }
    guard let (host, port) = authority else { return nil }
    return ConnectReport(settings).rows(host: host, port: port, client: asking, at: csys_wall_clock() / 1_000_000_000)
  }

  /// Of a CONNECT, or of the one that an app sends for an https:// URL.
  private var authority: (host: String, port: UInt16)? {
    let scheme = "https://"
    let rest: Substring
    if method == "CONNECT" {
      rest = url[...]
    } else {
      guard url.lowercased().hasPrefix(scheme) else { return nil }
      rest = url.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
    }
    guard let (host, port) = try? HostName.split(String(rest)), let host = try? HostName.normalized(host) else { return nil }
    return (host, port ?? 443)
  }

  private func page(
    _ explanation: Explanation, _ settings: Settings, _ interception: [(label: String, text: String)]?, _ ways: WayReport
  ) -> Page {
    var page = Page(labelWidth: 12)
    page.heading("\(method) \(url)")
    page.row("client", who(settings))
    page.rows("", addresses(settings))
    if method == "CONNECT", let interception {
      for row in interception + waysOfConnect(explanation.outcome, ways) { page.row(row.label, row.text) }
      return page
    }
    for candidate in explanation.candidates where candidate.isTaken {
      page.row("entry", "\(candidate.name): \(candidate.reason)")
    }
    for candidate in explanation.candidates where !candidate.isTaken {
      page.row("not", "\(candidate.name): \(candidate.reason)")
    }
    switch explanation.outcome {
    case .forwarded(let forwarding): rows(of: forwarding, settings, ways, &page)
    case .tunnel: page.row("goes to", "\(url), through an opaque tunnel: no credential, no trust policy, no inspection")
    case .intercepted(let names): page.row("entries", names.joined(separator: ", "))
    case .entriesThroughConnect(let names, let tunnelsTLS):
      page.row("entries", names.joined(separator: ", "))
      page.row("then", "no tunnel: if clear-text HTTP follows, these entries serve it, with their credentials")
      page.row(
        "",
        tunnelsTLS
          ? "if a TLS handshake follows: an opaque tunnel, as connect.allow permits"
          : "if a TLS handshake follows: the proxy closes the connection")
    case .answered(let status, let reason, let text):
      page.row("answer", "\(status) \(reason), by the proxy itself")
      for line in text.split(separator: "\n") { page.row("", String(line)) }
      if status == 407, let example = settings.clients.first { page.row("", "Try --client \(example.name) here.") }
    }
    for row in waysOfConnect(explanation.outcome, ways) { page.row(row.label, row.text) }
    if let interception {
      page.row("how", "most tools send CONNECT for it")
      for row in interception { page.row(row.label, row.text) }
    } else if url.hasPrefix("https://"), method != "CONNECT" {
      page.row(
        "warning", "for https:// URLs most tools send CONNECT instead, which gets no credential: let the app request http://")
    }
    if sign, case .forwarded(let forwarding) = explanation.outcome { page.append(signing(forwarding)) }
    return page
  }

  private func signing(_ forwarding: Explanation.Forwarded) -> ExplainSigning.Report {
    guard let credential = forwarding.credential else {
      return ExplainSigning.Report(rows: [("signs", "nothing: there is no credential")])
    }
    return ExplainSigning(
      method: method, url: url, target: forwarding.target, origin: forwarding.origin,
      keepsHost: forwarding.upstream.hostHeader == .app,
      ownSignature: forwarding.upstream.clientAuthorization, now: csys_wall_clock() / 1_000_000_000
    ).report(credential) ?? ExplainSigning.Report(rows: [("signs", "nothing: what it sends does not depend on the request")])
  }

  /// The ways of what a CONNECT may become: a tunnel, or requests to entries; of one that is answered, and of a forwarded request,
  /// none.
  private func waysOfConnect(_ outcome: Explanation.Outcome, _ ways: WayReport) -> [(label: String, text: String)] {
    guard let (host, port) = authority else { return [] }
    let tunnel = ways.rows(entry: nil, host: host, port: port, isTLS: true)
    func entries(_ names: [String]) -> [(label: String, text: String)] {
      names.flatMap { name -> [(label: String, text: String)] in
        guard let index = ways.settings.upstreams.firstIndex(where: { $0.name == name }) else { return [] }
        let rows = ways.settings.upstreams[index].origins.flatMap { origin in
          ways.rows(
            entry: index, host: origin.host.isEmpty ? host : origin.host, port: origin.port, isTLS: origin.scheme == .https)
        }
        return rows.isEmpty || names.count == 1 ? rows : [("of", name)] + rows
      }
    }
    switch outcome {
    case .tunnel: return tunnel
    case .intercepted(let names): return entries(names)
    case .entriesThroughConnect(let names, let tunnelsTLS):
      return entries(names) + (tunnelsTLS && !tunnel.isEmpty ? [("of", "the tunnel")] + tunnel : [])
    case .forwarded, .answered: return []
    }
  }

  private func who(_ settings: Settings) -> String {
    if let client { return client + Describing.limit(settings.clients.first { $0.name == client }?.maxRequests) }
    let closed = settings.listeners.filter(\.clientsRequired)
    let limit = Describing.limit(settings.anonymousMaxRequests, of: "an address")
    if closed.isEmpty { return (settings.clients.isEmpty ? "anybody" : "anonymous") + limit }
    if closed.count == settings.listeners.count { return "none: every listener requires one" }
    return
      "anonymous\(limit); not on \(closed.map { Describing.endpoint($0.endpoint) }.joined(separator: ", ")), which answers 407"
  }

  /// Where the address that identifies the client is not the connection's own.
  private func addresses(_ settings: Settings) -> [String] {
    guard let client = settings.clients.first(where: { $0.name == client }), !client.from.isEmpty else { return [] }
    return settings.listeners.compactMap { listener in
      listener.proxyProtocol.map {
        "its address at \(Describing.endpoint(listener.endpoint)): what the PROXY header of \($0) says"
      }
    }
  }

  private func rows(
    of forwarding: Explanation.Forwarded, _ settings: Settings, _ ways: WayReport, _ page: inout Page
  ) {
    let upstream = forwarding.upstream
    if forwarding.isUnlisted { page.row("entry", "none; unlisted_hosts is `forward`") }
    let checked = forwarding.checksAddresses ? ", unless the name resolves to forbidden_addresses only" : ""
    let index = forwarding.isUnlisted ? nil : settings.upstreams.firstIndex { $0.name == upstream.name }
    for (place, origin) in ([forwarding.origin] + upstream.otherOrigins).enumerated() {
      page.row(place == 0 ? "goes to" : "or, if not reached", Describing.origin(origin) + checked)
      for row in ways.rows(entry: index, host: origin.host, port: origin.port, isTLS: origin.scheme == .https) {
        page.row(row.label, row.text)
      }
    }
    let changesPath = upstream.stripsPrefix || !upstream.origin.path.isEmpty
    if changesPath, forwarding.shownTarget == nil { page.row("", "asks for \(forwarding.target)") }
    if let credential = forwarding.credential {
      page.row("credential", "\(credential.name): \(Describing.credential(credential))")
      if let subject = Describing.subject(of: credential) { page.row("", subject) }
      if let login = LoginStandings(settings).row(of: credential) { page.row("", login) }
      if let shared = Describing.shared(credential, settings) { page.row("token", shared) }
      if let certificate = Describing.certificate(credential) { page.row("", certificate) }
      var services: [String] = []
      for origin in [forwarding.origin] + upstream.otherOrigins {
        guard let service = Describing.service(of: credential, for: origin), !services.contains(service) else { continue }
        services.append(service)
        page.row("", service)
      }
      let field = Describing.fieldName(credential)
      let own =
        switch upstream.clientAuthorization {
        case .replace: "sets \(field); it replaces what the app sends there"
        case .keep: "sets \(field), unless the app sends it itself"
        case .reject: "sets \(field); an app that sends it itself gets 403"
        }
      page.row("", Describing.ownTarget(credential, upstream.clientAuthorization) ?? own)
      if let target = forwarding.shownTarget { page.row("asks for", target) }
    } else {
      page.row("credential", forwarding.isUnlisted ? "none; the proxy passes on what the app sends" : "none")
    }
    if let trust = forwarding.trust {
      page.rows("trust", (trust == .systemDefault ? [] : [trust.name]) + Describing.trust(trust))
    } else if forwarding.origin.scheme == .unix {
      page.row("trust", "none: whoever may open the socket on this machine is the server")
    } else {
      page.row("trust", "none: http:// in clear text; anybody on the way can read and change it")
    }
    if let version = Describing.httpVersion(upstream, forwarding.credential, isUpgrade: asksForUpgrade) {
      page.row("HTTP", "http_version \(version)")
    }
    let rules = Describing.rules(upstream)
    if !rules.isEmpty { page.rows("rules", rules) }
    let cache = Describing.cache(
      forwarding.storing, forwarding, client: client, given: header.map { String($0.prefix { $0 != ":" }) })
    if !cache.isEmpty { page.rows("cache", cache) }
    let redirects = Describing.redirects(upstream, method: method)
    if !redirects.isEmpty { page.rows("redirects", redirects) }
    page.row("retry", retry(upstream.retry))
  }

  /// `-H 'Upgrade: websocket'`.
  private var asksForUpgrade: Bool {
    header.contains { field in
      let parts = field.split(separator: ":", maxSplits: 1).map { $0.trimmingPrefix { $0 == " " }.lowercased() }
      return parts.count == 2 && parts[0] == "upgrade" && parts[1].hasPrefix("websocket")
    }
  }

  private func retry(_ retry: UpstreamSettings.Retry) -> String {
    if retry.attempts == 0 { return "none" }
    guard retry.methods.contains(method) else {
      return "none for \(method): retry is for \(retry.methods.sorted().joined(separator: ", "))"
    }
    let statuses = retry.statuses.sorted().map(String.init).joined(separator: ", ")
    return "up to \(Describing.count(retry.attempts, "retry", "retries")) after \(statuses) or a failed connection, "
      + "the first after a pause of \(Units.text(duration: retry.backoff)), which doubles each time"
  }
}
