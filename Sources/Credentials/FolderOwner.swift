import Glibc

extension FileTokenStore {
  /// If the process is root and the folder of `path` is another user's: becomes that user for good, in all threads. After that
  /// no link that this user made leads root anywhere, and all new files are this user's. Call it before any secret is read,
  /// any program is started and anything is opened in the folder.
  ///
  /// - Returns: whether the process is another user now.
  public static func becomeFolderOwner(of path: String) throws(TokenStoreFailure) -> Bool {
    guard geteuid() == 0 else { return false }
    let folder = FileSystem.folder(of: path)
    let owner: stat
    do throws(FolderPath.Problem) { owner = try FolderPath.status(of: folder) } catch {
      throw TokenStoreFailure("\(folder): \(error)")
    }
    guard owner.st_uid != 0 else { return false }
    // The order matters: only root may change groups.
    guard setGroups(of: owner), setgid(owner.st_gid) == 0, setuid(owner.st_uid) == 0 else {
      throw TokenStoreFailure("\(folder): \(SystemFailure("cannot become its owner"))")
    }
    // Before anybody is asked to log in. systemd's DynamicUser puts the folder where root alone may go.
    guard access(folder, R_OK | X_OK) == 0 else {
      throw TokenStoreFailure("\(folder): its owner cannot reach it by this path; run the command as the service runs")
    }
    return true
  }

  /// Those of the user, as the service that runs as this user has them; without an entry for the user, the folder's alone.
  private static func setGroups(of owner: stat) -> Bool {
    var (entry, found) = (passwd(), UnsafeMutablePointer<passwd>?.none)
    var text = [CChar](repeating: 0, count: 4_096)
    if getpwuid_r(owner.st_uid, &entry, &text, text.count, &found) == 0, found != nil, let name = entry.pw_name {
      return initgroups(name, owner.st_gid) == 0
    }
    var group = owner.st_gid
    return setgroups(1, &group) == 0
  }
}
