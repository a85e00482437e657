import Glibc

/// Walks to a folder as root may: no user may have placed a link on the way, or be able to exchange a folder of root.
enum FolderPath {
  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  /// Links on one way, as the kernel counts them.
  private static let mostLinks = 40

  /// Of the folder itself.
  static func status(of folder: String) throws(Problem) -> stat {
    var rest = components(folder)
    var at = try open(folder.hasPrefix("/") ? "/" : ".")
    defer { close(at) }
    var links = 0
    var foreign: String?
    while !rest.isEmpty {
      let name = rest.removeFirst()
      let here = try status(at)
      // In a folder with the sticky bit, as /tmp, only the owner of an entry can exchange it.
      let isOpen = here.st_uid != 0 || (here.st_mode & 0o022 != 0 && here.st_mode & S_ISVTX == 0)
      var entry = stat()
      guard fstatat(at, name, &entry, AT_SYMLINK_NOFOLLOW) == 0 else {
        throw Problem(description: "\(name): \(SystemFailure("stat"))")
      }
      if entry.st_mode & S_IFMT == S_IFLNK {
        links += 1
        guard entry.st_uid == 0, !isOpen, links <= mostLinks else {
          throw Problem(
            description: "\(name) is a link of another user than root, which root does not follow; name the folder itself")
        }
        let target = try link(name, in: at)
        rest = components(target) + rest
        if target.hasPrefix("/") { try replace(&at, with: open("/")) }
        continue
      }
      if isOpen { foreign = name }
      let next = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard next >= 0 else { throw Problem(description: "\(name): \(SystemFailure("open"))") }
      replace(&at, with: next)
    }
    let found = try status(at)
    if found.st_uid == 0, found.st_mode & 0o022 != 0 {
      throw Problem(description: "it is root's, but others may write in it; give it to the service's user: chown")
    }
    if let foreign, found.st_uid == 0 {
      throw Problem(
        description: "it is root's, but another user can exchange \(foreign) on the way to it; give it to that user")
    }
    return found
  }

  private static func components(_ path: String) -> [String] {
    path.split(separator: "/").filter { $0 != "." }.map(String.init)
  }

  private static func open(_ path: String) throws(Problem) -> Int32 {
    let descriptor = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Problem(description: "\(SystemFailure("open"))") }
    return descriptor
  }

  private static func replace(_ descriptor: inout Int32, with next: Int32) {
    close(descriptor)
    descriptor = next
  }

  private static func status(_ descriptor: Int32) throws(Problem) -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw Problem(description: "\(SystemFailure("stat"))") }
    return status
  }

  private static func link(_ name: String, in folder: Int32) throws(Problem) -> String {
    var text = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlinkat(folder, name, &text, text.count)
    guard count > 0, count < text.count else { throw Problem(description: "\(name): \(SystemFailure("readlink"))") }
    return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
