import Forwarding
import HTTPWire

/// How a service reads the path that it is sent.
public enum PathForm: Sendable, Hashable {
  /// Dot segments and empty ones are resolved; each octet as written is encoded once more.
  case normalized
  /// Decoded, and encoded once. Nothing is removed: each path is an object's name.
  case asWritten

  /// - Parameter service: the signing name.
  public init(of service: [UInt8]) {
    let asWritten: [StaticString] = ["s3", "s3-object-lambda", "s3-outposts", "s3express"]
    self = asWritten.contains { service.equals($0) } ? .asWritten : .normalized
  }
}

extension [UInt8] {
  func equals(_ text: StaticString) -> Bool {
    elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  /// The path of a canonical request.
  mutating func append(canonicalPath path: UnsafeRawBufferPointer, _ form: PathForm) {
    // `*`
    guard path.first == UInt8(ascii: "/") else { return append(UInt8(ascii: "/")) }
    switch form {
    case .normalized: append(normalizedPath: path)
    case .asWritten:
      var index = 0
      while index < path.count {
        let (byte, width) = decodedByte(at: index, in: path)
        if byte == UInt8(ascii: "/") { append(byte) } else { append(encoding: byte) }
        index += width
      }
    }
  }

  private mutating func append(normalizedPath path: UnsafeRawBufferPointer) {
    let base = count
    var index = 0
    while index < path.count {
      // `index` is at a slash.
      let start = index + 1
      index = start
      while index < path.count, path[index] != UInt8(ascii: "/") { index += 1 }
      let length = index - start
      let isDot = length > 0 && path[start] == UInt8(ascii: ".")
      if length == 0 || (length == 1 && isDot) { continue }
      if length == 2, isDot, path[start + 1] == UInt8(ascii: ".") {
        while count > base, removeLast() != UInt8(ascii: "/") {}
        continue
      }
      append(UInt8(ascii: "/"))
      for byte in path[start..<index] { append(encoding: byte) }
    }
    if count == base || path[path.count - 1] == UInt8(ascii: "/") { append(UInt8(ascii: "/")) }
  }

  /// The query of a canonical request: sorted by name, then by value.
  /// - Parameter target: with its path.
  mutating func append(canonicalQueryOf target: UnsafeRawBufferPointer) {
    var parameters = QueryParameters(of: target)
    guard parameters.start != nil else { return }
    // Encoded, in one array: `ends` are the ends of a name and its value.
    var text: [UInt8] = []
    var pairs: [(start: Int, nameEnd: Int, end: Int)] = []
    while let parameter = parameters.next() {
      let start = text.count
      text.append(encodingAgain: parameter.name.bytes(in: target))
      let nameEnd = text.count
      text.append(encodingAgain: parameter.value.bytes(in: target))
      pairs.append((start, nameEnd, text.count))
    }
    pairs.sort { left, right in
      switch compare(text[left.start..<left.nameEnd], text[right.start..<right.nameEnd]) {
      case 0: compare(text[left.nameEnd..<left.end], text[right.nameEnd..<right.end]) < 0
      case let order: order < 0
      }
    }
    for (index, pair) in pairs.enumerated() {
      if index > 0 { append(UInt8(ascii: "&")) }
      append(contentsOf: text[pair.start..<pair.nameEnd])
      append(UInt8(ascii: "="))
      append(contentsOf: text[pair.nameEnd..<pair.end])
    }
  }
}

/// Below, equal to or above 0, by octets.
func compare(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Int {
  var (a, b) = (left.startIndex, right.startIndex)
  while a < left.endIndex, b < right.endIndex {
    if left[a] != right[b] { return Int(left[a]) - Int(right[b]) }
    a += 1
    b += 1
  }
  return left.count - right.count
}
