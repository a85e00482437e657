/// One version of a parent's credential, in both forms. In absolute-form an origin may speak for the parent, so what is said there never
/// touches tunnels. A value, as `LoginSide`.
struct LoginVersion {
  enum Form: Sendable {
    /// CONNECT, or SOCKS.
    case tunnel
    /// Requests in absolute-form.
    case absolute
  }

  /// How long after a tunnel no refusal in absolute-form counts for all, in nanoseconds.
  static let vouchTime: Int64 = 600_000_000_000

  private let hasCredential: Bool
  private(set) var tunnels: LoginSide
  private(set) var requests: LoginSide
  private var acceptedAt: Int64?

  init(hasCredential: Bool) {
    self.hasCredential = hasCredential
    tunnels = LoginSide(hasCredential: hasCredential)
    requests = LoginSide(hasCredential: hasCredential)
  }

  /// No connection is to say what comes of it.
  var isQuiet: Bool { tunnels.isQuiet && requests.isQuiet }

  mutating func enter(_ form: Form, _ target: LoginTarget, number: UInt64, now: Int64) -> LoginSide.Entrance {
    guard form == .absolute else { return tunnels.enter(target, number: number, now: now) }
    if hasCredential {
      if let refused = tunnels.refused(at: now) { return refused }
      // What is said there is certain.
      if !requests.isAccepted, let end = tunnels.trialEnd(at: now) { return .wait(until: end) }
    }
    return requests.enter(target, number: number, now: now)
  }

  /// In absolute-form.
  func mayPresent(for target: LoginTarget, trial: UInt64?, isUnasked: Bool, now: Int64) -> Bool {
    if hasCredential, tunnels.refused(at: now) != nil { return false }
    return requests.mayPresent(for: target, trial: trial, isUnasked: isUnasked, now: now)
  }

  mutating func accepted(_ form: Form, _ target: LoginTarget, trial: UInt64?, now: Int64) {
    guard form == .tunnel else {
      requests.leave(trial)
      requests.accepted(target)
      return
    }
    tunnels.leave(trial)
    acceptedAt = now
    if tunnels.accepted(target) { requests.vouched() }
  }

  /// - Parameter pause: nanoseconds until it is worth another try; nil: it was presented, and is not until it changes.
  /// - Returns: whether it is refused for all, and the parent itself has said so.
  mutating func refused(
    _ form: Form, _ target: LoginTarget, asked: String, trial: UInt64?, pause: Int64?, now: Int64
  ) -> Bool {
    guard form == .absolute else {
      return tunnels.refusedTunnel(target, asked: asked, trial: trial, pause: pause, now: now)
    }
    let isVouched = acceptedAt.map { now < $0 + Self.vouchTime } ?? false
    requests.refusedRequest(target, asked: asked, trial: trial, pause: pause, isVouched: isVouched, now: now)
    return false
  }

  mutating func leave(_ form: Form, _ number: UInt64) {
    if form == .tunnel { tunnels.leave(number) } else { requests.leave(number) }
  }

  mutating func unanswered(_ form: Form, _ number: UInt64, now: Int64) {
    if form == .tunnel { tunnels.unanswered(number, now: now) } else { requests.unanswered(number, now: now) }
  }
}
