import Crypto
import Files
import Settings

/// `proxy.conf`: YAML to `Settings`, with every error and warning of the file in one pass, each with its place.
public enum ConfigurationFile {
  /// Reads the file and every file that it names, and runs its helper programs. Blocks on both.
  /// - Parameters:
  ///   - path: as given on the command line; errors begin with it.
  ///   - environment: for `{env: NAME}` and for helper programs.
  ///   - makesAuthorities: the CAs of `intercept` are about to be made, so none of them is read.
  ///   - isDebuggable: others may read the memory of the process, so `intercept` is an error, and no key of it is read.
  public static func load(
    path: String, environment: [String: String], makesAuthorities: Bool = false, isDebuggable: Bool = false,
    system: SystemAccess = .system
  ) -> LoadedConfiguration {
    let content: FileContent
    do throws(FileError) { content = try system.readFile(path, NodeComposer.sizeLimit) } catch {
      return LoadedConfiguration(
        diagnostics: [Diagnostic(severity: .error, file: path, place: nil, message: "cannot be read: \(error)")],
        configurationFile: WatchedFile(path: path, identity: nil, digest: []))
    }
    var loaded = read(
      text: content.bytes, name: path, folder: folder(of: path), environment: environment,
      readableByOthers: content.permissions & 0o044 != 0, makesAuthorities: makesAuthorities, isDebuggable: isDebuggable,
      system: system)
    loaded.configurationFile = WatchedFile(
      path: path, identity: content.identity, digest: SHA256.digest(content.bytes))
    return loaded
  }

  /// Reads a configuration from memory. Any bytes are valid input. For untrusted bytes pass `system: .none`, as a configuration
  /// names files to read and programs to run.
  /// - Parameters:
  ///   - name: what errors begin with.
  ///   - folder: base of relative paths.
  ///   - readableByOthers: group or others may read the file, so each plain secret gets a warning.
  public static func read(
    text: [UInt8], name: String, folder: String, environment: [String: String], readableByOthers: Bool = false,
    makesAuthorities: Bool = false, isDebuggable: Bool = false, system: SystemAccess = .system
  ) -> LoadedConfiguration {
    let reading = Reading(
      report: Report(file: name), folder: folder, environment: environment, system: system,
      readableByOthers: readableByOthers, now: ProcessState.now(), makesAuthorities: makesAuthorities,
      isDebuggable: isDebuggable)
    return read(text, reading).loaded
  }

  /// Also returns the keys that the reader asked for, for the tests of the language's description.
  static func read(_ text: [UInt8], _ reading: Reading) -> (loaded: LoadedConfiguration, askedKeys: Set<String>) {
    read(NodeComposer.compose(text, report: reading.report), reading)
  }

  static func read(_ root: Node?, _ reading: Reading) -> (loaded: LoadedConfiguration, askedKeys: Set<String>) {
    var settings: Settings?
    if let root {
      settings = reading.root(root).map(reading.settings)
    } else if !reading.report.hasErrors {
      reading.error(Place(line: 1, column: 1), "the file is empty; a configuration needs at least 'listen' and 'upstreams'")
    }
    let loaded = LoadedConfiguration(
      settings: reading.report.hasErrors ? nil : settings, diagnostics: reading.report.sorted, watched: reading.watched,
      systemRootsFiles: reading.systemRootsFiles, secretSources: reading.secretSources, places: reading.places)
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
