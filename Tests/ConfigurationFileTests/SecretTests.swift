import Credentials
import Crypto
import Files
import Foundation
import Settings
import Testing

@testable import ConfigurationFile

/// A real folder, removed afterwards.
final class Folder {
  let path: String
  init() throws {
    path = FileManager.default.temporaryDirectory.appendingPathComponent("configuration-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }

  @discardableResult
  func write(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
    let file = "\(path)/\(name)"
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    return file
  }
}

@Suite("Secrets and where they come from")
struct SecretTests {
  private func program(_ script: String, timeout: Int = 5_000, environment: [String] = []) -> HelperProgram {
    HelperProgram(arguments: ["/bin/sh", "-c", script], environment: environment, timeout: timeout)
  }

  @Test(
    "one trailing newline is no part of a secret",
    arguments: [("a\n", "a"), ("a", "a"), ("a\n\n", "a\n"), ("a\r\n", "a"), ("a\r", "a\r"), (" a ", " a ")])
  func newline(_ content: String, _ secret: String) throws {
    let folder = try Folder()
    let file = try folder.write("x", content)
    #expect(try SecretSource.file(file).read() == Secret(Array(secret.utf8)))
  }

  @Test("files that are missing, empty, folders or too large are errors that name the file")
  func badFiles() throws {
    let folder = try Folder()
    let empty = try folder.write("empty", "\n")
    let large = try folder.write("large", String(repeating: "x", count: SecretSource.sizeLimit + 1))
    for file in ["\(folder.path)/none", empty, large, folder.path, "/dev/zero"] {
      let error = #expect(throws: SecretError.self) { try SecretSource.file(file).read() }
      #expect(file == empty || error?.description.contains(file) == true)
    }
  }

  @Test("a program's output is the secret, without a shell's help and with the environment it was given")
  func command() throws {
    let source = SecretSource.command(program("printf '%s\\n' \"$NAME\"", environment: ["NAME=value $(x)"]))
    #expect(try source.read() == Secret(Array("value $(x)".utf8)))
    let literal = HelperProgram(arguments: ["/bin/echo", "$HOME; ls", "*"], environment: [])
    #expect(try SecretSource.command(literal).read() == Secret(Array("$HOME; ls *".utf8)))
  }

  @Test(
    "a program that fails, dies, says nothing or too much, or cannot be started is an error",
    arguments: [
      ("echo s3cr3t; exit 3", "exited with status 3"), ("kill -9 $$", "was killed by signal 9"), ("true", "is empty"),
      ("head -c 100000 /dev/zero", "wrote more than 65536 bytes"),
    ])
  func badCommands(_ script: String, _ reason: String) {
    let error = #expect(throws: SecretError.self) { try SecretSource.command(program(script)).read() }
    #expect(error?.description.hasSuffix(reason) == true)
    #expect(error?.description.contains("s3cr3t") == false)
  }

  @Test("a program that does not exist is an error")
  func noProgram() {
    let missing = HelperProgram(arguments: ["/nonexistent/helper"], environment: [])
    let error = #expect(throws: SecretError.self) { try SecretSource.command(missing).read() }
    #expect(error?.description == "/nonexistent/helper: cannot be started: No such file or directory")
  }

  @Test(
    "a program that hangs is ended with all its children",
    arguments: ["sleep 60", "sleep 60 & echo x; wait", "exec >&-; sleep 60"])
  func timeout(_ script: String) throws {
    let folder = try Folder()
    let begin = ContinuousClock.now
    let error = #expect(throws: SecretError.self) {
      try SecretSource.command(program("echo $$ > \(folder.path)/pid; \(script)", timeout: 300)).read()
    }
    #expect(error?.description.hasSuffix("did not exit in time") == true)
    #expect(ContinuousClock.now - begin < .seconds(10))
    let pid = try #require(
      Int32(String(contentsOfFile: "\(folder.path)/pid", encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)))
    #expect(kill(pid, 0) == -1)
  }

  @Test("a program starts with default signals, an empty standard input and no descriptor of ours")
  func cleanStart() throws {
    let script = "cat; grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -s '\\t\\n' '  '; ls /proc/self/fd | wc -w"
    signal(SIGPIPE, SIG_IGN)
    let secret = try SecretSource.command(program(script, environment: ["PATH=/usr/bin:/bin"])).read()
    let words = String(decoding: secret.bytes, as: UTF8.self).split(separator: " ").map(String.init)
    // glibc keeps its two internal signals, 32 and 33, ignored. ls has its own descriptor of the folder in addition to the
    // three.
    #expect(words.count == 5 && words[1] == "0000000000000000" && words[4] == "4", "\(words)")
    #expect((UInt64(words[3], radix: 16) ?? 1) & 0x7fff_ffff == 0)
  }

  @Test("a source shows its place, never its value")
  func descriptions() {
    let secret = Secret(Array("s3cr3t".utf8))
    let sources: [SecretSource] = [
      .file("/run/secrets/x"), .environment(name: "NAME", value: secret), .plain(secret),
      .command(HelperProgram(arguments: ["/usr/bin/pass", "s3cr3t"], environment: ["OTHER=s3cr3t"])),
    ]
    #expect(
      sources.map(\.description) == [
        "file /run/secrets/x", "environment variable NAME", "written in the configuration", "command /usr/bin/pass",
      ])
    for source in sources {
      var dumped = ""
      dump(source, to: &dumped)
      #expect(!dumped.contains("s3cr3t") && !String(reflecting: source).contains("s3cr3t"))
    }
  }

  @Test("a secret is read anew by itself, after its file was replaced")
  func reread() throws {
    let folder = try Folder()
    try folder.write("token", "first\n")
    let file = try folder.write(
      "proxy.conf",
      "listen: 127.0.0.1:3128\nupstreams: [{match: h, credential: a}]\ncredentials:\n  a: {bearer: {token: {file: token}}}\n")
    let loaded = ConfigurationFile.load(path: file, environment: [:])
    #expect(loaded.diagnostics == [])
    let source = try #require(loaded.secretSources["credentials.a.bearer.token"])
    try folder.write("token", "second\n")
    #expect(try source.read() == Secret(Array("second".utf8)))
  }
}

@Suite("Watched files")
struct WatchTests {
  @Test("a file is the same until its content changes, whatever happens to its inode, and links are followed")
  func looking() throws {
    let folder = try Folder()
    let manager = FileManager.default
    for version in ["v1", "v2", "v3"] {
      try manager.createDirectory(atPath: "\(folder.path)/\(version)", withIntermediateDirectories: true)
    }
    try folder.write("v1/token", "one")
    try folder.write("v2/token", "one")
    try folder.write("v3/token", "two")
    func link(_ version: String) throws {
      try? manager.removeItem(atPath: "\(folder.path)/current")
      try manager.createSymbolicLink(atPath: "\(folder.path)/current", withDestinationPath: version)
    }
    try link("v1")
    let path = "\(folder.path)/current/token"
    let content = try FileReading.read(path, limit: 100)
    let watched = WatchedFile(path: path, identity: content.identity, digest: SHA256.digest(content.bytes))
    #expect(watched.look() == .same(watched))
    try link("v2")
    guard case .same(let moved) = watched.look() else {
      Issue.record("an equal file is no change")
      return
    }
    #expect(moved.identity != watched.identity && moved.digest == watched.digest)
    try link("v3")
    #expect(moved.look() == .changed)
    try link("v4")
    #expect(moved.look() == .unreadable("No such file or directory"))
  }

  @Test("a file that was missing is a change when it comes")
  func coming() throws {
    let folder = try Folder()
    let file = try folder.write("proxy.conf", "listen: 127.0.0.1:3128\ncredentials: {a: {bearer: {token: {file: token}}}}\n")
    let loaded = ConfigurationFile.load(path: file, environment: [:])
    #expect(loaded.settings == nil)
    let watched = try #require(loaded.watched.first)
    #expect(watched.look() == .same(watched))
    try folder.write("token", "x")
    #expect(watched.look() == .changed)
  }

  @Test("the configuration file itself can be watched, and its absence is an error without a place")
  func itself() throws {
    let folder = try Folder()
    let missing = ConfigurationFile.load(path: "\(folder.path)/none.conf", environment: [:])
    #expect(
      missing.diagnostics.map(\.description) == ["\(folder.path)/none.conf: error: cannot be read: No such file or directory"])
    let file = try folder.write("proxy.conf", "listen: 127.0.0.1:3128\nunlisted_hosts: forward\n", mode: 0o644)
    let loaded = ConfigurationFile.load(path: file, environment: [:])
    #expect(loaded.settings != nil)
    try folder.write("proxy.conf", "listen: 127.0.0.1:3129\nunlisted_hosts: forward\n")
    #expect(loaded.configurationFile?.look() == .changed)
  }

  @Test("plain secrets are warned of by the file's permissions", arguments: [(0o600, 0), (0o640, 1), (0o604, 1), (0o620, 0)])
  func permissions(_ mode: Int, _ warnings: Int) throws {
    let folder = try Folder()
    let text = "listen: 127.0.0.1:3128\nupstreams: [{match: h, credential: a}]\ncredentials: {a: {bearer: {token: x}}}\n"
    let file = try folder.write("proxy.conf", text, mode: mode)
    #expect(ConfigurationFile.load(path: file, environment: [:]).warnings.count == warnings)
  }
}
