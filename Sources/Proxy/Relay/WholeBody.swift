import Crypto
import Upstreams

/// A request's body that is read whole before it is sent, as the head that goes ahead of it depends on it. The tee has its bytes.
final class WholeBody {
  enum Refusal {
    /// It exceeds `limits.hashed_body`.
    case tooLarge
    /// All bodies that are kept fill `limits.buffers`, or those of this client fill its share.
    case noMemory
  }

  let algorithm: RunningDigest.Algorithm?
  private let running: RunningDigest?
  private let account: ClientAccount?
  private let buffers: LoopBuffers
  private var count = 0

  /// nil: the library has no memory for the digest.
  init?(_ algorithm: RunningDigest.Algorithm?, of account: ClientAccount?, in buffers: LoopBuffers) {
    self.algorithm = algorithm
    self.account = account
    self.buffers = buffers
    do { running = try algorithm.map { try RunningDigest($0) } } catch { return nil }
  }

  deinit {
    buffers.noteWhole(-count)
    account?.keep(-count)
  }

  /// False: the client's whole bodies fill its share.
  func add(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let kept = account?.keep(bytes.count) ?? 0
    guard kept <= buffers.clientShare else {
      account?.keep(-bytes.count)
      return false
    }
    count += bytes.count
    buffers.noteWhole(bytes.count)
    running?.update(bytes)
    return true
  }

  /// Nothing is added afterwards. nil: it was not asked for, or the library has failed.
  var digest: [UInt8]? {
    guard let digest = running?.finish(), !digest.isEmpty else { return nil }
    return digest
  }
}
