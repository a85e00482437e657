/// Keeps the first bytes of a request body while they are sent, so that the request can be sent again. If the body exceeds the
/// cap, or the process keeps too much, the tee keeps nothing: the request does not fail, but is not sent again.
struct ReplayTee {
  /// Bytes. So little is not counted: a request takes several times as much for itself.
  private static let uncounted = 1 << 10

  let capacity: Int
  private(set) var bytes: [UInt8] = []
  /// `bytes` has everything that was read of the body.
  private(set) var isIntact: Bool
  /// What the bytes are taken from; nil: nothing is kept. It lives as long as the loop.
  private unowned(unsafe) let buffers: LoopBuffers?
  /// Taken from them.
  private var taken = 0

  /// Keeps nothing.
  init() {
    capacity = 0
    isIntact = false
    buffers = nil
  }

  init(capacity: Int, from buffers: LoopBuffers) {
    self.capacity = capacity
    isIntact = capacity > 0
    self.buffers = buffers
  }

  /// For a body that is read whole.
  /// - Parameter length: of the body; 0: unknown.
  init(wholeUpTo capacity: Int, length: Int, from buffers: LoopBuffers) {
    self.capacity = capacity
    isIntact = true
    self.buffers = buffers
    // Pages that nothing is written to take no memory.
    bytes.reserveCapacity(length)
  }

  @inline(__always)
  var isHolding: Bool { taken > 0 }

  mutating func append(_ piece: UnsafeRawBufferPointer) {
    guard isIntact, !piece.isEmpty else { return }
    let count = bytes.count + piece.count
    guard count <= capacity, count <= max(taken, Self.uncounted) || makeRoom(for: count) else { return discard() }
    bytes.append(contentsOf: piece)
  }

  /// What is taken is what the array occupies. It grows by doubling.
  private mutating func makeRoom(for count: Int) -> Bool {
    if bytes.isEmpty || count <= bytes.capacity { return reserve(count) }
    let doubled = min(max(count, 2 * bytes.capacity), capacity)
    let target = reserve(doubled) ? doubled : count
    guard reserve(target) else { return false }
    bytes.reserveCapacity(target)
    return true
  }

  /// Takes memory for this many bytes in all.
  /// - Returns: false: there is not enough; nothing was taken.
  private mutating func reserve(_ count: Int) -> Bool {
    guard count > taken else { return true }
    guard let buffers, buffers.take(count - taken) else { return false }
    taken = count
    return true
  }

  mutating func discard() {
    isIntact = false
    bytes = []
    release()
  }

  /// Gives the memory back.
  private mutating func release() {
    if taken > 0 { buffers?.giveBack(taken) }
    taken = 0
  }
}
