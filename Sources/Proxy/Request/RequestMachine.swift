/// The life of one request as decisions: an input goes in, one step comes out. docs/request-lifecycle.md has every row.
///
/// It knows no connection, block, error or clock: those are the driver's (`Request`), which performs each step and brings back what
/// came of it. Phases, inputs and steps are trivial values: nothing is retained, copied or allocated.
struct RequestMachine: Equatable {
  enum Phase: Equatable {
    /// The head has been read; nothing is decided yet.
    case routing
    /// Waits for a credential.
    case authorizing
    /// Waits for a connection.
    case connecting
    /// Head and body go to the origin; its final head has not come.
    case exchanging
    /// The origin refused the credential; its answer is held until it is known whether the request can be sent again.
    case holding
    /// The origin's answer goes to the app, as far as `answer` says.
    case relaying
    /// Waits between two attempts.
    case pausing
    /// The far end of a tunnel is connected to.
    case opening
    case tunnelling
    /// An answer of the proxy's own goes to the app.
    case answering
    case ended
  }

  enum Input: Equatable {
    /// The request goes to an origin.
    /// - Parameter needsCredential: the entry has one, and the app's own does not replace it.
    case originFound(needsCredential: Bool)
    /// - Parameter isAnswered: the 200 has gone to the app already.
    case tunnelAllowed(isAnswered: Bool)
    /// The proxy answers by itself: nothing went wrong.
    case answerFound
    case credentialAttached
    case connectionLent
    /// The connection is here, but the credential has expired meanwhile.
    case credentialExpired
    /// The attempt came to nothing before its answer began.
    /// - Parameters:
    ///   - isStale: a pooled connection turned out closed, nothing of the request can have been acted upon, and it can be sent again.
    ///   - mayRepeat: the entry's `retry` allows one more attempt.
    case attemptFailed(isStale: Bool, mayRepeat: Bool)
    /// An answer refused the credential, and may be avoided.
    case answerHeld
    /// There is a newer version of the credential than the refused one.
    /// - Parameter canReplay: all that was read of the body was kept.
    case successorFound(canReplay: Bool)
    /// The held answer is the answer.
    case refusalStands
    /// The origin's final head stands in the outbound block.
    case answerComposed
    /// Bytes of it have gone to the app.
    case answerBegun
    /// The answer cannot be completed.
    /// - Parameter hasBegun: bytes of it have gone to the app.
    case answerBroken(hasBegun: Bool)
    /// The entry's `retry` drops this answer.
    case answerDropped
    /// 417 to an expectation that the app did not have.
    case expectationRefused
    /// 101: both connections speak another protocol from here on.
    case protocolChanged
    /// The far end of a tunnel is there.
    case tunnelOpened
    /// The answer has gone out in full.
    case answerSent(keepsClient: Bool)
    case failed
    case timeUp(Waiting)
    /// The app has sent FIN.
    /// - Parameter bodyIsRead: its message has been read whole.
    case clientClosed(bodyIsRead: Bool)
    /// The app's connection is broken.
    case clientBroken
    case tunnelEnded
  }

  /// What `exchanging` and `relaying` wait for.
  enum Waiting: Equatable {
    /// The origin's head, which has a deadline of its own.
    case head
    case app
    /// The origin takes no more of the body.
    case origin
  }

  enum Step: Equatable {
    case none
    case obtainCredential
    case connect
    /// `connect`, as a pooled connection turned out closed.
    case reconnect
    /// To the connection that was lent.
    case send
    /// Find out whether the held answer can be avoided.
    case settleRefusal
    /// Drop the held answer, and `connect` with the newer version.
    case resend
    case relayHeld(HeldReason)
    /// The origin's answer to the app.
    case relay
    /// `connect` after the pause.
    case pause
    case openTunnel
    case tunnel
    /// Write an answer of the proxy's own.
    /// - Parameter dropsComposed: the origin's head stands in the outbound block, none of it sent, and is dropped.
    case answer(dropsComposed: Bool)
    /// Close the app's connection so that what went out cannot be taken for whole.
    case cut
    /// A wait ended without result.
    case fail(Timeout)
    /// Record the request; the app's connection goes on, or is closed.
    case finish(keepsClient: Bool)
    /// Record the request and close the app's connection: nobody is there.
    case leave
    /// Record the request and close what the tunnel has joined.
    case endTunnel
  }

  enum HeldReason: Equatable { case decided, bodyNotKept, timeUp }

  enum Timeout: Equatable { case credential, connection, tunnel, app, origin }

  /// What of the final answer has gone to the app.
  enum Answer: Equatable {
    case none
    /// It stands in the outbound block.
    case composed
    /// There will be no other answer.
    case begun
  }

  private(set) var phase = Phase.routing
  private(set) var answer = Answer.none
  /// It was sent again after a refusal: it never is a second time.
  private(set) var isResent = false
  /// What becomes of the refusal is decided.
  private(set) var refusalIsSettled = false
  /// An origin answered 417 to an expectation that was the proxy's.
  private(set) var hasMetExpectationFailure = false
  /// How often the entry's `retry` has had it sent again.
  private(set) var retries = 0
  /// Pooled connections that turned out closed.
  private(set) var staleConnections = 0

  var hasEnded: Bool { phase == .ended }

  /// An input that its phase does not expect changes nothing.
  mutating func handle(_ input: Input) -> Step {
    switch input {
    case .originFound(let needsCredential):
      guard phase == .routing else { return .none }
      return needsCredential ? obtain() : connect()
    case .tunnelAllowed(let isAnswered):
      guard phase == .routing else { return .none }
      phase = .opening
      if isAnswered { answer = .begun }
      return .openTunnel
    case .answerFound: return phase == .routing ? fail() : .none
    case .credentialAttached: return phase == .authorizing ? connect() : .none
    case .connectionLent:
      guard phase == .connecting else { return .none }
      phase = .exchanging
      return .send
    case .credentialExpired: return phase == .exchanging ? obtain() : .none
    case .attemptFailed(let isStale, let mayRepeat): return attemptFailed(isStale, mayRepeat)
    case .answerHeld:
      guard phase == .exchanging else { return .none }
      phase = .holding
      return .settleRefusal
    case .successorFound(let canReplay): return successorFound(canReplay)
    case .refusalStands: return relayHeld(.decided)
    case .answerComposed:
      guard phase == .exchanging else { return .none }
      phase = .relaying
      answer = .composed
      return .relay
    case .answerBegun:
      if phase == .relaying { answer = .begun }
      return .none
    case .answerBroken(let hasBegun):
      guard phase == .relaying else { return .none }
      if hasBegun { answer = .begun }
      return fail()
    case .answerDropped: return phase == .exchanging ? pause() : .none
    case .expectationRefused:
      guard phase == .exchanging else { return .none }
      hasMetExpectationFailure = true
      return connect()
    case .protocolChanged: return phase == .exchanging ? tunnel() : .none
    case .tunnelOpened: return phase == .opening ? tunnel() : .none
    case .answerSent(let keepsClient):
      return phase == .relaying || phase == .answering ? end(.finish(keepsClient: keepsClient)) : .none
    case .failed: return fail()
    case .timeUp(let waiting): return timeUp(waiting)
    case .clientClosed(let bodyIsRead): return clientClosed(bodyIsRead)
    case .clientBroken: return clientBroken()
    case .tunnelEnded: return phase == .tunnelling ? end(.endTunnel) : .none
    }
  }

  /// A refusal is relayed without having been held.
  mutating func markRefusalSettled() { refusalIsSettled = true }

  // MARK: Ways

  private mutating func obtain() -> Step {
    phase = .authorizing
    return .obtainCredential
  }

  private mutating func connect() -> Step {
    phase = .connecting
    return .connect
  }

  private mutating func pause() -> Step {
    phase = .pausing
    retries += 1
    return .pause
  }

  private mutating func tunnel() -> Step {
    phase = .tunnelling
    answer = .begun
    return .tunnel
  }

  private mutating func end(_ step: Step) -> Step {
    phase = .ended
    return step
  }

  private mutating func attemptFailed(_ isStale: Bool, _ mayRepeat: Bool) -> Step {
    switch phase {
    case .connecting, .exchanging:
      if isStale {
        phase = .connecting
        staleConnections += 1
        return .reconnect
      }
      return mayRepeat ? pause() : fail()
    case .holding, .relaying: return fail()
    case .routing, .authorizing, .pausing, .opening, .tunnelling, .answering, .ended: return .none
    }
  }

  private mutating func successorFound(_ canReplay: Bool) -> Step {
    guard phase == .holding else { return .none }
    // What the app sent meanwhile did not fit: the held answer is all that there is.
    guard canReplay else { return relayHeld(.bodyNotKept) }
    isResent = true
    phase = .connecting
    return .resend
  }

  private mutating func relayHeld(_ reason: HeldReason) -> Step {
    guard phase == .holding else { return .none }
    refusalIsSettled = true
    phase = .exchanging
    return .relayHeld(reason)
  }

  private mutating func fail() -> Step {
    switch phase {
    case .ended: return .none
    case .tunnelling: return end(.endTunnel)
    case .routing, .authorizing, .connecting, .exchanging, .holding, .relaying, .pausing, .opening, .answering:
      if answer == .begun { return end(.cut) }
      let isComposed = answer == .composed
      phase = .answering
      answer = .begun
      return .answer(dropsComposed: isComposed)
    }
  }

  private mutating func timeUp(_ waiting: Waiting) -> Step {
    switch phase {
    case .authorizing: return .fail(.credential)
    case .connecting: return .fail(.connection)
    case .opening: return .fail(.tunnel)
    case .holding: return relayHeld(.timeUp)
    case .pausing: return connect()
    case .answering: return end(.leave)
    case .tunnelling: return end(.endTunnel)
    case .routing: return .fail(.app)
    case .exchanging, .relaying:
      switch waiting {
      case .head: return .none
      case .app: return .fail(.app)
      case .origin: return .fail(.origin)
      }
    case .ended: return .none
    }
  }

  private mutating func clientBroken() -> Step {
    switch phase {
    case .ended: return .none
    case .tunnelling: return end(.endTunnel)
    case .routing, .authorizing, .connecting, .exchanging, .holding, .relaying, .pausing, .opening, .answering:
      return end(.leave)
    }
  }

  /// A caller whose time was up sends FIN, not RST. Behind a whole message FIN means that it has left. While the request waits, its
  /// body is not read; behind a FIN that is whole, or will never be. In a tunnel, and while the body goes to the origin, FIN is
  /// half-close; and what is answered already is worth sending.
  private mutating func clientClosed(_ bodyIsRead: Bool) -> Step {
    switch phase {
    case .authorizing, .connecting, .pausing: end(.leave)
    case .routing, .exchanging, .holding, .relaying: bodyIsRead ? end(.leave) : .none
    case .opening, .tunnelling, .answering, .ended: .none
    }
  }
}
