import Settings

extension ConfigurationFile {
  /// Of the file that keeps tokens; nil if there is none, or if the configuration cannot be read, which says more to whoever
  /// reads it next. Reads no secret and starts no program.
  /// - Parameter path: as given on the command line.
  public static func tokenStorePath(
    path: String, environment: [String: String], system: SystemAccess = .system
  ) -> String? {
    guard let peek = try? Peek(path: path, environment: environment, system: system),
      let root = try? peek.root(peek.reading(.none)), case .section(let section)? = root.read(\.tokenStore)
    else { return nil }
    return section.read(\.file)?.value
  }
}
