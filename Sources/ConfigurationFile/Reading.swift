import Credentials
import Crypto
import Files
import Settings

/// A value and its place in the file.
struct Located<Value> {
  var value: Value
  var place: Place
}

/// One reading of a configuration: the files, programs and environment that it may use, and what it collects. Its extensions
/// read one part of the language each.
final class Reading {
  let report: Report
  /// Absolute; relative paths start here.
  let folder: String
  let environment: [String: String]
  let system: SystemAccess
  /// Group or others may read the configuration file, so plain secrets in it get a warning.
  let readableByOthers: Bool
  /// Seconds since 1970.
  let now: Int64
  /// The CAs of `intercept` are about to be made: they need not be there.
  let makesAuthorities: Bool
  /// Others may read the memory of the process.
  let isDebuggable: Bool

  private(set) var watched: [WatchedFile] = []
  var systemRootsFiles: [WatchedFile] = []
  private var files: [String: Result<FileContent, FileError>] = [:]
  var secretSources: [String: SecretSource] = [:]
  /// Of the credential that is read now.
  var sourceReferences: [SourceReference] = []
  /// Of keys that decide a way, by path, for `explain`.
  var places: [String: Place] = [:]
  /// Schema path of every key that the reader asked for; tests compare it with the language's description.
  var askedKeys: Set<String> = []

  init(
    report: Report, folder: String, environment: [String: String], system: SystemAccess,
    readableByOthers: Bool, now: Int64, makesAuthorities: Bool = false, isDebuggable: Bool = false
  ) {
    self.report = report
    self.folder = folder
    self.environment = environment
    self.system = system
    self.readableByOthers = readableByOthers
    self.now = now
    self.makesAuthorities = makesAuthorities
    self.isDebuggable = isDebuggable
  }

  func resolve(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    return folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
  }

  /// Reads a file once, even if the configuration names it several times, so that all uses see the same content. Adds it to the
  /// watched files.
  func file(_ path: String) -> Result<FileContent, FileError> {
    if let known = files[path] { return known }
    let result: Result<FileContent, FileError>
    do throws(FileError) { result = .success(try system.readFile(path, WatchedFile.sizeLimit)) } catch {
      result = .failure(error)
    }
    files[path] = result
    watched.append(WatchedFile(path, result))
    return result
  }

  /// The same for a file of a folder, and whether it is foreign there. From now on this is what its path has, too.
  func file(_ name: String, in folder: String) -> Result<FileContent, FileError> {
    let path = "\(folder)/\(name)"
    let result: Result<FileContent, FileError>
    do throws(FileError) { result = .success(try system.readInFolder(folder, name, WatchedFile.sizeLimit)) } catch {
      result = .failure(error)
    }
    watched.removeAll { $0.path == path }
    watched.append(WatchedFile(path, result))
    files[path] = result
    return result
  }

  func error(_ place: Place?, _ message: String) { report.error(place, message) }
  func warning(_ place: Place?, _ message: String) { report.warning(place, message) }

  // MARK: values without a key, such as items of lists

  func text(_ node: Node, _ path: KeyPath) -> Located<String>? {
    guard case .scalar(let text, _) = node.content, !text.isEmpty else {
      error(node.place, "\(path.shown) must be a text, not \(node.isText ? "an empty one" : node.kind)")
      return nil
    }
    return Located(value: text, place: node.place)
  }

  func list(_ written: Written) -> [Written]? {
    guard case .sequence(let items) = written.node.content else {
      error(written.node.place, "\(written.path.shown) must be a list, not \(written.node.kind)")
      return nil
    }
    return items.enumerated().map { Written(node: $1, path: written.path.index($0), place: $1.place) }
  }

  func section<Keys: KeySet>(_ written: Written, mayBeEmpty: Bool = false, isPeek: Bool = false) -> Section<Keys>? {
    entries(written, mayBeEmpty: mayBeEmpty).map {
      Section(self, written.path, place: written.place, entries: $0, isPeek: isPeek)
    }
  }

  /// The top of the file.
  func root(_ node: Node, isPeek: Bool = false) -> Section<RootKeys>? {
    let written = Written(node: node, path: KeyPath(), place: Place(line: 1, column: 1))
    return entries(written).map { Section(self, written.path, place: written.place, entries: $0, isPeek: isPeek) }
  }

  private func entries(_ written: Written, mayBeEmpty: Bool = false) -> [Node.Entry]? {
    if mayBeEmpty && written.node.isEmpty { return [] }
    if case .mapping(let entries) = written.node.content { return entries }
    let subject = written.path.shown.isEmpty ? "the configuration" : written.path.shown
    error(written.node.place, "\(subject) must be a mapping, not \(written.node.kind)")
    return nil
  }

  /// The entries of a mapping whose keys are names that the operator chose, in the order of the file.
  func named(_ written: Written) -> [(name: Located<String>, value: Written)]? {
    entries(written)?.sorted { $0.keyPlace < $1.keyPlace }.compactMap { entry -> (name: Located<String>, value: Written)? in
      let path = written.path.named(entry.key)
      guard !entry.key.isEmpty else {
        error(entry.keyPlace, "a name in \(written.path.shown) is empty")
        return nil
      }
      guard !entry.value.isEmpty else {
        error(entry.keyPlace, "\(path.shown) has no value")
        return nil
      }
      let value = Written(node: entry.value, path: path, place: entry.keyPlace)
      return (Located(value: entry.key, place: entry.keyPlace), value)
    }
  }

  /// Checks a name that appears in logs, metrics and other parts of the file.
  func checkName(_ name: Located<String>, _ path: KeyPath) -> Bool {
    guard name.value.utf8.count <= 200, name.value.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7f }) else {
      error(name.place, "\(path.shown) must be of at most 200 bytes, without control characters")
      return false
    }
    return true
  }
}

extension WatchedFile {
  init(_ path: String, _ result: Result<FileContent, FileError>) {
    switch result {
    case .success(let content): self.init(path: path, identity: content.identity, digest: SHA256.digest(content.bytes))
    case .failure: self.init(path: path, identity: nil, digest: [])
    }
  }
}

extension Node {
  fileprivate var isText: Bool {
    if case .scalar = content { return !isEmpty }
    return false
  }
}
