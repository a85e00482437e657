import Foundation
import Testing

/// A proxy that intercepts `https://api.test`, and what clients see inside.
enum Intercepted {
  /// - Parameters:
  ///   - entries: more entries.
  ///   - top: more lines of the file.
  ///   - entry: more lines of the entry.
  static func configuration(
    match: String = "https://api.test", entry: String..., entries: String = "", top: String = "", origin: Origin? = nil
  ) throws -> String {
    let port = try (origin ?? .shared()).ports.https
    var lines = ["upstreams:", "  - match: \(match)", "    origin: https://localhost:\(port)", "    credential: api"]
    lines += entry.map { "    " + $0 }
    if !entries.isEmpty { lines.append(entries) }
    lines += ["credentials:", "  api:", "    bearer: {token: \(Configuration.token)}"]
    if !top.contains("intercept:") { lines.append("intercept: {ca: {generate: ca}}") }
    return (lines + [top]).joined(separator: "\n") + "\n"
  }

  // swift-format-ignore: AlwaysUseLowerCamelCase, the names are those of the JSON
  /// See inside.py.
  struct Seen: Decodable {
    let connect: Int
    let handshake: String
    let version: String
    let alpn: String
    let resumed: [Bool]
    let received: String
    let end: String

    /// Statuses of the responses, in order.
    var statuses: [Int] {
      received.components(separatedBy: "HTTP/1.1 ").dropFirst().compactMap { Int($0.prefix(3)) }
    }
  }
}

extension ProxyProcess {
  /// The root of the CA that the proxy made.
  var root: String { folder + "/ca/ca.pem" }

  /// CONNECT, TLS, and a request inside.
  /// - Parameter options: of inside.py.
  func inside(
    _ request: String, target: String = "api.test:443", root: String? = nil, port: Int? = nil, _ options: String...
  ) throws -> Intercepted.Seen {
    try inside(request, target: target, root: root, port: port, options)
  }

  func inside(
    _ request: String, target: String = "api.test:443", root: String? = nil, port: Int? = nil, _ options: [String]
  ) throws -> Intercepted.Seen {
    let run = try ChildProcess.run(
      Surroundings.python,
      [Surroundings.support + "/inside.py", "\(port ?? self.port)", target, root ?? self.root] + options,
      input: request)
    guard let seen = try? JSONDecoder().decode(Intercepted.Seen.self, from: Data(run.output.utf8)) else {
      throw HarnessError("inside.py: \(run.output)\(run.errors)")
    }
    return seen
  }

  /// A request in origin-form for `api.test`, after which the connection ends.
  static func last(_ method: String, _ path: String, _ fields: [String] = [], host: String = "api.test") -> String {
    request(method, path, ["Host: \(host)", "Connection: close"] + fields)
  }
}

extension Intercepted.Seen {
  /// What the origin received, of the last response.
  func echoed() throws -> Received {
    guard let body = received.components(separatedBy: "\r\n\r\n").last else { throw HarnessError("no response: \(self)") }
    return try JSONDecoder().decode(Received.self, from: Data(body.utf8))
  }
}
