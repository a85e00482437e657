import Glibc

/// Owner and mode of a file that is created or rewritten. `sudo authproxy login` must not take a file from the service.
struct FileRights {
  var owner: uid_t
  var group: gid_t
  var mode: mode_t

  /// Those of the present file, which may have been set by hand for a backup, say; without one, as for any new file.
  init(replacing path: String) {
    self.init(creating: path)
    var status = stat()
    guard stat(path, &status) == 0 else { return }
    owner = status.st_uid
    group = status.st_gid
    let mode = status.st_mode & 0o777
    // A file that everybody may read was made with a umask, not on purpose.
    self.mode = mode & 0o007 == 0 ? mode | 0o600 : 0o600
  }

  /// Root gives new files to the folder's owner, who must be able to use them, too.
  init(creating path: String) {
    (owner, group, mode) = (geteuid(), getegid(), 0o600)
    var status = stat()
    guard owner == 0, stat(FileSystem.folder(of: path), &status) == 0 else { return }
    (owner, group) = (status.st_uid, status.st_gid)
  }

  /// Whatever the umask is.
  func apply(to descriptor: Int32) throws(SystemFailure) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw SystemFailure("fstat") }
    var mode = mode
    if status.st_uid != owner || status.st_gid != group, fchown(descriptor, owner, group) != 0 {
      // Only root may give a file away, and to lose a new token would be worse. A group that the file was not for gets nothing.
      if status.st_gid != group, fchown(descriptor, .max, group) != 0 { mode = 0o600 }
    }
    guard fchmod(descriptor, mode) == 0 else { throw SystemFailure("fchmod") }
  }
}
