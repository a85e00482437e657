/// Bytes in order, in one piece of memory of its own.
struct ByteQueue: ~Copyable {
  private var base: UnsafeMutableRawPointer?
  private var capacity = 0
  private var start = 0
  private var end = 0

  /// Bytes that it keeps when it is empty: what comes in one turn from a peer that sends as fast as it can.
  private static let kept = 128 << 10

  init() {}

  deinit { base?.deallocate() }

  var count: Int { end - start }
  var isEmpty: Bool { start == end }

  /// Valid until the next mutation.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base.map { UnsafeRawPointer($0 + start) }, count: count) }

  /// Room for `size` more bytes; the caller must fill it.
  @inline(__always)
  mutating func extend(by size: Int) -> UnsafeMutableRawPointer {
    if end + size > capacity { makeRoom(size) }
    let place = base! + end
    end += size
    return place
  }

  @inline(__always)
  mutating func append(_ source: UnsafeRawPointer, _ size: Int) {
    if size > 0 { extend(by: size).copyMemory(from: source, byteCount: size) }
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    if let source = bytes.baseAddress { append(source, bytes.count) }
  }

  mutating func append(_ text: StaticString) { append(text.utf8Start, text.utf8CodeUnitCount) }

  mutating func removeFirst(_ size: Int) {
    precondition(size <= count, "more bytes taken than there are")
    start += size
    if start == end {
      start = 0
      end = 0
      // A fast reader must not hold what a burst needed.
      if capacity > Self.kept { free() }
    }
  }

  mutating func truncate(to size: Int) { end = start + size }

  /// Keeps memory of up to 4 KiB for the next use.
  mutating func clear() {
    start = 0
    end = 0
    if capacity > 4096 { free() }
  }

  private mutating func free() {
    base?.deallocate()
    base = nil
    capacity = 0
  }

  private mutating func makeRoom(_ size: Int) {
    let held = count
    if let base, held + size <= capacity, start >= capacity / 2 {
      base.copyMemory(from: base + start, byteCount: held)
    } else {
      // Large ones grow by a quarter: a window of 4 MiB must not hold 8.
      let quarter = (held + size) * 5 / 4
      let larger = held + size <= Self.kept ? min(max(quarter, capacity * 2, 256), Self.kept) : quarter
      let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
      if let base, held > 0 { moved.copyMemory(from: base + start, byteCount: held) }
      base?.deallocate()
      base = moved
      capacity = larger
    }
    start = 0
    end = held
  }
}
