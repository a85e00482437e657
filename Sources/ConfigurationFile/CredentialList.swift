import Credentials
import Files
import Settings

/// What a configuration says about all credentials without their secrets, to compare it with a token store.
public struct CredentialList: Sendable {
  public struct Entry: Sendable, Hashable {
    public var name: String
    /// As the configuration has it: `authorization_code`; nil: not an `oauth2` credential.
    public var grant: String?
    /// A person logs in.
    public var hasLogin: Bool
    /// The token store keeps its tokens.
    public var isStored: Bool
    /// Of `TokenBinding`: a stored record with another one belongs to another configuration. nil if it depends on a secret, as
    /// for grant `refresh_token`, or if nothing is stored.
    public var binding: [UInt8]?
  }

  public var tokenStore: TokenStoreSettings
  /// In the order of the file.
  public var entries: [Entry]
  public var warnings: [Diagnostic]
}

extension ConfigurationFile {
  /// Reads the token store's settings with its key, the keys of `dpop`, which a login depends on, and no other secret. Blocks on files and a helper program.
  /// - Parameter path: as given on the command line; errors begin with it.
  public static func readCredentialList(
    path: String, environment: [String: String], system: SystemAccess = .system
  ) throws(CredentialLookupError) -> CredentialList {
    let peek = try Peek(path: path, environment: environment, system: system)
    let reading = peek.reading(system)
    let root = try peek.root(reading)
    let store = reading.tokenStore(root, trust: .unread)
    let lookup = CredentialLookup(root, file: path)
    let entries = lookup.entries.map { entry in
      let grant = lookup.grant(of: entry.name.value)
      return CredentialList.Entry(
        name: entry.name.value, grant: grant?.rawValue, hasLogin: grant?.hasLogin ?? false, isStored: grant?.isStored ?? false,
        binding: grant?.hasLogin == true ? binding(of: entry, reading) : nil)
    }
    guard !reading.report.hasErrors, let store else { throw .configuration(reading.report.sorted) }
    return CredentialList(tokenStore: store, entries: entries, warnings: reading.report.sorted)
  }

  /// Of a credential with a login: its server and its client.
  private static func binding(of entry: CredentialLookup.Entry, _ reading: Reading) -> [UInt8]? {
    guard let section = CredentialLookup.oauth2(of: entry, reading) else { return nil }
    let issuer = section.read(\.issuer)
    var dpop: OAuth2Policy.DPoP?
    switch section.read(\.dpop) {
    case nil, .value(false)?: break
    case .value(true)?: dpop = .generated
    // The binding has its thumbprint.
    case .section?:
      guard let draft = reading.dpop(section) else { return nil }
      dpop = draft.value
    }
    // Nor is a certificate.
    if section.has(\.proof.certificateBound) { return nil }
    guard
      let server = section.read(\.tokenURL).map({ OAuth2Policy.Endpoint.token(url: $0.value) })
        ?? issuer.map({ .issuer(url: $0.value) })
    else { return nil }
    return TokenBinding.digest(
      of: OAuth2Policy(
        endpoint: server, grant: .authorizationCode(LoginSettings()), clientID: section.read(\.clientID)?.value,
        clientAuthentication: .none, dpop: dpop))
  }
}
