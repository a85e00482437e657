import CSystem
import DemoServers
import Synchronization

/// Prints what happens in the demo, line by line. Callable from any thread.
final class DemoNarrator: Sendable {
  private let start = csys_monotonic()
  /// Requests whose end the proxy has logged.
  private let ended = Mutex(0)
  private let tokens = Mutex(Tokens())
  private let asked = Mutex(0)
  private let multiplexed = Mutex(0)
  /// Requests of a crowd that the API did not see, while one is told.
  private let crowd = Mutex<Int?>(nil)

  private struct Tokens {
    var asked = 0
    /// Requested since the API was last used.
    var sinceUse = 0
  }

  func tell(_ who: String, _ what: String) {
    let hundredths = (csys_monotonic() - start) / 10_000_000
    let seconds = "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100) s"
    var page = Page(labelWidth: 23)
    page.row(String(repeating: " ", count: max(0, 7 - seconds.count)) + seconds + "  " + who, what, indent: 1)
    page.print()
  }

  func tell(_ event: DemoEvent) {
    switch event.source {
    case .api:
      tokens.withLock { $0.sinceUse = 0 }
      asked.withLock { $0 += 1 }
      tell("API", event.text)
    case .events:
      multiplexed.withLock { $0 += 1 }
      tell("events API", event.text)
    case .camera: tell("camera", event.text)
    case .store: tell("store", event.text)
    case .responder: tell("OCSP server", event.text)
    case .loginServer: tell("login server", event.text)
    case .tokenServer:
      let sinceUse = tokens.withLock { tokens in
        tokens.asked += 1
        tokens.sinceUse += 1
        return tokens.sinceUse
      }
      if sinceUse <= 2 { tell("token server", event.text) }
      if sinceUse == 3 { tell("token server", "... and so on, while no app sends a request") }
    }
  }

  /// Number of requests to the API.
  var apiRequests: Int { asked.withLock { $0 } }

  /// Number of connections to the API that speaks HTTP/2.
  var multiplexedConnections: Int { multiplexed.withLock { $0 } }

  /// Requests with an answer of another's are told in one line.
  /// - Returns: what `body` returns.
  func crowded<Result>(_ body: () -> Result) -> Result {
    crowd.withLock { $0 = 0 }
    let result = body()
    let count = crowd.withLock { count in
      defer { count = nil }
      return count ?? 0
    }
    tell("proxy", "\(count) requests: 200, all with the answer to that one")
    return result
  }

  var endedRequests: Int { ended.withLock { $0 } }
  /// Number of requests to the token server.
  var tokenRequests: Int { tokens.withLock { $0.asked } }

  /// A line of the proxy's log, in its JSON format.
  func tell(logLine: [UInt8]) {
    let line = LogLine(logLine)
    guard line["message"] == "request" || line["message"] == "tunnel" else {
      if line["level"] != "info" { tell("proxy", line.text(without: ["time", "level"])) }
      return
    }
    let isFolded = crowd.withLock { count in
      guard count != nil, line["cache"] == "collapsed" || line["cache"] == "hit" else { return false }
      count = (count ?? 0) + 1
      return true
    }
    if !isFolded { tell("proxy", Self.story(of: line)) }
    ended.withLock { $0 += 1 }
  }

  static func story(of line: LogLine) -> String {
    let target =
      line["message"] == "tunnel"
      ? "CONNECT \(line["authority"] ?? "")" : "\(line["method"] ?? "?") http://\(line["authority"] ?? "")\(line["path"] ?? "")"
    var story = "\(target): \(line["status"] ?? "?")"
    guard line["author"] == "upstream" else {
      return story + " by the proxy itself" + (line["details"].map { ", \($0)" } ?? "")
    }
    story += " in \(line["duration_ms"].map { String($0.prefix { $0 != "." }) } ?? "?") ms"
    if line["cache"] == "hit" { story += ", a stored answer" }
    if let attempts = line["attempts"].flatMap({ Int($0) }), attempts > 1 {
      story += attempts == 2 ? ", sent twice" : ", sent \(attempts) times"
    }
    return story
  }
}
