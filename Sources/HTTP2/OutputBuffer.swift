/// The buffer of one `send`, which its caller owns.
struct OutputBuffer {
  private var base: UnsafeMutableRawPointer?
  private var size = 0
  private(set) var count = 0

  var room: Int { size - count }

  mutating func begin(_ buffer: UnsafeMutableRawBufferPointer) {
    base = buffer.baseAddress
    size = buffer.count
    count = 0
  }

  /// - Returns: bytes written.
  mutating func finish() -> Int {
    base = nil
    size = 0
    return count
  }

  /// Appends as many of the bytes as there is room for.
  /// - Returns: those left.
  mutating func append(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    let taken = min(bytes.count, room)
    if taken > 0, let base, let source = bytes.baseAddress { (base + count).copyMemory(from: source, byteCount: taken) }
    count += taken
    return UnsafeRawBufferPointer(rebasing: bytes[taken...])
  }
}
