import Foundation
import Glibc
import Testing

/// Secrets are in memory. Neither a core file nor a debugger of the same user can get them.
@Suite struct HiddenMemoryTests {
  /// A user who is not root: the test's own user, or nobody.
  private static let user = geteuid() == 0 ? 65_534 : Int(geteuid())

  /// Runs the program as a user who is not root, in a folder that this user can read.
  private func run(_ arguments: String...) throws -> (process: ChildProcess, admin: Int) {
    var template = Array((NSTemporaryDirectory() + "/authproxy-tests-XXXXXX").utf8CString)
    let folder = try #require(mkdtemp(&template).map { String(cString: $0) })
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let program = folder + "/authproxy"
    // In a separate process: another test's child may still have a file open that this process wrote ("text file busy").
    #expect(try ChildProcess("cp", [Surroundings.program, program]).awaitEnd(seconds: 30) == .exited(0))
    try ProxyProcess.write(
      "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nupstreams: [{match: api.test, origin: \"http://127.0.0.1:1\"}]\n",
      to: folder + "/proxy.conf")
    var command = [program, "run", "--config", folder + "/proxy.conf"] + arguments
    if geteuid() == 0 {
      for path in [folder, program, folder + "/proxy.conf"] { _ = chown(path, uid_t(Self.user), gid_t(Self.user)) }
      command = ["setpriv", "--reuid=\(Self.user)", "--regid=\(Self.user)", "--clear-groups"] + command
    }
    let process = try ChildProcess(command[0], Array(command.dropFirst()))
    let line = try #require(process.awaitLine(where: { $0.contains("\"serving\"") }), "\(process.output)\(process.errors)")
    let admin = try #require(line.firstMatch(of: /"admin":"127\.0\.0\.1:(\d+)"/).flatMap { Int($0.1) })
    return (process, admin)
  }

  /// Files of a process that can be dumped belong to its user, those of any other to root (proc(5)).
  private func owner(_ pid: pid_t) throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: "/proc/\(pid)/environ")[.ownerAccountID] as? Int)
  }

  @Test func `the memory is hidden, and the metrics of the process are there all the same`() throws {
    let (process, admin) = try run()
    defer { process.signal(SIGKILL) }
    #expect(try owner(process.pid) == 0)
    let connection = try RawConnection(port: admin)
    try connection.send("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    let text = try connection.readAnswer().text
    func value(_ name: String) -> Double {
      text.split(separator: "\n").first { $0.hasPrefix(name + " ") }?.split(separator: " ").last.flatMap { Double($0) } ?? -1
    }
    #expect(value("process_open_fds") > 3)
    #expect(value("process_max_fds") > 3)
    #expect(value("process_resident_memory_bytes") > 1_000_000)
    #expect(value("process_virtual_memory_bytes") > 1_000_000)
    #expect(value("process_cpu_seconds_total") > 0)
    process.signal(SIGTERM)
    #expect(process.awaitEnd(seconds: 10) == .exited(0))
  }

  @Test func `--allow-debugging shows it`() throws {
    let (process, _) = try run("--allow-debugging")
    defer { process.signal(SIGKILL) }
    #expect(try owner(process.pid) == Self.user)
    process.signal(SIGTERM)
    #expect(process.awaitEnd(seconds: 10) == .exited(0))
  }

  @Test func `with a CA --allow-debugging is refused, at start and by a reload`() throws {
    let intercept = "intercept: {ca: {generate: ca}}\n"
    let with = "listen: 127.0.0.1:0\nupstreams: [{match: \"https://api.test\"}]\n" + intercept
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write(with, to: folder + "/proxy.conf")
    let arguments = ["run", "--config", folder + "/proxy.conf", "--allow-debugging"]
    let refused = try ChildProcess.run(Surroundings.program, arguments)
    #expect(refused.status == .exited(78))
    let told = "proxy.conf:3:1: error: intercept and --allow-debugging exclude each other"
    #expect(refused.errors.contains(told), "\(refused.errors)")
    #expect(!FileManager.default.fileExists(atPath: folder + "/ca"))
    try ProxyProcess.write(with.replacing(intercept, with: "").replacing("https://", with: ""), to: folder + "/proxy.conf")
    let process = try ChildProcess(Surroundings.program, arguments)
    defer { process.signal(SIGKILL) }
    #expect(process.awaitLine(where: { $0.contains("\"serving\"") }) != nil, "\(process.errors)")
    try ProxyProcess.write(with, to: folder + "/proxy.conf")
    process.signal(SIGHUP)
    #expect(process.awaitLine(where: { $0.contains("reload failed") && $0.contains("exclude each other") }) != nil)
    #expect(!FileManager.default.fileExists(atPath: folder + "/ca"))
  }
}
