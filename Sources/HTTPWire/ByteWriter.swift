/// Writes bytes one after the other into memory that the caller owns and keeps alive. The caller guarantees enough space:
/// running out of it is a precondition failure, never a truncated message.
public struct ByteWriter {
  public let base: UnsafeMutableRawPointer
  public let capacity: Int
  /// Bytes written.
  public internal(set) var count: Int

  /// - Parameter count: bytes already in the buffer; writing starts after them.
  @inlinable
  public init(_ buffer: UnsafeMutableRawBufferPointer, count: Int = 0) {
    guard let base = buffer.baseAddress else { preconditionFailure("a writer needs memory") }
    self.init(base, capacity: buffer.count, count: count)
  }

  public init(_ base: UnsafeMutableRawPointer, capacity: Int, count: Int = 0) {
    precondition(0...capacity ~= count, "more written than there is room for")
    self.base = base
    self.capacity = capacity
    self.count = count
  }

  public var remaining: Int { capacity - count }
  /// What has been written.
  public var written: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// The place for `size` more bytes.
  @inline(__always)
  private mutating func reserve(_ size: Int) -> UnsafeMutableRawPointer {
    precondition(size <= capacity - count, "no room left in the buffer")
    let place = base + count
    count &+= size
    return place
  }

  public mutating func append(byte: UInt8) { reserve(1).storeBytes(of: byte, as: UInt8.self) }

  public mutating func append(_ text: StaticString) {
    let size = text.utf8CodeUnitCount
    reserve(size).copyMemory(from: text.utf8Start, byteCount: size)
  }

  public mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress else { return }
    reserve(bytes.count).copyMemory(from: source, byteCount: bytes.count)
  }

  public mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBytes { append($0) } }

  public mutating func append(_ bytes: ContiguousArray<UInt8>) { bytes.withUnsafeBytes { append($0) } }

  public mutating func append(_ slice: ByteSlice, of head: UnsafeRawBufferPointer) { append(slice.bytes(in: head)) }

  /// ASCII letters in lower case.
  public mutating func append(lowercased bytes: UnsafeRawBufferPointer) {
    let place = reserve(bytes.count).assumingMemoryBound(to: UInt8.self)
    for index in 0..<bytes.count { place[index] = ASCII.lower(bytes[index]) }
  }

  public mutating func appendDecimal(_ number: Int64) {
    precondition(number >= 0, "lengths and codes are not negative")
    appendDigits(UInt64(number))
  }

  public mutating func appendDecimal(_ number: Int) { appendDecimal(Int64(number)) }

  private mutating func appendDigits(_ number: UInt64) {
    var digits = 1
    var rest = number / 10
    while rest > 0 {
      digits &+= 1
      rest /= 10
    }
    let place = reserve(digits).assumingMemoryBound(to: UInt8.self)
    rest = number
    for index in stride(from: digits &- 1, through: 0, by: -1) {
      place[index] = ASCII.zero &+ UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
  }
}
