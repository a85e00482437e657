import Glibc
import HTTPWire
import Testing

@Suite("A PROXY header")
struct ProxyHeaderTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var bytes: [UInt8]
    var outcome: ProxyHeader.Outcome
    var testDescription: String { name }

    /// A line of version 1, without its CRLF.
    init(_ line: String, _ source: ProxyHeader.Source) {
      name = line
      bytes = Array((line + "\r\n").utf8)
      outcome = .complete(ProxyHeader(length: bytes.count, source: source))
    }

    /// Version 2.
    init(_ name: String, _ bytes: [UInt8], _ source: ProxyHeader.Source) {
      self.name = name
      self.bytes = bytes
      outcome = .complete(ProxyHeader(length: bytes.count, source: source))
    }

    init(_ name: String, _ bytes: [UInt8], _ error: ProxyHeaderError) {
      self.name = name
      self.bytes = bytes
      outcome = .invalid(error)
    }

    init(_ text: String, _ error: ProxyHeaderError) { self.init(text, Array(text.utf8), error) }
  }

  private static func parse(_ bytes: some Sequence<UInt8>) -> ProxyHeader.Outcome {
    Array(bytes).withUnsafeBytes { ProxyHeader.parse($0) }
  }

  private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]

  /// Version 2.
  /// - Parameter length: what the header says; nil: the truth.
  private static func block(_ command: UInt8, _ family: UInt8, _ rest: [UInt8], length: Int? = nil) -> [UInt8] {
    let length = length ?? rest.count
    return signature + [command, family, UInt8(length >> 8), UInt8(length & 0xff)] + rest
  }

  private static let four: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 2, 0xc0, 0x00, 0x01, 0xbb]
  private static let six: [UInt8] =
    [0x20, 0x01, 0x0d, 0xb8] + [UInt8](repeating: 0, count: 11) + [1] + [UInt8](repeating: 0xfe, count: 16) + [
      0xff, 0xff, 0, 1,
    ]
  private static let paths = [UInt8]("/run/a.sock".utf8) + [UInt8](repeating: 0, count: 205)
  private static let ofFour = ProxyHeader.Source.ip(high: 0, low: 0xffff_c000_0201, port: 49152)
  private static let ofSix = ProxyHeader.Source.ip(high: 0x2001_0db8_0000_0000, low: 1, port: 65535)
  /// A TLV of 3 KB, and one of nothing.
  private static let more: [UInt8] = [0xe0, 0x0b, 0xb8] + [UInt8](repeating: 13, count: 3000) + [0xe1, 0, 0]
  private static let full = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"

  static let good: [Case] = [
    Case("PROXY TCP4 192.0.2.1 198.51.100.2 49152 443", ofFour),
    Case("PROXY TCP4 255.255.255.255 0.0.0.0 65535 0", .ip(high: 0, low: 0xffff_ffff_ffff, port: 65535)),
    Case("PROXY TCP6 2001:db8::1 ::1 65535 1", ofSix),
    Case("PROXY TCP6 2001:0DB8:0:0:0:0:0:1 fe80:: 65535 1", ofSix),
    Case("PROXY TCP6 \(full) \(full) 1 65535", .ip(high: .max, low: .max, port: 1)),
    Case("PROXY TCP6 ::ffff:192.0.2.1 :: 49152 443", ofFour),
    Case("PROXY TCP6 ::ffff:c000:201 ::1.2.3.4 49152 443", ofFour),
    Case("PROXY UNKNOWN", .peer),
    Case("PROXY UNKNOWN \(full) \(full) 65535 65535", .peer),
    Case("PROXY UNKNOWN  whatever it is", .peer),
    Case("TCP over IPv4", block(0x21, 0x11, four), ofFour),
    Case("UDP over IPv4", block(0x21, 0x12, four), ofFour),
    Case("IPv4 with TLVs", block(0x21, 0x11, four + more), ofFour),
    Case("TCP over IPv6", block(0x21, 0x21, six), ofSix),
    Case("UDP over IPv6 with TLVs", block(0x21, 0x22, six + more), ofSix),
    Case(
      "IPv4 within IPv6",
      block(0x21, 0x21, [UInt8](repeating: 0, count: 10) + [0xff, 0xff, 192, 0, 2, 1] + six[16..<32] + [0xc0, 0, 0, 1]), ofFour),
    Case("a unix socket", block(0x21, 0x31, paths), .unix),
    Case("a unix socket of datagrams, with TLVs", block(0x21, 0x32, paths + more), .unix),
    Case("UNSPEC", block(0x21, 0x00, []), .peer),
    Case("UNSPEC with what nobody understands", block(0x21, 0x00, more), .peer),
    Case("an unspecified protocol", block(0x21, 0x10, four), .peer),
    Case("an unspecified family", block(0x21, 0x01, []), .peer),
    Case("LOCAL", block(0x20, 0x00, []), .peer),
    Case("LOCAL with addresses", block(0x20, 0x11, four + more), .peer),
    Case("LOCAL with a family that is none", block(0x20, 0xff, [1, 2, 3]), .peer),
    Case("LOCAL with a family and no addresses", block(0x20, 0x21, []), .peer),
    Case("as long as it may be", block(0x21, 0x11, four + [UInt8](repeating: 1, count: 4096 - 28)), ofFour),
  ]

  static let bad: [Case] =
    [
      "GET / HTTP/1.1\r\n", "proxy TCP4 192.0.2.1 198.51.100.2 1 2\r\n", "PROXY\r\n", "PROXY\tUNKNOWN\r\n",
      " PROXY UNKNOWN\r\n",
      "\r\nPROXY UNKNOWN\r\n", "\r\n\r\n\0\r\nQUIT\r\n",
    ].map { Case($0, .foreign) }
    + [
      "PROXY \r\n", "PROXY TCP4\r\n", "PROXY UNKNOWN\n", "PROXY UNKNOWN\rX", "PROXY UNKNOWNS\r\n", "PROXY  UNKNOWN\r\n",
      "PROXY unknown\r\n", "PROXY TCP5 192.0.2.1 198.51.100.2 1 2\r\n", "PROXY UDP4 192.0.2.1 198.51.100.2 1 2\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 1\r\n", "PROXY TCP4 192.0.2.1 198.51.100.2 1 2 \r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 1 2 3\r\n", "PROXY TCP4  192.0.2.1 198.51.100.2 1 2\r\n",
      "PROXY TCP4 192.0.2.1\t198.51.100.2 1 2\r\n", "PROXY TCP4 192.0.2.256 198.51.100.2 1 2\r\n",
      "PROXY TCP4 192.0.2 198.51.100.2 1 2\r\n", "PROXY TCP4 192.0.02.1 198.51.100.2 1 2\r\n",
      "PROXY TCP4 0xc0.0.2.1 198.51.100.2 1 2\r\n", "PROXY TCP4 192.0.2.1 host 1 2\r\n", "PROXY TCP4 192.0.2.1 :: 1 2\r\n",
      "PROXY TCP4 ::1 ::1 1 2\r\n", "PROXY TCP6 192.0.2.1 198.51.100.2 1 2\r\n", "PROXY TCP6 ::1 198.51.100.2 1 2\r\n",
      "PROXY TCP6 [::1] [::1] 1 2\r\n", "PROXY TCP6 fe80::1%1 ::1 1 2\r\n", "PROXY TCP6 1::2::3 ::1 1 2\r\n",
      "PROXY TCP6 1:2:3:4:5:6:7 ::1 1 2\r\n", "PROXY TCP6 1:2:3:4:5:6:7:8:9 ::1 1 2\r\n", "PROXY TCP6 12345::1 ::1 1 2\r\n",
      "PROXY TCP6 :: :::1 1 2\r\n", "PROXY TCP6 ::1.2.3.256 ::1 1 2\r\n", "PROXY TCP4 192.0.2.1 198.51.100.2 65536 2\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 1 99999\r\n", "PROXY TCP4 192.0.2.1 198.51.100.2 01 2\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 1 000000000000000000002\r\n", "PROXY TCP4 192.0.2.1 198.51.100.2 +1 2\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 -1 2\r\n", "PROXY TCP4 192.0.2.1 198.51.100.2  2\r\n",
      "PROXY TCP4 192.0.2.1 198.51.100.2 1 2\n",
    ].map { Case($0, .line) }
    + [
      Case("PROXY UNKNOWN " + String(repeating: "x", count: 93), .tooLong),
      Case("PROXY UNKNOWN " + String(repeating: "x", count: 92) + "\r\n", .tooLong),
      Case("version 1 in the binary form", block(0x11, 0x11, four), .version),
      Case("version 3", block(0x31, 0x11, four), .version),
      Case("another command", block(0x22, 0x11, four), .version),
      Case("another family", block(0x21, 0x41, four), .family),
      Case("another protocol", block(0x21, 0x13, four), .family),
      Case("an unspecified family with another protocol", block(0x21, 0x03, []), .family),
      Case("IPv4 without a byte", block(0x21, 0x11, four.dropLast()), .short),
      Case("IPv6 with the addresses of IPv4", block(0x21, 0x21, four), .short),
      Case("a unix socket with half a path", block(0x21, 0x31, six), .short),
      Case("IPv4 that says it has nothing", block(0x21, 0x11, four, length: 0), .short),
      Case("too long by a byte", block(0x21, 0x11, four, length: 4081), .tooLong),
      Case("as long as the protocol permits", block(0x20, 0x00, [], length: 65535), .tooLong),
    ]

  @Test("is taken with every cut, and what follows it is left alone", arguments: good)
  func taken(_ it: Case) {
    for count in 0..<it.bytes.count {
      #expect(Self.parse(it.bytes[..<count]) == .incomplete, "\(count) bytes")
    }
    for next: [UInt8] in [[], [0], [13, 10], Array("GET http://a/ HTTP/1.1\r\n\r\n".utf8), it.bytes] {
      #expect(Self.parse(it.bytes + next) == it.outcome)
    }
  }

  @Test("that is none is refused with every cut, as soon as that shows", arguments: bad)
  func refused(_ it: Case) {
    let first = (0...it.bytes.count).first { Self.parse(it.bytes[..<$0]) != .incomplete } ?? 0
    #expect(first > 0 && first <= ProxyHeader.lineLimit)
    for count in first...it.bytes.count { #expect(Self.parse(it.bytes[..<count]) == it.outcome, "\(count) bytes") }
    #expect(Self.parse(it.bytes + [0, 1, 2]) == it.outcome)
  }

  /// Any eight groups, in any spelling.
  private static func literal(_ generator: inout some RandomNumberGenerator) -> String {
    let groups = (0..<8).map { _ in Bool.random(using: &generator) ? 0 : UInt16.random(in: 0 ... .max, using: &generator) }
    var texts = groups.map { String($0, radix: 16, uppercase: Bool.random(using: &generator)) }
    let isDotted = Int.random(in: 0..<4, using: &generator) == 0
    if isDotted { texts[6...] = ["\(groups[6] >> 8).\(groups[6] & 255).\(groups[7] >> 8).\(groups[7] & 255)"] }
    let (first, last) = (Int.random(in: 0...8, using: &generator), Int.random(in: 0...8, using: &generator))
    guard first < last, last <= texts.count else { return texts.joined(separator: ":") }
    return texts[..<first].joined(separator: ":") + "::" + texts[last...].joined(separator: ":")
  }

  @Test("has the addresses that the C library reads, and no others")
  func addresses() {
    var generator = SystemRandomNumberGenerator()
    var accepted = 0
    for _ in 0..<5_000 {
      var text = Self.literal(&generator)
      if Int.random(in: 0..<8, using: &generator) == 0, let place = text.indices.randomElement(using: &generator) {
        text.remove(at: place)
      }
      var address = in6_addr()
      let isValid = inet_pton(AF_INET6, text, &address) == 1
      guard case .complete(let header) = Self.parse("PROXY TCP6 \(text) :: 1 2\r\n".utf8) else {
        #expect(!isValid, "\(text)")
        continue
      }
      accepted += 1
      let words = withUnsafeBytes(of: address) { bytes in
        [0, 8].map { UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt64.self)) }
      }
      #expect(isValid && header.source == .ip(high: words[0], low: words[1], port: 1), "\(text)")
    }
    #expect(accepted > 1_000)
  }
}
