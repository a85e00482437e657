internal import CSystem
internal import Glibc

/// What is in a folder.
public struct FolderContent: Sendable, Hashable {
  /// Of everything in it, also of symbolic links that lead nowhere.
  public var names: Set<String>
  /// Another user than this process's and root may put files into it.
  public var isWritableByOthers: Bool

  public init(names: Set<String> = [], isWritableByOthers: Bool = false) {
    self.names = names
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
    var content = FolderContent(isWritableByOthers: isWritableByOthers)
    while let entry = readdir(entries) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
      }
      if name != ".", name != ".." { content.names.insert(name) }
    }
    return content
  }

  /// Reads a whole regular file of this folder. What it says of the file's owner and permissions holds for these bytes, whatever
  /// others do to the name meanwhile. Follows a symbolic link only where nobody else may put one into the folder.
  /// - Parameter limit: bytes; a larger file is an error.
  public func read(_ name: String, limit: Int) throws(FileError) -> FileContent {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileError(errno: csys_errno()) }
    let isOpen = isWritableByOthers
    let file = openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (isOpen ? O_NOFOLLOW : 0))
    guard file >= 0 else {
      let code = csys_errno()
      throw isOpen && code == ELOOP ? FileError("a symbolic link in a folder that others may write") : FileError(errno: code)
    }
    defer { close(file) }
    var (content, owner) = try FileReading.content(file, limit: limit)
    content.isForeign = isOpen && ![geteuid(), 0, status.st_uid].contains(owner)
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
