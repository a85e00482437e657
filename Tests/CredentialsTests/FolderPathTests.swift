import Foundation
import Testing

@testable import Credentials

/// They need a second user.
@Suite("As root, on the way to a folder", .enabled(if: geteuid() == 0, "root alone can make another user's files"))
final class FolderPathTests {
  private static let nobody: uid_t = 65_534
  /// root's, and nobody else may write there.
  private let root = FileManager.default.temporaryDirectory.path + "/authproxy-path-\(UUID().uuidString)"

  init() throws {
    try FileManager.default.createDirectory(atPath: root + "/safe/inner", withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: root + "/service/own", withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: root + "/service/roots", withIntermediateDirectories: true)
    for (link, target) in [
      ("link", "service/own"), ("absolute", root + "/safe/inner"), ("loop", "loop"), ("service/evil", root + "/safe"),
      ("service/up", ".."),
    ] { try FileManager.default.createSymbolicLink(atPath: "\(root)/\(link)", withDestinationPath: target) }
    for path in ["service", "service/own", "service/evil", "service/up"] {
      try #require(lchown("\(root)/\(path)", Self.nobody, Self.nobody) == 0)
    }
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }

  private func owner(_ path: String) throws -> uid_t { try FolderPath.status(of: path).st_uid }

  @Test("root's links are followed, those of others are not")
  func links() throws {
    #expect(try owner(root + "/safe/inner") == 0)
    #expect(try owner(root + "/safe/../safe/./inner/") == 0)
    #expect(try owner(root + "/absolute") == 0)
    #expect(try owner(root + "/service") == Self.nobody)
    #expect(try owner(root + "/link") == Self.nobody)
    for path in ["service/evil", "service/evil/inner", "service/up/safe", "loop", "missing", "service/own/missing"] {
      #expect(throws: FolderPath.Problem.self, "\(path)") { try self.owner("\(root)/\(path)") }
    }
  }

  @Test("a folder of root in which others may write is refused", arguments: [0o770, 0o1777, 0o757] as [mode_t])
  func writable(mode: mode_t) throws {
    try #require(chmod(root + "/safe/inner", mode) == 0)
    let problem = #expect(throws: FolderPath.Problem.self) { try self.owner(root + "/safe/inner") }
    #expect(problem?.description.contains("others may write") == true)
  }

  @Test("a folder of root that another user could exchange is refused")
  func exchangeable() throws {
    let problem = #expect(throws: FolderPath.Problem.self) { try self.owner(root + "/service/roots") }
    #expect(problem?.description.contains("another user can exchange roots") == true)
  }
}
