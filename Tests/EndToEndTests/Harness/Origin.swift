import Foundation
import Testing

/// The Python origin and its connections.
final class Origin: Sendable {
  // swift-format-ignore: AlwaysUseLowerCamelCase, the names are those of the JSON
  struct Ports: Decodable {
    let http, control, http6, https, wrong_host, expired, self_signed: Int
    /// hostile.py's.
    let plain, tls12, tls13: Int?
  }

  private let process: ChildProcess
  let ports: Ports

  init(program: String = "origin.py") throws {
    process = try ChildProcess(Surroundings.python, [Surroundings.support + "/" + program, try Surroundings.pki()])
    guard let line = process.awaitLine(where: { _ in true }) else {
      throw HarnessError("the origin did not start: \(process.errors)")
    }
    ports = try JSONDecoder().decode(Ports.self, from: Data(line.utf8))
  }

  /// Stops the origin; the kernel still accepts connections for it.
  func pause() { process.signal(SIGSTOP) }
  func goOn() { process.signal(SIGCONT) }

  private static let started = Result { try Origin() }
  /// One for all tests that neither count its connections nor close them.
  static func shared() throws -> Origin { try started.get() }

  /// A name for an exchange, which no other test uses.
  static func newName() -> String { "x" + UUID().uuidString.prefix(8).lowercased() }

  func ask<Reply: Decodable>(_ path: String, _ body: String = "", as type: Reply.Type) throws -> Reply {
    let connection = try RawConnection(port: ports.control)
    connection.timeout = 40
    try connection.send(
      "POST \(path) HTTP/1.1\r\nHost: control\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    let answer = try connection.readAnswer()
    guard answer.status == 200 else { throw HarnessError("control \(path): \(answer.head)") }
    return try JSONDecoder().decode(type, from: Data(answer.body))
  }

  struct Nothing: Decodable {}

  /// One step of a response that the origin plays for an exchange of a given name.
  enum Step: Encodable {
    case send(String)
    /// This many bytes of the pattern.
    case pattern(Int)
    /// Read the whole request body.
    case readBody
    /// Read at least this much of it.
    case readBytes(Int)
    /// Waits until the test opens the gate.
    case gate(String)
    case pause(Double)
    case echo
    case awaitClose
    /// Close with TLS's close_notify.
    case close
    /// FIN, but without close_notify.
    case abort
    /// RST
    case reset
    // Steps of hostile.py.
    /// One TLS record (in clear text: these bytes), kept back.
    case record(String)
    /// A session ticket, kept back.
    case ticket
    /// One segment: this many of the kept records, and this many bytes of the next; below 0: all but this many.
    case cut(Int, Int)
    /// One segment: everything that is kept back.
    case flush
    /// The same, with a byte of TCP urgent data after this many of the records.
    case urgent(Int)
    /// close_notify, kept back, without a FIN.
    case goodbye
    /// Session tickets until the peer closes, for at most this many seconds.
    case flood(Double)
    /// Waits until the test releases all exchanges that wait there.
    case stand(String)

    func encode(to encoder: Encoder) throws {
      var box = encoder.singleValueContainer()
      switch self {
      case .send(let text): try box.encode(["send": text])
      case .pattern(let count): try box.encode(["pattern": count])
      case .readBody: try box.encode(["read": "body"])
      case .readBytes(let count): try box.encode(["read": count])
      case .gate(let name): try box.encode(["gate": name])
      case .pause(let seconds): try box.encode(["pause": seconds])
      case .echo: try box.encode(["echo": true])
      case .awaitClose: try box.encode(["await_close": true])
      case .close: try box.encode(["close": true])
      case .abort: try box.encode(["abort": true])
      case .reset: try box.encode(["reset": true])
      case .record(let text): try box.encode(["record": text])
      case .ticket: try box.encode(["ticket": true])
      case .cut(let whole, let more): try box.encode(["cut": [whole, more]])
      case .flush: try box.encode(["flush": true])
      case .urgent(let whole): try box.encode(["urgent": whole])
      case .goodbye: try box.encode(["goodbye": true])
      case .flood(let seconds): try box.encode(["flood": seconds])
      case .stand(let name): try box.encode(["stand": name])
      }
    }
  }

  /// What the origin does with an exchange of this name. If there are several: one for each in turn, the last for all others.
  func script(_ name: String, _ steps: [Step]...) throws {
    let body = String(decoding: try JSONEncoder().encode(steps), as: UTF8.self)
    _ = try ask("/script?name=\(name)", body, as: Nothing.self)
  }

  func open(_ gate: String, of name: String, count: Int = 1) throws {
    _ = try ask("/gate?name=\(name)&gate=\(gate)&count=\(count)", as: Nothing.self)
  }

  private struct Found: Decodable {
    let there: Bool
    let exchanges: [Received]
  }

  /// The exchanges of this name so far.
  func exchanges(_ name: String) throws -> [Received] {
    try ask("/exchanges?name=\(name)", as: Found.self).exchanges
  }

  /// Waits until `count` exchanges have reached `state` (head, complete, closed), have `body` bytes, or wait at `gate`.
  @discardableResult
  func await(
    _ name: String, count: Int = 1, state: String = "head", body: Int = 0, gate: String? = nil, seconds: Int = 15
  ) throws -> [Received] {
    let at = gate.map { "&gate=\($0)" } ?? ""
    let found = try ask(
      "/exchanges?name=\(name)&count=\(count)&state=\(state)&body=\(body)&timeout=\(seconds)\(at)", as: Found.self)
    guard found.there else {
      let states = found.exchanges.map { "\($0.method) \($0.target) \($0.state) \($0.body_length)" }
      throw HarnessError("not \(count) exchanges \(state)\(at) within \(seconds) s: \(states)")
    }
    return found.exchanges
  }

  struct Connections: Decodable {
    let fits: Bool
    let open: Int
    let accepted: Int
  }

  /// Connections to one listener (`http`, `https`, ...). With `count` or `most` it waits until there are that many.
  func connections(_ listener: String, count: Int? = nil, most: Int? = nil, seconds: Int = 15) throws -> Connections {
    let wanted = (count.map { "&count=\($0)" } ?? "") + (most.map { "&most=\($0)" } ?? "")
    return try ask("/connections?listener=\(listener)\(wanted)&timeout=\(seconds)", as: Connections.self)
  }

  /// Closes all connections of a listener from the origin's side.
  func dropConnections(_ listener: String) throws {
    _ = try ask("/drop?listener=\(listener)", as: Nothing.self)
  }

  private struct Violations: Decodable { let violations: [String] }

  /// Things that the origin received and that no proxy should send. From all tests so far, so search for your own words.
  func violations() throws -> [String] { try ask("/violations", as: Violations.self).violations }
}
