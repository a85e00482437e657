import Glibc

extension FileTokenStore {
  /// If the process is root and the folder of `path` is another user's: becomes that user for good, in all threads. After that
  /// no link that this user made leads root anywhere, and all new files are this user's. Call it before anything is opened in
  /// the folder, after secrets that only root may read.
  ///
  /// - Returns: whether the process is another user now.
  public static func becomeFolderOwner(of path: String) throws(TokenStoreFailure) -> Bool {
    guard geteuid() == 0 else { return false }
    var status = stat()
    let folder = FileSystem.folder(of: path)
    guard stat(folder, &status) == 0 else { throw TokenStoreFailure("\(folder): \(SystemFailure("stat"))") }
    guard status.st_uid != 0 else { return false }
    var group = status.st_gid
    // The order matters: only root may change groups.
    guard setgroups(1, &group) == 0, setgid(group) == 0, setuid(status.st_uid) == 0 else {
      throw TokenStoreFailure("\(folder): \(SystemFailure("cannot become its owner"))")
    }
    return true
  }
}
