import EventIO
import Foundation
import RedisProtocol

/// A `redis-server` in a folder of its own, with a unix socket for the test to look in. It ends with this object.
final class RedisServerProcess: Sendable {
  struct Trouble: Error, CustomStringConvertible { let description: String }

  static let program = which("redis-server")
  static let isInstalled = program != nil && which("redis-cli") != nil

  private static func which(_ name: String) -> String? {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").components(separatedBy: ":") + ["/usr/sbin"]
    return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  /// Short, as the path of a unix socket has room for 107 bytes.
  let folder: String
  private let configuration: String
  private let isSentinel: Bool
  private let running: Monitor<Process?>
  private let log = Monitor<[String]>([])

  var socket: String { folder + "/s" }
  var address: RedisAddress { .unix(path: socket) }

  /// - Parameter lines: of the configuration; without a port it listens on the unix socket only.
  init(_ lines: [String] = [], isSentinel: Bool = false) throws {
    folder = try Self.makeFolder()
    self.isSentinel = isSentinel
    configuration = folder + "/conf"
    running = Monitor(nil)
    let port = lines.contains { $0.hasPrefix("port ") || $0.hasPrefix("tls-port ") } ? [] : ["port 0"]
    let all = port + ["unixsocket \(folder)/s", "dir \(folder)", "save \"\"", "logfile \"\""] + lines
    let own = isSentinel ? all.filter { !$0.hasPrefix("save") } : all
    try own.joined(separator: "\n").write(toFile: configuration, atomically: true, encoding: .utf8)
    try start()
  }

  deinit {
    kill()
    try? FileManager.default.removeItem(atPath: folder)
  }

  static func makeFolder() throws -> String {
    var template = Array("/tmp/redis-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Trouble(description: "no folder") }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static let reserved = Monitor<[ListeningSocket]>([])

  /// A port that nobody else gets from the kernel as long as this process runs. Whoever names it may listen on it.
  static func freePort() throws -> UInt16 {
    guard let any = Address(literal: "0.0.0.0", port: 0) else { throw Trouble(description: "no address") }
    let socket = try ListeningSocket(reserving: any)
    reserved.change { $0.append(socket) }
    return socket.address.port
  }

  /// Returns once it accepts connections.
  func start() throws {
    guard let program = Self.program else { throw Trouble(description: "no redis-server") }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = [configuration] + (isSentinel ? ["--sentinel"] : [])
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    try process.run()
    running.change { $0 = process }
    let before = log.change { $0.count }
    // The output of an earlier one may end later than this.
    let end = "the output of \(process.processIdentifier) has ended"
    Thread { [log] in
      var rest = ""
      while case let data = output.fileHandleForReading.availableData, !data.isEmpty {
        rest += String(decoding: data, as: UTF8.self)
        let lines = rest.components(separatedBy: "\n")
        rest = lines.last ?? ""
        log.change { $0 += lines.dropLast() }
      }
      log.change { $0.append(end) }
    }.start()
    // A Sentinel says no more than its mode and its identity.
    let mark = isSentinel ? "+monitor" : "eady to accept connections"
    let line = log.wait(20) { lines in lines[before...].first { $0.contains(mark) || $0 == end } }
    guard let line, line.contains(mark) else {
      throw Trouble(description: log.change { $0 }.joined(separator: "\n"))
    }
  }

  func kill() { stop(SIGKILL) }

  private func stop(_ signal: Int32) {
    running.change { process in
      guard let started = process else { return }
      process = nil
      Foundation.kill(started.processIdentifier, signal)
      started.waitUntilExit()
    }
  }

  /// Stops it in its tracks, as a machine does whose cable is pulled: connections stay open.
  func freeze() { running.change { if let process = $0 { Foundation.kill(process.processIdentifier, SIGSTOP) } } }
  func thaw() { running.change { if let process = $0 { Foundation.kill(process.processIdentifier, SIGCONT) } } }

  /// What redis-cli prints.
  @discardableResult
  func command(_ words: String...) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["redis-cli", "-s", socket] + words
    let output = Pipe()
    process.standardOutput = output
    process.standardError = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self)
  }
}
