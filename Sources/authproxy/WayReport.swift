import Credentials
import Settings
import WayOut

/// How hosts are reached, in the words of `check` and `explain`. Never shows a password.
struct WayReport {
  let settings: Settings
  /// Of keys, by key path.
  let places: [String: Place]
  /// As given on the command line.
  let file: String

  /// Whether the file says anything about ways; else reports leave them out.
  var isNeeded: Bool {
    !settings.ways.isDirect || !settings.parents.isEmpty || !settings.hosts.isEmpty || settings.outbound != OutboundAddressing()
      || settings.upstreams.contains { $0.via != nil || $0.outbound != nil }
  }

  // MARK: check

  func append(to page: inout Page) {
    guard isNeeded else { return }
    page.heading("ways out")
    for (index, route) in settings.ways.routes.enumerated() {
      page.row("routes[\(index)]", "\(route.patterns.map(Self.pattern).joined(separator: ", ")): \(text(route.via))")
    }
    page.row(settings.ways.routes.isEmpty ? "every host" : "any other host", text(settings.ways.via))
    if !settings.parents.isEmpty {
      page.row("own requests", "as apps' requests to the same host; to loopback and metadata services direct")
    }
    if usesEnvironment { page.rows("environment", environment) }
    for parent in settings.parents {
      page.row(parent.name, Self.url(parent) + details(parent))
      if let credential = credential(parent) {
        page.row("", "credential \(credential.name): \(Describing.credential(credential)), for this parent alone")
      }
      if parent.scheme == .https {
        page.row("", "trust \(parent.trust ?? (settings.trust["default"] == nil ? "system roots" : "default"))")
      }
      if parent.clientCertificate != nil { page.row("", "client certificate") }
      for field in parent.connectFields { page.row("", "CONNECT with \(field.name): \(field.value)") }
    }
    for (host, addresses) in settings.hosts.sorted(by: { $0.key < $1.key }) {
      page.row(host, "at \(Self.text(addresses)), not resolved")
    }
    if let text = Self.text(settings.outbound) { page.row("connections", text) }
  }

  /// What an entry's own `via`, `bind` and `address_family` add to the sentence about it.
  func parts(of upstream: UpstreamSettings) -> [String] {
    [upstream.via.map { "way \(text($0))" }, upstream.outbound.flatMap(Self.text)].compactMap { $0 }
  }

  private var usesEnvironment: Bool {
    ([settings.ways.via] + settings.ways.routes.map(\.via) + settings.upstreams.compactMap(\.via)).contains(.environment)
  }

  private var environment: [String] {
    let environment = settings.ways.environment
    var lines: [String] = []
    for (parent, use) in [
      (environment.https, "https:// and tunnels"), (environment.http, "http://"), (environment.all, "all else"),
    ] {
      guard let parent, let named = settings.parents(of: [parent.name]).first else { continue }
      lines.append("\(parent.variable), for \(use): \(Self.url(named))")
    }
    if lines.isEmpty { return ["no variable names a parent: direct"] }
    let exceptions = environment.exceptions.map(\.text).joined(separator: ", ")
    return lines + (exceptions.isEmpty ? [] : ["no_proxy, direct: \(exceptions)"])
  }

  // MARK: explain

  /// The rows about the way of a host.
  /// - Parameters:
  ///   - index: of the entry; nil: none serves the request.
  ///   - host: lower-case, without a trailing dot and brackets.
  ///   - isTLS: an https:// origin, or a tunnel.
  func rows(entry index: Int?, host: String, port: UInt16, isTLS: Bool) -> [(label: String, text: String)] {
    guard isNeeded else { return [] }
    let upstream = index.map { settings.upstreams[$0] }
    let (ways, rule) = settings.ways.ways(host: host, port: port, isTLS: isTLS, via: upstream?.via)
    var rows = [(label: "way", text: "\(text(.ways(ways))); \(text(rule, entry: index))")]
    for parent in settings.parents(of: ways) {
      let isTunnel = isTLS || upstream.map(needsTunnel) ?? false
      rows.append(("asks", "\(parent.name) (\(Self.url(parent))): \(question(parent, host, port, isTunnel))"))
      if let credential = credential(parent) {
        let isSOCKS = parent.scheme == .socks5 || parent.scheme == .socks5h
        let how = isSOCKS ? "after a login" : "with Proxy-Authorization"
        rows.append(("", "\(how) by credential \(credential.name)\(Describing.parentLogin(credential, parent))"))
      }
    }
    if let addresses = settings.hosts[host] {
      rows.append(("address", "\(Self.text(addresses)), as hosts says"))
    }
    if let text = Self.text(upstream?.outbound ?? settings.outbound) { rows.append(("connects", text)) }
    return rows
  }

  /// Whether every request of the entry goes through a tunnel: it has a Host that the target does not say, or a secret in the target.
  private func needsTunnel(_ upstream: UpstreamSettings) -> Bool {
    let credential = upstream.credential.flatMap { settings.credentials[$0] }
    return upstream.hostHeader == .app || credential.map { $0.fieldName == nil } ?? false
  }

  private func question(_ parent: ParentSettings, _ host: String, _ port: UInt16, _ isTunnel: Bool) -> String {
    let isName = IPAddress.parse(host) == nil
    let asked = parent.resolvesHere && isName ? "<an address of \(host), resolved and checked here>" : Self.authority(host)
    switch parent.scheme {
    case .http, .https, .origin:
      if isTunnel || parent.tunnelsHTTP { return "CONNECT \(asked):\(port)" }
      return "in absolute-form, http://\(Self.authority(host))\(port == 80 ? "" : ":\(port)")/...; CONNECT for upgrades"
    case .socks5, .socks5h:
      return "SOCKS5, \(isName && !parent.resolvesHere ? "the name \(host)" : asked), port \(port)"
    }
  }

  private func text(_ rule: WayTable.Rule, entry index: Int?) -> String {
    let path =
      switch rule.key {
      case .entry: "upstreams[\(index ?? 0)].via"
      case .route(let number): "routes[\(number)]"
      case .via: "via"
      }
    let place = places[path].map { " at \(file):\($0)" } ?? ", by default"
    switch rule.variable {
    case nil: return "decided by \(path)\(place)"
    case .variable(let name)?: return "decided by \(name), by \(path)\(place)"
    case .exception(let text)?: return "decided by \(text) in no_proxy, by \(path)\(place)"
    case .unset?: return "no variable of environment is for it, by \(path)\(place)"
    }
  }

  // MARK: Words

  private func text(_ via: Via) -> String {
    switch via {
    case .environment: return "environment"
    case .ways(let names):
      return names.map { name in
        if case .parent(let index) = name { settings.parents[index].name } else { "direct" }
      }.joined(separator: ", else ")
    }
  }

  private func credential(_ parent: ParentSettings) -> CredentialPolicy? {
    parent.credential.flatMap { settings.credentials[$0] }
  }

  private func details(_ parent: ParentSettings) -> String {
    switch parent.scheme {
    case .socks5: "; names are resolved here"
    case .socks5h: "; the parent resolves names"
    case .http, .https, .origin:
      (parent.resolvesHere ? "; names are resolved and checked here" : "; the parent resolves names")
        + (parent.tunnelsHTTP ? "; CONNECT for http:// origins, too" : "")
    }
  }

  private static func text(_ outbound: OutboundAddressing) -> String? {
    guard outbound != OutboundAddressing() else { return nil }
    let bind = outbound.bind.isEmpty ? [] : ["from \(text(outbound.bind))"]
    let family =
      switch outbound.family {
      case .auto: [] as [String]
      case .ipv4: ["IPv4 only"]
      case .ipv6: ["IPv6 only"]
      }
    return (bind + family).joined(separator: ", ")
  }

  private static func text(_ addresses: [[UInt8]]) -> String {
    addresses.map { IPAddress.text($0) }.joined(separator: ", ")
  }

  private static func url(_ parent: ParentSettings) -> String {
    "\(parent.scheme.rawValue)://\(authority(parent.host)):\(parent.port)"
  }

  private static func authority(_ host: String) -> String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }

  private static func pattern(_ pattern: WayPattern) -> String {
    let port = pattern.port.map { ":\($0)" } ?? ""
    switch pattern.hosts {
    case .all: return "*" + port
    case .name(let name): return name + port
    case .below(let name): return "*.\(name)\(port)"
    case .domain(let name): return ".\(name)\(port)"
    case .block(let network, 128):
      let text = IPAddress.text(network)
      return pattern.port == nil ? text : authority(text) + port
    case .block(let network, let length): return "\(AddressRange(network: network, prefixLength: length))\(port)"
    }
  }
}
