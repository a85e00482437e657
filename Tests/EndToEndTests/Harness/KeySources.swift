import Foundation

/// Servers that hand out keys and tokens without OAuth 2.0, and APIs that take them. See key_sources.py.
final class KeySources {
  struct Asked: Decodable {
    let line: String
    let body: String
    let fields: [[String]]
    subscript(field: String) -> String? { fields.first { $0[0].lowercased() == field.lowercased() }?[1] }
    var form: [String: String] {
      var parts = URLComponents()
      parts.percentEncodedQuery = body.replacingOccurrences(of: "+", with: "%20")
      return Dictionary((parts.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { first, _ in first })
    }
  }
  struct Use: Decodable {
    let path, used, scheme: String
    let status: Int
  }
  struct State: Decodable {
    let asked: [Asked]
    let uses: [Use]
    let peak: Int
  }

  let port: Int
  private let child: ChildProcess

  init(_ settings: String = "{}") throws {
    child = try ChildProcess(Surroundings.python, [Surroundings.support + "/key_sources.py"])
    guard let port = child.awaitLine(where: { _ in true }).flatMap({ Int($0) }) else {
      throw HarnessError("key_sources.py: \(child.errors)")
    }
    self.port = port
    try set(settings)
  }

  deinit { child.closeInput() }

  var base: String { "http://127.0.0.1:\(port)" }

  /// - Parameter settings: JSON, as in key_sources.py.
  func set(_ settings: String) throws { _ = try ask("POST", "/set", settings) }

  func state() throws -> State { try JSONDecoder().decode(State.self, from: Data(try ask("GET", "/state").body)) }

  private func ask(_ method: String, _ path: String, _ body: String = "") throws -> Answer {
    let connection = try RawConnection(port: port)
    try connection.send(ProxyProcess.request(method, path, ["Host: localhost"], body: body))
    return try connection.readAnswer()
  }

  /// - Parameter credential: the kind and its keys, as one line of flow style.
  func configuration(_ credential: String, top: String = "") -> String {
    """
    admin: 127.0.0.1:0
    log: {level: trace}
    upstreams:
      - {match: api.test, origin: "\(base)", credential: api}
    credentials:
      api:
        allow_plaintext: true
        \(credential)
    \(top)

    """
  }

  func url(_ path: String = "x") -> String { "http://api.test/api/\(path)" }

  /// As many requests at once, each on a connection of its own; their statuses.
  func crowd(_ count: Int, through proxy: ProxyProcess) throws -> [Int] {
    let clients = try (0..<count).map { _ in try proxy.connect() }
    for client in clients { try client.send(ProxyProcess.request("GET", url())) }
    return try clients.map { try $0.readAnswer().status }
  }
}
