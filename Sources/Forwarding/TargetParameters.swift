import HTTPWire

/// The parameters of a target's query, between `&` or `;`: origins differ in what they take for a separator. Names are compared
/// decoded, with `+` as a space.
enum TargetParameters {
  static func contains(_ name: [UInt8], in target: UnsafeRawBufferPointer) -> Bool {
    var isThere = false
    forEach(of: target) { parameter in if isNamed(name, parameter, in: target) { isThere = true } }
    return isThere
  }

  /// Writes the target without the parameters of that name, each with the separator before it.
  /// - Returns: where `?` is in the writer, or would be.
  static func write(_ target: UnsafeRawBufferPointer, without name: [UInt8], into writer: inout ByteWriter) -> Int {
    let path = target.firstIndex(of: URLMark.question) ?? target.count
    writer.append(UnsafeRawBufferPointer(rebasing: target[..<path]))
    let start = writer.count
    forEach(of: target) { parameter in
      if isNamed(name, parameter, in: target) { return }
      writer.append(byte: writer.count == start ? URLMark.question : target[parameter.lowerBound - 1])
      writer.append(UnsafeRawBufferPointer(rebasing: target[parameter]))
    }
    return start
  }

  /// The target with `***` for the values of that name.
  static func hiding(_ name: [UInt8], in target: UnsafeRawBufferPointer) -> [UInt8] {
    var text: [UInt8] = []
    var end = 0
    forEach(of: target) { parameter in
      guard isNamed(name, parameter, in: target), let equals = target[parameter].firstIndex(of: URLMark.equals) else { return }
      text += Array(target[end...equals]) + Array("***".utf8)
      end = parameter.upperBound
    }
    return text + Array(target[end...])
  }

  /// Includes empty ones.
  private static func forEach(of target: UnsafeRawBufferPointer, _ body: (Range<Int>) -> Void) {
    guard let question = target.firstIndex(of: URLMark.question) else { return }
    var start = question + 1
    for index in start...target.count {
      guard index == target.count || target[index] == URLMark.ampersand || target[index] == URLMark.semicolon else { continue }
      body(start..<index)
      start = index + 1
    }
  }

  private static func isNamed(_ name: [UInt8], _ parameter: Range<Int>, in target: UnsafeRawBufferPointer) -> Bool {
    let end = target[parameter].firstIndex(of: URLMark.equals) ?? parameter.upperBound
    return DecodedText.isEqual(name, UnsafeRawBufferPointer(rebasing: target[parameter.lowerBound..<end]), plusIsSpace: true)
  }
}

/// Characters that divide URLs.
enum URLMark {
  static let slash = UInt8(ascii: "/")
  static let question = UInt8(ascii: "?")
  static let ampersand = UInt8(ascii: "&")
  static let semicolon = UInt8(ascii: ";")
  static let equals = UInt8(ascii: "=")
  static let colon = UInt8(ascii: ":")
  static let dot = UInt8(ascii: ".")
  static let percent = UInt8(ascii: "%")
  static let plus = UInt8(ascii: "+")
  static let space = UInt8(ascii: " ")
}

/// Comparisons with percent-encoded text.
enum DecodedText {
  /// Bytes that the text has when it is decoded.
  static func count(of text: UnsafeRawBufferPointer) -> Int {
    var (index, count) = (0, 0)
    while index < text.count {
      index += decodedByte(at: index, in: text).width
      count += 1
    }
    return count
  }

  /// Whether the decoded text has these bytes from an offset on.
  static func has(_ bytes: [UInt8], at offset: Int, in text: UnsafeRawBufferPointer) -> Bool {
    var (index, position) = (0, 0)
    while index < text.count, position < offset + bytes.count {
      let (byte, width) = decodedByte(at: index, in: text)
      if position >= offset, byte != bytes[position - offset] { return false }
      index += width
      position += 1
    }
    return position == offset + bytes.count
  }

  static func isEqual(_ bytes: [UInt8], _ text: UnsafeRawBufferPointer, plusIsSpace: Bool = false) -> Bool {
    var (index, length) = (0, 0)
    while index < text.count {
      var (byte, width) = decodedByte(at: index, in: text)
      if plusIsSpace, text[index] == URLMark.plus { byte = URLMark.space }
      guard length < bytes.count, byte == bytes[length] else { return false }
      index += width
      length += 1
    }
    return length == bytes.count
  }

  /// Whether a text has these bytes, however often it is decoded; true as well if it is encoded more often than servers decode.
  static func mayContain(_ bytes: [UInt8], _ text: [UInt8]) -> Bool {
    var text = text
    for _ in 0..<5 {
      if text.indices.contains(where: { text[$0...].starts(with: bytes) }) { return true }
      let decoded = text.withUnsafeBytes { text in
        var (decoded, index) = ([UInt8](), 0)
        while index < text.count {
          let (byte, width) = decodedByte(at: index, in: text)
          decoded.append(byte)
          index += width
        }
        return decoded
      }
      if decoded.count == text.count { return false }
      text = decoded
    }
    return true
  }
}
