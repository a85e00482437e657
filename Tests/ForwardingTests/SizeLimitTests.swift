import Forwarding
import HTTPWire
import Testing

/// If a head needs more room than announced, the process ends. So no head may exceed its announced size.
@Suite struct SizeLimitTests {
  /// SplitMix64: the same heads for the same seed.
  private struct Random: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var value = state
      value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
      value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
      return value ^ (value >> 31)
    }
  }

  private static let names =
    FieldName.allCases.map { "\($0.text)" }.filter { !$0.isEmpty } + ["x", "x-y", "X_API-Key"]
    + Array(repeating: "Proxy-Status", count: 5) + Array(repeating: "Location", count: 12)
  /// What the writers look for, and what makes lines grow: empty values, commas without spaces, lines without a space.
  private static let values =
    [
      "", "a", ",", ",,,,,,,,,,", "a,b,c,d,e,f,g,h", "\"a,b\",c", "px,a,px;b", "close", "upgrade", "te", "websocket",
      "trailers",
      "gzip", "deflate", "no-transform", "NTLM", "Basic x", "https://origin.test", "https://origin.test:443/a",
      "<https://origin.test>,<https://origin.test/>", "a;Secure;secure", "W/\"a\"", "\"", "*", "3", "100-continue", "chunked",
    ] + Array(repeating: "a,b,c,d,e,f,g,h", count: 6) + Array(repeating: "https://origin.test/", count: 6)

  private static func fields(_ random: inout Random, most: Int) -> String {
    var text = ""
    // Many heads consist mostly of one kind of line, so that its growth adds up.
    let favourite = (names.randomElement(using: &random) ?? "x", values.randomElement(using: &random) ?? "")
    let isMixed = random.next() & 1 == 0
    for _ in 0..<Int.random(in: 0...most, using: &random) {
      var (name, value) = favourite
      if isMixed || random.next() & 7 == 0 {
        name = names.randomElement(using: &random) ?? "x"
        value = values.randomElement(using: &random) ?? ""
      }
      if random.next() & 31 == 0 { value = String(repeating: value, count: Int.random(in: 1...200, using: &random)) }
      text += "\(name):\(Bool.random(using: &random) ? " " : "")\(value)\r\n"
    }
    return text + "\r\n"
  }

  private static func rules(_ random: inout Random) -> ForwardingRules {
    ForwardingRules(
      name: ProxyName(random.next() & 1 == 0 ? "px" : String(repeating: "n", count: 255)),
      credentialField: random.next() & 1 == 0 ? nil : Array("x-api-key".utf8),
      appCredential: random.next() & 1 == 0 ? .replace : .keep, keepsHost: Bool.random(using: &random),
      decompresses: Bool.random(using: &random), rewrite: .init(secureCookies: Bool.random(using: &random)),
      rewriteTo: random.next() & 1 == 0 ? nil : "http://" + String(repeating: "t", count: 253) + ":65535",
      requestHeaders: headerRules(&random), responseHeaders: headerRules(&random))
  }

  private static func headerRules(_ random: inout Random) -> HeaderRules? {
    if random.next() & 1 == 0 { return nil }
    let texts = (0..<Int.random(in: 1...9, using: &random)).map { String(repeating: "v", count: $0 * 40) }
    return HeaderRules(remove: ["x*", "Location"], set: [("Date", ["d"]), ("X-App", texts), ("Accept-Encoding", [""])])
  }

  /// nil, or a client's name.
  private static func client(_ random: inout Random) -> String? {
    random.next() & 1 == 0 ? nil : String(repeating: "é", count: Int.random(in: 1...100, using: &random))
  }

  private static func origin(_ random: inout Random) -> OriginAuthority {
    OriginAuthority(
      isTLS: true, host: random.next() & 1 == 0 ? "origin.test" : "::1", port: random.next() & 1 == 0 ? 443 : 65535)
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `no head takes more than its limit says, whatever came`(seed: UInt64) throws {
    var random = Random(state: seed)
    var (requests, responses) = (0, 0)
    for _ in 0..<2_000 {
      let (rules, origin, client) = (Self.rules(&random), Self.origin(&random), Self.client(&random))
      let most = [0, 4, 20, 250].randomElement(using: &random) ?? 4
      let method = ["GET", "HEAD", "OPTIONS", "TRACE", "POST", "M"].randomElement(using: &random) ?? "GET"
      let path = ["", "/", "?", "/a?b", "/" + String(repeating: "p", count: 900)].randomElement(using: &random) ?? ""
      let version = random.next() & 3 == 0 ? "1.0" : "1.1"
      let host = Array(repeating: String(repeating: "h", count: 60), count: random.next() & 1 == 0 ? 1 : 4).joined(
        separator: ".")
      let sent = "\(method) http://\(host):65535\(path) HTTP/\(version)\r\n"
      guard
        let request = try? Forwarded(Array((sent + Self.fields(&random, most: most)).utf8), to: origin, rules, client: client)
      else {
        continue
      }
      #expect(request.count <= request.limit, "seed \(seed): \(request.text)")
      requests += 1
      let status = [100, 101, 103, 200, 204, 206, 304, 401, 999].randomElement(using: &random) ?? 200
      let start =
        "HTTP/1.\(random.next() & 1) \(status)"
        + (["", " ", " Fine", " " + String(repeating: "f", count: 90)].randomElement(using: &random) ?? "") + "\r\n"
      let note = random.next() & 3 == 0 ? String(repeating: "\"é", count: Int.random(in: 0...400, using: &random)) : nil
      let answer = try? Relayed(
        Array((start + Self.fields(&random, most: most)).utf8), to: request.outbound, of: origin, rules,
        keepsClient: Bool.random(using: &random), note: note, dateLine: "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
        client: client)
      guard let answer else { continue }
      #expect(answer.count <= answer.limit, "seed \(seed): \(answer.text)")
      responses += 1
    }
    #expect(requests > 300 && responses > 100)
  }

  @Test func `no answer of the proxy's own takes more than its limit says`() {
    var random = Random(state: 4)
    for _ in 0..<2_000 {
      let name = ProxyName(String(repeating: "n", count: Int.random(in: 1...255, using: &random)))
      let answer = OwnAnswer(
        status: 999, reason: "Request Header Fields Too Large",
        error: random.next() & 1 == 0 ? nil : "proxy_configuration_error",
        details: random.next() & 1 == 0 ? nil : String(repeating: "\"\\é", count: Int.random(in: 0...300, using: &random)),
        body: String(repeating: "ü", count: Int.random(in: 0...500, using: &random)),
        retryAfter: random.next() & 1 == 0 ? nil : Int(Int64.max), fields: "Allow: GET\r\n")
      let (_, count) = written {
        answer.write(
          by: name, isHead: Bool.random(using: &random), keepsAlive: Bool.random(using: &random),
          dateLine: Array("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n".utf8), into: &$0)
      }
      #expect(count <= answer.sizeLimit(by: name))
    }
  }
}
