import Foundation

/// A response that its origin cuts at given places, and what an app should get of it.
struct CutAnswer {
  let name: String
  var host = "api.test"
  var method = "GET"
  /// Of the request.
  var fields: [String] = []
  /// What the origin sends, with the places where it may be cut. Over TLS each piece is a record.
  let pieces: [String]
  /// The response to the same request when the proxy sends it again.
  var next: String?
  /// What the app gets.
  var status = 200
  var body = ""
  var trailers: [String] = []
  /// Bytes that follow a 101.
  var afterwards = ""
  /// The end of the connection delimits the body.
  var endsByClose = false

  /// The text, with a `¦` at each possible cut.
  static func at(_ marked: String) -> [String] { marked.components(separatedBy: "¦") }

  enum Then: CaseIterable {
    case goesOn
    case resets
    /// A FIN, without close_notify.
    case aborts
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

  /// Everything that such an origin may do with this response.
  static func all(of answer: CutAnswer, _ wire: Wire) -> [Cut] {
    var cuts: [Cut] = []
    for whole in 1..<answer.pieces.count {
      // At a record's boundary, in its header, in its middle, before its last byte.
      for more in wire.isTLS ? [0, 3, 12, -1] : [0] {
        for then in CutAnswer.Then.allCases {
          if more == 3 || more == -1, then != .goesOn { continue }
          let cut = Cut(answer: answer, id: Origin.newName(), whole: whole, more: more, then: then)
          // In clear text a FIN ends such a body.
          if answer.endsByClose, then == .aborts, !wire.isTLS, cut.headIsWhole { continue }
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

  var request: String { ProxyProcess.request(answer.method, "http://\(answer.host)/\(id)?id=\(id)", answer.fields) }

  /// - Parameter place: state of the exchange after the cut.
  func script(standingAt place: String) -> [[Origin.Step]] {
    var steps = answer.pieces.map { Origin.Step.record($0) } + [.cut(whole, more), .stand(place)]
    switch then {
    case .goesOn: steps += answer.endsByClose ? [.flush, .close] : [.flush]
    case .resets: steps.append(.reset)
    case .aborts: steps.append(.abort)
    }
    return [steps] + (answer.next.map { [[.send($0)]] } ?? [])
  }

  /// What is wrong with the app's view of it; nil if nothing is.
  func fault(_ client: RawConnection) -> String? {
    do {
      var got = try client.readHead()
      while got.status < 200, got.status != 101 { got = try client.readHead() }
      let isBroken = then != .goesOn && !isRepeated
      if isBroken, got.status == 502 { return got.proxyError == "http_protocol_error" ? nil : "another 502: \(got.head)" }
      guard got.status == answer.status else { return "\(got.status), \(got.proxyError ?? "relayed")" }
      if isBroken { return try faultOfBroken(&got, client) }
      if answer.afterwards != "" {
        let count = answer.afterwards.utf8.count
        return try client.read(count) == Array(answer.afterwards.utf8) ? nil : "other bytes behind the 101"
      }
      if answer.method != "HEAD", ![204, 304].contains(got.status) { try client.readBody(&got) }
      if got.text != answer.body { return "another body: \(got.text.prefix(100)), \(got.body.count) bytes" }
      return got.trailers.map { "\($0.name): \($0.value)" } == answer.trailers ? nil : "other trailers: \(got.trailers)"
    } catch {
      return "\(error)"
    }
  }

  /// Sends the request again, whatever the result of this exchange.
  private var isRepeated: Bool { answer.next != nil && (headIsWhole || answer.host == "retry.test") }

  /// Its head arrived, so the rest must not look complete.
  private func faultOfBroken(_ got: inout Answer, _ client: RawConnection) throws -> String? {
    if answer.afterwards != "" {
      return try client.readToEnd().bytes.count < answer.afterwards.utf8.count ? nil : "all that should follow the 101"
    }
    if answer.method == "HEAD" || [204, 304].contains(got.status) { return "looks whole" }
    do { try client.readBody(&got) } catch {
      return client.end == nil ? "neither went on nor ended" : nil
    }
    return "looks whole"
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
