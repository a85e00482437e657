/// A range of bytes of a head, as offsets from the head's first byte. It has no pointer: the buffer may move between two uses,
/// and whoever reads a slice passes the bytes.
public struct ByteSlice: Sendable, Hashable {
  // 32 bits each: a head is far below 4 GiB, and the size of field arrays counts for every idle connection.
  @usableFromInline var offset: UInt32
  @usableFromInline var length: UInt32

  @inlinable @inline(__always)
  public init(start: Int, count: Int) {
    offset = UInt32(start)
    length = UInt32(count)
  }

  @inlinable @inline(__always)
  init(_ start: Int, to end: Int) {
    self.init(start: start, count: end - start)
  }

  public static let empty = ByteSlice(start: 0, count: 0)

  @inlinable public var start: Int {
    @inline(__always) get { Int(offset) }
    set { offset = UInt32(newValue) }
  }
  @inlinable public var count: Int {
    @inline(__always) get { Int(length) }
    set { length = UInt32(newValue) }
  }
  /// The offset after the last byte.
  @inlinable public var end: Int {
    @inline(__always) get { Int(offset) + Int(length) }
  }
  @inlinable public var isEmpty: Bool { length == 0 }

  /// The slice's bytes; `head` starts at the head's first byte. Traps if the slice is not inside `head`.
  @inlinable
  public func bytes(in head: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    precondition(end <= head.count, "slice outside of its head")
    return UnsafeRawBufferPointer(rebasing: head[start..<end])
  }
}
