import Foundation

/// A response that its origin cuts at given places, and what an app should get of it.
struct CutAnswer {
  let name: String
  var host = "api.test"
  var method = "GET"
  /// Of the request.
  var fields: [String] = []
  var requestBody: String?
  /// What the origin sends, with the places where it may be cut. Over TLS each piece is a record.
  let pieces: [String]
  /// What the origin does after it has sent them.
  var afterwards: [Origin.Step] = []
  /// The response to the same request when the proxy sends it again.
  var next: String?
  /// What the app gets.
  var status = 200
  var body = ""
  var trailers: [String] = []
  /// Bytes that follow a 101.
  var otherProtocol = ""
  /// The end of the connection delimits the body.
  var endsByClose = false

  /// The text, with a `¦` at each possible cut.
  static func at(_ marked: String) -> [String] { marked.components(separatedBy: "¦") }

  /// In gzip.
  var isCoded: Bool { pieces[0].contains("gzip") }

  enum Then {
    case goesOn
    case resets
    /// A FIN, without close_notify.
    case aborts
    /// It sends nothing more, and keeps the connection.
    case stalls
  }
}

/// One cut of one answer.
struct Cut: CustomStringConvertible {
  let answer: CutAnswer
  let id: String
  /// Pieces to send, and bytes of the next one's record; below 0: all but this many.
  let whole: Int
  let more: Int
  let then: CutAnswer.Then

  var description: String { "\(answer.name), \(whole) pieces and \(more) bytes, then \(then)" }

  /// This response, cut everywhere, then each of these.
  static func all(of answer: CutAnswer, _ wire: Wire, _ kinds: [CutAnswer.Then]) -> [Cut] {
    var cuts: [Cut] = []
    for whole in answer.pieces.indices {
      // At a record's boundary, in its header, in its middle, before its last byte. In clear text each piece is a place.
      for more in wire.isTLS ? [0, 3, 12, -1] : whole == 0 ? [3] : [0] where whole > 0 || more != 0 {
        for then in kinds {
          let cut = Cut(answer: answer, id: Origin.newName(), whole: whole, more: more, then: then)
          // In clear text a FIN ends such a body, unless its coding says that something is missing.
          if answer.endsByClose, then == .aborts, !wire.isTLS, cut.headIsWhole, !answer.isCoded || whole == 1 { continue }
          cuts.append(cut)
        }
      }
    }
    return cuts
  }

  /// The head of the final response was sent before the cut.
  var headIsWhole: Bool {
    let heads = answer.pieces.joined().components(separatedBy: "\r\n\r\n")
    let interim = heads.prefix { $0.hasPrefix("HTTP/1.1 1") && !$0.hasPrefix("HTTP/1.1 101") }.count
    let left = answer.pieces[..<whole].joined().components(separatedBy: "\r\n\r\n")
    return left.count > interim + 1
  }

  var request: String {
    ProxyProcess.request(answer.method, "http://\(answer.host)/\(id)?id=\(id)", answer.fields, body: answer.requestBody)
  }

  /// - Parameter place: state of the exchange after the cut.
  func script(standingAt place: String) -> [[Origin.Step]] {
    var steps = answer.pieces.map { Origin.Step.record($0) } + [.cut(whole, more), .stand(place)]
    switch then {
    case .goesOn: steps += [.flush] + answer.afterwards + (answer.endsByClose ? [.close] : [])
    case .resets: steps.append(.reset)
    case .aborts: steps.append(.abort)
    // Nobody releases it.
    case .stalls: break
    }
    return [steps] + (answer.next.map { [[.send($0)]] } ?? [])
  }

  /// What is wrong with the app's view of it; nil if nothing is.
  func fault(_ client: RawConnection) -> String? {
    do {
      var got = try client.readHead()
      while got.status < 200, got.status != 101 { got = try client.readHead() }
      let isBroken = then != .goesOn && !isRepeated
      if isBroken, then == .stalls, !headIsWhole {
        return got.status == 504 && got.proxyError == "connection_read_timeout" ? nil : "no time-out: \(got.head)"
      }
      if isBroken, then != .stalls, got.status == 502 {
        return got.proxyError == "http_protocol_error" ? nil : "another 502: \(got.head)"
      }
      guard got.status == answer.status else { return "\(got.status), \(got.proxyError ?? "relayed")" }
      if isBroken { return try faultOfBroken(&got, client) }
      if answer.otherProtocol != "" {
        let count = answer.otherProtocol.utf8.count
        return try client.read(count) == Array(answer.otherProtocol.utf8) ? nil : "other bytes behind the 101"
      }
      if answer.method != "HEAD", ![204, 304].contains(got.status) { try client.readBody(&got) }
      if got.text != answer.body { return "another body: \(got.text.prefix(100)), \(got.body.count) bytes" }
      return got.trailers.map { "\($0.name): \($0.value)" } == answer.trailers ? nil : "other trailers: \(got.trailers)"
    } catch {
      return "\(error)"
    }
  }

  /// What is wrong with the app's view before the cut is over; nil: everything that left the origin whole is there.
  func faultOfEarlyBytes(_ client: RawConnection, before deadline: Date) -> String? {
    var left = Arrived(answer.pieces[..<whole].joined().unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
    if answer.isCoded { left.body = Array(left.body.dropFirst(StoredGzip.headCount).prefix(answer.body.utf8.count)) }
    // Held, or dropped.
    if ["refreshed.test", "refused.test", "retry.test"].contains(answer.host) { (left.status, left.body) = (nil, []) }
    do {
      while !Arrived(client.pending).includes(left) {
        guard try client.receive(before: deadline) else { return "ended before its cut" }
      }
      return nil
    } catch { return "\(left.interims) interim, \(left.status ?? 0) and \(left.body.count) bytes have left: \(error)" }
  }

  /// Sends the request again, whatever the result of this exchange.
  private var isRepeated: Bool { answer.next != nil && (headIsWhole || answer.host == "retry.test") }

  /// Its head arrived, so the rest must not look complete.
  private func faultOfBroken(_ got: inout Answer, _ client: RawConnection) throws -> String? {
    if answer.otherProtocol != "" {
      return try client.readToEnd().bytes.count < answer.otherProtocol.utf8.count ? nil : "all that should follow the 101"
    }
    if answer.method == "HEAD" || [204, 304].contains(got.status) { return "looks whole" }
    do { try client.readBody(&got) } catch {
      return client.end == nil ? "neither went on nor ended" : nil
    }
    return "looks whole"
  }
}

/// What a stream of bytes has of a response so far.
struct Arrived {
  /// 1xx responses other than 100, which may not be for the app.
  var interims = 0
  var status: Int?
  /// Without its framing.
  var body: [UInt8] = []

  init(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while status == nil, let end = Array(rest).firstRange(of: Array("\r\n\r\n".utf8), from: 0) {
      let head = String(decoding: rest.prefix(end), as: UTF8.self)
      rest = rest.dropFirst(end + 4)
      let number = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
      if number >= 200 || number == 101 {
        status = number
        body = head.lowercased().contains("transfer-encoding: chunked") ? Self.chunks(rest) : Array(rest)
      } else if number != 100 {
        interims += 1
      }
    }
  }

  private static func chunks(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var (body, rest) = ([UInt8](), bytes)
    while let end = rest.firstIndex(of: 10) {
      let line = String(decoding: rest[..<end].prefix { $0 != 13 && $0 != UInt8(ascii: ";") }, as: UTF8.self)
      guard let size = Int(line, radix: 16), size > 0 else { break }
      rest = rest[(end + 1)...]
      body += rest.prefix(size)
      rest = rest.dropFirst(size + 2)
    }
    return body
  }

  func includes(_ other: Arrived) -> Bool {
    interims >= other.interims && (other.status == nil || status == other.status) && body.count >= other.body.count
      && memcmp(body, other.body, other.body.count) == 0
  }
}

/// gzip without compression: RFC 1952 around one stored block of RFC 1951.
enum StoredGzip {
  /// Head, data and sum, each byte one character.
  static func pieces(_ text: String) -> (head: String, data: String, sum: String) {
    let bytes = Array(text.utf8)
    let length = UInt16(bytes.count)
    let head: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1] + little(length) + little(~length)
    return (latin1(head), latin1(bytes), latin1(little(checksum(bytes)) + little(UInt32(bytes.count))))
  }

  static let headCount = 15

  static func text(_ text: String) -> String {
    let (head, data, sum) = pieces(text)
    return head + data + sum
  }

  static func latin1(_ bytes: [UInt8]) -> String { String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) })) }

  private static func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0xedb8_8320 : sum >> 1 }
    }
  }
}
