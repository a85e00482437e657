import Crypto
import Files

/// What reading a configuration file brought: the settings, everything that is wrong or odd, and where all of it came from.
public struct LoadedConfiguration: Sendable {
  /// nil where there are errors.
  public var settings: Settings?
  /// Sorted by place.
  public var diagnostics: [Diagnostic]
  /// The configuration file itself; nil where it was not read from a file.
  public var configurationFile: WatchedFile?
  /// Every file that the configuration names, secrets and certificates alike, each once, in the order of the configuration.
  /// Such as could not be read are among them: their coming is a change too.
  public var watched: [WatchedFile]
  /// The files that the system's roots are in, or would be; empty where nothing rests on them.
  public var systemRootsFiles: [WatchedFile]
  /// By key path: `credentials.billing.basic.password`, `clients[0].password`.
  public var secretSources: [String: SecretSource]

  public init(
    settings: Settings? = nil, diagnostics: [Diagnostic] = [], configurationFile: WatchedFile? = nil,
    watched: [WatchedFile] = [], systemRootsFiles: [WatchedFile] = [],
    secretSources: [String: SecretSource] = [:]
  ) {
    self.settings = settings
    self.diagnostics = diagnostics
    self.configurationFile = configurationFile
    self.watched = watched
    self.systemRootsFiles = systemRootsFiles
    self.secretSources = secretSources
  }

  public var errors: [Diagnostic] { diagnostics.filter { $0.severity == .error } }
  public var warnings: [Diagnostic] { diagnostics.filter { $0.severity == .warning } }

  /// Of a credential that does not refresh itself: to be read anew after a 401.
  public func source(ofStaticCredential name: String) -> SecretSource? {
    for key in ["basic.password", "bearer.token", "header.value"] {
      if let source = secretSources["credentials.\(name).\(key)"] { return source }
    }
    return nil
  }

  /// Of an `oauth2` credential's part: `client_assertion`, to be read anew for each use, `client_secret`, `refresh_token`...
  public func source(ofOAuth2Credential name: String, _ key: String) -> SecretSource? {
    secretSources["credentials.\(name).oauth2.\(key)"]
  }

  /// Programs that want to be run again after their `refresh`, by the key path of their secret.
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
  /// SHA-256 of its content; empty where it could not be read.
  public var digest: [UInt8]
  public init(path: String, identity: FileIdentity?, digest: [UInt8]) {
    self.path = path
    self.identity = identity
    self.digest = digest
  }
  public var description: String { path }
  /// Without the digest, which would let a short secret be guessed.
  public var customMirror: Mirror { Mirror(self, children: ["path": path]) }

  public enum Look: Sendable, Hashable {
    /// The same content; the value to look with next time (a touched or replaced file has a new identity).
    case same(WatchedFile)
    case changed
    /// It was there and cannot be read now.
    case unreadable(String)
  }

  /// Looks whether the content changed, symbolic links followed: one stat where nothing did, a read where the identity differs
  /// (Kubernetes swaps a folder's link and brings equal files, too). Blocks.
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

  /// Bytes; certificate bundles are the largest of what a configuration names.
  public static let sizeLimit = 16 << 20
}
