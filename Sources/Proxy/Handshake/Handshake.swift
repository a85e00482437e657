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

  /// What the app is shown.
  enum Source {
    case identity(TLSIdentity)
    /// - lifetime: seconds.
    case leaf([PeerName], SigningCA, lifetime: Int64)
  }

  let tls: TLSConnection
  private let source: Source
  /// What its tickets are bound to.
  private let sessionContext: [UInt8]
  /// Fingerprints of the anchors that a client's certificate is verified with.
  let clientAnchors: Set<[UInt8]>
  /// Its turn has come: see `Handshakes`.
  var isAdmitted = false
  var isQueued = false
  private(set) var isSuspended = false

  init(_ tls: TLSConnection, _ source: Source, sessionContext: [UInt8], clientAnchors: Set<[UInt8]> = []) {
    self.tls = tls
    self.source = source
    self.sessionContext = sessionContext
    self.clientAnchors = clientAnchors
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
        switch find(leafs, waiter) {
        case .leaf(let leaf): serve(leaf.identity)
        case .later:
          isSuspended = true
          return .suspended
        case .failed: tls.refuse()
        case nil: break
        }
      }
    }
  }

  /// - Returns: nil: it has been served.
  private func find(_ leafs: LeafStore, _ waiter: () -> LeafStore.Waiter) -> LeafStore.Found? {
    switch source {
    case .identity(let identity):
      serve(identity)
      return nil
    case .leaf(let hosts, let authority, let lifetime):
      return leafs.find(hosts, by: authority, lifetime: lifetime, for: waiter())
    }
  }

  private func serve(_ identity: TLSIdentity) {
    do { try tls.serve(identity, sessionContext: sessionContext) } catch { tls.refuse() }
  }

  /// The leaf is there, or cannot be made.
  func resume(isMade: Bool) {
    isSuspended = false
    if !isMade { tls.refuse() }
  }
}
