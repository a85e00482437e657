import Crypto
import Files
import Settings

/// `proxy.conf`: YAML to `Settings`, with every error and warning of the file in one pass, each with its place.
public enum ConfigurationFile {
  /// Reads the file and all that it names; blocks on files and helper programs.
  /// - Parameters:
  ///   - path: as given on the command line; errors begin with it.
  ///   - environment: where `{env: NAME}` looks, and what helper programs get.
  public static func load(
    path: String, environment: [String: String], system: SystemAccess = .system
  ) -> LoadedConfiguration {
    let content: FileContent
    do throws(FileError) { content = try system.readFile(path, NodeComposer.sizeLimit) } catch {
      return LoadedConfiguration(
        diagnostics: [Diagnostic(severity: .error, file: path, place: nil, message: "cannot be read: \(error)")],
        configurationFile: WatchedFile(path: path, identity: nil, digest: []))
    }
    var loaded = read(
      text: content.bytes, name: path, folder: folder(of: path), environment: environment,
      readableByOthers: content.permissions & 0o044 != 0, system: system)
    loaded.configurationFile = WatchedFile(
      path: path, identity: content.identity, digest: SHA256.digest(content.bytes))
    return loaded
  }

  /// Reads a configuration that is in memory. Any bytes are fine as input; hostile ones want `system: .none`, as a
  /// configuration names files to read and programs to run.
  /// - Parameters:
  ///   - name: what errors begin with.
  ///   - folder: where relative paths start.
  ///   - readableByOthers: group or others may read the file: a warning at each plain secret.
  public static func read(
    text: [UInt8], name: String, folder: String, environment: [String: String], readableByOthers: Bool = false,
    system: SystemAccess = .system
  ) -> LoadedConfiguration {
    let reading = Reading(
      report: Report(file: name), folder: folder, environment: environment, system: system,
      readableByOthers: readableByOthers, now: ProcessState.now())
    return read(text, reading).loaded
  }

  /// With the keys that were asked for, which is what the reader knows of the language.
  static func read(_ text: [UInt8], _ reading: Reading) -> (loaded: LoadedConfiguration, askedKeys: Set<String>) {
    read(NodeComposer.compose(text, report: reading.report), reading)
  }

  static func read(_ root: Node?, _ reading: Reading) -> (loaded: LoadedConfiguration, askedKeys: Set<String>) {
    var settings: Settings?
    if let root {
      settings = reading.root(root).map(reading.settings)
    } else if !reading.report.hasErrors {
      reading.error(Place(line: 1, column: 1), "the file is empty; the least is 'listen' and 'upstreams'")
    }
    let loaded = LoadedConfiguration(
      settings: reading.report.hasErrors ? nil : settings, diagnostics: reading.report.sorted, watched: reading.watched,
      systemRootsFiles: reading.systemRootsFiles, secretSources: reading.secretSources)
    return (loaded, reading.askedKeys)
  }

  static func folder(of path: String) -> String {
    let folder: String
    if let slash = path.lastIndex(of: "/") {
      folder = slash == path.startIndex ? "/" : String(path[..<slash])
    } else {
      folder = "."
    }
    return ProcessState.absolute(folder)
  }
}
