import Credentials
import Settings

/// What a configuration says about a store that a fleet shares, and the credentials that may have records there, for `tokens`.
public struct FleetCredentials: Sendable {
  public struct Entry: Sendable {
    public var name: String
    /// As the configuration has it; nil: not an `oauth2` credential.
    public var grant: String?
    /// nil: it could not be read. The record's name depends on its secrets.
    public var policy: CredentialPolicy?
    /// Errors and warnings.
    public var diagnostics: [Diagnostic]
  }

  /// With the store, the trust policy for it and the credentials that could be read; nothing else.
  public var settings: Settings
  public var store: SharedStoreSettings
  /// In the order of the file.
  public var entries: [Entry]
  public var warnings: [Diagnostic]
}

extension ConfigurationFile {
  /// Reads the token store's settings, the trust policy for it, and the `oauth2` credentials with their secrets: each alone, so that the
  /// others are told where one cannot be read. Blocks on files and helper programs.
  /// - Parameter path: as given on the command line; errors begin with it.
  /// - Returns: nil: the store is not shared.
  public static func readFleet(
    path: String, environment: [String: String], system: SystemAccess = .system
  ) throws(CredentialLookupError) -> FleetCredentials? {
    let peek = try Peek(path: path, environment: environment, system: system)
    let reading = peek.reading(system)
    let root = try peek.root(reading)
    let names = storeTrust(peek)
    guard !names.isEmpty else { return nil }
    var trust = root.reading.trust(root, only: names)
    if names.contains(where: { trust[$0]??.checksRevocation == true }), !names.contains("default") {
      trust = root.reading.trust(root, only: names.union(["default"]))
    }
    let rules = TrustRules(policies: trust, allMustBeNamed: root.read(\.allHostsMustBeEvaluated))
    let store = reading.tokenStore(root, trust: rules)
    guard !reading.report.hasErrors, let store, let shared = store.shared else { throw .configuration(reading.report.sorted) }
    let lookup = CredentialLookup(try peek.root(peek.reading(.none)), file: path)
    let entries = lookup.entries.map { entry in
      guard let grant = lookup.grant(of: entry.name.value) else {
        return FleetCredentials.Entry(name: entry.name.value, grant: nil, policy: nil, diagnostics: [])
      }
      let own = peek.reading(system)
      let section: Section<CredentialKeys>? = own.section(entry.written)
      let policy = section.flatMap { own.credential(entry.name.value, $0, trust: .unread, tokenStore: store).policy }
      return FleetCredentials.Entry(
        name: entry.name.value, grant: grant.rawValue, policy: own.report.hasErrors ? nil : policy,
        diagnostics: own.report.sorted)
    }
    var credentials: [String: CredentialPolicy] = [:]
    for policy in entries.compactMap(\.policy) { credentials[policy.name] = policy }
    var settings = Settings(
      listeners: [], credentials: credentials, tokenStore: store, trust: trust.compactMapValues { $0 })
    settings.systemRoots = reading.systemRoots(for: settings)
    return FleetCredentials(settings: settings, store: shared, entries: entries, warnings: reading.report.sorted)
  }
}
