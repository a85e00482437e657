import Foundation

/// A token server for the users of apps, and their API. See subjects.py.
final class SubjectServer {
  struct State: Decodable {
    /// By the user's own token.
    let exchanges: [String: Int]
    let peak: Int
    let open: Int
    let forms: [[[String]]]
    let uses: [String: Int]
  }
  /// What a crowd of users saw. See subject_crowd.py.
  struct Crowd: Decodable {
    let statuses: [String: Int]
    let foreign: Int
    let leaked: Int
    let median_us: Int
    let max_us: Int
  }

  let port: Int
  private let child: ChildProcess

  init() throws {
    child = try ChildProcess(Surroundings.python, [Surroundings.support + "/subjects.py"])
    guard let port = child.awaitLine(where: { _ in true }).flatMap({ Int($0) }) else {
      throw HarnessError("subjects.py: \(child.errors)")
    }
    self.port = port
  }

  deinit { child.closeInput() }

  func state() throws -> State { try JSONDecoder().decode(State.self, from: Data(try ask("GET", "/state").body)) }

  /// - Parameter settings: JSON, as in subjects.py.
  func set(_ settings: String) throws { _ = try ask("POST", "/set", settings) }

  private func ask(_ method: String, _ path: String, _ body: String = "") throws -> Answer {
    let connection = try RawConnection(port: port)
    try connection.send(ProxyProcess.request(method, path, ["Host: localhost"], body: body))
    return try connection.readAnswer()
  }

  /// The credential `api`, which exchanges what apps send.
  /// - Parameters:
  ///   - oauth: more lines of it; grant and subject are there already, unless these lines have a grant.
  ///   - top: more of the file.
  func configuration(_ oauth: String..., top: String = "") -> String {
    var lines = [
      "admin: 127.0.0.1:0", "upstreams:", "  - {match: api.test, origin: \"http://127.0.0.1:\(port)\", credential: api}",
      "credentials:", "  api:", "    allow_plaintext: true", "    oauth2:",
      "      token_url: http://127.0.0.1:\(port)/token", "      client_id: me", "      client_secret: client-5ecret",
    ]
    if !oauth.contains(where: { $0.hasPrefix("grant:") }) {
      lines += ["      grant: token_exchange", "      subject_token: client"]
    }
    if !oauth.contains(where: { $0.hasPrefix("timeout:") }) { lines.append("      timeout: 60s") }
    lines += oauth.map { "      " + $0 }
    return (lines + [top]).joined(separator: "\n") + "\n"
  }

  /// - Parameter prefix: the beginning of the users' tokens.
  static func crowd(
    _ proxy: ProxyProcess, users: Int, connections: Int, rounds: Int, prefix: String = "user"
  ) throws -> Crowd {
    let script = Surroundings.support + "/subject_crowd.py"
    let run = try ChildProcess.run(
      Surroundings.python, [script, "\(proxy.port)", "\(users)", "\(connections)", "\(rounds)", prefix])
    guard run.status == .exited(0) else { throw HarnessError("subject_crowd.py: \(run.errors)") }
    return try JSONDecoder().decode(Crowd.self, from: Data(run.output.utf8))
  }
}

extension ProxyProcess {
  /// A request of the user with this token.
  func ask(as token: String, _ path: String = "x", _ fields: [String] = []) throws -> Answer {
    try ask("http://api.test/api/\(path)", ["Authorization: Bearer \(token)"] + fields)
  }
}
