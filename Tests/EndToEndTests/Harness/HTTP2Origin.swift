import Foundation
import Testing

/// An origin that speaks HTTP/2 as the test says. See http2_origin.py.
final class HTTP2Origin: Sendable {
  enum Step: Encodable {
    /// Sent as they are.
    case head([[String]])
    case data(String)
    /// This many bytes, as the proxy's windows allow.
    case zeros(Int)
    /// Trailers and END_STREAM; none: an empty DATA frame.
    case end([[String]])
    /// DATA with END_STREAM.
    case last(String)
    /// A head with END_STREAM.
    case only([[String]])
    /// Type, flags, stream (-1: this one), payload.
    case frame(Int, Int, Int, String)
    case frames(Int, Int, Int, Int, String)
    /// Of all that follows only so many bytes are sent.
    case cut(Int)
    /// A head that never ends, in so many CONTINUATION frames.
    case continued(Int)
    case reset(Int)
    /// Last stream (-1: this one), code, debug data.
    case goAway(Int, Int, String)
    case settings([String: Int])
    case awaitEnd
    case awaitBytes(Int)
    case gate(String)
    /// Neither reads nor sends any more.
    case mute
    case close
    case abort

    /// A whole answer.
    static func answer(_ body: String, status: Int = 200) -> [Step] {
      [.awaitEnd, .head([[":status", "\(status)"], ["content-length", "\(body.utf8.count)"]]), .last(body)]
    }

    func encode(to encoder: Encoder) throws {
      var box = encoder.singleValueContainer()
      switch self {
      case .head(let fields): try box.encode(["head": fields])
      case .data(let text): try box.encode(["data": text])
      case .zeros(let count): try box.encode(["zeros": count])
      case .end(let fields): try box.encode(["end": fields])
      case .last(let text): try box.encode(["last": text])
      case .only(let fields): try box.encode(["only": fields])
      case .frame(let type, let flags, let stream, let payload):
        try box.encode(["frame": [Word.number(type), .number(flags), .number(stream), .text(payload)]])
      case .frames(let count, let type, let flags, let stream, let payload):
        try box.encode(["frames": [Word.number(count), .number(type), .number(flags), .number(stream), .text(payload)]])
      case .cut(let count): try box.encode(["cut": count])
      case .continued(let count): try box.encode(["continued": count])
      case .reset(let code): try box.encode(["reset": code])
      case .goAway(let last, let code, let text):
        try box.encode(["goaway": [Word.number(last), .number(code), .text(text)]])
      case .settings(let values): try box.encode(["settings": values])
      case .awaitEnd: try box.encode(["await": "end"])
      case .awaitBytes(let count): try box.encode(["await": count])
      case .gate(let name): try box.encode(["gate": name])
      case .mute: try box.encode(["mute": true])
      case .close: try box.encode(["close": true])
      case .abort: try box.encode(["abort": true])
      }
    }
  }

  private enum Word: Encodable {
    case number(Int)
    case text(String)
    func encode(to encoder: Encoder) throws {
      var box = encoder.singleValueContainer()
      switch self {
      case .number(let number): try box.encode(number)
      case .text(let text): try box.encode(text)
      }
    }
  }

  let port: Int
  private let child: Monitor<ChildProcess>
  var url: String { "https://localhost:\(port)" }

  /// - Parameters:
  ///   - alpn: what it chooses from, `none` for no ALPN.
  ///   - certificate: path without its ending; nil: the tests' own.
  init(alpn: [String] = ["h2", "http/1.1"], certificate: String? = nil) throws {
    let path = try certificate ?? Surroundings.pki() + "/good"
    let child = try ChildProcess(
      Surroundings.python, [Surroundings.support + "/http2_origin.py", path + ".pem", path + ".key"] + alpn)
    guard let port = child.awaitLine(where: { _ in true }).flatMap({ Int($0) }) else {
      throw HarnessError("http2_origin.py: \(child.errors)")
    }
    self.port = port
    self.child = Monitor(child)
  }

  deinit { child.change { $0.closeInput() } }

  /// Stops the program; the kernel still takes its connections and its bytes.
  func pause() { child.change { $0.signal(SIGSTOP) } }
  func goOn() { child.change { $0.signal(SIGCONT) } }

  @discardableResult
  private func order(_ text: String, seconds: Double = 30) throws -> Data {
    try child.change { child in
      let before = child.lines.count
      child.send(text + "\n")
      guard let line = child.awaitLine(from: before, seconds: seconds, where: { _ in true }) else {
        throw HarnessError("http2_origin.py: \(child.errors)")
      }
      return Data(line.utf8)
    }
  }

  private static func json(_ value: some Encodable) throws -> String {
    String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
  }

  /// What it does with requests whose query has `id=name`; one play for each in turn, the last for all others.
  func script(_ name: String, _ plays: [Step]...) throws {
    try order(#"{"do": "script", "name": "\#(name)", "plays": \#(try Self.json(plays))}"#)
  }

  /// Of connections that begin from now on.
  func set(alpn: [String]) throws { try order(#"{"do": "set", "values": {"alpn": \#(try Self.json(alpn))}}"#) }
  func set(settings: [String: Int]) throws {
    try order(#"{"do": "set", "values": {"settings": \#(try Self.json(settings))}}"#)
  }
  /// It gives no window for bodies back.
  func setHolding(_ holds: Bool) throws { try order(#"{"do": "set", "values": {"holds": \#(holds)}}"#) }
  /// It answers no PING.
  func setIgnoring(_ ignores: Bool) throws { try order(#"{"do": "set", "values": {"ignores": \#(ignores)}}"#) }
  /// It speaks TLS 1.2 with this cipher.
  func set(cipher: String) throws { try order(#"{"do": "set", "values": {"cipher": "\#(cipher)"}}"#) }
  /// Its first SETTINGS wait at the gate.
  func setLate(_ gate: String) throws { try order(#"{"do": "set", "values": {"late": "\#(gate)"}}"#) }

  /// Each connection is told to go away right behind the first SETTINGS.
  func setFarewell() throws { try order(#"{"do": "set", "values": {"farewell": [2147483647, 0, "bye"]}}"#) }

  /// Says how many streams it takes at once, on its newest connection, and returns when the proxy knows.
  func limitStreams(to count: Int) throws {
    let before = try tell().connections.last?.frames["SETTINGS.ACK"] ?? 0
    try play([.settings(["3": count])])
    let isKnown = try eventually { try tell().connections.last?.frames["SETTINGS.ACK"] ?? 0 > before }
    if !isKnown { throw HarnessError("the proxy has not acknowledged SETTINGS") }
  }

  func open(_ gate: String) throws { try order(#"{"do": "open", "gate": "\#(gate)"}"#) }

  enum Awaited: String { case requests, bodies, resets, closed, connections, standing }
  private struct Awaiting: Decodable { let fits: Bool, count: Int }

  /// Waits until there are so many.
  func await(
    _ what: Awaited, _ count: Int = 1, of name: String? = nil, seconds: Double = 15,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let named = name.map { #", "name": "\#($0)""# } ?? ""
    let line = try order(
      #"{"do": "await", "what": "\#(what.rawValue)", "count": \#(count), "seconds": \#(seconds)\#(named)}"#,
      seconds: seconds + 15)
    let found = try JSONDecoder().decode(Awaiting.self, from: line)
    #expect(found.fits, "\(found.count) of \(count) \(what.rawValue)", sourceLocation: sourceLocation)
  }

  func play(_ steps: [Step], on connection: Int = 0) throws {
    try order(#"{"do": "play", "connection": \#(connection), "steps": \#(try Self.json(steps))}"#)
  }

  struct Field: Decodable, Equatable {
    let name, value: String
    let isNeverIndexed: Bool
    init(from decoder: Decoder) throws {
      var box = try decoder.unkeyedContainer()
      name = try box.decode(String.self)
      value = try box.decode(String.self)
      isNeverIndexed = try box.decode(Bool.self)
    }
  }

  struct Request: Decodable {
    let id: String
    let connection: Int
    /// 0: HTTP/1.1.
    let stream: Int
    let `protocol`: String
    let fields, trailers: [Field]
    let size: Int
    let body: String
    let ended: Bool
    /// Code of the proxy's RST_STREAM.
    let reset: Int?

    subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
    func all(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
    /// The names, in order.
    var names: [String] { fields.map(\.name) }
  }

  struct Connection: Decodable {
    let number: Int
    let `protocol`: String?
    /// By identifier.
    let settings: [String: Int]
    /// Received ones by type.
    let frames: [String: Int]
    /// Stream and code.
    let resets: [[Int]]
    /// Codes.
    let goaways: [Int]
    let closed: Bool
    /// After TLS.
    let bytes: Int
    /// HPACK's dynamic table.
    let table: [[String]]
    /// Streams at once.
    let most: Int
  }

  struct Log: Decodable {
    let connections: [Connection]
    let requests: [Request]
    func of(_ id: String) -> [Request] { requests.filter { $0.id == id } }
  }

  func tell() throws -> Log { try JSONDecoder().decode(Log.self, from: try order(#"{"do": "tell"}"#)) }
}

extension Answer {
  /// What the origin received; it had no script.
  func told() throws -> HTTP2Origin.Request {
    do { return try JSONDecoder().decode(HTTP2Origin.Request.self, from: Data(body)) } catch {
      throw HarnessError("no request in this answer: \(head)\(text.prefix(300))")
    }
  }
}

extension HTTP2Origin {
  /// The entry `api.test`, which leads to this origin.
  /// - Parameters:
  ///   - entry: more lines of the entry.
  ///   - top: more lines of the file.
  func configuration(_ entry: String..., version: String = "auto", top: String = "threads: 1") -> String {
    let lines = entry.map { "    " + $0 + "\n" }.joined()
    return """
      \(top)
      upstreams:
        - match: api.test
          origin: \(url)
          http_version: \(version)
      \(lines)
      """
  }
}
