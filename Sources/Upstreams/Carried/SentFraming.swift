/// How a body follows its head, which the proxy itself wrote for HTTP/1.1.
public enum SentFraming: Sendable, Equatable {
  case none
  /// Bytes.
  case length(Int64)
  case chunked
  /// Of an answer only.
  case untilClose

  /// - Parameter head: up to its blank line.
  public init(ofRequest head: UnsafeRawBufferPointer) { self = Self.declared(head) ?? .none }

  /// - Parameters:
  ///   - head: up to its blank line.
  ///   - isBodiless: it answers HEAD.
  public init(ofAnswer head: UnsafeRawBufferPointer, isBodiless: Bool) {
    // "HTTP/1.1 204"
    let status = head.count >= 12 ? head[9..<12].reduce(0) { $0 * 10 + Int($1 &- 0x30) } : 0
    self = isBodiless || status == 204 || status == 304 ? .none : Self.declared(head) ?? .untilClose
  }

  private static func declared(_ head: UnsafeRawBufferPointer) -> SentFraming? {
    var start = 0
    var framing: SentFraming?
    while let end = head[start...].firstIndex(of: 0x0a) {
      let line = UnsafeRawBufferPointer(rebasing: head[start..<end])
      if begins(line, "content-length:") {
        let digits = line[15...].drop { $0 == 0x20 }.prefix { 0x30...0x39 ~= $0 }
        framing = .length(digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) })
      } else if begins(line, "transfer-encoding: chunked") {
        return .chunked
      }
      start = end + 1
    }
    return framing
  }

  /// - Parameter text: in lower case.
  private static func begins(_ line: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard line.count >= count, line[0] | 0x20 == text.utf8Start[0] else { return false }
    for index in 0..<count where (line[index] &- 0x41 < 26 ? line[index] | 0x20 : line[index]) != text.utf8Start[index] {
      return false
    }
    return true
  }
}

/// The end of the head at the front of what was written for HTTP/1.1; nil: there is none.
public func headEnd(_ bytes: UnsafeRawBufferPointer) -> Int? {
  var index = 3
  while index < bytes.count {
    if bytes[index] == 0x0a, bytes[index - 1] == 0x0d, bytes[index - 2] == 0x0a { return index + 1 }
    index += 1
  }
  return nil
}
