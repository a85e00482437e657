internal import CSystem
internal import Glibc

/// An open folder in which files are made and replaced. What others do to the path meanwhile, by renaming or by symbolic links,
/// leads no write elsewhere. All calls block.
public final class Folder: Sendable {
  public let path: String
  let descriptor: Int32

  /// - Parameter path: symbolic links are followed.
  /// - Parameter makes: makes it, and the folders above it, with mode 0755 where they are missing.
  public init(_ path: String, makes: Bool = false) throws(FileError) {
    if makes { try Self.make(path) }
    descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(errno: csys_errno()) }
    self.path = path
  }

  deinit { close(descriptor) }

  private static func make(_ path: String) throws(FileError) {
    guard mkdir(path, 0o755) != 0 else { return }
    let code = csys_errno()
    // An automatic mount or a read-only parent answers otherwise, though the folder is there: opening it tells.
    guard code == ENOENT else { return }
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { throw FileError(errno: code) }
    try make(String(path[..<slash]))
    guard mkdir(path, 0o755) == 0 || csys_errno() == EEXIST else { throw FileError(errno: csys_errno()) }
  }

  /// Whether another user than this process's and root may put files into it.
  public var isWritableByOthers: Bool {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return true }
    return status.st_mode & 0o022 != 0 || (status.st_uid != geteuid() && status.st_uid != 0)
  }

  /// Whether something of this name is there, be it a symbolic link that leads nowhere.
  public func has(_ name: String) -> Bool {
    var status = stat()
    return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0
  }

  /// Makes a file that is not there yet. Its mode holds before a byte is in it. An error leaves nothing behind.
  /// - Throws: with code EEXIST where something has the name.
  public func create(_ name: String, _ bytes: [UInt8], mode: UInt32) throws(FileError) {
    try write(name, bytes, mode)
    do throws(FileError) { try synchronize() } catch {
      remove(name)
      throw error
    }
  }

  /// Removes a file, or does nothing where that is not possible.
  public func remove(_ name: String) { unlinkat(descriptor, name, 0) }

  /// Replaces a file in one step that survives a loss of power; one that has these bytes and this mode already is left alone.
  public func replace(_ name: String, with bytes: [UInt8], mode: UInt32) throws(FileError) {
    try replace([(name, bytes)], mode: mode)
  }

  /// Replaces files, each in one step. All are written before the first is replaced: a full disk leaves the old ones, every one of
  /// them. Removes what a process that was killed meanwhile left beside them. Locks the folder as long as this value lives.
  /// - Throws: where one cannot be replaced, its description names this file and those that had been replaced before it.
  public func replace(_ files: [(name: String, bytes: [UInt8])], mode: UInt32) throws(FileError) {
    // Without the lock another process may be writing now.
    if lock(within: 200) { sweep(files.map(\.name)) }
    var random = SystemRandomNumberGenerator()
    var written: [(temporary: String, name: String)] = []
    defer { for (temporary, _) in written { remove(temporary) } }
    for (name, bytes) in files where !has(name, bytes, mode) {
      let temporary = Self.temporary(name, String(random.next(), radix: 36))
      try write(temporary, bytes, mode)
      written.append((temporary, name))
    }
    guard !written.isEmpty else { return }
    var replaced: [String] = []
    while let (temporary, name) = written.first {
      guard renameat(descriptor, temporary, descriptor, name) == 0 else {
        var error = FileError(errno: csys_errno())
        error.description = "\(name): \(error.description)"
        if !replaced.isEmpty { error.description += ", after \(replaced.joined(separator: ", ")) had been replaced" }
        throw error
      }
      replaced.append(name)
      written.removeFirst()
    }
    try synchronize()
  }

  private static func temporary(_ name: String, _ mark: String) -> String { ".\(name).\(mark).new" }

  /// Removes temporary files of these, as far as they are this user's.
  private func sweep(_ files: [String]) {
    for name in (try? content().names) ?? [] where name.hasPrefix(".") && name.hasSuffix(".new") {
      let parts = name.split(separator: ".", omittingEmptySubsequences: false)
      guard parts.count > 3 else { continue }
      let mark = parts[parts.count - 2]
      guard !mark.isEmpty, mark.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x7a).contains($0) }),
        files.contains(where: { Self.temporary($0, String(mark)) == name })
      else { continue }
      var status = stat()
      guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_uid == geteuid() else { continue }
      remove(name)
    }
  }

  private func has(_ name: String, _ bytes: [UInt8], _ mode: UInt32) -> Bool {
    let file = openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & Glibc.S_IFMT == Glibc.S_IFREG, status.st_mode & 0o7777 == mode,
      status.st_size == bytes.count
    else { return false }
    return (try? FileReading.readAll(file, expected: bytes.count, limit: bytes.count)) == bytes
  }

  private func write(_ name: String, _ bytes: [UInt8], _ mode: UInt32) throws(FileError) {
    let file = openat(descriptor, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw FileError(errno: csys_errno()) }
    do throws(FileError) {
      defer { close(file) }
      // Whatever the umask is.
      guard fchmod(file, mode) == 0 else { throw FileError(errno: csys_errno()) }
      try Self.write(bytes, to: file)
      guard fsync(file) == 0 else { throw FileError(errno: csys_errno()) }
    } catch {
      unlinkat(descriptor, name, 0)
      throw error
    }
  }

  private static func write(_ bytes: [UInt8], to file: Int32) throws(FileError) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress.map { $0 + written }, bytes.count - written) }
      let code = csys_errno()
      if count < 0, code == EINTR { continue }
      guard count > 0 else { throw FileError(errno: count == 0 ? EIO : code) }
      written += count
    }
  }

  private func synchronize() throws(FileError) {
    guard fsync(descriptor) == 0 else { throw FileError(errno: csys_errno()) }
  }
}
