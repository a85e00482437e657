import Foundation
import Testing

/// What logins need of others: a person with a browser, and servers and clients by other hands. See Tests/Support/logins.
enum LoginPeer {
  static let programs = Surroundings.support + "/logins"

  /// With the packages of the servers and clients, which may not be installed: `make packages-peers`.
  static let python = Surroundings.root + "/.build-venv-peers/bin/python"

  /// Opens the URL and submits the pages' forms, as browser.py says.
  /// - Returns: the last page.
  @discardableResult
  static func browse(_ url: String, _ fields: [String: String]) throws -> String {
    let arguments = fields.map { "\($0.key)=\($0.value)" }
    let done = try ChildProcess.run(Surroundings.python, [programs + "/browser.py", url] + arguments)
    guard done.status == .exited(0) else { throw HarnessError("browser.py: \(done.output)\(done.errors)") }
    return done.output
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips a test whose Python package is not installed.
  static func needsPackage(_ name: String) -> Self {
    .needs(name, "\(LoginPeer.python) -c 'import \(name)'")
  }
}

/// An authorization server by other hands, with an API that it protects.
final class LoginPeerServer {
  struct Facts: Decodable {
    let base, issuer, api, client_id: String
    let client_secret, device_client_id, redirect_uri: String?
    /// Paths that make access tokens expire, and that revoke all tokens; nil: there is none.
    let expire, revoke: String?
    /// What a person fills in.
    let fields: [String: String]
    let device_fields: [String: String]?
  }

  let facts: Facts
  let folder: String
  private let process: ChildProcess

  /// - Parameter isTest: the program is a test of pytest.
  init(_ program: String, isTest: Bool = false) throws {
    folder = try Surroundings.newFolder()
    let path = "\(LoginPeer.programs)/\(program)"
    let options = ["-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"]
    process = try ChildProcess(LoginPeer.python, isTest ? options + [path] : [path, folder], folder: folder)
    guard let line = process.awaitLine(seconds: 60, where: { $0.hasPrefix("{") }) else {
      throw HarnessError("\(program) did not start: \(process.output)\(process.errors)")
    }
    facts = try JSONDecoder().decode(Facts.self, from: Data(line.utf8))
  }

  deinit { process.closeInput() }

  var configurationPath: String { folder + "/proxy.conf" }

  func configuration(_ oauth2: String...) -> String {
    var lines = ["issuer: \(facts.issuer)"] + oauth2
    if let secret = facts.client_secret { lines.append("client_secret: \(secret)") }
    return """
      listen: 127.0.0.1:0
      token_store: {file: tokens.json}
      upstreams:
        - {match: api.test, origin: "\(facts.base)", credential: mailbox}
      credentials:
        mailbox:
          allow_plaintext: true
          oauth2:
      \(lines.map { "      \($0)" }.joined(separator: "\n"))

      """
  }

  /// Tokens of the store's record.
  func stored() throws -> (access: String, refresh: String?) {
    struct Store: Decodable {
      struct Record: Decodable { let access_token, refresh_token: Data? }
      let credentials: [String: Record]
    }
    let store = try JSONDecoder().decode(Store.self, from: try Data(contentsOf: URL(fileURLWithPath: folder + "/tokens.json")))
    guard let record = store.credentials["mailbox"], let access = record.access_token else { throw HarnessError("no tokens") }
    return (String(decoding: access, as: UTF8.self), record.refresh_token.map { String(decoding: $0, as: UTF8.self) })
  }

  /// The server's own status, without the proxy.
  func ask(_ path: String, _ options: String...) throws -> String {
    try ChildProcess.run(
      "curl", ["-sS", "--noproxy", "*", "-o", "/dev/null", "-w", "%{http_code}", facts.base + path] + options
    ).output
  }

  /// Runs a command of `authproxy` with the configuration.
  func start(_ command: String, _ arguments: String...) throws -> ChildProcess {
    let child = try ChildProcess(Surroundings.program, [command, "--config", configurationPath] + arguments)
    child.closeInput()
    return child
  }
}
