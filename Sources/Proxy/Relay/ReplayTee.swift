/// Keeps the first bytes of a request body while they stream, so that the request can be sent again. Over the cap it keeps
/// nothing: that means no repeat, not a failure.
struct ReplayTee {
  let capacity: Int
  private(set) var bytes: [UInt8] = []
  /// Everything that was read of the body is in `bytes`.
  private(set) var isIntact: Bool

  init(capacity: Int) {
    self.capacity = capacity
    isIntact = capacity > 0
  }

  mutating func append(_ piece: UnsafeRawBufferPointer) {
    guard isIntact else { return }
    guard bytes.count + piece.count <= capacity else { return discard() }
    bytes.append(contentsOf: piece)
  }

  mutating func discard() {
    isIntact = false
    bytes = []
  }
}
