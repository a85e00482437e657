import Foundation
import HTTPWire
import Testing

/// The fields of a head are read eight bytes at a time. These tests read them as RFC 9112 section 5 has them, one byte after the other, and
/// compare. Behind the bytes is a page that nobody may read.
@Suite("The lines of fields")
struct FieldLineTests {
  struct Lines: Equatable {
    var outcome = HeadOutcome.incomplete
    var names: [[UInt8]] = []
    var values: [[UInt8]] = []
    var ids: [FieldName] = []
  }

  private static let start = Array("GET / HTTP/1.1\r\n".utf8)

  /// One byte after the other.
  private static func reference(_ bytes: ArraySlice<UInt8>) -> Lines {
    enum Place { case lineStart, name, value, lineEnd, end }
    var lines = Lines()
    var place = Place.lineStart
    var (name, value): ([UInt8], [UInt8]) = ([], [])
    func fail(_ error: HeadError) -> Lines {
      lines.outcome = .invalid(error)
      return lines
    }
    func control(_ byte: UInt8) -> HeadError { byte == 0 ? .nul : byte == 0x0a ? .bareLF : byte == 0x0d ? .bareCR : .control }
    let others = Set("!#$%&'*+-.^_`|~".utf8)
    func isToken(_ byte: UInt8) -> Bool {
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 && byte & 0x40 != 0 || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        || others.contains(byte)
    }
    for byte in bytes {
      switch place {
      case .lineStart where byte == 0x0d: place = .end
      case .lineStart where byte == 0x20 || byte == 0x09: return fail(.foldedLine)
      case .lineStart, .name:
        place = .name
        if isToken(byte) {
          name.append(byte)
        } else if byte == UInt8(ascii: ":") {
          if name.isEmpty { return fail(.fieldName) }
          place = .value
        } else if byte == 0x20 || byte == 0x09 {
          return fail(.spaceBeforeColon)
        } else if byte == 0x0d {
          return fail(.missingColon)
        } else {
          return fail(byte < 0x20 || byte == 0x7f ? control(byte) : .fieldName)
        }
      case .value where byte == 0x0d: place = .lineEnd
      case .value where byte < 0x20 && byte != 0x09 || byte == 0x7f: return fail(control(byte))
      case .value: value.append(byte)
      case .lineEnd:
        guard byte == 0x0a else { return fail(.bareCR) }
        while value.last == 0x20 || value.last == 0x09 { value.removeLast() }
        lines.names.append(name)
        lines.values.append(Array(value.drop { $0 == 0x20 || $0 == 0x09 }))
        lines.ids.append(FieldName.allCases.first { $0 != .other && isSame(name, "\($0.text)") } ?? .other)
        (name, value) = ([], [])
        place = .lineStart
      case .end:
        lines.outcome = byte == 0x0a ? .complete : .invalid(.bareCR)
        return lines
      }
    }
    return lines
  }

  private static func isSame(_ name: [UInt8], _ text: String) -> Bool {
    name.count == text.utf8.count
      && zip(name, text.utf8).allSatisfy { $0 == $1 || $0 ^ $1 == 0x20 && UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }
  }

  /// As the parser has it, after so many bytes and then after all of them.
  private static func parsed(_ bytes: UnsafeRawBufferPointer, after first: Int? = nil) -> Lines {
    var head = RequestHead()
    var lines = Lines()
    if let first { lines.outcome = head.parse(UnsafeRawBufferPointer(rebasing: bytes[..<first]), limit: 4096) }
    if lines.outcome == .incomplete { lines.outcome = head.parse(bytes, limit: 4096) }
    lines.names = head.fields.map { Array($0.name.bytes(in: bytes)) }
    lines.values = head.fields.map { Array($0.value.bytes(in: bytes)) }
    lines.ids = head.fields.map(\.id)
    return lines
  }

  /// Pages of which the last one cannot be read.
  private final class Guarded {
    private let size = Int(sysconf(Int32(_SC_PAGESIZE)))
    private let base: UnsafeMutableRawPointer
    init() throws {
      base = try #require(mmap(nil, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
      #expect(base != MAP_FAILED && mprotect(base + size, size, PROT_NONE) == 0)
    }
    deinit { munmap(base, 2 * size) }

    /// The bytes, right before the page that cannot be read.
    func end(with bytes: [UInt8]) -> UnsafeRawBufferPointer {
      let place = UnsafeMutableRawBufferPointer(start: base + size - bytes.count, count: bytes.count)
      place.copyBytes(from: bytes)
      return UnsafeRawBufferPointer(place)
    }
  }

  private static let fields = [
    "Host: example.com\r\nContent-Length: 12\r\n\r\n", "X-Own:  a b \r\nHTTP2-Settings: c\r\n\r\n",
    "te: \r\nIf-Unmodified-Since: caf\u{e9}\tx\r\nA:b\r\n\r\n",
  ]

  @Test("are the same with every byte in every place", arguments: fields)
  func everyByte(fields: String) throws {
    let guarded = try Guarded()
    let bytes = Self.start + Array(fields.utf8)
    for index in Self.start.count..<bytes.count {
      for other in UInt8.min...UInt8.max {
        var changed = bytes
        changed[index] = other
        let expected = Self.reference(changed[Self.start.count...])
        if Self.parsed(guarded.end(with: changed)) != expected {
          Issue.record("\(index): \(other): \(Self.parsed(guarded.end(with: changed))), not \(expected)")
        }
      }
    }
  }

  @Test("are the same wherever they are cut", arguments: fields)
  func everyCut(fields: String) throws {
    let guarded = try Guarded()
    let bytes = Self.start + Array(fields.utf8)
    for count in Self.start.count...bytes.count {
      let prefix = Array(bytes[..<count])
      #expect(Self.parsed(guarded.end(with: prefix)) == Self.reference(prefix[Self.start.count...]), "\(count)")
    }
    for index in Self.start.count..<bytes.count {
      for other in [0, 0x0a, 0x0d, 0x20, 0x3a, 0x7f, 0x80] as [UInt8] {
        var changed = bytes
        changed[index] = other
        let expected = Self.reference(changed[Self.start.count...])
        let all = guarded.end(with: changed)
        for cut in Self.start.count..<changed.count where Self.parsed(all, after: cut) != expected {
          Issue.record("\(index): \(other), cut at \(cut): \(Self.parsed(all, after: cut)), not \(expected)")
        }
      }
    }
  }

  @Test("are the same for lines that nobody has thought of")
  func random() throws {
    let guarded = try Guarded()
    var state: UInt64 = 0x5eed
    func next(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % limit
    }
    let words = [
      "\r\n", "\r\n", "\r\n\r\n", ": ", ": ", ":", " ", "\t", "\r", "\n", "\0", "\u{7f}", "\u{e9}", "\u{1}", "a", "X-A", "Host",
      "Content-Length", "Transfer-Encoding", "chunked", "te", "0123456789abcdef", "\"", "[", "@", "-", "_",
    ].map { Array($0.utf8) }
    for _ in 0..<20_000 {
      var bytes = Self.start
      for _ in 0..<next(14) { bytes += words[next(words.count)] }
      let expected = Self.reference(bytes[Self.start.count...])
      let all = guarded.end(with: bytes)
      let cut = Self.start.count + next(bytes.count - Self.start.count + 1)
      if Self.parsed(all) != expected || Self.parsed(all, after: cut) != expected {
        Issue.record("\(bytes), cut at \(cut): \(Self.parsed(all)), not \(expected)")
      }
    }
  }
}
