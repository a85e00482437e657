import Foundation

/// A `redis-server` on a port of loopback, with a folder of its own. It ends with this object.
final class RedisServer {
  private static func find(_ name: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").components(separatedBy: ":") + ["/usr/bin", "/usr/sbin"]
    return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }
  static let isInstalled = find("redis-server") != nil && find("redis-cli") != nil

  let folder: String
  private let reserved: ReservedPort
  private let running = Monitor<ChildProcess?>(nil)
  private let lines: [String]
  private let isSentinel: Bool

  var port: Int { reserved.port }
  var address: String { "redis://127.0.0.1:\(port)" }

  /// - Parameter lines: of its configuration.
  init(_ lines: [String] = [], isSentinel: Bool = false) throws {
    self.isSentinel = isSentinel
    folder = try Surroundings.newFolder()
    reserved = try ReservedPort()
    self.lines = lines
    try start()
  }

  deinit { kill() }

  /// Returns once it accepts connections.
  func start() throws {
    let configuration = folder + "/redis.conf"
    let common = ["port \(port)", "bind 127.0.0.1", "dir \(folder)", "logfile \"\""]
    let all = common + (isSentinel ? [] : ["save \"\""]) + lines
    try all.joined(separator: "\n").write(toFile: configuration, atomically: true, encoding: .utf8)
    let process = try ChildProcess(
      Self.find("redis-server") ?? "redis-server", [configuration] + (isSentinel ? ["--sentinel"] : []))
    running.change { $0 = process }
    guard process.awaitLine(where: { $0.contains(isSentinel ? "+monitor" : "eady to accept connections") }) != nil else {
      throw HarnessError("redis-server did not start: \(process.output)\(process.errors)")
    }
  }

  func kill() {
    let process = running.change { running -> ChildProcess? in
      defer { running = nil }
      return running
    }
    process?.signal(SIGKILL)
    _ = process?.awaitEnd(seconds: 10)
  }

  /// Stops it in its tracks, as a machine does whose cable is pulled: connections stay open.
  func freeze() { running.change { $0?.signal(SIGSTOP) } }
  func thaw() { running.change { $0?.signal(SIGCONT) } }

  /// What redis-cli prints.
  @discardableResult
  func command(_ words: String...) throws -> String {
    try ChildProcess.run("redis-cli", ["-p", "\(port)"] + words).output
  }

  /// How many scripts it has run since its statistics were reset.
  func scripts() throws -> Int {
    let line = try command("info", "commandstats").split(whereSeparator: \.isNewline).first { $0.hasPrefix("cmdstat_eval:") }
    return line.flatMap { $0.split(whereSeparator: { ":=,".contains($0) }).dropFirst(2).first.flatMap { Int($0) } } ?? 0
  }
}
