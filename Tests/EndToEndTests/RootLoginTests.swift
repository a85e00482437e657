import Foundation
import Glibc
import Testing

/// What `sudo authproxy login` does where the token store is another user's.
@Suite struct RootLoginTests {
  private static let nobody: uid_t = 65_534

  /// systemd's DynamicUser makes such folders, below /var/lib/private.
  @Test(.enabled(if: geteuid() == 0, "root alone can make another user's files"), arguments: ["login", "logout"])
  func `a folder that its owner cannot reach ends the command before it asks anybody`(command: String) throws {
    let server = try LoginServer()
    let closed = server.folder + "/private"
    try FileManager.default.createDirectory(atPath: closed + "/store", withIntermediateDirectories: true)
    // The folders above it are open to everybody, as a home or /var/lib is.
    for path in [Surroundings.folder, server.folder] { try #require(chmod(path, 0o755) == 0) }
    try #require(chmod(closed, 0o700) == 0 && chown(closed + "/store", Self.nobody, Self.nobody) == 0)
    try server.configure()
    let text = try String(contentsOfFile: server.path, encoding: .utf8)
    try ProxyProcess.write(text.replacing("file: tokens.json", with: "file: private/store/tokens.json"), to: server.path)
    try #require(chmod(server.path, 0o644) == 0)
    let child = try server.start(command, "mailbox")
    #expect(child.awaitEnd(seconds: 5) == .exited(69), "\(child.output)\(child.errors)")
    #expect(child.errors.contains("its owner cannot reach it by this path") && child.lines.isEmpty, "\(child.errors)")
    #expect(try server.paths().isEmpty)
    child.signal(SIGKILL)
  }
}
