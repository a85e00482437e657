import Crypto
import Files

/// The result of reading a configuration file: settings, errors, warnings, and the files and programs that they came from.
public struct LoadedConfiguration: Sendable {
  /// nil if there are errors.
  public var settings: Settings?
  /// Sorted by place.
  public var diagnostics: [Diagnostic]
  /// The configuration file itself; nil if the text did not come from a file.
  public var configurationFile: WatchedFile?
  /// Every file that the configuration names, secrets and certificates alike, each once, in the order of the configuration.
  /// Includes files that could not be read, as their appearance is a change, too.
  public var watched: [WatchedFile]
  /// The files that may contain the system's roots; empty if the configuration does not use them.
  public var systemRootsFiles: [WatchedFile]
  /// By key path: `credentials.billing.basic.password`, `clients[0].password`.
  public var secretSources: [String: SecretSource]
  /// Of the keys that decide a way, by key path: `via`, `routes[0]`, `upstreams[1].via`.
  public var places: [String: Place]

  public init(
    settings: Settings? = nil, diagnostics: [Diagnostic] = [], configurationFile: WatchedFile? = nil,
    watched: [WatchedFile] = [], systemRootsFiles: [WatchedFile] = [],
    secretSources: [String: SecretSource] = [:], places: [String: Place] = [:]
  ) {
    self.settings = settings
    self.diagnostics = diagnostics
    self.configurationFile = configurationFile
    self.watched = watched
    self.systemRootsFiles = systemRootsFiles
    self.secretSources = secretSources
    self.places = places
  }

  public var errors: [Diagnostic] { diagnostics.filter { $0.severity == .error } }
  public var warnings: [Diagnostic] { diagnostics.filter { $0.severity == .warning } }

  /// The source of a static credential's secret. The proxy reads it again after a 401.
  public func source(ofStaticCredential name: String) -> SecretSource? {
    for key in ["basic.password", "bearer.token", "header.value"] {
      if let source = secretSources["credentials.\(name).\(key)"] { return source }
    }
    return nil
  }

  /// The source of one secret of an `oauth2` credential: `client_assertion`, which the proxy reads again for each use,
  /// `client_secret`, `refresh_token`...
  public func source(ofOAuth2Credential name: String, _ key: String) -> SecretSource? {
    secretSources["credentials.\(name).oauth2.\(key)"]
  }

  /// Programs with a `refresh`, by the key path of their secret.
  public var refreshedPrograms: [(keyPath: String, program: HelperProgram)] {
    secretSources.sorted { $0.key < $1.key }.compactMap { keyPath, source in
      guard case .command(let program) = source, program.refresh != nil else { return nil }
      return (keyPath, program)
    }
  }
}

/// A file as it was when the configuration was read.
public struct WatchedFile: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  public var path: String
  /// nil: it could not be read.
  public var identity: FileIdentity?
  /// SHA-256 of its content; empty if it could not be read.
  public var digest: [UInt8]
  public init(path: String, identity: FileIdentity?, digest: [UInt8]) {
    self.path = path
    self.identity = identity
    self.digest = digest
  }
  public var description: String { path }
  /// Without the digest, as a short secret could be guessed from it.
  public var customMirror: Mirror { Mirror(self, children: ["path": path]) }

  public enum Look: Sendable, Hashable {
    /// The same content. The value is for the next look, as a touched or replaced file has a new identity.
    case same(WatchedFile)
    case changed
    /// It was there and cannot be read now.
    case unreadable(String)
  }

  /// Checks whether the content has changed. Follows symbolic links. Costs one stat if the identity is the same; else it reads
  /// the file (Kubernetes swaps a folder's link, even if the files are equal). Blocks.
  public func look(through system: SystemAccess = .system) -> Look {
    if let identity, FileReading.identity(path) == identity { return .same(self) }
    do throws(FileError) {
      let content = try system.readFile(path, Self.sizeLimit)
      let digest = SHA256.digest(content.bytes)
      if digest == self.digest { return .same(WatchedFile(path: path, identity: content.identity, digest: digest)) }
      return .changed
    } catch {
      return identity == nil ? .same(self) : .unreadable(error.description)
    }
  }

  /// Bytes. The largest files of a configuration are certificate bundles.
  public static let sizeLimit = 16 << 20
}
