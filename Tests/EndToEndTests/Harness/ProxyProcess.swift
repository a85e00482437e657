import Foundation
import Testing

/// The running program under test.
final class ProxyProcess: Sendable {
  let process: ChildProcess
  let folder: String
  /// As logged, in the order of `listen`.
  let addresses: [String]
  /// The admin listener's port; 0 if there is none.
  let adminPort: Int

  var pid: pid_t { process.pid }
  var port: Int { Int(addresses[0].split(separator: ":").last ?? "") ?? 0 }
  var configurationPath: String { folder + "/proxy.conf" }

  private struct Serving: Decodable {
    let message: String
    let addresses: [String]
    let admin: String?
  }

  /// If the text has no `listen` and no `trust`, adds `listen` on a free port, and a policy `default` with the test's CA.
  static func complete(_ configuration: String) throws -> String {
    let keys = Set(
      configuration.split(separator: "\n").filter { !$0.hasPrefix(" ") }.compactMap { $0.split(separator: ":").first })
    var text = configuration
    if !keys.contains("listen") { text = "listen: 127.0.0.1:0\n" + text }
    if !keys.contains("trust") {
      text += "\ntrust:\n  default:\n    - default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}\n"
    }
    return text
  }

  init(
    _ configuration: String, environment: [String: String] = [:], folder: String? = nil, descriptors: [Int32: Int32] = [:],
    wrapper: [String] = []
  ) throws {
    self.folder = try folder ?? Surroundings.newFolder()
    let path = self.folder + "/proxy.conf"
    try Self.write(try Self.complete(configuration), to: path)
    // `Measures` reads its descriptors, which only root may do for a process that hides its memory.
    // `Measures` reads its descriptors, which only root may do for a process that hides its memory. One with a CA always hides it.
    let debugging = geteuid() == 0 || configuration.contains("intercept:") ? [] : ["--allow-debugging"]
    let command = wrapper + [Surroundings.program, "run", "--config", path] + debugging
    process = try ChildProcess(
      command[0], Array(command.dropFirst()), environment: Surroundings.backtraces.merging(environment) { $1 },
      descriptors: descriptors)
    // Usually JSON; the text format has the same words.
    guard let line = process.awaitLine(where: { $0.contains("serving") && $0.contains("addresses") }) else {
      process.signal(SIGKILL)
      let ending = process.awaitEnd(seconds: 5).map { "\($0)" } ?? "still running"
      throw HarnessError("the proxy does not serve (\(ending)):\n\(process.output)\(process.errors)")
    }
    if let serving = try? JSONDecoder().decode(Serving.self, from: Data(line.utf8)) {
      addresses = serving.addresses
      adminPort = serving.admin?.split(separator: ":").last.flatMap { Int($0) } ?? 0
    } else {
      let list = line.components(separatedBy: "addresses=").last ?? ""
      addresses = list.components(separatedBy: CharacterSet(charactersIn: "[],\" ")).filter { $0.contains(":") }
      let admin = line.components(separatedBy: "admin=").dropFirst().first?.prefix { $0 != " " }
      adminPort = admin?.split(separator: ":").last.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
    guard !addresses.isEmpty else { throw HarnessError("no address in: \(line)") }
  }

  static func write(_ text: String, to path: String) throws {
    let made = FileManager.default.createFile(
      atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
    if !made { throw HarnessError("cannot write \(path)") }
  }

  /// Replaces the configuration, sends SIGHUP and waits for the log line with the result.
  func reload(_ configuration: String, expecting mark: String = "reloaded\"") throws {
    let before = process.lines.count
    try Self.write(try Self.complete(configuration), to: configurationPath)
    process.signal(SIGHUP)
    guard process.awaitLine(from: before, where: { $0.contains(mark) }) != nil else {
      throw HarnessError("no line with '\(mark)' after SIGHUP:\n\(process.lines.dropFirst(before).joined(separator: "\n"))")
    }
  }

  func connect(from source: String? = nil, receiveBuffer: Int32? = nil) throws -> RawConnection {
    try RawConnection(port: port, from: source, receiveBuffer: receiveBuffer)
  }

  /// Sends one request on a new connection and reads the whole response. `fields` are lines without CRLF. Host is the target's,
  /// unless `fields` has one.
  func ask(
    _ method: String, _ target: String, _ fields: [String] = [], body: String? = nil, from source: String? = nil
  ) throws -> Answer {
    let connection = try connect(from: source)
    try connection.send(Self.request(method, target, fields, body: body))
    return try connection.readAnswer(to: method)
  }

  func ask(_ target: String, _ fields: [String] = []) throws -> Answer { try ask("GET", target, fields) }

  static func request(_ method: String, _ target: String, _ fields: [String] = [], body: String? = nil) -> String {
    var lines = ["\(method) \(target) HTTP/1.1"]
    if !fields.contains(where: { $0.lowercased().hasPrefix("host:") }) {
      let authority = target.components(separatedBy: "://").last ?? target
      lines.append("Host: \(authority.prefix { $0 != "/" && $0 != "?" })")
    }
    lines += fields
    if let body { lines.append("Content-Length: \(body.utf8.count)") }
    return lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? "")
  }

  /// Stops the process as an operator does. Any exit status but 0 is recorded as a failure of the test.
  func stop(sourceLocation: SourceLocation = #_sourceLocation) {
    if process.ending == nil {
      process.signal(SIGTERM)
      if process.awaitEnd(seconds: 1) == nil {
        // Clients of the test are still connected, so a second signal stops the process at once.
        process.signal(SIGTERM)
      }
    }
    guard let ending = process.awaitEnd(seconds: 10) else {
      process.signal(SIGKILL)
      Issue.record("the proxy did not end after two SIGTERM", sourceLocation: sourceLocation)
      return
    }
    if ending != .exited(0) {
      Issue.record("the proxy ended with \(ending):\n\(tail)", sourceLocation: sourceLocation)
    }
    for line in (process.output + process.errors).split(separator: "\n") where line.contains(Configuration.secretMark) {
      Issue.record("a secret in the output: \(line)", sourceLocation: sourceLocation)
    }
  }

  /// The last lines of its output.
  var tail: String {
    process.lines.suffix(20).joined(separator: "\n") + "\n" + process.errors.suffix(4000)
  }
}

/// Runs a test with a proxy with this configuration, and stops the proxy.
func withProxy(
  _ configuration: String, environment: [String: String] = [:], sourceLocation: SourceLocation = #_sourceLocation,
  _ body: (ProxyProcess) throws -> Void
) throws {
  let proxy = try ProxyProcess(configuration, environment: environment)
  defer { proxy.stop(sourceLocation: sourceLocation) }
  try body(proxy)
}
