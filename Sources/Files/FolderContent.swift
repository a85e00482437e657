internal import CSystem
internal import Glibc

/// What is in a folder, and whose it is.
public struct FolderContent: Sendable, Hashable {
  /// Of everything in it, also of symbolic links that lead nowhere.
  public var names: Set<String>
  /// Those of `names` that belong to another user than this process's, root, and the folder's owner.
  public var foreign: Set<String>
  /// Another user than this process's and root may put files into it.
  public var isWritableByOthers: Bool

  public init(names: Set<String> = [], foreign: Set<String> = [], isWritableByOthers: Bool = false) {
    self.names = names
    self.foreign = foreign
    self.isWritableByOthers = isWritableByOthers
  }

  /// Blocks. Follows a symbolic link to the folder, none in it.
  public static func read(_ path: String) throws(FileError) -> FolderContent { try Folder(path).content() }
}

extension Folder {
  public func content() throws(FileError) -> FolderContent {
    // A description of its own, as reading moves its position.
    let own = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard own >= 0 else { throw FileError(errno: csys_errno()) }
    guard let entries = fdopendir(own) else {
      let error = FileError(errno: csys_errno())
      close(own)
      throw error
    }
    defer { closedir(entries) }
    var status = stat()
    guard fstat(own, &status) == 0 else { throw FileError(errno: csys_errno()) }
    let trusted = [geteuid(), 0, status.st_uid]
    var content = FolderContent(isWritableByOthers: isWritableByOthers)
    while let entry = readdir(entries) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      guard name != ".", name != ".." else { continue }
      content.names.insert(name)
      if fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0, !trusted.contains(status.st_uid) {
        content.foreign.insert(name)
      }
    }
    return content
  }

  /// Waits until no other process has the folder locked, and locks it as long as this value lives. Everybody who may read the folder
  /// can lock it, so after this time the caller goes on without.
  /// - Returns: false: it is not locked, also where the file system has no locks.
  @discardableResult
  public func lock(within milliseconds: Int) -> Bool {
    var left = milliseconds
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      let code = csys_errno()
      guard code == EWOULDBLOCK || code == EINTR, left > 0 else { return false }
      usleep(10_000)
      left -= 10
    }
    return true
  }
}
