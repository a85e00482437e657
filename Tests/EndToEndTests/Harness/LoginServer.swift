import Foundation

/// An authorization server for logins. See login_server.py.
final class LoginServer {
  let port: Int
  let folder: String
  private let child: ChildProcess

  init(_ options: String...) throws {
    folder = try Surroundings.newFolder()
    child = try ChildProcess(Surroundings.python, [Surroundings.support + "/login_server.py"] + options)
    guard let port = child.awaitLine(where: { _ in true }).flatMap({ Int($0) }) else {
      throw HarnessError("login_server.py: \(child.errors)")
    }
    self.port = port
  }

  deinit { child.closeInput() }

  var base: String { "http://127.0.0.1:\(port)" }
  var path: String { folder + "/proxy.conf" }

  /// Writes a configuration with the credential `mailbox`.
  func configure(
    _ oauth2: String = "grant: authorization_code, scope: openid mail", entry: String = "", client: String = "me",
    store: String = "tokens.json"
  ) throws {
    let text = """
      listen: 127.0.0.1:0
      token_store: {file: \(store)}
      upstreams:
        - {match: api.test, origin: "\(base)", credential: mailbox\(entry)}
      credentials:
        mailbox:
          allow_plaintext: true
          oauth2: {issuer: "\(base)", client_id: \(client), \(oauth2)}

      """
    try ProxyProcess.write(text, to: path)
  }

  /// A proxy with the configuration that was written last, and its store.
  func proxy() throws -> ProxyProcess {
    try ProxyProcess(try String(contentsOfFile: path, encoding: .utf8), folder: folder)
  }

  /// A running command.
  func start(_ arguments: String...) throws -> ChildProcess {
    let child = try ChildProcess(
      Surroundings.program, [arguments[0], "--config", path] + arguments.dropFirst(), environment: ["BROWSER": "/bin/false"])
    child.closeInput()
    return child
  }

  /// Logs in with a browser, which is curl.
  @discardableResult
  func logIn(_ arguments: String...) throws -> (page: String, ending: ChildProcess.Ending?, errors: String) {
    let child = try ChildProcess(
      Surroundings.program, ["login", "--config", path, "--no-browser"] + arguments, environment: [:])
    child.closeInput()
    guard let url = child.awaitLine(where: { $0.hasPrefix("http") }) else { throw HarnessError("login: \(child.errors)") }
    let page = try ChildProcess.run("curl", ["-sSL", "--noproxy", "*", url])
    return (page.output, child.awaitEnd(seconds: 20), child.errors)
  }

  struct Seen: Decodable {
    let path: String
    /// Of a POST.
    let form: [String: String]?
  }

  /// What it was asked for, in order.
  func requests() throws -> [Seen] {
    try JSONDecoder().decode([Seen].self, from: Data(try get("/log").utf8))
  }

  /// One of its pages for tests.
  @discardableResult
  func get(_ page: String) throws -> String { try ChildProcess.run("curl", ["-sS", "--noproxy", "*", base + page]).output }

  func paths() throws -> [String] { try requests().map(\.path) }

  /// What `tokens --json` tells.
  func tokens() throws -> String { try ChildProcess.run(Surroundings.program, ["tokens", "--config", path, "--json"]).output }
}
