import Foundation

/// An answer of a parent, whether a tunnel comes of it by the proxy and by curl, and why they differ.
struct OracleAnswer: Sendable, CustomStringConvertible {
  let name: String
  var description: String { name }
  /// To CONNECT; or to SOCKS's request.
  let bytes: [UInt8]
  /// For SOCKS: to the greeting.
  var greeting: [UInt8] = [5, 0]
  /// So many bytes leave at once; 0: all.
  var piece = 0
  /// The parent ends the connection behind it.
  var closes = true
  let opens: Bool
  let curlOpens: Bool
  /// Stands in docs/company-proxy.md; nil: no difference.
  var difference: String?

  /// It wants a credential, or another one.
  var refusesLogin: Bool { name == "407" || greeting == [5, 255] || greeting == [5, 2] }

  /// The origin's first bytes.
  static let first = "220 ready"

  init(
    _ name: String, _ bytes: [UInt8], greeting: [UInt8] = [5, 0], piece: Int = 0, closes: Bool = true, opens: Bool = false,
    curlOpens: Bool? = nil, difference: String? = nil
  ) {
    self.name = name
    self.bytes = bytes
    self.greeting = greeting
    self.piece = piece
    self.closes = closes
    self.opens = opens
    self.curlOpens = curlOpens ?? opens
    self.difference = difference
  }

  init(
    _ name: String, _ text: String, piece: Int = 0, closes: Bool = true, opens: Bool = false, curlOpens: Bool? = nil,
    difference: String? = nil
  ) {
    self.init(
      name, Array(text.utf8), piece: piece, closes: closes, opens: opens, curlOpens: curlOpens, difference: difference)
  }

  func send(_ bytes: [UInt8], on connection: RawConnection) {
    let size = piece == 0 ? max(bytes.count, 1) : piece
    for start in stride(from: 0, to: bytes.count, by: size) {
      // The peer may have given up.
      guard (try? connection.send(Array(bytes[start..<min(start + size, bytes.count)]))) != nil else { return }
    }
  }

  private static func fields(_ count: Int, _ length: Int) -> String {
    (0..<count).map { "X-Filler-\($0): \(String(repeating: "f", count: length))\r\n" }.joined()
  }

  static let connect: [OracleAnswer] = {
    let (ok, end) = ("HTTP/1.1 200 OK\r\n", "\r\n" + first)
    return [
      OracleAnswer("200", ok + end, opens: true),
      OracleAnswer("200 of HTTP/1.0", "HTTP/1.0 200 Connection established\r\n" + end, opens: true),
      OracleAnswer("200 without a reason", "HTTP/1.1 200\r\n" + end, opens: true),
      OracleAnswer("204", "HTTP/1.1 204 None\r\n" + end, opens: true),
      OracleAnswer("299", "HTTP/1.1 299 Fine\r\n" + end, opens: true),
      OracleAnswer("byte by byte", ok + "Via: x\r\n" + end, piece: 1, opens: true),
      OracleAnswer("20 KiB of fields", ok + fields(20, 1000) + end, opens: true),
      OracleAnswer("20 KiB of fields in pieces", ok + fields(20, 1000) + end, piece: 100, opens: true),
      OracleAnswer("200 with Content-Length", ok + "Content-Length: 4000\r\n" + end, opens: true),
      OracleAnswer("200 with Transfer-Encoding", ok + "Transfer-Encoding: chunked\r\n" + end, opens: true),
      OracleAnswer(
        "200 with both", ok + "Content-Length: 9\r\nTransfer-Encoding: chunked\r\n" + end, opens: true),
      OracleAnswer(
        "200 after 100", "HTTP/1.1 100 Go\r\n\r\n" + ok + end, opens: true, curlOpens: false,
        difference: "interim answers before the 200"),
      OracleAnswer(
        "200 after 103", "HTTP/1.1 103 Early\r\nLink: <x>\r\n\r\n" + ok + end, opens: true, curlOpens: false,
        difference: "interim answers before the 200"),
      OracleAnswer("101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n" + end),
      OracleAnswer("302 to a login page", "HTTP/1.1 302 Found\r\nLocation: http://login.test/\r\nContent-Length: 0\r\n\r\n"),
      OracleAnswer("401", "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n"),
      OracleAnswer("403 with a page", "HTTP/1.1 403 Forbidden\r\nContent-Length: 6\r\n\r\nfilter"),
      OracleAnswer("407", "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 3\r\n\r\nno!"),
      OracleAnswer("500", "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
      OracleAnswer("503", "HTTP/1.1 503 Down\r\nContent-Length: 0\r\n\r\n"),
      OracleAnswer("504", "HTTP/1.1 504 Late\r\nContent-Length: 0\r\n\r\n"),
      OracleAnswer("600", "HTTP/1.1 600 What\r\nContent-Length: 0\r\n\r\n"),
      OracleAnswer("another protocol", "SSH-2.0-OpenSSH_9.2\r\n"),
      OracleAnswer("a TLS alert", "\u{15}\u{3}\u{1}\u{0}\u{2}\u{2}F"),
      OracleAnswer("silence", "", closes: false),
      OracleAnswer("100 and silence", "HTTP/1.1 100 Go\r\n\r\n", closes: false),
      OracleAnswer("a close", ""),
      OracleAnswer("a cut head", "HTTP/1.1 200 OK\r\nVia: x\r\n"),
      OracleAnswer("a head without end", ok + String(repeating: "A: b\r\n", count: 100_000)),
      OracleAnswer("a field without end", ok + "X: " + String(repeating: "x", count: 400_000)),
      OracleAnswer(
        "70 KiB of fields", ok + fields(70, 1000) + end, curlOpens: true, difference: "a head above `response_head`"),
      OracleAnswer(
        "bare LF", "HTTP/1.1 200 OK\nVia: x\n\n" + first, curlOpens: true, difference: "lines that end with LF alone"),
      OracleAnswer("a folded field", ok + "X: 1\r\n 2\r\n" + end, curlOpens: true, difference: "folded fields"),
      OracleAnswer(
        "a line that is no field", ok + "nothing\r\n" + end, curlOpens: true, difference: "lines that are no fields"),
      OracleAnswer("HTTP/2 in its status line", "HTTP/2 200\r\n" + end),
    ]
  }()

  static let socks: [OracleAnswer] = {
    let text = Array(first.utf8)
    func reply(_ code: UInt8, _ bound: [UInt8] = [1, 127, 0, 0, 1, 0, 80]) -> [UInt8] { [5, code, 0] + bound + text }
    let name: [UInt8] = [3, 9] + Array("localhost".utf8) + [0, 80]
    let six: [UInt8] = [4] + [UInt8](repeating: 0, count: 15) + [1, 0, 80]
    let long: [UInt8] = [3, 255] + [UInt8](repeating: 97, count: 255) + [0, 80]
    return [
      OracleAnswer("an IPv4 address", reply(0), opens: true),
      OracleAnswer("an IPv4 address, byte by byte", reply(0), piece: 1, opens: true),
      OracleAnswer("a name", reply(0, name), opens: true),
      OracleAnswer("a name, byte by byte", reply(0, name), piece: 1, opens: true),
      OracleAnswer("a name of 255 bytes", reply(0, long), piece: 100, opens: true),
      OracleAnswer(
        "an empty name", reply(0, [3, 0, 0, 80]), opens: true, curlOpens: false, difference: "an empty name in a SOCKS reply"),
      OracleAnswer("an IPv6 address", reply(0, six), opens: true),
      OracleAnswer("an IPv6 address, byte by byte", reply(0, six), piece: 1, opens: true),
      OracleAnswer("another kind of address", reply(0, [2, 0, 0, 0, 0, 0, 80])),
      OracleAnswer("a reply of SOCKS4", [0, 90, 0, 80, 127, 0, 0, 1], greeting: [0, 90]),
      OracleAnswer("another version in the reply", [4] + reply(0).dropFirst()),
      OracleAnswer("no method", [], greeting: [5, 255]),
      OracleAnswer("a method that was not offered", [], greeting: [5, 2]),
      OracleAnswer("HTTP", Array("TP/1.1 400 Bad\r\n\r\n".utf8), greeting: Array("HT".utf8)),
      OracleAnswer("a close", [], greeting: []),
      OracleAnswer("a close after the method", []),
      OracleAnswer("a cut reply", [5, 0, 0, 1, 127]),
      OracleAnswer("silence", [], closes: false),
    ] + (1...9).map { OracleAnswer("reply \($0)", reply($0)) } + [OracleAnswer("reply 255", reply(255))]
  }()
}
