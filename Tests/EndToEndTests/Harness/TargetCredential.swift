import Foundation

/// Configurations with a credential in the target. The entry matches `api.test`.
enum TargetCredential {
  /// The secret, and what it is in a query and in a path.
  static let secret = "k-5ecret/+ ü:"
  static let inQuery = "k-5ecret%2F%2B%20%C3%BC%3A"
  static let inPath = "k-5ecret%2F+%20%C3%BC:"

  /// - Parameters:
  ///   - value: a secret's value in the configuration.
  ///   - entry: more keys of the entry, each with a comma before it.
  static func query(_ value: String, entry: String = "", top: String = "", origin: Origin? = nil) throws -> String {
    try text("query: {name: key, value: \(value)}", entry, top, origin)
  }

  static func path(_ value: String, entry: String = "", top: String = "", origin: Origin? = nil) throws -> String {
    try text("path: {segment: \"bot{value}\", value: \(value)}", entry, top, origin)
  }

  private static func text(_ kind: String, _ entry: String, _ top: String, _ origin: Origin?) throws -> String {
    """
    upstreams:
      - {match: api.test, origin: "https://localhost:\(try (origin ?? .shared()).ports.https)", credential: api\(entry)}
    credentials:
      api: {\(kind)}
    \(top)

    """
  }

  /// A file with the secret, as the configuration names it.
  static func file(_ secret: String = secret) throws -> (path: String, value: String) {
    let path = try Surroundings.newFolder() + "/secret"
    try ProxyProcess.write(secret + "\n", to: path)
    return (path, "{file: \(path)}")
  }

  static func answer(_ status: String, _ fields: String = "") -> Origin.Step {
    .send("HTTP/1.1 \(status)\r\n\(fields)Content-Length: 0\r\n\r\n")
  }
}
