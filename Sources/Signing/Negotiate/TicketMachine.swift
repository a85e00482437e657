import Credentials

/// When a ticket for one service is fetched, and who waits for it: a value with inputs and answers. One fetch runs at a time. A ticket
/// that is held serves until it expires, whatever becomes of fetches.
///
/// Times are monotonic milliseconds. `Mark` is a state of keytab or ticket cache: when it changes, nothing that failed before counts.
public struct TicketMachine<Mark: Sendable & Hashable>: Sendable {
  /// Why a loop asks.
  public enum Reason: Sendable, Hashable {
    /// It has no usable ticket.
    case missing
    /// The one that it has expires soon.
    case ahead
    /// Keytab or ticket cache have changed since its ticket was fetched.
    case changed
    /// The service refused this version.
    case refused(UInt64)
  }

  public enum Need: Sendable, Hashable {
    /// The held ticket is what is asked for.
    case ready
    case wait
    case unavailable(CredentialUnavailable)
  }

  /// Of a failed fetch.
  public enum Failure: Sendable, Hashable {
    case temporary
    case needsOperator
    /// Another try counts as a failed login, which locks accounts.
    case keyRefused
  }

  /// Milliseconds.
  private static var longestPause: Int64 { 30_000 }
  private static var operatorPause: Int64 { 5_000 }

  /// Of the held ticket; 0: there is none. Never used twice.
  public private(set) var version: UInt64 = 0
  /// The held ticket must not be used from then on.
  public private(set) var expiry: Int64 = .min
  /// From then on, the next one should be fetched.
  public private(set) var renewal: Int64 = .min
  public private(set) var isFetching = false
  /// As the source was before the held ticket was fetched.
  public private(set) var mark: Mark?
  private var failure: (unavailable: CredentialUnavailable, until: Int64, mark: Mark?)?
  private var failures = 0

  public init() {}

  public func isUsable(at now: Int64) -> Bool { now < expiry }

  /// Milliseconds until the next try after a failure; 0: there was none.
  public func pause(at now: Int64) -> Int64 { max((failure?.until ?? now) - now, 0) }

  /// A loop asks for a ticket.
  /// - Parameter mark: as the source is now.
  /// - Returns: whether a fetch begins, and whether nothing that was had before may be used in it.
  public mutating func need(_ reason: Reason, mark: Mark?, now: Int64) -> (need: Need, fetch: Bool, isFresh: Bool) {
    if isHeld(reason, mark, now) { return (.ready, false, false) }
    if isFetching { return (.wait, false, false) }
    if let failure, now < failure.until, failure.mark == mark {
      return (.unavailable(failure.unavailable.remaining(failure.until - now)), false, false)
    }
    isFetching = true
    let isFresh: Bool
    switch reason {
    case .missing, .ahead: isFresh = self.mark != mark
    case .changed, .refused: isFresh = true
    }
    return (.wait, true, isFresh)
  }

  private func isHeld(_ reason: Reason, _ mark: Mark?, _ now: Int64) -> Bool {
    guard isUsable(at: now) else { return false }
    switch reason {
    case .missing: return true
    case .ahead: return now < renewal
    case .changed: return self.mark == mark
    case .refused(let version): return self.version > version
    }
  }

  /// A ticket with a shorter life serves nobody: the library counts whole seconds. In milliseconds.
  public static var shortestLife: Int64 { 2_000 }

  /// - Parameters:
  ///   - lifetime: of the ticket, at least `shortestLife`.
  ///   - mark: as the source was before the fetch.
  public mutating func fetched(version: UInt64, lifetime: Int64, mark: Mark?, now: Int64) {
    isFetching = false
    (failure, failures) = (nil, 0)
    self.version = version
    self.mark = mark
    expiry = now + lifetime - 1_000
    renewal = now + max(lifetime / 5 * 4, min(lifetime, 5_000))
  }

  /// The next try follows after a pause, or when the source changes.
  /// - Returns: for the requests that wait.
  public mutating func failed(_ kind: Failure, _ text: String, mark: Mark?, now: Int64) -> CredentialUnavailable {
    isFetching = false
    failures += 1
    let pause: Int64
    let unavailable: CredentialUnavailable
    switch kind {
    case .temporary:
      pause = min(1_000 << Int64(min(failures - 1, 10)), Self.longestPause)
      unavailable = .temporarily(text, retryAfter: pause)
    case .needsOperator: (pause, unavailable) = (Self.operatorPause, .needsOperator(text))
    case .keyRefused: (pause, unavailable) = (KeyPause<Mark>.length, .needsOperator(text))
    }
    failure = (unavailable, now + pause, mark)
    return unavailable
  }
}

extension CredentialUnavailable {
  fileprivate func remaining(_ milliseconds: Int64) -> CredentialUnavailable {
    if case .temporarily(let text, _) = self { .temporarily(text, retryAfter: max(milliseconds, 1)) } else { self }
  }
}
