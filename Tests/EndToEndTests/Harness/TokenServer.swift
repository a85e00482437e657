import Foundation

/// A realm of the Python token server, and the API that requires its tokens: see oauth.py.
struct TokenServer {
  struct Asked: Decodable {
    let form: [String: String]
    let fields: [[String]]
    let method: String
    /// Seconds of the monotonic clock.
    let at: Double
    subscript(field: String) -> String? { fields.first { $0[0].lowercased() == field.lowercased() }?[1] }
  }
  struct Use: Decodable {
    let path: String
    let method: String
    let token: String
    let status: Int
    let late: Bool
    let body_length: Int
  }
  struct State: Decodable {
    let requests: [Asked]
    let issued: [String]
    let concurrent: Int
    let refresh_token: String?
    let reuse: String?
    let lost: Int
    let uses: [Use]
  }

  let origin: Origin
  let name: String

  init(_ settings: String = "{}", origin: Origin? = nil, name: String = Origin.newName()) throws {
    self.origin = try origin ?? .shared()
    self.name = name
    try set(settings)
  }

  /// - Parameter settings: JSON; the keys are oauth.py's.
  @discardableResult
  func set(_ settings: String) throws -> State { try origin.ask("/oauth?name=\(name)", settings, as: State.self) }

  func state() throws -> State { try set("{}") }

  /// The next token request waits until `openGate`.
  func holdNext() throws { try set(#"{"queue": [{"gate": "on"}]}"#) }
  func openGate() throws { try origin.open("on", of: name) }

  var tokenURL: String { "https://localhost:\(origin.ports.https)/oauth/\(name)/token?id=\(name)" }
  var issuer: String { "https://localhost:\(origin.ports.https)/oauth/\(name)" }
  func url(_ path: String = "x") -> String { "http://api.test/api/\(name)/\(path)" }

  /// `oauth`: more lines of the credential. Grant, endpoint and client are there already, unless these lines have them.
  func configuration(
    _ oauth: String..., match: String = "api.test", entry: [String] = [], top: String = ""
  ) throws -> String { try configuration(lines: oauth, match: match, entry: entry, top: top) }

  func configuration(
    lines oauth: [String], match: String = "api.test", entry: [String] = [], top: String = ""
  ) throws -> String {
    func has(_ key: String) -> Bool { oauth.contains { $0.hasPrefix(key + ":") } }
    var lines = [
      "upstreams:", "  - match: \(match)", "    origin: https://localhost:\(origin.ports.https)", "    credential: api",
    ]
    lines += entry.map { "    " + $0 }
    lines += ["credentials:", "  api:", "    oauth2:"]
    if !has("grant") { lines.append("      grant: client_credentials") }
    if !has("token_url"), !has("issuer") { lines.append("      token_url: \(tokenURL)") }
    if !has("client_id") { lines.append("      client_id: me") }
    if !has("client_secret"), !has("client_auth"), !has("client_assertion") {
      lines.append("      client_secret: shh-5ecret-client")
    }
    // The machine may be slow to open gates.
    if !has("timeout") { lines.append("      timeout: 60s") }
    lines += oauth.map { "      " + $0 }
    return (lines + [top]).joined(separator: "\n") + "\n"
  }
}

extension Answer {
  /// Details in this proxy's member of Proxy-Status.
  var proxyDetails: String? {
    let members = all("Proxy-Status").filter { $0.hasPrefix("authproxy;") }
    guard let start = members.first?.range(of: "details=\""), let member = members.first else { return nil }
    return String(member[start.upperBound...].prefix { $0 != "\"" })
  }
}
