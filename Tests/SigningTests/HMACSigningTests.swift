import Credentials
import Crypto
import Testing

@testable import Signing

@Suite struct HMACSigningTests {
  private static let head = "POST /v1/orders?a=1&b HTTP/1.1\nHost: api.test:8443\nX-Part: one\nx-part: two\nContent-Length: 2\n"
  private static let moment = HMACSigning.Moment(wall: 1_700_000_000_123)
  private static let key = "s3cr3t"

  private func policy(
    _ message: String, algorithm: HMACPolicy.Algorithm = .sha256, output: HMACPolicy.Output = .hex,
    timestamp: HMACPolicy.Timestamp = .unix, values: [HMACPolicy.Value] = [],
    fields: [(String, String)] = [("X-Sign", "{signature}")]
  ) throws -> HMACPolicy {
    let names = values.map(\.name)
    return HMACPolicy(
      key: Secret(Self.key), algorithm: algorithm, message: try MessageTemplate(message, values: names), output: output,
      timestamp: timestamp, values: values,
      fields: try fields.map { .init(name: $0.0, value: try MessageTemplate($0.1, values: names)) })
  }

  private func lines(_ policy: HMACPolicy, body: String? = nil, head: String = head, isTLS: Bool = true) throws -> String {
    let signing = try HMACSigning(policy)
    return try withRequest(head, isTLS: isTLS, body: body.map { Array($0.utf8) }) { request in
      let lines = try signing.fields(for: request, at: Self.moment, nonce: { Array("n0nce".utf8) })
      #expect(lines.count <= signing.sizeLimit(head: request.head.bytes.count))
      return text(lines)
    }
  }

  private func hex(_ message: String) throws -> String {
    var digits: [UInt8] = []
    Digits.append(hex: try HMACSHA256.code(of: Array(message.utf8), key: Array(Self.key.utf8)), to: &digits)
    return text(digits)
  }

  @Test func `every placeholder is filled with what is written`() throws {
    for (message, expected) in [
      ("{method}", "POST"), ("{authority}", "api.test:8443"), ("{path}", "/v1/orders"), ("{query}", "a=1&b"),
      ("{target}", "/v1/orders?a=1&b"), ("{url}", "https://api.test:8443/v1/orders?a=1&b"), ("{body}", "{}"),
      ("{body_sha256}", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"),
      ("{body_sha256_base64}", "RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o="), ("{timestamp}", "1700000000"),
      ("{nonce}", "n0nce"),
      ("{field:X-Part}", "one, two"), ("{field:absent}", ""), ("{{a}}{{", "{a}{"), ("a\nb", "a\nb"),
      ("{timestamp}{method}{target}{body}", "1700000000POST/v1/orders?a=1&b{}"), ("{body}{body}|", "{}{}|"),
      ("{own}{other}", "v1v2"),
    ] {
      let policy = try policy(
        message, values: [.init(name: "own", value: Secret("v1")), .init(name: "other", value: Secret("v2"))])
      #expect(try lines(policy, body: "{}") == "X-Sign: \(try hex(expected))\r\n", "\(message)")
    }
  }

  @Test func `without a body its bytes are none, and its hash that of none`() throws {
    #expect(try lines(policy("{body}")) == "X-Sign: \(try hex(""))\r\n")
    #expect(
      try lines(policy("{body_sha256}"))
        == "X-Sign: \(try hex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"))\r\n")
  }

  @Test func `fields are written in their order, with the same timestamp and nonce as the message`() throws {
    let policy = try policy(
      "{nonce}{timestamp}{key}", values: [.init(name: "key", value: Secret("my-id"))],
      fields: [("X-Key", "id={key};n={nonce}"), ("X-Time", "{timestamp}"), ("X-Sign", "v1 {signature}"), ("X-Empty", "")])
    let signature = try hex("n0nce1700000000my-id")
    #expect(
      try lines(policy) == "X-Key: id=my-id;n=n0nce\r\nX-Time: 1700000000\r\nX-Sign: v1 \(signature)\r\nX-Empty: \r\n")
  }

  @Test func `outputs and algorithms are those of RFC 2104 and RFC 4648`() throws {
    // openssl dgst -sha512 -hmac s3cr3t
    for (algorithm, output, signature) in [
      (HMACPolicy.Algorithm.sha1, HMACPolicy.Output.hex, HashAlgorithm.sha1), (.sha256, .base64, .sha256),
      (.sha384, .base64url, .sha384), (.sha512, .base64, .sha512),
    ] {
      let code = try KeyedHash(signature, key: Array(Self.key.utf8)).code(of: Array("POST".utf8))
      var expected: [UInt8] = []
      switch output {
      case .hex: Digits.append(hex: code, to: &expected)
      case .base64: expected = Base64.encode(code)
      case .base64url: expected = Base64.encodeURL(code)
      }
      #expect(try lines(policy("{method}", algorithm: algorithm, output: output)) == "X-Sign: \(text(expected))\r\n")
    }
  }

  @Test func `timestamps have their four forms`() throws {
    for (form, expected) in [
      (HMACPolicy.Timestamp.unix, "1700000000"), (.unixMilliseconds, "1700000000123"), (.iso8601, "2023-11-14T22:13:20.123Z"),
      (.httpDate, "Tue, 14 Nov 2023 22:13:20 GMT"),
    ] {
      let policy = try policy("{timestamp}", timestamp: form, fields: [("X-Time", "{timestamp}"), ("X-Sign", "{signature}")])
      #expect(try lines(policy) == "X-Time: \(expected)\r\nX-Sign: \(try hex(expected))\r\n")
    }
  }

  @Test func `the message is shown without secrets`() throws {
    let policy = try policy("{timestamp}{pass}{method}{body}", values: [.init(name: "pass", value: Secret("s3cr3t-pass"))])
    let signing = try HMACSigning(policy)
    try withRequest(Self.head, body: Array("{}".utf8)) { request in
      #expect(text(signing.shownMessage(for: request, at: Self.moment, nonce: [])) == "1700000000***POST{}")
    }
  }

  @Test func `templates are checked when they are read`() throws {
    for (template, problem) in [
      ("{metod}", MessageTemplate.Problem.unknown("metod")), ("{}", .unknown("")), ("{field:}", .unknown("field:")),
      ("{method", .loneBrace),
      ("method}", .loneBrace), ("}{", .loneBrace), ("{{}", .loneBrace), ("{\"a\":1}", .unknown("\"a\":1")),
    ] {
      #expect(throws: problem, "\(template)") { try MessageTemplate(template) }
    }
    #expect(try MessageTemplate("{field:X-A}").pieces == [.field(Array("x-a".utf8))])
    #expect(try MessageTemplate("{{{method}}}").pieces == [.text([0x7b]), .method, .text([0x7d])])
    #expect(try MessageTemplate("").pieces == [])
    for (template, needsBody) in [
      ("{body}", true), ("{body_sha256}", true), ("{body_sha256_base64}", true), ("{target}", false),
    ] {
      #expect(try MessageTemplate(template).needsBody == needsBody)
    }
  }

  @Test func `keys have three encodings`() {
    for (encoding, written, key) in [
      (HMACPolicy.KeyEncoding.text, "a b", Array("a b".utf8)), (.base64, "AQID", [1, 2, 3]), (.base64, "_-8", [255, 239]),
      (.hex, "0aFf", [10, 255]),
    ] as [(HMACPolicy.KeyEncoding, String, [UInt8])] {
      #expect(encoding.decode(Secret(written))?.bytes == key)
    }
    for (encoding, written) in [
      (HMACPolicy.KeyEncoding.text, ""), (.base64, "A"), (.base64, "A B="), (.base64, ""), (.hex, "0"), (.hex, "0g"),
      (.hex, ""),
    ] as [(HMACPolicy.KeyEncoding, String)] {
      #expect(encoding.decode(Secret(written)) == nil)
    }
  }

  @Test func `one signer signs many requests, each anew`() throws {
    let signing = try HMACSigning(policy("{method}{path}"))
    for path in ["/a", "/b", "/a"] {
      let line = try withRequest("GET \(path) HTTP/1.1\nHost: h\n") { try signing.fields(for: $0, at: Self.moment) { [] } }
      #expect(text(line) == "X-Sign: \(try hex("GET\(path)"))\r\n")
    }
  }
}
