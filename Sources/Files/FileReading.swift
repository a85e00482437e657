internal import CSystem
internal import Glibc

/// Identifies a state of a file without reading it.
public struct FileIdentity: Sendable, Hashable {
  public var device: UInt64
  public var inode: UInt64
  public var size: Int64
  /// Nanoseconds since 1970.
  public var modified: Int64
  /// The same, of the last change of content, owner, mode or name. Unlike `modified`, no program can set it.
  public var changed: Int64
  public init(device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64 = 0) {
    self.device = device
    self.inode = inode
    self.size = size
    self.modified = modified
    self.changed = changed
  }
}

public struct FileContent: Sendable, Hashable {
  public var bytes: [UInt8]
  public var identity: FileIdentity
  /// The permission bits: `0o640`.
  public var permissions: UInt32
  /// Others may write the folder that it was read in, and it belongs to another user than this process's, root, and the folder's
  /// owner. False where it was read by its path alone.
  public var isForeign: Bool
  /// It belongs to root or to this process's user, and nobody else may write it.
  public var isOurs: Bool
  public init(
    bytes: [UInt8], identity: FileIdentity, permissions: UInt32, isForeign: Bool = false, isOurs: Bool = false
  ) {
    self.bytes = bytes
    self.identity = identity
    self.permissions = permissions
    self.isForeign = isForeign
    self.isOurs = isOurs
  }
}

/// Why a file could not be read, as a clause after the file's name: `No such file or directory`.
public struct FileError: Error, Sendable, Hashable, CustomStringConvertible {
  public var description: String
  /// errno of the failed system call; 0 if none failed.
  public var code: Int32

  public init(_ description: String) {
    self.description = description
    code = 0
  }

  /// Something has the name already.
  public static let exists = FileError(errno: EEXIST)

  /// There is no such file.
  public var isAbsence: Bool { code == ENOENT || code == ENOTDIR }

  public init(errno code: Int32) {
    description = String(cString: strerror(code))
    self.code = code
  }
}

public enum FileReading {
  /// Reads a whole regular file; follows symbolic links. Refuses pipes and devices: opening one could block, and a second read
  /// could not return the same.
  /// - Parameter limit: bytes; a larger file is an error.
  public static func read(_ path: String, limit: Int) throws(FileError) -> FileContent {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw FileError(errno: csys_errno()) }
    defer { close(descriptor) }
    return try content(descriptor, limit: limit).content
  }

  static func content(_ descriptor: Int32, limit: Int) throws(FileError) -> (content: FileContent, owner: UInt32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileError(errno: csys_errno()) }
    guard status.st_mode & Glibc.S_IFMT == Glibc.S_IFREG else { throw FileError("not a regular file") }
    guard status.st_size <= limit else { throw FileError("larger than \(limit) bytes") }
    let content = FileContent(
      bytes: try readAll(descriptor, expected: Int(status.st_size), limit: limit), identity: FileIdentity(status),
      permissions: status.st_mode & 0o7777,
      isOurs: [0, geteuid()].contains(status.st_uid) && status.st_mode & 0o022 == 0)
    return (content, status.st_uid)
  }

  /// The file's current state; follows symbolic links. nil if it does not exist or cannot be examined.
  public static func identity(_ path: String) -> FileIdentity? {
    var status = stat()
    return stat(path, &status) == 0 ? FileIdentity(status) : nil
  }

  static func readAll(_ descriptor: Int32, expected: Int, limit: Int) throws(FileError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: expected + 1)
    var count = 0
    while true {
      let got = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress! + count, $0.count - count) }
      if got < 0 {
        let code = csys_errno()
        if code == EINTR { continue }
        throw FileError(errno: code)
      }
      if got == 0 { break }
      count += got
      guard count <= limit else { throw FileError("larger than \(limit) bytes") }
      // One byte more than fstat's size, so that the usual case needs no larger buffer.
      if count == bytes.count { bytes.append(contentsOf: repeatElement(0, count: bytes.count + 4096)) }
    }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}

extension FileIdentity {
  fileprivate init(_ status: stat) {
    self.init(
      device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size),
      modified: Self.nanoseconds(status.st_mtim), changed: Self.nanoseconds(status.st_ctim))
  }

  private static func nanoseconds(_ time: timespec) -> Int64 {
    Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}
