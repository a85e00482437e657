import Credentials
import Files
import Settings
import TLS

/// A value and where it stands.
struct Located<Value> {
  var value: Value
  var place: Place
}

/// One reading of a configuration: what it may touch, and what it gathers on its way. The rest of it is in extensions, a part
/// of the language each.
final class Reading {
  let report: Report
  /// Absolute; relative paths start here.
  let folder: String
  let environment: [String: String]
  let system: SystemAccess
  /// Group or others may read the configuration file: plain secrets in it deserve a warning.
  let readableByOthers: Bool
  /// Seconds since 1970.
  let now: Int64

  private(set) var watched: [WatchedFile] = []
  var systemRootsFiles: [WatchedFile] = []
  private var files: [String: Result<FileContent, FileError>] = [:]
  var secretSources: [String: SecretSource] = [:]
  /// Every key that was asked for, by schema path: the language as the reader knows it.
  var askedKeys: Set<String> = []

  init(
    report: Report, folder: String, environment: [String: String], system: SystemAccess,
    readableByOthers: Bool, now: Int64
  ) {
    self.report = report
    self.folder = folder
    self.environment = environment
    self.system = system
    self.readableByOthers = readableByOthers
    self.now = now
  }

  func resolve(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    return folder.hasSuffix("/") ? folder + path : "\(folder)/\(path)"
  }

  /// Reads a file once, however often it is named, so that all who name it see the same content; watches it from then on.
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

  func error(_ place: Place?, _ message: String) { report.error(place, message) }
  func warning(_ place: Place?, _ message: String) { report.warning(place, message) }

  // MARK: values by themselves, as they stand in lists

  func text(_ node: Node, _ path: KeyPath) -> Located<String>? {
    guard case .scalar(let text, _) = node.content, !text.isEmpty else {
      error(node.place, "\(path.shown) must be a text, not \(node.isText ? "an empty one" : node.kind)")
      return nil
    }
    return Located(value: text, place: node.place)
  }

  func list(_ node: Node, _ path: KeyPath) -> [(node: Node, path: KeyPath)]? {
    guard case .sequence(let items) = node.content else {
      error(node.place, "\(path.shown) must be a list, not \(node.kind)")
      return nil
    }
    return items.enumerated().map { ($1, path.index($0)) }
  }

  /// - Parameter place: of the key that leads to the mapping; what is missing in it is reported there.
  func section(_ node: Node, _ path: KeyPath, place: Place? = nil, emptyAllowed: Bool = false) -> Section? {
    if emptyAllowed && node.isEmpty { return Section(self, path, place: place ?? node.place, entries: []) }
    guard case .mapping(let entries) = node.content else {
      error(node.place, "\(path.shown.isEmpty ? "the configuration" : path.shown) must be a mapping, not \(node.kind)")
      return nil
    }
    return Section(self, path, place: place ?? node.place, entries: entries)
  }

  /// A name that shows up in logs, metrics and other parts of the file.
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
