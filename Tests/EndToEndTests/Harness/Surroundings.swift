import Foundation

/// Paths, and things that are made once per run.
enum Surroundings {
  static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().path
  static let support = root + "/Tests/Support"

  static let program =
    ProcessInfo.processInfo.environment["AUTHPROXY_BINARY"] ?? root + "/.build/release/authproxy"

  static let python: String = {
    let own = root + "/.build-venv/bin/python"
    return FileManager.default.isExecutableFile(atPath: own) ? own : "python3"
  }()

  /// Makes a Swift program say where it crashed, if the toolchain is in its usual place.
  static let backtraces: [String: String] = {
    let toolchain = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").first {
      FileManager.default.isExecutableFile(atPath: "\($0)/swift")
    }
    guard let toolchain else { return [:] }
    let tool = "\(toolchain)/../libexec/swift/linux/swift-backtrace-static"
    guard FileManager.default.isExecutableFile(atPath: tool) else { return [:] }
    let options = "enable=yes,color=no,interactive=no,threads=crashed,registers=none,images=none,swift-backtrace=\(tool)"
    return ["SWIFT_BACKTRACE": options]
  }()

  /// A folder for this run only, removed at its end.
  static let folder: String = {
    var template = Array((NSTemporaryDirectory() + "/authproxy-tests-XXXXXX").utf8CString)
    let path = mkdtemp(&template).map { String(cString: $0) } ?? NSTemporaryDirectory()
    atexit { try? FileManager.default.removeItem(atPath: Surroundings.folder) }
    return path
  }()

  /// A new folder inside it.
  static func newFolder() throws -> String {
    let path = folder + "/" + UUID().uuidString.prefix(8)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  private static let madePKI = Result {
    let path = folder + "/pki"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    let made = try ChildProcess.run(python, [support + "/pki.py", path])
    guard made.status == .exited(0) else { throw HarnessError("pki.py: \(made.errors)") }
    return path
  }
  /// The folder of certificates; pki.py explains their names.
  static func pki() throws -> String { try madePKI.get() }

  private static let builtGenerator = Result {
    let path = folder + "/loadgen"
    let made = try ChildProcess.run("cc", ["-O2", "-o", path, support + "/loadgen.c", "-lssl", "-lcrypto"])
    guard made.status == .exited(0) else { throw HarnessError("cc: \(made.errors)") }
    return path
  }
  static func loadGenerator() throws -> String { try builtGenerator.get() }

  /// Builds a C source of the tests' peers as a library to preload.
  static func preloadable(_ name: String) throws -> String {
    let path = folder + "/\(name).so"
    let made = try ChildProcess.run("cc", ["-O2", "-shared", "-fPIC", "-o", path, support + "/\(name).c", "-ldl"])
    guard made.status == .exited(0) else { throw HarnessError("cc: \(made.errors)") }
    return path
  }
}
