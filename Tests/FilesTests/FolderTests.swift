import Glibc
import Testing

@testable import Files

@Suite final class FolderTests {
  /// Removed at the end.
  private let path: String

  init() throws {
    var template = Array("/tmp/folder-tests-XXXXXX".utf8CString)
    path = try #require(mkdtemp(&template).map { String(cString: $0) })
  }

  deinit {
    for name in names(path) { unlink("\(path)/\(name)") }
    for name in ["/a/b", "/a", ""] { rmdir(path + name) }
  }

  private func names(_ path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
      names.append(
        withUnsafePointer(to: &entry.pointee.d_name) {
          String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
        })
    }
    return names.filter { $0 != "." && $0 != ".." }.sorted()
  }

  private func content(_ name: String) throws -> (bytes: [UInt8], mode: UInt32) {
    let content = try FileReading.read("\(path)/\(name)", limit: 1000)
    return (content.bytes, content.permissions)
  }

  @Test func `missing folders are made`() throws {
    #expect(throws: FileError.self) { try Folder("\(self.path)/a/b") }
    let folder = try Folder("\(path)/a/b", makes: true)
    #expect(!folder.isWritableByOthers)
    _ = try Folder("\(path)/a/b", makes: true)
    #expect(throws: FileError.self) { try Folder("/proc/none/here", makes: true) }
  }

  @Test func `a file is made once, with its mode`() throws {
    let folder = try Folder(path)
    #expect(!folder.has("key"))
    try folder.create("key", [1, 2, 3], mode: 0o600)
    #expect(try content("key") == ([1, 2, 3], 0o600))
    #expect(folder.has("key"))
    var code: Int32 = 0
    do throws(FileError) { try folder.create("key", [4], mode: 0o644) } catch { code = error.code }
    #expect(code == EEXIST)
    #expect(try content("key") == ([1, 2, 3], 0o600))
    // A link that leads nowhere is something, too.
    #expect(symlink("/nowhere", "\(path)/link") == 0)
    #expect(folder.has("link"))
    #expect(throws: FileError.self) { try folder.create("link", [4], mode: 0o644) }
  }

  @Test func `a file is replaced whole, through no link, and nothing is left beside it`() throws {
    let folder = try Folder(path)
    #expect(symlink("target", "\(path)/ca.pem") == 0)
    try folder.replace("ca.pem", with: [1], mode: 0o644)
    #expect(names(path) == ["ca.pem"])
    #expect(try content("ca.pem") == ([1], 0o644))
    let first = FileReading.identity("\(path)/ca.pem")
    try folder.replace("ca.pem", with: [1], mode: 0o644)
    #expect(FileReading.identity("\(path)/ca.pem") == first)
    try folder.replace("ca.pem", with: [2, 3], mode: 0o644)
    #expect(try content("ca.pem") == ([2, 3], 0o644))
    chmod("\(path)/ca.pem", 0o666)
    try folder.replace("ca.pem", with: [2, 3], mode: 0o644)
    #expect(try content("ca.pem") == ([2, 3], 0o644))
    #expect(names(path) == ["ca.pem"])
  }

  @Test func `what cannot be replaced leaves nothing beside it`() throws {
    let folder = try Folder(path)
    #expect(mkdir("\(path)/a", 0o755) == 0)
    #expect(throws: FileError.self) { try folder.replace("a", with: [1], mode: 0o644) }
    #expect(names(path) == ["a"])
  }

  @Test func `what a killed process left beside a file goes with the next writing`() throws {
    let folder = try Folder(path)
    try folder.replace("ca.pem", with: [1], mode: 0o644)
    let kept = [".ca.pem.1a", ".ca.pem.1a.new.txt", ".ca.pem..new", ".ca.pem.1A.new", ".other.1a.new", "ca.pem.1a.new"]
    for name in kept + [".ca.pem.1a.new", ".ca.pem.3w5e11264sgsf.new"] { try folder.create(name, [7], mode: 0o644) }
    #expect(mkdir("\(path)/.ca.pem.2b.new", 0o755) == 0)
    if geteuid() == 0 {
      try folder.create(".ca.pem.3c.new", [7], mode: 0o644)
      #expect(chown("\(path)/.ca.pem.3c.new", 65_534, 65_534) == 0)
    }
    // Also where the file is as it shall be.
    try folder.replace("ca.pem", with: [1], mode: 0o644)
    let others = geteuid() == 0 ? [".ca.pem.3c.new"] : []
    #expect(names(path) == (kept + others + [".ca.pem.2b.new", "ca.pem"]).sorted())
    rmdir("\(path)/.ca.pem.2b.new")
  }

  @Test func `what another process is writing stays`() throws {
    let other = try Folder(path)
    #expect(other.lock(within: 0))
    try other.create(".ca.pem.1a.new", [7], mode: 0o644)
    try Folder(path).replace("ca.pem", with: [1], mode: 0o644)
    #expect(names(path) == [".ca.pem.1a.new", "ca.pem"])
    #expect(try content("ca.pem").bytes == [1])
  }

  @Test func `where one file cannot be replaced, those that were are told`() throws {
    let folder = try Folder(path)
    #expect(mkdir("\(path)/c", 0o755) == 0)
    func message(_ files: [String]) -> String {
      do throws(FileError) { try folder.replace(files.map { ($0, [1]) }, mode: 0o644) } catch { return "\(error)" }
      return ""
    }
    #expect(message(["c", "a"]) == "c: Is a directory")
    #expect(names(path) == ["c"])
    #expect(message(["a", "b", "c", "d"]) == "c: Is a directory, after a, b had been replaced")
    #expect(names(path) == ["a", "b", "c"])
    rmdir("\(path)/c")
  }

  @Test func `of several files none is replaced if one cannot be written`() throws {
    let folder = try Folder(path)
    try folder.replace([("a", [1]), ("b", [2])], mode: 0o644)
    // No file has so long a name.
    let long = String(repeating: "n", count: 300)
    #expect(throws: FileError.self) { try folder.replace([("a", [3]), (long, [4])], mode: 0o644) }
    #expect(names(path) == ["a", "b"])
    #expect(try content("a").bytes == [1])
    try folder.replace([("a", [3]), ("b", [2])], mode: 0o600)
    #expect(try content("a") == ([3], 0o600))
    #expect(try content("b") == ([2], 0o600))
    #expect(names(path) == ["a", "b"])
  }

  @Test func `what is in a folder`() throws {
    let folder = try Folder(path)
    #expect(try folder.content() == FolderContent())
    try folder.create("own", [], mode: 0o600)
    #expect(symlink("/nowhere", "\(path)/link") == 0)
    chmod(path, 0o777)
    #expect(try folder.content() == FolderContent(names: ["own", "link"], isWritableByOthers: true))
    #expect(try FolderContent.read(path) == folder.content())
    #expect(throws: FileError.self) { try FolderContent.read(self.path + "/own") }
  }

  @Test func `a file in a folder is read with its owner, and through no link of others`() throws {
    let folder = try Folder(path)
    try folder.create("own", [1, 2], mode: 0o640)
    #expect(symlink("own", "\(path)/link") == 0)
    for mode in [0o755, 0o777] as [mode_t] {
      chmod(path, mode)
      let read = try folder.read("own", limit: 2)
      #expect(try read == FileReading.read("\(path)/own", limit: 2))
      #expect(read.permissions == 0o640 && !read.isForeign)
      #expect(throws: FileError("larger than 1 bytes")) { try folder.read("own", limit: 1) }
      #expect(throws: FileError(errno: ENOENT)) { try folder.read("other", limit: 1) }
      #expect(throws: FileError("not a regular file")) { try folder.read(".", limit: 1) }
    }
    #expect(throws: FileError("a symbolic link in a folder that others may write")) { try folder.read("link", limit: 2) }
    chmod(path, 0o755)
    #expect(try folder.read("link", limit: 2).bytes == [1, 2])
    if geteuid() == 0 {
      #expect(chown("\(path)/own", 65_534, 65_534) == 0)
      #expect(try !folder.read("own", limit: 2).isForeign)
      chmod(path, 0o777)
      #expect(try folder.read("own", limit: 2).isForeign)
      // What the folder's owner has there is his to put.
      #expect(chown(path, 65_534, 65_534) == 0)
      #expect(try !folder.read("own", limit: 2).isForeign)
    }
  }

  @Test func `a folder is locked by one, and nobody waits for ever`() throws {
    var first: Folder? = try Folder(path)
    #expect(first?.lock(within: 0) == true)
    let other = try Folder(path)
    #expect(!other.lock(within: 0))
    #expect(!other.lock(within: 30))
    first = nil
    #expect(other.lock(within: 0))
  }

  @Test func `a folder that was moved is still the one that was opened`() throws {
    let folder = try Folder("\(path)/a", makes: true)
    #expect(rename("\(path)/a", "\(path)/b") == 0)
    #expect(symlink("/nowhere", "\(path)/a") == 0)
    try folder.replace("ca.pem", with: [1], mode: 0o644)
    #expect(try content("b/ca.pem") == ([1], 0o644))
    unlink("\(path)/b/ca.pem")
    rmdir("\(path)/b")
  }

  @Test(arguments: [(0o755, false), (0o775, true), (0o757, true), (0o700, false), (0o1777, true)] as [(mode_t, Bool)])
  func `a folder that others may write is told`(_ mode: mode_t, _ expected: Bool) throws {
    #expect(chmod(path, mode) == 0)
    #expect(try Folder(path).isWritableByOthers == expected)
  }
}
