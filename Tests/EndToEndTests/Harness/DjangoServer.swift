import Foundation

/// django-oauth-toolkit with rotation, reuse protection and tokens of 3 seconds: see django_oauth.py.
final class DjangoServer {
  struct Facts: Decodable {
    let port: Int
    let client_id, service_id, client_secret, refresh_token: String
  }
  /// Refresh tokens, and token requests.
  struct Tokens: Decodable { let all, spent, asked, refused: Int }

  let process: ChildProcess
  let facts: Facts

  init() throws {
    process = try ChildProcess(
      Surroundings.python, [Surroundings.support + "/django_oauth.py", try Surroundings.newFolder()])
    guard let line = process.awaitLine(seconds: 60, where: { $0.hasPrefix("{") }) else {
      throw HarnessError("the server did not start: \(process.errors)")
    }
    facts = try JSONDecoder().decode(Facts.self, from: Data(line.utf8))
  }

  deinit { process.closeInput() }

  /// - Parameter grant: lines of `oauth2`.
  func configuration(_ grant: String, _ top: String = "") -> String {
    """
    upstreams:
      - {match: api.test, origin: "http://127.0.0.1:\(facts.port)", credential: api}
    credentials:
      api:
        allow_plaintext: true
        oauth2:
          token_url: http://127.0.0.1:\(facts.port)/o/token/
          client_secret: \(facts.client_secret)
          scope: read
    \(grant)
    \(top)
    """
  }

  @discardableResult
  func ask(_ path: String) throws -> Answer {
    let connection = try RawConnection(port: facts.port)
    try connection.send("GET \(path) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    return try connection.readAnswer()
  }

  func tokens() throws -> Tokens { try JSONDecoder().decode(Tokens.self, from: Data(try ask("/tokens").body)) }
}
