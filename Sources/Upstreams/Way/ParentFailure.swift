import WayOut

/// What went wrong on the way through a parent proxy.
public struct ParentFailure: Sendable {
  public enum Reason: Error, Sendable {
    /// The parent itself: its name, TCP, TLS, its certificate, or the time. As an origin's.
    case unreached(UpstreamError)
    /// Its answer is no HTTP or SOCKS, a redirect, or ended too early.
    case badAnswer(String)
    /// It was not asked: it gave others no answer that were sent its credential.
    case loginUnanswered
    /// It wants another credential than it was given. `asked`: the schemes that it accepts. `isFinal`: it was presented, and is not again
    /// until it changes.
    case loginRefused(asked: String, isFinal: Bool = true)
    /// SOCKS cannot say the target's name, or the credential.
    case unaskable(Unaskable)
    /// Its credential has no value now.
    case loginMissing(String)
    /// The request is TRACE, and would carry the credential: the answer would show it.
    case traceWithLogin
    /// It does not let this target through.
    case refused
    /// It could not reach the target.
    case unreachable(Unreachable)
    /// The request has come back to a proxy that it had passed.
    case loop
    /// Behind it, before the origin was asked: the look-up of the origin's name (`resolve: here`).
    case origin(UpstreamError)
  }
  public typealias Unaskable = SOCKS5.Unaskable
  public enum Unreachable: Sendable { case unavailable, unroutable, connectionRefused, timeout }

  /// Its name in `parents`.
  public let parent: String
  /// Name of its credential; nil: none.
  public let credential: String?
  public let reason: Reason
  /// false: nothing was asked, as what is known of its credential has decided. So it says nothing of whether the parent works.
  public var wasAsked = true
  /// Of its answer to CONNECT; nil: there was none.
  public var status: Int?
  /// SOCKS reply code; nil: no SOCKS, or no reply.
  public var reply: UInt8?

  public static let unansweredText = "it gave no answer when it was sent the credential, which is not sent again for a while"

  var isWorthRepeating: Bool {
    switch reason {
    case .unreached(let error), .origin(let error): error.isWorthRepeating
    case .badAnswer, .loginUnanswered, .unreachable: true
    case .loginRefused, .loginMissing, .traceWithLogin, .refused, .loop, .unaskable: false
    }
  }

  /// What it says of the way, for the order of ways.
  var outcome: WayAttempt.Outcome {
    switch reason {
    case .unreached(let error): Self.outcome(ofReaching: error)
    case .origin(let error): Self.outcome(ofReaching: error) == .unusable ? .unusable : .unasked
    case .badAnswer: .broken
    case .loginUnanswered: .unasked
    case .loginRefused: wasAsked ? .refused : .unusable
    case .refused, .loop: .refused
    case .loginMissing, .traceWithLogin, .unaskable: .unusable
    case .unreachable: .unreachable
    }
  }

  /// What an error of connecting to a hop says of it.
  static func outcome(ofReaching error: UpstreamError) -> WayAttempt.Outcome {
    switch error {
    // Ours to mend, or forbidden: no other way evades it.
    case .outOfDescriptors, .badSource, .addressForbidden, .familyExcluded: .unusable
    default: .broken
    }
  }
}

extension ParentFailure {
  /// What a failed connection says of an origin, for the order of several.
  ///
  /// An origin that is not trusted is down, like one whose TLS fails. Nothing was sent to it, its failure is logged and counted, and
  /// the next one is judged by the same policy, so no verdict is evaded; if it were final, whoever can answer at one address could
  /// stop the entry.
  static func outcome(ofOriginBehind error: UpstreamError) -> WayAttempt.Outcome {
    guard case .parent(let failure) = error else { return outcome(ofReaching: error) }
    switch failure.reason {
    // The parent failed. The next origin may have another way.
    case .unreached(let error): return outcome(ofReaching: error) == .unusable ? .unusable : .unasked
    case .badAnswer, .loginUnanswered: return .unasked
    case .unreachable: return .broken
    case .origin(let error): return outcome(ofReaching: error)
    // A refusal is not evaded, and a credential is for an operator.
    case .loginRefused, .loginMissing, .traceWithLogin, .refused, .loop, .unaskable: return .unusable
    }
  }
}

/// What came of one try to get through a parent.
public enum ParentResult: String, Sendable, CaseIterable {
  case connected
  /// Its name, TCP, TLS or answer failed: it is down.
  case broken
  /// It does not let the target through, or wants another credential.
  case refused
  /// It works, but could not reach the target.
  case unreachable
  /// It was not asked: the configuration, or its credential, does not allow it.
  case unusable

  init(_ outcome: WayAttempt.Outcome) {
    switch outcome {
    case .connected, .silent: self = .connected
    case .broken, .unanswered: self = .broken
    case .refused: self = .refused
    case .unreachable, .overdue: self = .unreachable
    case .unusable, .unasked: self = .unusable
    }
  }
}
