/// Compares bytes, exactly or ignoring the case of ASCII letters.

/// Eight bytes at a time.
public func equalBytes(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
  guard one.count == other.count else { return false }
  guard let a = one.baseAddress, let b = other.baseAddress else { return true }
  var index = 0
  guard one.count >= 8 else {
    while index < one.count {
      if one[index] != other[index] { return false }
      index &+= 1
    }
    return true
  }
  while true {
    if a.loadUnaligned(fromByteOffset: index, as: UInt64.self) != b.loadUnaligned(fromByteOffset: index, as: UInt64.self) {
      return false
    }
    if index == one.count &- 8 { return true }
    // The last eight overlap with the ones before.
    index = min(index &+ 8, one.count &- 8)
  }
}

public func equalsIgnoringCase(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
  equalsIgnoringCase(bytes, UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
}

public func equalsIgnoringCase(_ bytes: UnsafeRawBufferPointer, _ text: [UInt8]) -> Bool {
  text.withUnsafeBytes { equalsIgnoringCase(bytes, $0) }
}

public func equalsIgnoringCase(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
  guard one.count == other.count else { return false }
  var index = 0
  while index < one.count {
    if one[index] != other[index], ASCII.lower(one[index]) != ASCII.lower(other[index]) { return false }
    index &+= 1
  }
  return true
}

/// Whether two field names are the same for a server that does not distinguish `_` and `-` (CGI, WSGI and similar), ignoring
/// case.
public func fieldNameEquals(_ name: UnsafeRawBufferPointer, _ other: [UInt8]) -> Bool {
  guard name.count == other.count else { return false }
  return other.withUnsafeBytes { other in
    var index = 0
    while index < name.count {
      if name[index] != other[index], foldedNameByte(name[index]) != foldedNameByte(other[index]) { return false }
      index &+= 1
    }
    return true
  }
}

@inline(__always)
private func foldedNameByte(_ byte: UInt8) -> UInt8 { byte == ASCII.underscore ? ASCII.hyphen : ASCII.lower(byte) }

extension ByteSlice {
  public func equalsIgnoringCase(_ text: StaticString, in head: UnsafeRawBufferPointer) -> Bool {
    HTTPWire.equalsIgnoringCase(bytes(in: head), text)
  }
  public func equalsIgnoringCase(_ text: [UInt8], in head: UnsafeRawBufferPointer) -> Bool {
    HTTPWire.equalsIgnoringCase(bytes(in: head), text)
  }
  /// Exact comparison.
  public func equals(_ text: StaticString, in head: UnsafeRawBufferPointer) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    return bytes(in: head).elementsEqual(UnsafeRawBufferPointer(start: text.utf8Start, count: count))
  }
  public func equals(_ text: [UInt8], in head: UnsafeRawBufferPointer) -> Bool {
    guard count == text.count else { return false }
    return bytes(in: head).elementsEqual(text)
  }
}
