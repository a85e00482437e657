import Foundation

/// An authorization server and an API that know clients by their certificates: see mtls_server.py.
final class MutualTLSServer {
  struct Ports: Decodable { let plain, mtls, control: Int }
  struct Seen: Decodable {
    let path: String
    /// `plain` or `mtls`.
    let port: String
    /// Common name of the client's certificate.
    let client: String?
    let form: [String: String]?
    let authorization: String?
  }
  struct State: Decodable {
    let seen: [Seen]
    let counts: [String: Int]
    /// Open connections to the API by common name.
    let connected: [String: Int]

    /// Requests to one of its endpoints.
    func requests(_ path: String) -> [Seen] { seen.filter { $0.path == path } }
  }

  let folder: String
  let ports: Ports
  private let child: ChildProcess

  init() throws {
    folder = try Surroundings.newFolder()
    child = try ChildProcess(Surroundings.python, [Surroundings.support + "/mtls_server.py", folder])
    guard let line = child.awaitLine(seconds: 30, where: { _ in true }) else {
      throw HarnessError("mtls_server.py: \(child.errors)")
    }
    ports = try JSONDecoder().decode(Ports.self, from: Data(line.utf8))
  }

  deinit { child.closeInput() }

  var issuer: String { "https://localhost:\(ports.plain)" }
  var place: String { "https://localhost:\(ports.mtls)" }

  private func ask(_ method: String, _ path: String, _ body: String = "") throws -> Data {
    let connection = try RawConnection(port: ports.control)
    try connection.send(
      "\(method) \(path) HTTP/1.1\r\nHost: control\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    let answer = try connection.readAnswer()
    guard answer.status == 200 else { throw HarnessError("control \(path): \(answer.head)") }
    return Data(answer.text.utf8)
  }

  /// - Parameter settings: JSON; the keys are mtls_server.py's.
  func set(_ settings: String) throws { _ = try ask("POST", "/set", settings) }
  func state() throws -> State { try JSONDecoder().decode(State.self, from: try ask("GET", "/state")) }
  /// Puts another certificate and its key into the place of these.
  func replace(_ name: String, by other: String) throws {
    _ = try ask("POST", "/replace", #"{"from": "\#(other)", "to": "\#(name)"}"#)
  }

  /// `client_certificate` with this name's files.
  func certificate(_ name: String) -> String {
    "client_certificate: {certificate: \(folder)/\(name).pem, key: {file: \(folder)/\(name).key}}"
  }

  /// A policy `default` with its CA.
  var trust: String { "trust:\n  default:\n    - default: {ca_file: \(folder)/ca.pem, system_roots: false}" }

  struct Client {
    var name: String
    /// More keys of the credential.
    var oauth2: [String]
    /// Where the entry leads: the API with mutual TLS, or the one without.
    var isPlain = false
  }

  /// One entry NAME.test with one credential NAME for each client.
  func configuration(_ clients: [Client], top: String = "") -> String {
    var lines = [top, trust, "upstreams:"]
    for client in clients {
      lines.append(
        "  - {match: \(client.name).test, origin: \"\(client.isPlain ? issuer : place)\", credential: \(client.name)}")
    }
    lines.append("credentials:")
    for client in clients {
      func has(_ key: String) -> Bool { client.oauth2.contains { $0.hasPrefix(key + ":") } }
      lines += ["  \(client.name):", "    oauth2:"]
      if !has("grant") { lines.append("      grant: client_credentials") }
      if !has("token_url"), !has("issuer") { lines.append("      issuer: \(issuer)") }
      if !has("client_id") { lines.append("      client_id: \(client.name)") }
      if !has("client_auth"), !has("client_secret") { lines.append("      client_auth: tls_client_auth") }
      if !has("client_certificate") { lines.append("      " + certificate(client.name)) }
      lines += ["      timeout: 60s"] + client.oauth2.map { "      " + $0 }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  func configuration(_ name: String, _ oauth2: String..., top: String = "") -> String {
    configuration([Client(name: name, oauth2: oauth2)], top: top)
  }
}
