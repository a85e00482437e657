import Foundation
import Testing

/// The protocol to a hostile origin.
enum Wire: String, CaseIterable, CustomTestStringConvertible {
  case plain, tls12, tls13
  var isTLS: Bool { self != .plain }
  var testDescription: String { rawValue }

  /// The origin of an entry, in the configuration.
  func url(_ origin: Origin) throws -> String {
    let ports = origin.ports
    let port: Int?
    switch self {
    case .plain: port = ports.plain
    case .tls12: port = ports.tls12
    case .tls13: port = ports.tls13
    }
    guard let port else { throw HarnessError("\(rawValue) is a listener of hostile.py") }
    return isTLS ? "https://localhost:\(port)" : "http://127.0.0.1:\(port)"
  }
}

/// hostile.py. In addition to those of origin.py, its scripts have the steps from `record` on.
extension Origin {
  static func hostile() throws -> Origin { try Origin(program: "hostile.py") }

  /// Scripts of many exchanges, by name.
  func scripts(_ scripts: [String: [[Step]]]) throws {
    _ = try ask("/scripts", String(decoding: try JSONEncoder().encode(scripts), as: UTF8.self), as: Nothing.self)
  }

  private struct Standing: Decodable { let standing: Int }

  /// Waits until `count` exchanges have arrived there; returns their number.
  func standing(_ name: String, count: Int, seconds: Int = 15) throws -> Int {
    try ask("/standing?name=\(name)&count=\(count)&timeout=\(seconds)", as: Standing.self).standing
  }

  /// The next connection waits at `name` before its handshake. The last segment of the handshake that the origin sends then also
  /// has a record of the text, without its last `less` bytes (TLS 1.2).
  func greet(_ wire: Wire, with text: String, less: Int = 0, at name: String) throws {
    let body = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
    _ = try ask("/greet?listener=\(wire.rawValue)&name=\(name)&less=\(less)", body, as: Nothing.self)
  }

  /// Those that wait there continue, and later ones as well.
  func release(_ name: String) throws { _ = try ask("/release?name=\(name)", as: Nothing.self) }
}
