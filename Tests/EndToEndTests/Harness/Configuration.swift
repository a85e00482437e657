import Foundation

/// Configurations that many tests share. The entry matches `api.test`; its origin is the Python origin.
enum Configuration {
  /// Part of every secret in the tests, so it must not be in any output.
  static let secretMark = "5ecret"
  static let token = "tok-5ecret-0001"
  /// A value for the origin's `authorization` query.
  static let wanted = "Bearer%20tok-5ecret-0001"

  /// `entry`: more lines of the entry. `top`: more lines of the file.
  static func https(_ entry: String..., top: String = "", origin: Origin? = nil) throws -> String {
    text("https://localhost:\(try (origin ?? .shared()).ports.https)", entry, top)
  }

  /// The same with an origin over clear-text HTTP.
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
