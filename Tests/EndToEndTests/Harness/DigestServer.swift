import Foundation

/// An API that verifies Digest answers, and is strict. See digest_server.py.
final class DigestServer {
  struct Use: Decodable {
    let path, method, why, algorithm, qop: String
    let status, length: Int
    let nonce, nc, cnonce: String?
  }
  struct State: Decodable {
    let uses: [Use]
    /// What a client must never send.
    let faults: [String]
    var whys: [String] { uses.map(\.why) }
  }

  let port: Int
  let folder: String
  private let child: ChildProcess

  /// - Parameter settings: JSON; the keys are digest_server.py's.
  init(_ settings: String = "{}") throws {
    folder = try Surroundings.newFolder()
    child = try ChildProcess(Surroundings.python, [Surroundings.support + "/digest_server.py"])
    guard let port = child.awaitLine(where: { _ in true }).flatMap({ Int($0) }) else {
      throw HarnessError("digest_server.py: \(child.errors)")
    }
    self.port = port
    try set(settings)
  }

  deinit { child.closeInput() }

  var base: String { "http://127.0.0.1:\(port)" }
  func url(_ path: String = "x") -> String { "http://api.test/api/\(path)" }

  @discardableResult
  func set(_ settings: String) throws -> State {
    let got = try ChildProcess.run("curl", ["-sS", "--noproxy", "*", "-d", settings, base + "/set"])
    return try JSONDecoder().decode(State.self, from: Data(got.output.utf8))
  }

  func state() throws -> State { try set("{}") }

  /// The requests since the last call.
  func news() throws -> State { try set(#"{"forget": true}"#) }

  static let password = "pw-5ecret-digest"

  /// - Parameters:
  ///   - digest: more keys of the credential.
  ///   - entry: more keys of the entry.
  func configuration(
    _ digest: String = "", username: String = "svc", password: String = DigestServer.password, entry: String = "",
    top: String = "threads: 1"
  ) -> String {
    """
    admin: 127.0.0.1:0
    upstreams:
      - {match: api.test, origin: "\(base)", credential: camera\(entry)}
    credentials:
      camera:
        allow_plaintext: true
        digest: {username: "\(username)", password: \(password)\(digest.isEmpty ? "" : ", " + digest)}
    \(top)

    """
  }
}
