import Files
import Glibc

/// A failed system call and its reason.
struct SystemFailure: Error, Sendable, Hashable, CustomStringConvertible {
  var description: String

  init(_ call: String, _ code: Int32 = errno) {
    var buffer = [CChar](repeating: 0, count: 128)
    let known = strerror_r(code, &buffer, buffer.count) == 0
    let text = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    description = "\(call): " + (known ? String(decoding: text, as: UTF8.self) : "error \(code)")
  }

  init(text: String) { description = text }

  init(reading error: FileError) { description = "read: \(error)" }
}

/// Blocking file functions for the token store.
enum FileSystem {
  /// nil if the file does not exist.
  static func read(_ path: String, limit: Int) throws(SystemFailure) -> [UInt8]? {
    try content(path, limit: limit)?.bytes
  }

  /// Like `read`, with the identity of what was read.
  static func content(_ path: String, limit: Int) throws(SystemFailure) -> FileContent? {
    do throws(FileError) { return try FileReading.read(path, limit: limit) } catch {
      if error.code == ENOENT { return nil }
      throw SystemFailure(reading: error)
    }
  }

  /// Replaces the file atomically, so that a loss of power leaves the old content or the new one: temporary file, fsync,
  /// rename, fsync of the folder. The caller holds a lock, so no other process uses the temporary name. Owner and mode stay.
  static func replace(_ path: String, with bytes: [UInt8]) throws(SystemFailure) {
    let temporary = path + ".tmp"
    let rights = FileRights(replacing: path)
    // A killed process may have left one. Its permissions and content must not matter.
    guard unlink(temporary) == 0 || errno == ENOENT else { throw SystemFailure("unlink") }
    let descriptor = retrying { open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600) }
    guard descriptor >= 0 else { throw SystemFailure("open") }
    do throws(SystemFailure) {
      defer { close(descriptor) }
      try rights.apply(to: descriptor)
      try write(bytes, to: descriptor)
      guard retrying({ fsync(descriptor) }) == 0 else { throw SystemFailure("fsync") }
    } catch {
      unlink(temporary)
      throw error
    }
    guard rename(temporary, path) == 0 else {
      let failure = SystemFailure("rename")
      unlink(temporary)
      throw failure
    }
    try synchronizeFolder(of: path)
  }

  /// Gives the file a second name in its folder. Never replaces an existing file.
  static func setAside(_ path: String) throws(SystemFailure) {
    for number in 1...9999 {
      let other = "\(path).corrupt-\(number)"
      if link(path, other) == 0 {
        guard unlink(path) == 0 else { throw SystemFailure("unlink") }
        return try synchronizeFolder(of: path)
      }
      guard errno == EEXIST else { throw SystemFailure("link") }
    }
    throw SystemFailure("link", EEXIST)
  }

  /// A descriptor with an exclusive lock, or nil if another process has it. Closing it, or the end of the process, releases the
  /// lock.
  static func lock(_ path: String) throws(SystemFailure) -> Int32? {
    let descriptor = try openOrCreate(path)
    if retrying({ flock(descriptor, LOCK_EX | LOCK_NB) }) == 0 { return descriptor }
    let code = errno
    close(descriptor)
    guard code == EWOULDBLOCK else { throw SystemFailure("flock", code) }
    return nil
  }

  private static func openOrCreate(_ path: String) throws(SystemFailure) -> Int32 {
    while true {
      let present = retrying { open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC) }
      if present >= 0 { return present }
      guard errno == ENOENT else { throw SystemFailure("open") }
      let created = retrying { open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600) }
      if created < 0 {
        // Another process was first.
        guard errno == EEXIST else { throw SystemFailure("open") }
        continue
      }
      do throws(SystemFailure) { try FileRights(creating: path).apply(to: created) } catch {
        close(created)
        throw error
      }
      return created
    }
  }

  /// Like `lock`, but tries for at most `milliseconds`.
  static func lock(_ path: String, within milliseconds: Int) throws(SystemFailure) -> Int32 {
    var left = milliseconds
    while true {
      if let descriptor = try lock(path) { return descriptor }
      guard left > 0 else { throw SystemFailure("flock", EWOULDBLOCK) }
      usleep(5_000)
      left -= 5
    }
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemFailure) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { buffer in
        retrying { Glibc.write(descriptor, buffer.baseAddress.map { $0 + written }, bytes.count - written) }
      }
      guard count > 0 else { throw SystemFailure("write", count == 0 ? EIO : errno) }
      written += count
    }
  }

  static func folder(of path: String) -> String {
    guard let end = path.lastIndex(of: "/") else { return "." }
    return String(path[...end])
  }

  private static func synchronizeFolder(of path: String) throws(SystemFailure) {
    let descriptor = retrying { open(folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard descriptor >= 0 else { throw SystemFailure("open") }
    defer { close(descriptor) }
    guard retrying({ fsync(descriptor) }) == 0 else { throw SystemFailure("fsync") }
  }

  private static func retrying<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
      let result = call()
      if result != -1 || errno != EINTR { return result }
    }
  }
}
