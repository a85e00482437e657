import HTTPWire

/// Takes a secret that a request's target had out of what the origin says about URLs: a redirect or a link to the URL that it was
/// asked for would hand the secret to the app. It is found however it is percent-encoded, also several times over, as in a URL inside
/// of another's query.
///
/// - A parameter, or a segment, that is the credential as the proxy sends it is removed: the app's next request gets it again.
/// - Elsewhere stars take its place. Not if it has fewer than `leastLength` bytes: such a value may be there by chance.
public struct EchoedSecret: Sendable {
  static let leastLength = 8
  /// How many times over it may be encoded.
  private static let depth = 3

  private let form: TargetCredential.Form
  private let secret: [UInt8]

  public init(_ secret: [UInt8], as form: TargetCredential.Form) {
    self.secret = secret
    self.form = form
  }

  private static let refresh = Array("refresh".utf8)

  /// Changes the fields with URLs in place: their values get shorter, and spaces fill the rest of their lines. So later readers of the
  /// same bytes find nothing either.
  /// - Parameter bytes: the head's; in memory that the caller owns alone, and may change.
  public func remove(from head: inout ResponseHead, in bytes: UnsafeRawBufferPointer) {
    guard let first = secret.first else { return }
    for index in head.fields.indices {
      let field = head.fields[index]
      guard isURL(field, bytes) else { continue }
      let value = UnsafeMutableRawBufferPointer(mutating: field.value.bytes(in: bytes))
      var text = EditedText(value)
      remove(from: &text, first)
      guard text.count < value.count else { continue }
      for place in text.count..<value.count { value[place] = URLMark.space }
      head.fields[index].value.count = text.count
    }
  }

  private func isURL(_ field: Field, _ bytes: UnsafeRawBufferPointer) -> Bool {
    switch field.id {
    case .location, .contentLocation, .link, .setCookie: true
    case .other: equalsIgnoringCase(field.name.bytes(in: bytes), Self.refresh)
    default: false
    }
  }

  private func remove(from text: inout EditedText, _ first: UInt8) {
    var index = 0
    while index < text.count {
      let byte = text[index]
      guard byte == first || byte == URLMark.percent || byte == URLMark.plus,
        let end = endOfSecret(at: index, in: text.bytes)
      else {
        index += 1
        continue
      }
      if let part = part(around: index..<end, in: text.bytes) {
        text.remove(part)
        index = part.lowerBound
      } else if secret.count >= Self.leastLength {
        index = text.hide(index..<end)
      } else {
        index += 1
      }
    }
    if text.isEmptied { text.fill(with: URLMark.dot) }
  }

  // MARK: Finding it

  /// The offset behind the secret if it begins here, in some encoding.
  private func endOfSecret(at start: Int, in text: UnsafeRawBufferPointer) -> Int? {
    for depth in 0...Self.depth { if let end = end(of: secret, at: start, in: text, depth) { return end } }
    return nil
  }

  private func end(of wanted: [UInt8], at start: Int, in text: UnsafeRawBufferPointer, _ depth: Int) -> Int? {
    var index = start
    for byte in wanted {
      guard index < text.count else { return nil }
      let (found, width) = Self.decoded(at: index, in: text, depth)
      guard found == byte || byte == URLMark.space && found == URLMark.plus else { return nil }
      index += width
    }
    return index
  }

  /// A byte of text that is encoded up to `depth` times.
  private static func decoded(at index: Int, in text: UnsafeRawBufferPointer, _ depth: Int) -> (byte: UInt8, width: Int) {
    guard depth > 0 else { return (text[index], 1) }
    let (byte, width) = decoded(at: index, in: text, depth - 1)
    guard byte == URLMark.percent, index + width < text.count else { return (byte, width) }
    let (high, highWidth) = decoded(at: index + width, in: text, depth - 1)
    let low = index + width + highWidth
    guard low < text.count, let upper = hexadecimalValue(high) else { return (byte, width) }
    let (digit, lowWidth) = decoded(at: low, in: text, depth - 1)
    guard let lower = hexadecimalValue(digit) else { return (byte, width) }
    return (upper << 4 | lower, width + highWidth + lowWidth)
  }

  // MARK: What to remove with it

  /// The whole parameter or segment and what divides it from the next; nil: the secret is in something else.
  private func part(around found: Range<Int>, in text: UnsafeRawBufferPointer) -> Range<Int>? {
    switch form {
    case .parameter(let name): parameter(name, around: found, in: text)
    case .segment(let before, let after): segment(before, after, around: found, in: text)
    }
  }

  private func parameter(_ name: [UInt8], around found: Range<Int>, in text: UnsafeRawBufferPointer) -> Range<Int>? {
    let end = found.upperBound
    guard end == text.count || Self.isMark(text[end], of: "&;#>\"', ") else { return nil }
    var start = found.lowerBound
    while start > 0, !Self.isMark(text[start - 1], of: "?&;#<") { start -= 1 }
    let label = UnsafeRawBufferPointer(rebasing: text[start..<found.lowerBound])
    guard start > 0, DecodedText.isEqual(name + [URLMark.equals], label, plusIsSpace: true) else { return nil }
    // With the separator behind it, or without one with that before it.
    if end < text.count, Self.isMark(text[end], of: "&;") { return start..<(end + 1) }
    // A reference that is a query alone keeps its `?`: without it, it would mean another query.
    let isAlone = start == 1 || text[start - 2] == UInt8(ascii: "<")
    return Self.isMark(text[start - 1], of: "?&;") && !isAlone ? (start - 1)..<end : start..<end
  }

  private func segment(
    _ before: [UInt8], _ after: [UInt8], around found: Range<Int>, in text: UnsafeRawBufferPointer
  ) -> Range<Int>? {
    var start = found.lowerBound
    while start > 0, !Self.isMark(text[start - 1], of: "/<\"', ") { start -= 1 }
    guard DecodedText.isEqual(before, UnsafeRawBufferPointer(rebasing: text[start..<found.lowerBound])) else { return nil }
    guard var end = self.end(of: after, at: found.upperBound, in: text, 1) else { return nil }
    guard end == text.count || Self.isMark(text[end], of: "/?#;>\"', ") else { return nil }
    // All slashes behind it: `//` at the beginning of a path would name another host.
    while end < text.count, text[end] == URLMark.slash { end += 1 }
    return start..<end
  }

  private static func isMark(_ byte: UInt8, of marks: StaticString) -> Bool {
    for index in 0..<marks.utf8CodeUnitCount where marks.utf8Start[index] == byte { return true }
    return false
  }
}

/// Text that gets shorter in its place.
private struct EditedText {
  private let memory: UnsafeMutableRawBufferPointer
  private(set) var count: Int

  init(_ memory: UnsafeMutableRawBufferPointer) {
    self.memory = memory
    count = memory.count
  }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }
  subscript(index: Int) -> UInt8 { memory[index] }
  /// Nothing is left of it.
  var isEmptied: Bool { count == 0 && memory.count > 0 }

  mutating func remove(_ range: Range<Int>) {
    guard let base = memory.baseAddress else { return }
    (base + range.lowerBound).copyMemory(from: base + range.upperBound, byteCount: count - range.upperBound)
    count -= range.count
  }

  /// Writes stars instead.
  /// - Returns: the offset behind them.
  mutating func hide(_ range: Range<Int>) -> Int {
    let end = range.lowerBound + min(3, range.count)
    for index in range.lowerBound..<end { memory[index] = UInt8(ascii: "*") }
    remove(end..<range.upperBound)
    return end
  }

  mutating func fill(with byte: UInt8) {
    memory[0] = byte
    count = 1
  }
}
