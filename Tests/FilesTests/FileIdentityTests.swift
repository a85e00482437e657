import Files
import Foundation
import Testing

@Suite struct FileIdentityTests {
  @Test func `a file of the same size and time is another one if its content was written again`() throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("authproxy-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let time = Date(timeIntervalSince1970: 1_700_000_000)
    func write(_ text: String) throws {
      let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
      try handle.write(contentsOf: Data(text.utf8))
      try handle.close()
      try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: path)
    }
    try Data().write(to: URL(fileURLWithPath: path))
    try write("one")
    let first = try #require(FileReading.identity(path))
    #expect(FileReading.identity(path) == first)
    // The clock of file systems ticks slowly.
    var second = first
    while second.changed == first.changed {
      try write("two")
      second = try #require(FileReading.identity(path))
    }
    #expect(second.modified == first.modified && second.size == first.size && second.inode == first.inode)
    #expect(second != first)
  }
}
