import ArgumentParser
import CSystem
import Interception
import Proxy
import Settings
import Trust

struct Check: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Report every mistake in a configuration, or say what it means.",
    discussion: "Prints errors and warnings with line and column to standard error, and a summary to standard output.")

  @Option(name: .long, help: "The configuration file.", completion: .file())
  var config: String

  func run() throws {
    let loaded = loadConfiguration(config)
    for diagnostic in loaded.diagnostics { Terminal.error("\(diagnostic)") }
    guard let settings = loaded.settings else {
      Terminal.error("\(config): \(Describing.count(loaded.errors.count, "error")); the proxy would not start with it")
      throw ExitStatus.badConfiguration
    }
    // Finds errors that only building the engine shows: anchors that OpenSSL refuses, a key that is too weak.
    do { _ = try SnapshotBuilder(makesAuthorities: false).build(settings, generation: 1) } catch {
      Terminal.error("\(config): error: \(error)")
      throw ExitStatus.badConfiguration
    }
    var warnings = loaded.warnings.count
    for policy in settings.trust.values.sorted(by: { $0.name < $1.name }) {
      guard let expiry = policy.earliestPinExpiry, Days.isNear(expiry) else { continue }
      Terminal.error("\(config): warning: trust.\(policy.name): pins are enforced until \(Describing.expiry(expiry))")
      warnings += 1
    }
    let logins = LoginStandings(settings)
    for warning in logins.warnings(settings) {
      Terminal.error("\(config): warning: \(warning)")
      warnings += 1
    }
    Terminal.print("\(config) is valid" + (warnings == 0 ? "." : ", with \(Describing.count(warnings, "warning"))."))
    Terminal.print("")
    let ways = WayReport(settings: settings, places: loaded.places, file: config)
    ConfigurationSummary(settings: settings, sources: loaded.secretSources, logins: logins, ways: ways).page.print()
  }
}

/// What a configuration means, in the order in which a request uses it.
struct ConfigurationSummary {
  let settings: Settings
  let sources: [String: SecretSource]
  let logins: LoginStandings
  let ways: WayReport

  var page: Page {
    var page = Page(labelWidth: 18)
    listeners(&page)
    upstreams(&page)
    ways.append(to: &page)
    interception(&page)
    credentials(&page)
    trust(&page)
    return page
  }

  private func listeners(_ page: inout Page) {
    page.heading("listens on")
    for listener in settings.listeners {
      let who =
        if listener.clientsRequired {
          "clients only"
        } else {
          settings.clients.isEmpty
            ? "everybody who can connect" + Describing.limit(settings.anonymousMaxRequests, of: "an address")
            : "clients; others may reach \(Describing.access(settings.anonymous))"
              + Describing.limit(settings.anonymousMaxRequests, of: "an address")
        }
      page.row(Describing.endpoint(listener.endpoint), who + (listener.tls.map { ", " + tls($0) } ?? ""))
      if let peers = listener.proxyProtocol { page.row("", "a PROXY header says the address of connections from \(peers)") }
    }
    if let admin = settings.admin {
      page.row(Describing.endpoint(admin.endpoint), "admin: " + admin.expose.map(\.rawValue).sorted().joined(separator: ", "))
      let names = admin.hosts.map { $0.name + ($0.port.map { ":\($0)" } ?? "") }.sorted()
      if !names.isEmpty { page.row("", "browsers reach it as \(names.joined(separator: ", ")), too") }
    }
    if !settings.clients.isEmpty { page.heading("clients") }
    for (index, client) in settings.clients.enumerated() {
      var ways: [String] = []
      if client.password != nil { ways.append("by password (\(source("clients[\(index)].password")))") }
      switch client.certificate {
      case nil: break
      case .uri(let name)?: ways.append("by certificate with the URI \(name)")
      case .dns(let name)?: ways.append("by certificate with the name \(name)")
      case .pin?: ways.append("by certificate with a pinned key")
      }
      if !client.from.isEmpty { ways.append("from " + client.from.map { "\($0)" }.joined(separator: ", ")) }
      page.row(
        client.name,
        "\(ways.joined(separator: " or ")); may reach \(Describing.access(client.allow))" + Describing.limit(client.maxRequests)
      )
    }
  }

  private func tls(_ tls: ListenerTLS) -> String {
    let identity =
      switch tls.identity {
      case .files: "TLS with a certificate of its own"
      case .leaf(let names): "TLS with a leaf for \(names.joined(separator: ", "))"
      }
    let clients = tls.clientCertificates.map { $0.isRequired ? "; certificates required" : "; certificates verified" } ?? ""
    return identity + clients + (tls.minimumVersion == .tls13 ? ", TLS 1.3" : "")
  }

  private func interception(_ page: inout Page) {
    guard let intercept = settings.intercept else { return }
    let now = csys_wall_clock() / 1_000_000_000
    page.heading("interception")
    for authority in intercept.authorities.list {
      page.row("CA", authority.chain[0].subject)
      page.row("", "SHA-256 \(Describing.fingerprint(authority.fingerprint))")
      page.row(
        "", "apps trust the root \(authority.root.subject), SHA-256 \(Describing.fingerprint(authority.root.fingerprint))")
      page.row("", "ends \(Days.date(authority.notAfter)) (\(Days.distance(authority.notAfter)))")
      page.row("", "permits \(Describing.permitted(authority.chain.compactMap(\.nameConstraints).first))")
      let signed = settings.signedNames.filter { intercept.authorities.signer(for: $0, at: now) == authority }
      page.row("", signed.isEmpty ? "signs for nothing here" : "signs for \(signed.map(\.text).joined(separator: ", "))")
    }
    for name in settings.signedNames where intercept.authorities.signer(for: name, at: now) == nil {
      page.row(name.text, Describing.signer(of: name, intercept, at: now))
    }
    page.row("leafs", "for \(Units.text(duration: intercept.leafLifetime)), at most \(intercept.leafCache) kept")
    page.row("published", intercept.publish.map { "in \($0), for apps" } ?? "nowhere; apps have to be given the root")
  }

  private func upstreams(_ page: inout Page) {
    page.heading("upstreams")
    for (index, upstream) in settings.upstreams.enumerated() {
      let stripped = upstream.stripsPrefix ? ", without the prefix of the match" : ""
      page.row(upstream.name, "\(Describing.matches(upstream)) -> \(Describing.origins(upstream))\(stripped)")
      var parts = [upstream.credential.map { "credential \($0)" } ?? "no credential"]
      if upstream.origin.scheme == .https {
        parts.append("trust \(upstream.trust ?? (settings.trust["default"] == nil ? "system roots" : "default"))")
      }
      let version = upstream.httpVersion(with: upstream.credential.flatMap { settings.credentials[$0] })
      if version != .http1 { parts.append(version == .auto ? "HTTP/2 or 1.1" : "HTTP/2 only") }
      if !upstream.methods.names.isEmpty { parts.append("\(upstream.methods.names.joined(separator: ", ")) only") }
      if let clients = upstream.clients { parts.append("for \(clients.sorted().joined(separator: ", ")) only") }
      if upstream.retry.attempts > 0 { parts.append("up to \(Describing.count(upstream.retry.attempts, "retry", "retries"))") }
      parts += ways.parts(of: upstream)
      page.row("", parts.joined(separator: ", "))
      for line in Describing.rules(upstream) { page.row("", line) }
      for line in Describing.cache(upstream) { page.row("", "cache: \(line)") }
      for line in Describing.redirects(upstream) { page.row("", "redirects: \(line)") }
      if upstream.clientCertificate != nil {
        page.row("", "client certificate, its key from \(source("upstreams[\(index)].client_certificate.key"))")
      } else if let name = upstream.credential, settings.credentials[name]?.bindsTokens == true {
        page.row("", "client certificate of credential \(name)")
      }
    }
    page.row(
      "any other host", settings.unlistedHosts == .deny ? "refused with 403" : "forwarded unchanged, without a credential")
    let tunnels = settings.connectAllow.map(Describing.pattern).joined(separator: ", ")
    page.row("CONNECT tunnels", tunnels.isEmpty ? "refused with 403" : "to \(tunnels); no credential inside")
  }

  private func credentials(_ page: inout Page) {
    if settings.credentials.isEmpty { return }
    page.heading("credentials")
    for policy in settings.credentials.values.sorted(by: { $0.name < $1.name }) {
      page.row(policy.name, Describing.credential(policy))
      if let subject = Describing.subject(of: policy) { page.row("", subject) }
      if let login = logins.row(of: policy) { page.row("", login) }
      if let shared = Describing.shared(policy, settings) { page.row("", "token: \(shared)") }
      if let certificate = Describing.certificate(policy) { page.row("", certificate) }
      let prefix = "credentials.\(policy.name)."
      for (path, source) in sources.sorted(by: { $0.key < $1.key }) where path.hasPrefix(prefix) {
        page.row("", "\(path.split(separator: ".").last ?? "secret") from \(source)")
      }
      if policy.allowPlaintext { page.row("", "may go over http:// in clear text") }
      if policy.allowUntrusted { page.row("", "may go to servers whose certificate is not verified") }
    }
    switch settings.tokenStore {
    case .memory: break
    case .file(let path, let key):
      page.heading("token store")
      page.row("file", path + (key == nil ? ", not encrypted" : ", encrypted; key from \(source("token_store.key"))"))
    case .shared(let store):
      page.heading("token store, shared by a fleet")
      for (label, text) in Describing.rows(of: store) { page.row(label, text) }
      page.row("key", store.seal == .withoutKey ? "none: whoever reads the store has the tokens" : source("token_store.key"))
    }
  }

  private func trust(_ page: inout Page) {
    page.heading("trust")
    if settings.trust["default"] == nil,
      settings.upstreams.contains(where: { $0.origin.scheme == .https && $0.trust == nil })
        || settings.parents.contains(where: { $0.scheme == .https && $0.trust == nil })
    {
      page.rows("system roots", Describing.trust(.systemDefault))
    }
    for policy in settings.trust.values.sorted(by: { $0.name < $1.name }) { page.rows(policy.name, Describing.trust(policy)) }
  }

  private func source(_ path: String) -> String { sources[path].map { "\($0)" } ?? "the configuration" }
}
