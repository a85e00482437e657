import Settings

extension ConfigurationFile {
  /// Names of credentials for a shell to complete, in the order of the file. Reads the file alone: no secret, no other file, and
  /// runs no program. So it works while other parts of the file have errors.
  /// - Parameter use: only credentials that this use accepts; nil: all of them.
  /// - Returns: nothing if the file cannot be read or is no YAML.
  public static func credentialNames(for use: CredentialUse?, path: String, system: SystemAccess = .system) -> [String] {
    guard let peek = try? Peek(path: path, environment: [:], system: system), let root = try? peek.root(peek.reading(.none))
    else { return [] }
    let lookup = CredentialLookup(root, file: path)
    return lookup.entries.map(\.name.value).filter { name in
      guard let use else { return true }
      return lookup.grant(of: name).map(use.accepts) == true
    }
  }
}
