import Foundation
import Testing

/// What an app that speaks HTTP/2 inside of a CONNECT has seen. See http2_app.py.
struct HTTP2App: Decodable {
  enum Step: Decodable, Equatable {
    case head([[String]])
    case data(Int)
    case end
    case reset(Int)

    init(from decoder: Decoder) throws {
      var box = try decoder.unkeyedContainer()
      switch try box.decode(String.self) {
      case "head": self = .head(try box.decode([[String]].self))
      case "data": self = .data(try box.decode(Int.self))
      case "reset": self = .reset(try box.decode(Int.self))
      default: self = .end
      }
    }
  }

  /// How the connection ended: eof, reset or open.
  let end: String
  let seconds: Double
  let answers: Int
  let resets: Int
  /// What came, by the number of the stream.
  private let streams: [String: [Step]]

  subscript(stream: Int) -> [Step] { streams["\(stream)"] ?? [] }

  /// The fields of the stream's first head, by name.
  func head(_ stream: Int) -> [String: String] {
    guard case .head(let fields) = self[stream].first else { return [:] }
    return Dictionary(fields.map { ($0[0], $0[1]) }, uniquingKeysWith: { "\($0), \($1)" })
  }

  /// Bytes of the answer's body.
  func length(_ stream: Int) -> Int {
    self[stream].reduce(0) { if case .data(let count) = $1 { $0 + count } else { $0 } }
  }

  static func get(_ path: String, _ replaced: [String: String] = [:], _ more: [[String]] = []) -> [[String]] {
    [[":method", "GET"], [":scheme", "https"], [":authority", "api.test"], [":path", path]].map {
      [$0[0], replaced[$0[0]] ?? $0[1]]
    } + more
  }

  /// - Parameters:
  ///   - requests: the fields of each.
  ///   - options: more of http2_app.py.
  init(_ proxy: ProxyProcess, _ requests: [[[String]]] = [], _ options: String...) throws {
    self = try Self.start(proxy, requests, options).awaitApp()
  }

  /// The same, while the test goes on.
  static func start(_ proxy: ProxyProcess, _ requests: [[[String]]] = [], _ options: [String]) throws -> ChildProcess {
    let fields = try requests.flatMap { ["--fields", String(decoding: try JSONEncoder().encode($0), as: UTF8.self)] }
    return try ChildProcess(
      Surroundings.python,
      [Surroundings.support + "/http2_app.py", "\(proxy.port)", "api.test:443", proxy.root] + fields + options)
  }
}

extension ChildProcess {
  func awaitApp(seconds: Double = 90) throws -> HTTP2App {
    _ = awaitEnd(seconds: seconds)
    guard let seen = try? JSONDecoder().decode(HTTP2App.self, from: Data(output.utf8)) else {
      throw HarnessError("http2_app.py: \(output)\(errors)")
    }
    return seen
  }
}

extension HTTP2Origin {
  /// The entry `https://api.test`, which leads to this origin, and is intercepted.
  func interception(_ entry: String..., version: String = "auto", top: String = "threads: 1") -> String {
    let lines = entry.map { "    " + $0 + "\n" }.joined()
    return """
      \(top)
      intercept: {ca: {generate: ca}}
      upstreams:
        - match: https://api.test
          origin: \(url)
          http_version: \(version)
      \(lines)
      """
  }
}
