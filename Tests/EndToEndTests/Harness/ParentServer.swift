import Foundation

/// Parent proxies of the test's own: HTTP, HTTPS and SOCKS5. See parent.py.
final class ParentServer {
  struct Ports: Decodable { let http, https, socks, control: Int }
  struct Asked: Decodable {
    /// connect, absolute or socks.
    let kind: String
    let target: String
    /// By lower-case name.
    let fields: [String: [String]]
    let user: String?
    let connection: Int
    let tls: Bool
    /// Over TLS: what it chose of what was offered, and the name in the client's certificate.
    let alpn, certificate: String?
  }
  struct State: Decodable {
    let asked: [Asked]
    let open: Int
    /// What no client of Digest may do.
    let broken: [String]
    /// Every byte that clients have sent, one scalar each, if `capture` is set.
    let captured: String
  }

  let ports: Ports
  private let child: ChildProcess

  /// - Parameters:
  ///   - folder: of certificates and keys; nil: that of all tests.
  ///   - certificate: its name there.
  init(_ folder: String? = nil, certificate: String = "good") throws {
    child = try ChildProcess(
      Surroundings.python, [Surroundings.support + "/parent.py", try folder ?? Surroundings.pki(), certificate])
    guard let line = child.awaitLine(where: { _ in true }) else { throw HarnessError("parent.py: \(child.errors)") }
    ports = try JSONDecoder().decode(Ports.self, from: Data(line.utf8))
  }

  deinit { child.closeInput() }

  /// - Parameter settings: JSON; the keys are parent.py's.
  @discardableResult
  func set(_ settings: String) throws -> State {
    let connection = try RawConnection(port: ports.control)
    try connection.send(
      "POST /set HTTP/1.1\r\nHost: control\r\nConnection: close\r\nContent-Length: \(settings.utf8.count)\r\n\r\n\(settings)")
    return try JSONDecoder().decode(State.self, from: Data(try connection.readAnswer().body))
  }

  func asked() throws -> [Asked] { try set("{}").asked }

  /// What came since the last call, in one question: what comes between two would be lost.
  func news() throws -> [Asked] { try set(#"{"forget": true}"#).asked }

  static let login = "proxyuser:pw-5ecret-parent"

  func url(_ scheme: String) -> String {
    let port = scheme == "https" ? ports.https : scheme == "http" ? ports.http : ports.socks
    return "\(scheme)://\(scheme == "https" ? "localhost" : "127.0.0.1"):\(port)"
  }
}

extension RawConnection {
  /// What came up to and with `mark`, as text.
  func readText(through mark: String) throws -> String { String(decoding: try read(through: mark), as: UTF8.self) }
}
