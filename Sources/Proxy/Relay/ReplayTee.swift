/// Keeps the first bytes of a request body while they are sent, so that the request can be sent again. If the body exceeds the
/// cap, the tee keeps nothing: the request does not fail, but is not sent again.
struct ReplayTee {
  let capacity: Int
  private(set) var bytes: [UInt8] = []
  /// `bytes` has everything that was read of the body.
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
