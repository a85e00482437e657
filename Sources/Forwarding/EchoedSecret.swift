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
  static let depth = 3

  /// Steps of the search per byte of a field. What an API sends needs fewer than two; a text that is made of beginnings of the secret
  /// would need as many as the secret has bytes, while other requests wait.
  private static let effort = 16

  private let form: TargetCredential.Form
  private let secret: [UInt8]
  /// What precedes the secret in its parameter or segment, decoded.
  private let label: [UInt8]

  public init(_ secret: [UInt8], as form: TargetCredential.Form) {
    self.secret = secret
    self.form = form
    label =
      switch form {
      case .parameter(let name): name + [URLMark.equals]
      case .segment(let before, _): before
      }
  }

  /// Changes the fields with URLs in place: their values get shorter, and spaces fill the rest of their lines. So later readers of the
  /// same bytes find nothing either.
  /// - Parameter bytes: the head's; in memory that the caller owns alone, and may change.
  public func remove(from head: inout ResponseHead, in bytes: UnsafeRawBufferPointer) {
    guard let first = secret.first else { return }
    for index in head.fields.indices {
      let field = head.fields[index]
      guard field.hasURLs(in: bytes) else { continue }
      let value = UnsafeMutableRawBufferPointer(mutating: field.value.bytes(in: bytes))
      var text = EditedText(value)
      remove(from: &text, first)
      guard text.count < value.count else { continue }
      for place in text.count..<value.count { value[place] = URLMark.space }
      head.fields[index].value.count = text.count
    }
  }

  private func remove(from text: inout EditedText, _ first: UInt8) {
    var search = Search(steps: Self.effort * (text.all.count + secret.count))
    while let byte = text.next {
      guard byte == first || byte == URLMark.percent || byte == URLMark.plus,
        let end = endOfSecret(at: text.position, in: text.all, &search)
      else {
        if search.isOver { return text.hideAll() }
        text.keep()
        continue
      }
      if let part = part(behind: text.kept, end, in: text.all, &search) {
        text.remove(from: part.start, to: part.end)
      } else if secret.count >= Self.leastLength {
        text.hide(to: end)
      } else {
        text.keep()
      }
    }
    text.finish()
  }

  // MARK: Finding it

  /// What the search in one field may still cost.
  private struct Search {
    var steps: Int
    var isOver: Bool { steps < 0 }
  }

  /// The offset behind the secret if it begins here, in some encoding.
  private func endOfSecret(at start: Int, in text: UnsafeRawBufferPointer, _ search: inout Search) -> Int? {
    for depth in 0...Self.depth {
      var isEncoded = false
      if let end = end(of: secret, at: start, in: text, depth, &search, &isEncoded) { return end }
      // Without a percent sign it reads the same however often it is decoded.
      if !isEncoded || search.isOver { return nil }
    }
    return nil
  }

  /// - Parameter isEncoded: a percent sign was read.
  private func end(
    of wanted: [UInt8], at start: Int, in text: UnsafeRawBufferPointer, _ depth: Int, _ search: inout Search,
    _ isEncoded: inout Bool
  ) -> Int? {
    var index = start
    for byte in wanted {
      guard index < text.count else { return nil }
      let isPercent = text[index] == URLMark.percent
      if isPercent { isEncoded = true }
      search.steps -= isPercent ? 1 << depth : 1
      let (found, width) = Self.decoded(at: index, in: text, depth)
      guard !search.isOver, found == byte || byte == URLMark.space && found == URLMark.plus else { return nil }
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

  /// What to remove: from an offset in the text that was kept, to one in the field's value.
  private struct Part {
    var start: Int
    var end: Int
  }

  /// The whole parameter or segment and what divides it from the next; nil: the secret is in something else.
  /// - Parameters:
  ///   - kept: what precedes the secret.
  ///   - end: of the secret, in `text`.
  private func part(
    behind kept: UnsafeRawBufferPointer, _ end: Int, in text: UnsafeRawBufferPointer, _ search: inout Search
  ) -> Part? {
    switch form {
    case .parameter: parameter(behind: kept, end, in: text)
    case .segment(_, let after): segment(behind: kept, end, after, in: text, &search)
    }
  }

  private func parameter(behind kept: UnsafeRawBufferPointer, _ end: Int, in text: UnsafeRawBufferPointer) -> Part? {
    guard end == text.count || Self.isMark(text[end], of: "&;#>\"', ") else { return nil }
    guard let start = startOfLabel(in: kept, behind: "?&;#<", plusIsSpace: true), start > 0 else { return nil }
    // With the separator behind it, or without one with that before it.
    if end < text.count, Self.isMark(text[end], of: "&;") { return Part(start: start, end: end + 1) }
    // A reference that is a query alone keeps its `?`: without it, it would mean another query.
    let isAlone = start == 1 || Self.isMark(kept[start - 2], of: "<=\"', ")
    return Part(start: Self.isMark(kept[start - 1], of: "?&;") && !isAlone ? start - 1 : start, end: end)
  }

  private func segment(
    behind kept: UnsafeRawBufferPointer, _ end: Int, _ after: [UInt8], in text: UnsafeRawBufferPointer, _ search: inout Search
  ) -> Part? {
    guard let start = startOfLabel(in: kept, behind: "/<\"', ", plusIsSpace: false) else { return nil }
    var isEncoded = false
    guard var end = self.end(of: after, at: end, in: text, 1, &search, &isEncoded) else { return nil }
    guard end == text.count || Self.isMark(text[end], of: "/?#;>\"', ") else { return nil }
    // All slashes behind it: `//` at the beginning of a path would name another host.
    while end < text.count, text[end] == URLMark.slash { end += 1 }
    return Part(start: start, end: end)
  }

  /// Where the label begins that `kept` ends in, right behind a mark or at the beginning. Looks no further back than a label can be long.
  private func startOfLabel(in kept: UnsafeRawBufferPointer, behind marks: StaticString, plusIsSpace: Bool) -> Int? {
    let least = max(0, kept.count - 3 * label.count)
    var start = kept.count
    while start > least, !Self.isMark(kept[start - 1], of: marks) { start -= 1 }
    guard start == 0 || Self.isMark(kept[start - 1], of: marks) else { return nil }
    let text = UnsafeRawBufferPointer(rebasing: kept[start...])
    return DecodedText.isEqual(label, text, plusIsSpace: plusIsSpace) ? start : nil
  }

  private static func isMark(_ byte: UInt8, of marks: StaticString) -> Bool {
    for index in 0..<marks.utf8CodeUnitCount where marks.utf8Start[index] == byte { return true }
    return false
  }
}

extension Field {
  private static let refresh: StaticString = "refresh"

  /// Whether apps look for URLs in it.
  fileprivate func hasURLs(in bytes: UnsafeRawBufferPointer) -> Bool {
    switch id {
    case .location, .contentLocation, .link, .setCookie: true
    case .other: equalsIgnoringCase(name.bytes(in: bytes), Self.refresh)
    default: false
    }
  }
}

extension ForwardingRules {
  /// Marks the trailers of an answer that the rules would not let pass in its head as it is: apps merge trailers into heads. What a head
  /// would have in another form, URLs with the credential or below the origin's path, goes without.
  /// - Parameter isElsewhere: redirects have led to another host or entry than the one that the app asked.
  public func markTrailers(
    _ trailers: inout ContiguousArray<Field>, in bytes: UnsafeRawBufferPointer, isElsewhere: Bool
  ) {
    responseHeaders?.mark(&trailers, in: bytes)
    for index in trailers.indices where isElsewhere && Self.speaksForHost(trailers[index].name.bytes(in: bytes)) {
      trailers[index].dropped = true
    }
    for index in trailers.indices where trailers[index].hasURLs(in: bytes) {
      let isRewritten =
        switch trailers[index].id {
        case .link: rewrite.link
        case .location, .contentLocation: rewrite.location
        default: false
        }
      if isElsewhere || target != nil || paths != nil && rewritesURLs && isRewritten { trailers[index].dropped = true }
    }
  }
}

/// Text that gets shorter in its place: what is kept moves to its beginning, each byte once.
private struct EditedText {
  private static let star = UInt8(ascii: "*")

  private let memory: UnsafeMutableRawBufferPointer
  /// Bytes that are kept so far; once everything is read, of the result.
  private(set) var count = 0
  /// The next byte to read.
  private(set) var position = 0

  init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  /// As it was, from `position` on.
  var all: UnsafeRawBufferPointer { UnsafeRawBufferPointer(memory) }
  var kept: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }
  var next: UInt8? { position < memory.count ? memory[position] : nil }

  mutating func keep() {
    if count < position { memory[count] = memory[position] }
    count += 1
    position += 1
  }

  /// - Parameters:
  ///   - start: in what is kept.
  ///   - end: in the text.
  mutating func remove(from start: Int, to end: Int) {
    count = start
    position = end
  }

  /// Writes stars instead of what is next.
  mutating func hide(to end: Int) {
    for _ in 0..<min(3, end - position) {
      memory[count] = Self.star
      count += 1
    }
    position = end
  }

  mutating func hideAll() {
    count = 0
    position = 0
    hide(to: memory.count)
  }

  /// A text of which nothing is left would mean the same document.
  mutating func finish() {
    guard count == 0, !memory.isEmpty else { return }
    memory[0] = URLMark.dot
    count = 1
  }
}
