import Foundation
import Testing

/// A proxy that follows redirects. All hosts are one origin, whose exchanges have the name that the target's `id` says; its TLS listener
/// tells which host was meant.
struct Redirecting {
  static let token = "api-5ecret-token"
  static let payKey = "pay-5ecret-key"
  /// 127.0.0.1, with the certificate that `localhost` has.
  static let cdn = "cdn.example.test"
  static let pay = "pay.example.test"

  let origin: Origin
  var port: Int { origin.ports.https }
  /// The origin of api.test.
  var api: String { "https://localhost:\(port)" }

  init(_ origin: Origin? = nil) throws { self.origin = try origin ?? .shared() }

  /// - Parameters:
  ///   - redirects: the value of the key for api.test.
  ///   - entry: more keys of that entry, each with a comma before it.
  ///   - entries: more entries.
  func configuration(
    _ redirects: String, entry: String = "", entries: [String] = [], credentials: [String] = [], top: String = ""
  ) -> String {
    """
    upstreams:
      - {match: api.test, origin: "\(api)", credential: api, redirects: \(redirects)\(entry)}
      - {name: pay, match: pay.test/v1, origin: "https://\(Self.pay):\(port)/base", credential: pay, methods: [GET, HEAD, POST]}
      - {name: clear, match: clear.test, origin: "http://127.0.0.1:\(origin.ports.http)", redirects: \(redirects)}
    \(entries.map { "  - " + $0 }.joined(separator: "\n"))
    credentials:
      api: {bearer: {token: \(Self.token)}}
      pay: {header: {name: X-Pay-Key, value: \(Self.payKey)}}
    \(credentials.map { "  " + $0 }.joined(separator: "\n"))
    hosts: {\(Self.cdn): [127.0.0.1], \(Self.pay): [127.0.0.1]}
    \(top)

    """
  }

  /// Follows five, for every method that a redirect can be followed for, to the other hosts.
  func standard(_ more: String = "") -> String {
    #"{follow: 5, methods: [GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS], to: ["\#(Self.cdn):\#(port)", pay]\#(more)}"#
  }

  static func answer(_ status: Int, _ location: String?, _ fields: String = "", body: String = "moved") -> Origin.Step {
    let line = location.map { "Location: \($0)\r\n" } ?? ""
    return .send("HTTP/1.1 \(status) Moved\r\n\(line)\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
  }

  /// The origin answers exchanges of a new name with a redirect.
  /// - Parameter location: gets a name for the target's exchange.
  func redirecting(_ status: Int = 302, _ fields: String = "", to location: (String) -> String) throws -> (String, String) {
    let (name, next) = (Origin.newName(), Origin.newName())
    try origin.script(name, [.readBody, Self.answer(status, location(next), fields)])
    return (name, next)
  }

  func only(_ name: String) throws -> Received {
    let found = try origin.exchanges(name)
    guard found.count == 1 else { throw HarnessError("\(found.count) exchanges \(name)") }
    return found[0]
  }
}

extension Received {
  /// A secret of the tests is in it.
  var hasSecret: Bool { (raw_head + body).contains(Configuration.secretMark) }
}

extension Answer {
  /// `details` of the proxy's own member of Proxy-Status.
  var details: String? {
    all("Proxy-Status").first { $0.hasPrefix("authproxy") }?.components(separatedBy: "details=\"").dropFirst().first.map {
      String($0.prefix { $0 != "\"" })
    }
  }
}
