import Credentials
import Files
import Settings

extension Reading {
  /// `{file: ...}`, `{env: ...}`, `{command: [...]}`, or the secret itself. Errors name the source, never the content.
  func secret(_ written: Written) -> Located<Secret>? {
    let (node, path) = (written.node, written.path)
    guard let source = secretSource(written) else { return nil }
    secretSources[path.shown] = source
    do throws(SecretError) {
      // Files come from this reading's cache, so that the watched digest belongs to the content in use.
      let cached = SystemAccess(
        readFile: { (_: String, _: Int) throws(FileError) in throw FileError("not read") }, run: system.run)
      let secret: Secret
      if case .file(let file) = source {
        secret = try fileSecret(file)
      } else {
        secret = try source.read(through: cached)
      }
      return Located(value: secret, place: node.place)
    } catch {
      self.error(node.place, "\(path.shown): \(error)")
      return nil
    }
  }

  /// Where a secret comes from that is read when it is needed.
  func lateSecret(_ written: Written) -> SecretSource? {
    guard let source = secretSource(written) else { return nil }
    secretSources[written.path.shown] = source
    return source
  }

  private func secretSource(_ written: Written) -> SecretSource? {
    let (node, path) = (written.node, written.path)
    switch node.content {
    case .scalar(let text, _):
      guard !text.isEmpty else {
        error(node.place, "\(path.shown) is empty")
        return nil
      }
      if readableByOthers {
        warning(
          node.place,
          "\(path.shown) is a plain secret in a file that group or others can read; use {file: ...} or chmod 600")
      }
      return .plain(Secret(Array(text.utf8)))
    case .sequence:
      error(node.place, "\(path.shown) must be a secret: {file: ...}, {env: ...}, {command: [...]} or a text, not a list")
      return nil
    case .mapping:
      let section: Section<SecretKeys>? = section(written)
      return section.flatMap(secretSource)
    }
  }

  private func fileSecret(_ path: String) throws(SecretError) -> Secret {
    switch file(path) {
    case .failure(let error): throw SecretError("\(path): \(error)")
    case .success(let content):
      guard content.bytes.count <= SecretSource.sizeLimit else { throw SecretError("\(path): too large for a secret") }
      do throws(SecretError) { return try SecretSource.trimmed(content.bytes) } catch { throw SecretError("\(path) \(error)") }
    }
  }

  private func secretSource(_ section: Section<SecretKeys>) -> SecretSource? {
    let file = section.read(\.file)
    let variable = section.read(\.env)
    let arguments = section.read(\.command)
    let timeout = section.read(\.timeout)
    let refresh = section.read(\.refresh)
    guard section.countOfAlternatives == 1 else {
      if section.countOfAlternatives == 0 && section.isMisspelt(SecretKeys.alternatives) { return nil }
      let forms = listed(SecretKeys.alternativeNames.map { "'\($0)'" }, "and")
      error(section.place, "\(section.path.shown) must be a secret with one of \(forms)")
      return nil
    }
    if !section.has(\.command) { section.refuse([\.timeout, \.refresh], because: "applies to 'command' only") }
    if let file { return .file(file.value) }
    if let variable {
      guard let value = environment[variable.value], !value.isEmpty else {
        error(
          variable.place,
          "\(section.path.shown): environment variable \(shown(variable.value)) is "
            + "\(environment[variable.value] == nil ? "not set" : "empty")"
        )
        return nil
      }
      return .environment(name: variable.value, value: Secret(Array(value.utf8)))
    }
    guard let arguments else { return nil }
    return command(arguments.map(\.text), section, timeout: timeout, refresh: refresh)
  }

  private func command(_ arguments: [Located<String>], _ section: Section<SecretKeys>, timeout: Int, refresh: Int?)
    -> SecretSource?
  {
    programWords(arguments, section, \.command).map { words in
      .command(
        HelperProgram(
          arguments: words, environment: environment.map { "\($0)=\($1)" }.sorted(), timeout: timeout, refresh: refresh))
    }
  }

  /// The path of a program and its arguments; nil after an error.
  func programWords<Keys: KeySet>(
    _ arguments: [Located<String>], _ section: Section<Keys>, _ key: (Keys) -> DescribedKey
  ) -> [String]? {
    let path = section.path(key).shown
    guard let program = arguments.first else {
      error(section.valuePlace(key), "\(path) is empty")
      return nil
    }
    guard program.value.utf8.contains(UInt8(ascii: "/")) else {
      error(program.place, "\(path): the program must be a path; the proxy does not search PATH")
      return nil
    }
    guard arguments.allSatisfy({ !$0.value.utf8.contains(0) }) else {
      error(program.place, "\(path) contains a NUL")
      return nil
    }
    return [resolve(program.value)] + arguments.dropFirst().map(\.value)
  }
}
