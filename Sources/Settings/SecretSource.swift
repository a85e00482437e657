import Credentials
import Files

/// Why a secret could not be read, as a clause. Never contains any of it.
public struct SecretError: Error, Sendable, Hashable, CustomStringConvertible {
  public var description: String
  public init(_ description: String) { self.description = description }
}

/// The source of a secret. Its description shows the source, never the value. It can be read again.
public enum SecretSource: Sendable, Hashable, CustomStringConvertible {
  /// Absolute path.
  case file(String)
  /// With its value at load, as the environment of a process cannot change from outside.
  case environment(name: String, value: Secret)
  case command(HelperProgram)
  /// Written in the configuration itself.
  case plain(Secret)

  /// What `check` prints.
  public var description: String {
    switch self {
    case .file(let path): "file \(path)"
    case .environment(let name, _): "environment variable \(name)"
    case .command(let program): program.description
    case .plain: "written in the configuration"
    }
  }

  /// Bytes. No token or key is longer; a larger file is a mistake.
  public static let sizeLimit = 1 << 20

  /// Reads the secret again. Blocks on files and programs. Removes one trailing newline; an empty secret is an error.
  public func read(through system: SystemAccess = .system) throws(SecretError) -> Secret {
    let bytes: [UInt8]
    switch self {
    case .environment(_, let value), .plain(let value): return value
    case .file(let path):
      do throws(FileError) { bytes = try system.readFile(path, Self.sizeLimit).bytes } catch {
        throw SecretError("\(path): \(error)")
      }
    case .command(let program):
      do throws(SecretError) { bytes = try system.run(program) } catch {
        throw SecretError("\(program.arguments.first ?? "command"): \(error)")
      }
    }
    return try Self.trimmed(bytes)
  }

  /// Without one trailing newline.
  public static func trimmed(_ bytes: [UInt8]) throws(SecretError) -> Secret {
    var content = bytes[...]
    if content.last == UInt8(ascii: "\n") { content.removeLast() }
    if content.last == UInt8(ascii: "\r") && content.count < bytes.count { content.removeLast() }
    guard !content.isEmpty else { throw SecretError("is empty") }
    return Secret(Array(content))
  }
}

/// Access to the files, folders and programs of a configuration. The fuzzer and the tests replace it.
public struct SystemAccess: Sendable {
  /// Path and limit in bytes.
  public var readFile: @Sendable (String, Int) throws(FileError) -> FileContent
  public var readFolder: @Sendable (String) throws(FileError) -> FolderContent
  /// A file of a folder, by its name in it: path of the folder, name, and limit in bytes. Tells whether it is foreign there.
  public var readInFolder: @Sendable (String, String, Int) throws(FileError) -> FileContent
  public var run: @Sendable (HelperProgram) throws(SecretError) -> [UInt8]
  public init(
    readFile: @escaping @Sendable (String, Int) throws(FileError) -> FileContent,
    readFolder: @escaping @Sendable (String) throws(FileError) -> FolderContent = { (_: String) throws(FileError) in
      throw FileError("not read")
    },
    readInFolder: (@Sendable (String, String, Int) throws(FileError) -> FileContent)? = nil,
    run: @escaping @Sendable (HelperProgram) throws(SecretError) -> [UInt8]
  ) {
    self.readFile = readFile
    self.readFolder = readFolder
    if let readInFolder {
      self.readInFolder = readInFolder
    } else {
      self.readInFolder = { (path: String, name: String, limit: Int) throws(FileError) in try readFile("\(path)/\(name)", limit)
      }
    }
    self.run = run
  }

  public static let system = SystemAccess(
    readFile: { (path: String, limit: Int) throws(FileError) in try FileReading.read(path, limit: limit) },
    readFolder: { (path: String) throws(FileError) in try FolderContent.read(path) },
    readInFolder: { (path: String, name: String, limit: Int) throws(FileError) in try Folder(path).read(name, limit: limit) },
    run: { (program: HelperProgram) throws(SecretError) in try program.run() })

  /// Refuses to read and to run anything: for untrusted input.
  public static let none = SystemAccess(
    readFile: { (_: String, _: Int) throws(FileError) in throw FileError("not read") },
    run: { (_: HelperProgram) throws(SecretError) in throw SecretError("not run") })
}
