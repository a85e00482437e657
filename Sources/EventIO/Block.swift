import CSystem

/// Memory with a filled range. Loops lend blocks of the three pooled sizes; blocks of other sizes are freed after use.
public final class Block {
  public let base: UnsafeMutableRawPointer
  public let capacity: Int
  /// The filled range: `start..<end`.
  public var start = 0
  public var end = 0

  public init(capacity: Int) {
    self.capacity = capacity
    base = UnsafeMutableRawPointer.allocate(byteCount: max(capacity, 1), alignment: 16)
  }
  deinit { base.deallocate() }

  /// Gives the pages to the kernel before the block is freed: the allocator keeps free memory that lies between blocks in use. The content is
  /// lost, so only for the last owner.
  func dropPages() { csys_drop_pages(base, capacity) }

  @inlinable
  public var count: Int { end - start }
  @inlinable
  public var isEmpty: Bool { start == end }
  @inlinable
  public var room: Int { capacity - end }
  @inlinable
  public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base + start, count: end - start) }
  public var mutableBytes: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: base + start, count: end - start)
  }
  /// The free space after the filled range.
  @inlinable
  public var space: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: base + end, count: capacity - end) }

  @inlinable
  public func clear() {
    start = 0
    end = 0
  }
  /// Drops `count` bytes from the front; an empty block starts again at its beginning.
  @inlinable
  public func consume(_ count: Int) {
    start += count
    if start == end { clear() }
  }
  @inlinable
  public func append(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count <= room)
    if let from = bytes.baseAddress { (base + end).copyMemory(from: from, byteCount: bytes.count) }
    end += bytes.count
  }
  @inlinable
  public func append(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }
  @inlinable
  public func append(_ array: [UInt8]) { array.withUnsafeBytes { append($0) } }
  /// Moves the filled range to the front, so that all free space is behind it.
  public func compact() {
    if start == 0 { return }
    let count = end - start
    base.copyMemory(from: base + start, byteCount: count)
    start = 0
    end = count
  }
  // MARK: Bodies

  /// Bytes that a block for a body keeps free before and behind it, for framing.
  @inlinable public static var frontMargin: Int { 16 }
  @inlinable public static var backMargin: Int { 8 }

  /// Readies an empty block for a body: room in front for framing.
  @inlinable
  public func clearForBody() {
    start = Self.frontMargin
    end = Self.frontMargin
  }
  /// A block of little more than the filled size, with the same bytes, and room around them for framing.
  public func exactCopyForBody() -> Block {
    let copy = Block(capacity: Self.frontMargin + count + Self.backMargin)
    copy.clearForBody()
    copy.append(bytes)
    return copy
  }
  /// What may be read into when a body comes: room behind stays for framing.
  @inlinable
  public var bodySpace: UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(start: base + end, count: max(capacity - end - Self.backMargin, 0))
  }

  /// A block of exactly the filled size, with the same bytes.
  public func exactCopy() -> Block {
    let copy = Block(capacity: count)
    copy.append(bytes)
    return copy
  }
}
