import Foundation

/// A running `authproxy demo`.
final class DemoProcess {
  let process: ChildProcess
  /// URL of its proxy.
  let proxy: String
  /// Path of its configuration.
  let configuration: String

  init() throws {
    process = try ChildProcess(Surroundings.program, ["demo"])
    guard let line = process.awaitLine(where: { $0.contains("export http_proxy=") }),
      process.awaitLine(where: { $0.contains("Ctrl-C") }) != nil,
      let proxy = line.firstMatch(of: #/ http_proxy=(\S+)/#)?.1,
      let configuration = process.output.firstMatch(of: #/conf=(\S+)/#)?.1
    else { throw HarnessError("no demo: \(process.output)\(process.errors)") }
    (self.proxy, self.configuration) = (String(proxy), String(configuration))
  }

  /// It removes its files.
  deinit {
    process.signal(SIGINT)
    _ = process.awaitEnd(seconds: 5)
  }

  /// What its configuration says after `word`, once or first.
  func found(_ word: String) throws -> String {
    guard let value = process.output.firstMatch(of: try Regex("\(word): (\\S+)", as: (Substring, Substring).self))?.1 else {
      throw HarnessError("no \(word) in: \(process.output)")
    }
    return String(value)
  }

  /// The lines that it proposes for a login, without their indent.
  func proposedForLogin() -> [String] {
    let lines = process.lines.drop { !$0.hasPrefix("Log in as a person") }.prefix { !$0.hasPrefix("This terminal") }
    return lines.filter { $0.hasPrefix("  ") }.map { $0.trimmingCharacters(in: .whitespaces) }
  }

  /// Status of an app's request through its proxy.
  func ask(_ url: String) throws -> (status: String, body: String) {
    let done = try ChildProcess.run("curl", ["-sS", "-x", proxy, "-w", "\n%{http_code}", url])
    var lines = done.output.split(separator: "\n").map(String.init)
    return (lines.popLast() ?? "", lines.joined(separator: "\n"))
  }
}
