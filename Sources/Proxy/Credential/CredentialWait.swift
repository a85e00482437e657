import Credentials
import Synchronization
import Upstreams

/// A request that can wait for a credential. Called on its loop.
class CredentialWaiter {
  /// Identifies requests whose refusals are remembered.
  var refusalKey: RequestKey { preconditionFailure("abstract") }
  /// On whose behalf it is, if the credential has a token for each user.
  var subject: AppSubject? { nil }
  /// Of the attempt that is prepared, or was prepared last.
  var connection: UpstreamConnection? { nil }
  /// It is in its pool's line.
  var isInLine: Bool { false }
  /// What its signer waited for has arrived.
  func preparationArrived() {}
  /// A token has arrived, or none will.
  func credentialArrived(_ result: Result<CredentialVersion, ProxyError>) {}
  /// The decision about the answer that it holds.
  func refusalDecided(_ decision: RefusalDecision) {}
}

/// What happens to an answer that refused a credential.
enum RefusalDecision {
  /// There is another version than the refused one: the request is sent again with it.
  case resend(CredentialVersion)
  case relay(RelayReason)
}

/// Number of requests that wait for one credential, on all loops.
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

/// A request's place in the line for a credential. The request has none yet, or holds an answer that refused the one it
/// carried. Ends when the request is resumed or cancelled, whichever comes first.
final class CredentialWait {
  private(set) var request: CredentialWaiter?
  /// The version that was refused; nil: it waits for any.
  let refused: UInt64?
  /// The owner has announced a refresh.
  var isPromised = false
  private let count: WaitCount

  init(_ request: CredentialWaiter, refused: UInt64? = nil, count: WaitCount) {
    self.request = request
    self.refused = refused
    self.count = count
  }

  /// Ends the wait and returns the request to resume; nil if it has left.
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
