import Foundation

/// An authorization server and an API that verify DPoP proofs. See dpop_server.py.
final class DPoPServer {
  struct Use: Decodable {
    let path, method, why, jti, jkt: String
    let status, length, proofs: Int
    let nonce: String?
  }
  struct Asked: Decodable {
    let path, grant, why, jkt: String
    let nonce: String?
  }
  struct State: Decodable {
    let uses: [Use]
    let tokens: [Asked]
    /// Of each issued token.
    let jkts: [String]
  }
  // swift-format-ignore: AlwaysUseLowerCamelCase, the names are those of the JSON
  struct Verdict: Decodable {
    let requests, identifiers, keys, bad: Int
    let faults: [String]
  }

  static let script = Surroundings.support + "/dpop_server.py"

  let port: Int
  let folder: String
  private let child: ChildProcess

  init(_ settings: String = "{}") throws {
    folder = try Surroundings.newFolder()
    child = try ChildProcess(Surroundings.python, [Self.script])
    guard let port = child.awaitLine(where: { _ in true }).flatMap({ Int($0) }) else {
      throw HarnessError("dpop_server.py: \(child.errors)")
    }
    self.port = port
    try set(settings)
  }

  deinit { child.closeInput() }

  var base: String { "http://127.0.0.1:\(port)" }
  var path: String { folder + "/proxy.conf" }
  func url(_ path: String = "x") -> String { "http://api.test/api/\(path)" }

  /// - Parameter settings: JSON; the keys are dpop_server.py's.
  @discardableResult
  func set(_ settings: String) throws -> State {
    let got = try ChildProcess.run("curl", ["-sS", "--noproxy", "*", "-d", settings, base + "/set"])
    return try JSONDecoder().decode(State.self, from: Data(got.output.utf8))
  }

  func state() throws -> State { try set("{}") }

  /// A credential with `dpop: true`; `oauth2` replaces the grant and its keys.
  func configuration(
    _ oauth2: String = "grant: client_credentials, client_secret: shh-5ecret-client, dpop: true", entry: String = "",
    top: String = ""
  ) -> String {
    """
    admin: 127.0.0.1:0
    upstreams:
      - {match: api.test, origin: "\(base)", credential: api\(entry)}
    credentials:
      api:
        allow_plaintext: true
        oauth2: {issuer: "\(base)", client_id: me, \(oauth2)}
    \(top)

    """
  }

  /// Logs in with a browser, which is curl, with the configuration at `path`.
  func logIn() throws -> (ending: ChildProcess.Ending?, errors: String) {
    let login = try ChildProcess(
      Surroundings.program, ["login", "--config", path, "--no-browser"], environment: [:])
    login.closeInput()
    guard let url = login.awaitLine(where: { $0.hasPrefix("http") }) else { throw HarnessError("login: \(login.errors)") }
    _ = try ChildProcess.run("curl", ["-sSL", "--noproxy", "*", url])
    return (login.awaitEnd(seconds: 20), login.errors)
  }

  /// Judges requests that were only recorded.
  static func judge(_ file: String) throws -> Verdict {
    let done = try ChildProcess.run(Surroundings.python, [script, file])
    return try JSONDecoder().decode(Verdict.self, from: Data(done.output.utf8))
  }
}
