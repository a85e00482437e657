/// The header that a load balancer sends before the first byte of a connection: PROXY protocol, versions 1 and 2
/// (haproxy.org, doc/proxy-protocol.txt). Sections below are that text's.
public struct ProxyHeader: Sendable, Equatable {
  public enum Source: Sendable, Equatable {
    /// UNKNOWN, LOCAL or UNSPEC: the connection is the peer's own, or the peer knows no address.
    case peer
    /// The 16 bytes in network order as two words; IPv4 in its IPv4-mapped form, whatever family the header names.
    case ip(high: UInt64, low: UInt64, port: UInt16)
    /// The peer's own client came over a unix socket. The path in the header is not used: that client chose it.
    case unix
  }

  public enum Outcome: Sendable, Equatable {
    case complete(ProxyHeader)
    case incomplete
    case invalid(ProxyHeaderError)
  }

  /// Bytes of a header of version 1, with its CRLF (section 2.1).
  public static let lineLimit = 107
  /// Bytes of a header of version 2, with its addresses and all that follows them. The protocol permits 64 KiB.
  public static let limit = 4096

  /// Bytes until the first byte of the connection's own content.
  public let length: Int
  public let source: Source

  public init(length: Int, source: Source) {
    self.length = length
    self.source = source
  }

  /// Parses the header at the beginning of a connection. Of what is incomplete it keeps nothing: the next call begins again,
  /// which costs at most a look at 107 bytes.
  /// - Parameter bytes: what has come so far; what follows the header is not looked at.
  public static func parse(_ bytes: UnsafeRawBufferPointer) -> Outcome {
    guard let first = bytes.first else { return .incomplete }
    if first == ASCII.cr {
      guard begins(bytes, with: "\r\n\r\n\0\r\nQUIT\n") else { return .invalid(.foreign) }
      return block(bytes)
    }
    guard begins(bytes, with: "PROXY ") else { return .invalid(.foreign) }
    return line(bytes)
  }

  /// Whether the bytes begin like this, as far as they have come.
  private static func begins(_ bytes: UnsafeRawBufferPointer, with mark: StaticString) -> Bool {
    let mark = UnsafeRawBufferPointer(start: mark.utf8Start, count: mark.utf8CodeUnitCount)
    return zip(bytes, mark).allSatisfy { $0 == $1 }
  }

  // MARK: Version 1

  /// Nothing is decoded before the CRLF has come. Neither CR nor LF is in the line alone (section 2.1).
  private static func line(_ bytes: UnsafeRawBufferPointer) -> Outcome {
    let end = min(bytes.count, lineLimit)
    guard let place = bytes[..<end].firstIndex(where: { $0 == ASCII.cr || $0 == ASCII.lf }) else {
      return bytes.count < lineLimit ? .incomplete : .invalid(.tooLong)
    }
    if bytes[place] == ASCII.lf { return .invalid(.line) }
    if place + 1 == lineLimit { return .invalid(.tooLong) }
    if place + 1 == bytes.count { return .incomplete }
    guard bytes[place + 1] == ASCII.lf, let source = source(ofLine: bytes[..<place]) else { return .invalid(.line) }
    return .complete(ProxyHeader(length: place + 2, source: source))
  }

  private static func source(ofLine line: Slice<UnsafeRawBufferPointer>) -> Source? {
    let words = line.split(separator: ASCII.space, omittingEmptySubsequences: false).map(UnsafeRawBufferPointer.init(rebasing:))
    func address(_ word: Int) -> AddressValue? {
      isWord(words[1], "TCP4") ? AddressValue(ipv4: words[word]) : AddressValue(ipv6: words[word])
    }
    // All behind it is to be ignored.
    if isWord(words[1], "UNKNOWN") { return .peer }
    guard words.count == 6, isWord(words[1], "TCP4") || isWord(words[1], "TCP6"), let source = address(2), address(3) != nil,
      let port = self.port(words[4]), self.port(words[5]) != nil
    else { return nil }
    return .ip(high: source.high, low: source.low, port: port)
  }

  private static func isWord(_ bytes: UnsafeRawBufferPointer, _ word: StaticString) -> Bool {
    equalBytes(bytes, UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
  }

  /// Decimal, without leading zeros.
  private static func port(_ text: UnsafeRawBufferPointer) -> UInt16? {
    guard 1...5 ~= text.count, text.allSatisfy(ASCII.isDigit), text.count == 1 || text[0] != ASCII.zero else { return nil }
    return UInt16(exactly: text.reduce(0) { $0 * 10 + Int($1 - ASCII.zero) })
  }

  // MARK: Version 2

  /// Each byte is judged as soon as it has come (section 2.2).
  private static func block(_ bytes: UnsafeRawBufferPointer) -> Outcome {
    guard bytes.count > 12 else { return .incomplete }
    guard bytes[12] == 0x20 || bytes[12] == 0x21 else { return .invalid(.version) }
    guard bytes.count > 13 else { return .incomplete }
    let isLocal = bytes[12] == 0x20
    // The family of LOCAL is ignored, and so are its addresses.
    guard let size = isLocal ? 0 : size(ofFamily: bytes[13]) else { return .invalid(.family) }
    guard bytes.count > 15 else { return .incomplete }
    let length = 16 + (Int(bytes[14]) << 8 | Int(bytes[15]))
    guard length <= limit else { return .invalid(.tooLong) }
    guard length >= 16 + size else { return .invalid(.short) }
    guard bytes.count >= length else { return .incomplete }
    let source: Source =
      switch size {
      case 12:
        .ip(high: 0, low: 0xffff << 32 | UInt64(word(bytes, at: 16) as UInt32), port: word(bytes, at: 24))
      case 36: .ip(high: word(bytes, at: 16), low: word(bytes, at: 24), port: word(bytes, at: 48))
      case 216: .unix
      default: .peer
      }
    return .complete(ProxyHeader(length: length, source: source))
  }

  /// Bytes of the two addresses; nil: no such family, or no such protocol.
  private static func size(ofFamily family: UInt8) -> Int? {
    // Streams and datagrams: the sender's client may have come over either.
    switch family {
    case 0x11, 0x12: 12
    case 0x21, 0x22: 36
    case 0x31, 0x32: 216
    // UNSPEC, as family or as protocol: the addresses are ignored.
    case 0x00, 0x01, 0x02, 0x10, 0x20, 0x30: 0
    default: nil
    }
  }

  private static func word<Word: FixedWidthInteger>(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Word {
    Word(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Word.self))
  }
}

/// Why a connection does not begin with a PROXY header, as text for people.
public enum ProxyHeaderError: Error, Sendable, CustomStringConvertible {
  case foreign, line, tooLong, version, family, short

  public var description: String {
    switch self {
    case .foreign: "it begins otherwise"
    case .line: "the line of version 1 is malformed"
    case .tooLong: "it is longer than \(ProxyHeader.lineLimit) bytes (version 1) or \(ProxyHeader.limit) bytes (version 2)"
    case .version: "its version or its command is unknown"
    case .family: "its address family or its protocol is unknown"
    case .short: "it has no room for its addresses"
    }
  }
}
