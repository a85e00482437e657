import Credentials
import Synchronization

/// What a request that waits for a credential is told. Called on its loop.
class CredentialWaiter {
  /// Tells requests apart whose refusals are remembered.
  var refusalKey: RequestKey { preconditionFailure("abstract") }
  /// A token has come, or will not.
  func credentialArrived(_ result: Result<CredentialVersion, ProxyError>) {}
  /// What becomes of the answer that it holds.
  func refusalDecided(_ decision: RefusalDecision) {}
}

/// What becomes of an answer that refused a credential.
enum RefusalDecision {
  /// There is another version than the one that was refused.
  case resend(CredentialVersion)
  case relay(RelayReason)
}

/// How many requests wait for one credential, on all loops.
final class WaitCount: Sendable {
  private let count = Atomic<Int>(0)
  var value: Int { count.load(ordering: .relaxed) }

  func enter(limit: Int) -> Bool {
    guard count.add(1, ordering: .relaxed).newValue <= limit else {
      leave()
      return false
    }
    return true
  }
  func leave() { count.subtract(1, ordering: .relaxed) }
}

/// A request's place in the line for a credential: it has none yet, or holds an answer that refused the one it was sent with.
/// Ends when it is resumed or cancelled, whichever comes first.
final class CredentialWait {
  private(set) var request: CredentialWaiter?
  /// The version that was refused; nil: it waits for any.
  let refused: UInt64?
  /// The owner has said that a refresh is on its way.
  var isPromised = false
  private let count: WaitCount

  init(_ request: CredentialWaiter, refused: UInt64? = nil, count: WaitCount) {
    self.request = request
    self.refused = refused
    self.count = count
  }

  /// The request goes on; nil where it left.
  func take() -> CredentialWaiter? {
    defer { cancel() }
    return request
  }

  func cancel() {
    guard request != nil else { return }
    request = nil
    count.leave()
  }
}
