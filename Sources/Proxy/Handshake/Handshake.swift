import EventIO
import Interception
import TLS

/// A TLS handshake that an app has begun. Belongs to one loop.
final class Handshake {
  enum Progress {
    case done
    /// For an event of the stream.
    case waits
    /// For its certificate.
    case suspended
    case failed(AcceptFailure)
  }

  let tls: TLSConnection
  /// The CONNECT's.
  let host: PeerName
  let authority: SigningCA
  private let lifetime: Int64
  /// What its tickets are bound to.
  private let sessionContext: [UInt8]
  /// Its turn has come: see `Handshakes`.
  var isAdmitted = false
  var isQueued = false
  private(set) var isSuspended = false

  init(_ tls: TLSConnection, host: PeerName, by authority: SigningCA, lifetime: Int64, sessionContext: [UInt8]) {
    self.tls = tls
    self.host = host
    self.authority = authority
    self.lifetime = lifetime
    self.sessionContext = sessionContext
  }

  /// - Parameter waiter: told when a leaf that could not be had at once is there.
  func step(_ leafs: LeafStore, _ waiter: () -> LeafStore.Waiter) -> Progress {
    if isSuspended { return .suspended }
    while true {
      switch tls.accept() {
      case .done: return .done
      case .wantRead, .wantWrite: return .waits
      case .failed(let failure): return .failed(failure)
      case .wantIdentity:
        switch leafs.find(host, by: authority, lifetime: lifetime, for: waiter()) {
        case .leaf(let leaf):
          do { try tls.serve(leaf.identity, sessionContext: sessionContext) } catch { tls.refuse() }
        case .later:
          isSuspended = true
          return .suspended
        case .failed: tls.refuse()
        }
      }
    }
  }

  /// The leaf is there, or cannot be made.
  func resume(isMade: Bool) {
    isSuspended = false
    if !isMade { tls.refuse() }
  }
}
