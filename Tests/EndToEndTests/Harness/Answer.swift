import Foundation

/// A response as it was received.
struct Answer {
  var version = ""
  var status = 0
  var fields: [(name: String, value: String)] = []
  var body: [UInt8] = []
  var trailers: [(name: String, value: String)] = []
  var head = ""
  /// 1xx responses before it.
  var interim: [Answer] = []
  var isChunked: Bool { self["Transfer-Encoding"]?.lowercased() == "chunked" }
  var text: String { String(decoding: body, as: UTF8.self) }

  subscript(name: String) -> String? { all(name).first }

  func all(_ name: String) -> [String] {
    fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
  }

  /// The value of `error` in this proxy's member of Proxy-Status.
  var proxyError: String? {
    for member in all("Proxy-Status").flatMap({ $0.components(separatedBy: ", ") }) where member.hasPrefix("authproxy") {
      for parameter in member.components(separatedBy: ";") {
        let pair = parameter.trimmingCharacters(in: .whitespaces)
        if pair.hasPrefix("error=") { return String(pair.dropFirst(6)) }
      }
    }
    return nil
  }

  /// What the origin's /echo received.
  func received() throws -> Received {
    do {
      return try JSONDecoder().decode(Received.self, from: Data(body))
    } catch {
      throw HarnessError("no exchange in this answer: \(head)\(text.prefix(300))")
    }
  }
}

/// A request as the origin saw it: see origin.py.
// swift-format-ignore: AlwaysUseLowerCamelCase, the names are those of the JSON
struct Received: Decodable {
  struct TLS: Decodable {
    let sni: String?
    let alpn: String?
    let version: String?
    let resumed: Bool?
  }
  let method: String
  let target: String
  let version: String
  let fields: [[String]]
  let raw_head: String
  let body_length: Int
  let body: String
  let sha256: String
  let matches_pattern: Bool
  let trailers: [[String]]
  /// head, complete, closed, or broken: gone before it was complete.
  let state: String
  let connection: Int
  let index: Int
  /// The address that the connection came from.
  let peer: String?
  let tls: TLS?

  /// The body's first 256 KiB, as bytes.
  var bodyBytes: [UInt8] { body.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }

  func all(_ name: String) -> [String] {
    fields.filter { $0[0].lowercased() == name.lowercased() }.map { $0[1] }
  }
  subscript(name: String) -> String? { all(name).first }
}

extension RawConnection {
  private static func parseHead(_ bytes: [UInt8]) throws -> Answer {
    var answer = Answer()
    answer.head = String(decoding: bytes, as: UTF8.self)
    var lines = answer.head.components(separatedBy: "\r\n")
    let words = lines.removeFirst().split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]), (100...599).contains(status) else {
      throw HarnessError("no status line: \(answer.head.prefix(200))")
    }
    answer.version = String(words[0])
    answer.status = status
    answer.fields = try lines.filter { !$0.isEmpty }.map(field)
    return answer
  }

  private static func field(_ line: String) throws -> (name: String, value: String) {
    guard let colon = line.firstIndex(of: ":") else { throw HarnessError("no field: \(line)") }
    return (String(line[..<colon]), line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces))
  }

  func readHead() throws -> Answer { try Self.parseHead(try read(through: "\r\n\r\n")) }

  /// The next final response, complete. `interim` has the 1xx responses before it.
  func readAnswer(to method: String = "GET") throws -> Answer {
    var interim: [Answer] = []
    var answer = try readHead()
    while answer.status < 200 && answer.status != 101 {
      interim.append(answer)
      answer = try readHead()
    }
    answer.interim = interim
    if method == "HEAD" || [101, 204, 304].contains(answer.status) || (method == "CONNECT" && answer.status == 200) {
      return answer
    }
    try readBody(&answer)
    return answer
  }

  func readBody(_ answer: inout Answer) throws {
    if answer["Transfer-Encoding"] != nil {
      guard answer.all("Transfer-Encoding").count == 1, answer.isChunked, answer["Content-Length"] == nil else {
        throw HarnessError("framed oddly: \(answer.head)")
      }
      while true {
        let line = String(decoding: try read(through: "\r\n").dropLast(2), as: UTF8.self)
        guard let size = Int(line, radix: 16) else { throw HarnessError("no chunk size: \(line)") }
        if size == 0 { break }
        answer.body += try read(size)
        guard try read(2) == [13, 10] else { throw HarnessError("a chunk without CRLF") }
      }
      while true {
        let line = String(decoding: try read(through: "\r\n").dropLast(2), as: UTF8.self)
        if line.isEmpty { return }
        answer.trailers.append(try Self.field(line))
      }
    } else if let length = answer["Content-Length"] {
      guard let count = Int(length), answer.all("Content-Length").count == 1 else {
        throw HarnessError("framed oddly: \(answer.head)")
      }
      answer.body = try read(count)
    } else {
      let (bytes, end) = try readToEnd()
      guard end == .closed else { throw HarnessError("reset inside a close-delimited body") }
      answer.body = bytes
    }
  }

  /// Reads one chunk of a chunked response.
  func readChunk() throws -> String {
    let line = String(decoding: try read(through: "\r\n").dropLast(2), as: UTF8.self)
    guard let size = Int(line, radix: 16) else { throw HarnessError("no chunk size: \(line)") }
    return String(decoding: try read(size + 2).dropLast(2), as: UTF8.self)
  }
}
