import Foundation
import Testing

/// Hundreds of odd but valid requests, made from a seed. An independent parser (h11, at the origin) must read from the proxy's
/// output what the request meant.
@Suite struct DifferentialTests {
  struct Generator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      var value = state
      value ^= value >> 33
      value = value &* 0xff51_afd7_ed55_8ccd
      value ^= value >> 33
      return value
    }
  }

  struct Odd {
    var text = ""
    var method = ""
    var target = ""
    var fields: [[String]] = []
    var body = ""
    var trailers: [[String]] = []
  }

  static let tokenCharacters = Array("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
  static let pathCharacters = Array("abcXYZ019-._~!$&'()*+,;=:@/")
  static let valueCharacters: [Character] =
    (0x21...0x7e).map { Character(UnicodeScalar(UInt8($0))) }
    + (0xa1...0xff).map { Character(UnicodeScalar(UInt8($0))) } + [" ", "\t"]

  private func word(_ characters: [Character], _ lengths: ClosedRange<Int>, _ generator: inout Generator) -> String {
    String((0..<Int.random(in: lengths, using: &generator)).map { _ in characters.randomElement(using: &generator) ?? "x" })
  }

  private func request(_ name: String, _ generator: inout Generator) -> Odd {
    var odd = Odd()
    let known = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "get", "M-SEARCH"]
    odd.method =
      Bool.random(using: &generator)
      ? known.randomElement(using: &generator) ?? "GET" : word(Self.tokenCharacters, 1...12, &generator)
    if ["HEAD", "CONNECT", "TRACE"].contains(odd.method) { odd.method = "X" + odd.method }
    var path = "/echo/" + word(Self.pathCharacters, 0...40, &generator)
    for escape in ["%20", "%c3%A4", "%25", "%7e"] where Bool.random(using: &generator) { path += escape }
    odd.target =
      path + "?" + word(Self.pathCharacters.filter { !"&=+;".contains($0) } + ["?"], 0...20, &generator) + "&id=" + name

    var lines: [String] = []
    let spaces = ["", " ", "  ", "\t", " \t "]
    func space() -> String { spaces.randomElement(using: &generator) ?? " " }
    let host = ["api.test", "other.test", "API.test:80", "[::1]:80", "x"].randomElement(using: &generator) ?? "x"
    for _ in 0..<Int.random(in: 0...12, using: &generator) {
      let field = "X-" + word(Self.tokenCharacters, 0...20, &generator)
      let value = word(Self.valueCharacters, 0...60, &generator).trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
      odd.fields.append([field, value])
      lines.append("\(field):\(space())\(value)\(space())")
    }
    lines.insert(
      "\(["Host", "host", "HOST"].randomElement(using: &generator) ?? "Host"):\(space())\(host)",
      at: Int.random(in: 0...lines.count, using: &generator))
    if Bool.random(using: &generator), let doomed = odd.fields.randomElement(using: &generator) {
      odd.fields.removeAll { $0[0].lowercased() == doomed[0].lowercased() }
      lines.append("Connection: keep-alive,\(space())\(doomed[0].uppercased()) ,, X-Unused")
    }

    var payload = ""
    switch Int.random(in: 0..<3, using: &generator) {
    case 0: break
    case 1:
      odd.body = word(Self.valueCharacters + ["\r", "\n", "\0"], 0...3000, &generator)
      lines.append("Content-Length:\(space())\(odd.body.unicodeScalars.count)")
      payload = odd.body
    default:
      // No tabs here: the proxy refuses them, as servers read them in several ways.
      lines.append(
        "Transfer-Encoding: \(["chunked", "Chunked", "CHUNKED"].randomElement(using: &generator) ?? "chunked")")
      for _ in 0..<Int.random(in: 0...6, using: &generator) {
        let chunk = word(Self.valueCharacters + ["\r", "\n", "\0"], 1...1500, &generator)
        odd.body += chunk
        let size = String(chunk.unicodeScalars.count, radix: 16, uppercase: Bool.random(using: &generator))
        payload += ["", "0", "000"].randomElement(using: &generator) ?? ""
        payload += size + (["", ";a", ";a=b", ";a=\"q\\\" ;\""].randomElement(using: &generator) ?? "") + "\r\n"
        payload += chunk + "\r\n"
      }
      payload += "0\r\n"
      for _ in 0..<Int.random(in: 0...2, using: &generator) {
        let trailer = [
          "X-" + word(Self.tokenCharacters, 1...10, &generator), "t" + word(Array("abc 0"), 0...5, &generator) + "t",
        ]
        odd.trailers.append(trailer)
        payload += "\(trailer[0]): \(trailer[1])\r\n"
      }
      payload += "\r\n"
    }
    odd.text = "\(odd.method) http://api.test\(odd.target) HTTP/1.1\r\n" + lines.map { $0 + "\r\n" }.joined() + "\r\n" + payload
    return odd
  }

  /// Compares names without regard to `_`, as origins may.
  private func isOurs(_ name: String) -> Bool {
    ["host", "via", "authorization", "content-length", "transfer-encoding", "connection", "te", "trailer"].contains(
      name.lowercased())
  }

  @Test(arguments: [1, 2, 3, 4]) func `h11 at the origin reads what the request meant`(seed: UInt64) throws {
    let origin = try Origin()
    var generator = Generator(state: seed)
    try withProxy(try Configuration.http(origin: origin)) { proxy in
      var client = try proxy.connect()
      for number in 0..<100 {
        let name = Origin.newName()
        let odd = request(name, &generator)
        if number.isMultiple(of: 10) { client = try proxy.connect() }
        try client.send(latin1: odd.text)
        let answer = try client.readAnswer()
        guard answer.status == 200 else {
          Issue.record("\(answer.head)\(answer.text)\nfor\n\(odd.text.debugDescription)")
          client = try proxy.connect()
          continue
        }
        let received = try answer.received()
        let comment = Comment(rawValue: "seed \(seed), request \(number): \(odd.text.prefix(2000).debugDescription)")
        #expect(received.method == odd.method, comment)
        #expect(received.target == odd.target, comment)
        #expect(received.fields.filter { !isOurs($0[0]) } == odd.fields, comment)
        #expect(received.body == odd.body, comment)
        #expect(received.trailers == odd.trailers, comment)
        #expect(received.all("Authorization") == ["Bearer \(Configuration.token)"], comment)
      }
      let violations = try origin.violations()
      #expect(violations.isEmpty, "\(violations)")
    }
  }

  /// Breaks a message, or only looks as if it did. Inserted into the head, or into the body's framing.
  static let headSlips: [(from: String, to: String)] = [
    ("\r\nHost", "\nHost"), ("\r\nHost", "\rHost"), ("\r\n\r\n", "\n\n"), ("\r\n\r\n", "\r\n\n"), (": ", " : "), (":", "\0:"),
    ("\r\n\r\n", "\r\n folded\r\n\r\n"), ("\r\n\r\n", "\r\nX-Nul: a\0b\r\n\r\n"), ("\r\n\r\n", "\r\n: empty\r\n\r\n"),
    ("\r\n\r\n", "\r\nContent-Length: 3\r\n\r\n"), ("\r\n\r\n", "\r\nContent-Length: +3\r\n\r\n"),
    ("\r\n\r\n", "\r\nContent-Length: 0x3\r\n\r\n"), ("\r\n\r\n", "\r\nContent-Length: 3, 4\r\n\r\n"),
    ("\r\n\r\n", "\r\nTransfer-Encoding: chunked\r\n\r\n"), ("\r\n\r\n", "\r\nTransfer-Encoding: xchunked\r\n\r\n"),
    ("\r\n\r\n", "\r\nTransfer-Encoding: chunked, identity\r\n\r\n"), ("\r\n\r\n", "\r\nTransfer-Encoding : chunked\r\n\r\n"),
    ("\r\n\r\n", "\r\nTransfer_Encoding: chunked\r\n\r\n"), ("\r\n\r\n", "\r\nContent_Length: 3\r\n\r\n"),
    ("\r\n\r\n", "\r\nHost: second\r\n\r\n"), ("HTTP/1.1", "HTTP/1.0"), ("HTTP/1.1", "HTTP/1.2"), ("HTTP/1.1", "HTTP/2.0"),
    ("HTTP/1.1", "http/1.1"), (" HTTP/1.1", "  HTTP/1.1"), (" http://", "\thttp://"),
    ("http://api.test", "http://user@api.test"),
    ("http://api.test", "http://api.test:80"), ("http://api.test", "HTTP://API.TEST."), ("http://api.test", "http://api.test#"),
    ("http://api.test", "http://api.test\\@x"), ("http://api.test", "ftp://api.test"),
    ("\r\n\r\n", "\r\nConnection: Content-Length\r\n\r\n"),
    ("\r\n\r\n", "\r\nConnection: Transfer-Encoding, Host\r\n\r\n"), ("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
    ("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n"), ("\r\n\r\n", "\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"),
    ("\r\n\r\n", "\r\nTE: trailers, deflate\r\n\r\n"), ("\r\n\r\n", "\r\nMax-Forwards: -1\r\n\r\n"),
  ]
  static let bodySlips: [(from: String, to: String)] = [
    ("\r\n0\r\n", "\n0\r\n"), ("\r\n0\r\n", "\r\n0\n"), ("\r\n0\r\n", "\r\n-0\r\n"), ("\r\n0\r\n", "\r\n0x0\r\n"),
    ("\r\n0\r\n", "\r\n00000000000000000000\r\n"), ("\r\n0\r\n", "\r\n0;a=\nb\r\n"), ("\r\n0\r\n", "\r\n 0\r\n"),
    ("\r\n0\r\n", "\r\n0 \r\n"), ("\r\n0\r\n", "\r\n0\r\nHost: x\r\nContent-Length: 5\r\n"), ("\r\n0\r\n", "xx\r\n0\r\n"),
    ("\r\n0\r\n", "\r\nffffffffffffffff\r\n"), ("\r\n0\r\n", "\r\n0\r\nX : y\r\n"),
  ]

  @Test(arguments: [5, 6, 7]) func `a broken request is refused, or received once and as it was meant`(seed: UInt64) throws {
    let origin = try Origin()
    var generator = Generator(state: seed)
    try withProxy(try Configuration.http(origin: origin)) { proxy throws in
      var outcomes: [String: Int] = [:]
      for number in 0..<100 {
        let name = Origin.newName()
        let odd = request(name, &generator)
        let inBody = number.isMultiple(of: 4)
        let slips = inBody ? Self.bodySlips : Self.headSlips
        guard let slip = slips.randomElement(using: &generator),
          let place = odd.text.range(of: slip.from, options: inBody ? .backwards : [])
        else { continue }
        let text = odd.text.replacingCharacters(in: place, with: slip.to)
        let comment = Comment(rawValue: "seed \(seed), request \(number): \(text.prefix(2000).debugDescription)")
        let client = try proxy.connect()
        try client.send(latin1: text)
        client.timeout = 1
        var answer = try? client.readAnswer()
        if answer == nil {
          // There is no more input, so a reader that waits for the rest of a body or head learns it. (After a complete message
          // it would mean that the client has left.)
          client.halfClose()
          client.timeout = 10
          answer = try? client.readAnswer()
        }
        if answer?.status == 100 { answer = try? client.readAnswer() }
        let seen = try origin.exchanges(name)
        if let answer, answer.status == 200 {
          outcomes["served", default: 0] += 1
          #expect(seen.count == 1, comment)
          let received = try answer.received()
          #expect(received.method == odd.method, comment)
          #expect(received.target == odd.target, comment)
          #expect(received.all("Host") == ["127.0.0.1:\(origin.ports.http)"], comment)
          if !inBody { #expect(received.body == odd.body || odd.body.isEmpty, comment) }
        } else {
          outcomes["refused", default: 0] += 1
          #expect(answer == nil || answer?.proxyError != nil, comment)
          // The proxy never forwards a broken head. It forwards a broken body, as broken.
          #expect(inBody ? seen.count <= 1 : seen.allSatisfy { $0.state != "complete" }, comment)
          if inBody, !seen.isEmpty { #expect(try origin.await(name, state: "closed")[0].state == "broken", comment) }
        }
      }
      #expect(outcomes["served", default: 0] > 10 && outcomes["refused", default: 0] > 10, "\(outcomes)")
      let violations = try origin.violations()
      #expect(violations.isEmpty, "\(violations)")
    }
  }
}
