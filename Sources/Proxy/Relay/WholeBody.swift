import Crypto

/// A request's body that is read whole before it is sent, as the head that goes ahead of it depends on it. The tee has its bytes.
final class WholeBody {
  enum Refusal {
    /// It exceeds `limits.hashed_body`.
    case tooLarge
    /// All bodies that are kept fill `limits.buffers`.
    case noMemory
  }

  let algorithm: RunningDigest.Algorithm?
  private let running: RunningDigest?
  private let buffers: LoopBuffers
  private var count = 0

  /// nil: the library has no memory for the digest.
  init?(_ algorithm: RunningDigest.Algorithm?, in buffers: LoopBuffers) {
    self.algorithm = algorithm
    self.buffers = buffers
    do { running = try algorithm.map { try RunningDigest($0) } } catch { return nil }
  }

  deinit { buffers.noteWhole(-count) }

  func add(_ bytes: UnsafeRawBufferPointer) {
    count += bytes.count
    buffers.noteWhole(bytes.count)
    running?.update(bytes)
  }

  /// Nothing is added afterwards.
  var digest: [UInt8]? { running?.finish() }
}
