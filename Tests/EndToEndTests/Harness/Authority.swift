import Foundation

/// CAs in folders, as an operator has them.
enum Authority {
  /// By `authproxy ca create`.
  static func create(_ folder: String, for hosts: String..., days: Int = 365) throws {
    let permits = hosts.flatMap { ["--permit", $0] }
    let made = try ChildProcess.run(
      Surroundings.program, ["ca", "create", "--out", folder, "--days", "\(days)"] + permits)
    guard made.status == .exited(0) else { throw HarnessError("ca create: \(made.errors)") }
  }

  /// One that ends after so many seconds; issuer.pem is its root, too.
  static func createShortLived(_ folder: String, for host: String, seconds: Int) throws {
    let script = Surroundings.support + "/issuer.py"
    let made = try ChildProcess.run(Surroundings.python, [script, folder, host, "\(seconds)"])
    guard made.status == .exited(0) else { throw HarnessError("issuer.py: \(made.errors)") }
  }

  /// An item of `intercept.ca`.
  static func item(_ folder: String) -> String { "{certificate: \(folder)/issuer.pem, key: {file: \(folder)/issuer.key}}" }

  /// Puts the CA of one folder in the place of another one's, each file in one step.
  static func copy(_ source: String, over target: String) throws {
    for name in ["issuer.key", "issuer.pem"] {
      try replace("\(target)/\(name)", with: content("\(source)/\(name)"), mode: 0o600)
    }
  }

  static func content(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

  /// In one step, with a mode.
  static func replace(_ path: String, with text: String, mode: Int = 0o644) throws {
    let made = FileManager.default.createFile(
      atPath: path + ".next", contents: Data(text.utf8), attributes: [.posixPermissions: mode])
    guard made, rename(path + ".next", path) == 0 else { throw HarnessError("cannot write \(path)") }
  }

  static func names(_ folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
  }
}

extension ProxyProcess {
  /// What a CONNECT is answered.
  func connectAnswer(_ target: String = "api.test:443") throws -> Answer {
    let connection = try connect()
    try connection.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
    return try connection.readAnswer(to: "CONNECT")
  }

  /// Does what changes a watched file, and waits for the log line with the result.
  @discardableResult
  func watched(expecting mark: String = "\"configuration reloaded\"", _ change: () throws -> Void) throws -> String {
    let before = process.lines.count
    try change()
    guard let line = process.awaitLine(from: before, where: { $0.contains(mark) && $0.contains(#""reason":"watch""#) }) else {
      throw HarnessError("no line with '\(mark)' after a change:\n\(process.lines.dropFirst(before).joined(separator: "\n"))")
    }
    return line
  }

  /// SIGHUP without another configuration.
  @discardableResult
  func reload(expecting mark: String = "\"configuration reloaded\"") throws -> String {
    let before = process.lines.count
    process.signal(SIGHUP)
    guard let line = process.awaitLine(from: before, where: { $0.contains(mark) && $0.contains(#""reason":"signal""#) }) else {
      throw HarnessError("no line with '\(mark)' after SIGHUP:\n\(process.lines.dropFirst(before).joined(separator: "\n"))")
    }
    return line
  }
}
