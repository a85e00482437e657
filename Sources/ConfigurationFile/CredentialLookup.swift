import Credentials
import Settings

/// What a command does with a credential that is read alone. It decides which grants are possible.
public enum CredentialUse: Sendable, Hashable {
  case login, logout

  func accepts(_ grant: OAuth2Keys.Grant) -> Bool {
    switch self {
    case .login: grant.hasLogin
    case .logout: grant.isStored
    }
  }
}

public enum CredentialLookupError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The command line names no credential, or one that cannot be used so. Says what to write instead.
  case usage(String)
  /// The configuration has errors, in the part that concerns the credential.
  case configuration([Diagnostic])

  public var description: String {
    switch self {
    case .usage(let reason): reason
    case .configuration(let diagnostics): diagnostics.map { "\($0)" }.joined(separator: "\n")
    }
  }
}

/// Finds credentials in a file. Reads their grants and no secret.
struct CredentialLookup {
  struct Entry {
    var name: Located<String>
    var written: Written
  }

  let file: String
  let entries: [Entry]
  private let grants: [String: OAuth2Keys.Grant]
  /// Credentials of other kinds than `oauth2`.
  private let others: Set<String>

  init(_ root: Section<RootKeys>, file: String) {
    self.file = file
    entries = (root.written(\.credentials).flatMap(root.reading.named) ?? []).map { Entry(name: $0.name, written: $0.value) }
    var grants: [String: OAuth2Keys.Grant] = [:]
    var others: Set<String> = []
    for entry in entries {
      grants[entry.name.value] = Self.oauth2(of: entry, root.reading)?.read(\.grant)
      if Self.isOther(entry, root.reading) { others.insert(entry.name.value) }
    }
    self.grants = grants
    self.others = others
  }

  static func oauth2(of entry: Entry, _ reading: Reading) -> Section<OAuth2Keys>? {
    guard let section: Section<CredentialKeys> = reading.section(entry.written, isPeek: true),
      let written = section.written(\.oauth2)
    else { return nil }
    return reading.section(written, isPeek: true)
  }

  private static func isOther(_ entry: Entry, _ reading: Reading) -> Bool {
    guard let section: Section<CredentialKeys> = reading.section(entry.written, isPeek: true) else { return false }
    return !section.has(\.oauth2) && section.countOfAlternatives > 0
  }

  func grant(of name: String) -> OAuth2Keys.Grant? { grants[name] }

  /// - Parameter name: nil: the only credential for this use.
  func entry(_ name: String?, for use: CredentialUse) throws(CredentialLookupError) -> Entry {
    let possible = entries.filter { grants[$0.name.value].map(use.accepts) == true }
    let names = possible.map { shown($0.name.value) }
    guard let name else {
      guard let first = possible.first else { throw .usage("no credential in \(file) has a login (\(Self.loginGrants))") }
      guard possible.count == 1 else { throw .usage("\(file) has several credentials; name one: \(listed(names, "or"))") }
      return first
    }
    guard let entry = entries.first(where: { $0.name.value == name }) else {
      let known = names.isEmpty ? "" : "; there is \(listed(names, "and"))"
      throw .usage("there is no credential \(shown(name)) in \(file)\(known)")
    }
    guard !others.contains(name) else {
      throw .usage("credential \(shown(name)) has no oauth2: it has neither login nor logout")
    }
    // A credential whose grant is unknown has an error, which its reading reports.
    guard let grant = grants[name], !use.accepts(grant) else { return entry }
    throw .usage(
      use == .login
        ? "credential \(shown(name)) has grant \(grant.rawValue): nobody logs in to it; a login needs \(Self.loginGrants)"
        : "credential \(shown(name)) has grant \(grant.rawValue): its tokens are not stored, so there is nothing to log out of")
  }

  private static var loginGrants: String {
    "grant " + listed(OAuth2Keys.Grant.allCases.filter(\.hasLogin).map(\.rawValue), "or")
  }
}
