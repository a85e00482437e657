import HTTPWire

/// An AWS signature in a request's query: what the proxy cuts from the target when its own signature replaces the app's.
public struct PresignedQuery {
  /// Names of its parameters, in lower case.
  private static let signature: StaticString = "x-amz-signature"
  private static let others: [StaticString] = [
    "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-signedheaders", "x-amz-security-token",
  ]

  /// Whether a target has one. Its parameters count however they are encoded, as AWS decodes them before it looks.
  /// - Parameter target: origin-form or absolute-form.
  public static func isPresent(in target: UnsafeRawBufferPointer) -> Bool {
    var parameters = QueryParameters(of: target)
    while let parameter = parameters.next() {
      if isNamed(signature, parameter.name.bytes(in: target)) { return true }
    }
    return false
  }

  /// The value of a parameter, as it is encoded.
  /// - Parameter name: in lower case.
  public static func value(of name: StaticString, in target: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    var parameters = QueryParameters(of: target)
    while let parameter = parameters.next() {
      if isNamed(name, parameter.name.bytes(in: target)) { return parameter.value.bytes(in: target) }
    }
    return nil
  }

  /// Ignores case and encoding.
  private static func isNamed(_ name: StaticString, _ encoded: UnsafeRawBufferPointer) -> Bool {
    var (index, length) = (0, 0)
    while index < encoded.count {
      let (byte, width) = decodedByte(at: index, in: encoded)
      guard length < name.utf8CodeUnitCount, lowercase(byte) == name.utf8Start[length] else { return false }
      index += width
      length += 1
    }
    return length == name.utf8CodeUnitCount
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

  fileprivate static func isPart(_ name: UnsafeRawBufferPointer) -> Bool {
    isNamed(signature, name) || others.contains { isNamed($0, name) }
  }
}

/// The parameters of a target's query, as slices of the target.
public struct QueryParameters {
  public struct Parameter {
    public let name: ByteSlice
    /// Empty without `=`.
    public let value: ByteSlice
    /// Both, and `=`.
    public let whole: ByteSlice
  }

  private let target: UnsafeRawBufferPointer
  private var position: Int
  /// Offset behind `?`; nil: there is no query.
  public let start: Int?

  public init(of target: UnsafeRawBufferPointer) {
    self.target = target
    start = target.firstIndex(of: UInt8(ascii: "?")).map { $0 + 1 }
    position = start ?? target.count
  }

  /// Leaves out empty ones (`&&`).
  public mutating func next() -> Parameter? {
    while position < target.count {
      let first = position
      var equals: Int?
      while position < target.count, target[position] != UInt8(ascii: "&") {
        if equals == nil, target[position] == UInt8(ascii: "=") { equals = position }
        position += 1
      }
      let end = position
      position += 1
      if end == first { continue }
      let nameEnd = equals ?? end
      let valueStart = equals.map { $0 + 1 } ?? end
      return Parameter(
        name: ByteSlice(start: first, count: nameEnd - first), value: ByteSlice(start: valueStart, count: end - valueStart),
        whole: ByteSlice(start: first, count: end - first))
    }
    return nil
  }
}

/// A byte of percent-encoded text, and how many bytes write it. What is no valid triplet stands for itself.
@inlinable
public func decodedByte(at index: Int, in bytes: UnsafeRawBufferPointer) -> (byte: UInt8, width: Int) {
  let byte = bytes[index]
  guard byte == UInt8(ascii: "%"), index + 2 < bytes.count, let high = hexadecimalValue(bytes[index + 1]),
    let low = hexadecimalValue(bytes[index + 2])
  else { return (byte, 1) }
  return (high << 4 | low, 3)
}

@inlinable
public func hexadecimalValue(_ byte: UInt8) -> UInt8? {
  switch byte {
  case 0x30...0x39: byte - 0x30
  case 0x41...0x46: byte - 0x41 + 10
  case 0x61...0x66: byte - 0x61 + 10
  default: nil
  }
}

extension ByteWriter {
  /// The target without the parameters of an AWS signature. The others stay as they are written, in their order.
  public mutating func append(withoutSignature target: UnsafeRawBufferPointer) {
    var parameters = QueryParameters(of: target)
    guard let start = parameters.start else { return append(target) }
    append(UnsafeRawBufferPointer(rebasing: target[..<(start - 1)]))
    var separator = UInt8(ascii: "?")
    while let parameter = parameters.next() {
      if PresignedQuery.isPart(parameter.name.bytes(in: target)) { continue }
      append(byte: separator)
      append(parameter.whole, of: target)
      separator = UInt8(ascii: "&")
    }
  }
}
