/// A whole answer of a login's listener: plain HTML without script, style and external resource.
public struct BrowserPage: Sendable, Hashable {
  public let status: Int
  private let title: String
  /// Not escaped yet.
  private let text: String

  private init(_ status: Int, _ title: String, _ text: String) {
    self.status = status
    self.title = title
    self.text = text
  }

  /// - Parameter text: of `LoginEnd`, about a login whose tokens are stored.
  static func loggedIn(_ text: String) -> BrowserPage {
    BrowserPage(200, "Logged in", "You are \(text). You can close this page.")
  }

  static func failed(_ text: String) -> BrowserPage {
    BrowserPage(400, "Not logged in", "The login failed: \(text). You can close this page.")
  }

  /// Also for heads that are too long or malformed.
  public static let notThisLogin = BrowserPage(
    400, "Not this login", "This is not the answer that the login waits for. The login was not changed by it.")
  /// The browser repeats an answer that is being worked on.
  public static let alreadyReceived = BrowserPage(
    400, "Already received", "The login has its answer already. The terminal shows its result.")
  public static let wrongPath = BrowserPage(404, "Not found", "There is nothing here.")
  public static let wrongMethod = BrowserPage(405, "Method not allowed", "The login takes only GET requests.")

  public static let contentType = "text/html; charset=utf-8"

  /// In addition to `Content-Type`, `Content-Length` and `Connection`.
  public var fields: [(name: String, value: String)] {
    [
      ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"),
      ("Content-Security-Policy", "default-src 'none'"), ("X-Content-Type-Options", "nosniff"),
    ] + (status == 405 ? [("Allow", "GET")] : [])
  }

  public var body: [UInt8] {
    let title = Self.escaped(title)
    return Array(
      """
      <!DOCTYPE html>
      <html lang="en"><head><meta charset="utf-8"><title>\(title)</title></head>
      <body><h1>\(title)</h1><p>\(Self.escaped(text))</p></body></html>

      """.utf8)
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
