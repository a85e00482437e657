import Foundation

/// Configurations that many tests share. The entry matches `api.test`, and its origin is the Python one.
enum Configuration {
  /// Is in every secret of the tests, and therefore may be in no output.
  static let secretMark = "5ecret"
  static let token = "tok-5ecret-0001"
  /// As a value for the origin's `authorization` query.
  static let wanted = "Bearer%20tok-5ecret-0001"

  /// `entry`: further lines of the entry. `top`: further lines of the file.
  static func https(_ entry: String..., top: String = "", origin: Origin? = nil) throws -> String {
    text("https://localhost:\(try (origin ?? .shared()).ports.https)", entry, top)
  }

  /// The same with an origin in clear HTTP.
  static func http(_ entry: String..., top: String = "", origin: Origin? = nil, port: Int? = nil) throws -> String {
    text("http://127.0.0.1:\(try port ?? (origin ?? .shared()).ports.http)", entry, top)
  }

  private static func text(_ origin: String, _ entry: [String], _ top: String) -> String {
    var lines = ["upstreams:", "  - match: api.test", "    origin: \(origin)"]
    if !entry.contains(where: { $0.hasPrefix("credential:") }) { lines.append("    credential: api") }
    lines += entry.map { "    " + $0 }
    lines += ["credentials:", "  api:", "    bearer: {token: \(token)}"]
    if origin.hasPrefix("http:") { lines.append("    allow_plaintext: true") }
    return (lines + [top]).joined(separator: "\n") + "\n"
  }
}
