/// Decides how one request goes on: an input goes in, one step comes out. docs/request-lifecycle.md has every row.
///
/// It knows no connection, block, error or clock. The driver (`Request`) does: it performs each step, and passes the result
/// back as the next input. Phases, inputs and steps are trivial values, so nothing is retained or allocated.
struct RequestMachine: Equatable {
  enum Phase: Equatable {
    /// The head has been read; nothing is decided yet.
    case routing
    /// Waits for a credential.
    case authorizing
    /// Waits for the answer to an identical request.
    case collapsed
    /// Reads the app's body, all of it: the head that goes ahead depends on it.
    case collecting
    /// Waits for a connection.
    case connecting
    /// What goes into the head is fetched or computed elsewhere. It has no connection: others could use one, and its origin may close it.
    case preparing
    /// Head and body are sent to the origin; its final head has not arrived.
    case exchanging
    /// The origin refused the credential. Its answer is held until the proxy knows whether it can send the request again.
    case holding
    /// The origin's answer is sent to the app; `answer` says how far.
    case relaying
    /// Waits between two attempts.
    case pausing
    /// The proxy connects to the far end of a tunnel.
    case opening
    case tunnelling
    /// The proxy's own answer is sent to the app.
    case answering
    case ended
  }

  enum Input: Equatable {
    /// The request goes to an origin.
    /// - Parameter needsCredential: the entry has one, and the app's own does not replace it.
    case originFound(needsCredential: Bool)
    /// - Parameter isAnswered: the app already has the 200.
    case tunnelAllowed(isAnswered: Bool)
    /// The proxy answers itself. The answer is no error: the 200 of a CONNECT, the last answer to TRACE or OPTIONS.
    case answerFound
    /// Another request asks the origin for the same.
    case answerAwaited
    case credentialAttached
    /// The body must be read whole before the head can be written.
    case bodyNeeded
    case bodyCollected
    case connectionLent
    /// The head cannot be written yet.
    case preparationNeeded
    case preparationArrived
    /// The connection is ready, but the credential has expired meanwhile.
    case credentialExpired
    /// The attempt failed before its answer began.
    /// - Parameters:
    ///   - isStale: a pooled connection was found closed, and sending the request again is harmless: nothing of it was written,
    ///     or its method is idempotent.
    ///   - mayRepeat: the entry's `retry` allows one more attempt.
    case attemptFailed(isStale: Bool, mayRepeat: Bool)
    /// The origin has said that it has not processed the request, and all that was read of the body was kept.
    case notProcessed
    /// One of the entry's several origins could not be reached, nothing was sent, and another one is to be tried.
    case originFailed
    /// An answer refused the credential, and a newer version may avoid that.
    case answerHeld
    /// There is a newer version of the credential than the refused one.
    /// - Parameter canReplay: all that was read of the body was kept.
    case successorFound(canReplay: Bool)
    /// The held answer is relayed.
    case refusalStands
    /// The origin's final head is in the outbound block.
    case answerComposed
    /// Bytes of it were sent to the app.
    case answerBegun
    /// The answer cannot be completed.
    /// - Parameter hasBegun: bytes of it were sent to the app.
    case answerBroken(hasBegun: Bool)
    /// The entry's `retry` drops this answer.
    case answerDropped
    /// A stored answer's conditions have met another one than the stored.
    case validationRefused
    /// 417 to an expectation that the app did not send.
    case expectationRefused
    /// The answer is no refusal, but tells the credential how to prepare the request: it is sent again at once.
    case challenged
    /// The same by a parent, for itself: the origin has not seen the request.
    case parentChallenged
    /// The answer is a redirect, and the request for its target is ready.
    case redirected
    /// 101: from here on both connections speak another protocol.
    case protocolChanged
    /// The far end of a tunnel is connected.
    case tunnelOpened
    /// The answer was sent completely.
    case answerSent(keepsClient: Bool)
    case failed
    case timeUp(Waiting)
    /// The app has sent FIN.
    /// - Parameter bodyIsRead: its message was read completely.
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
    /// The origin reads no more of the body.
    case origin
  }

  enum Step: Equatable {
    case none
    /// Begin the request for a redirect's target.
    case beginHop
    case obtainCredential
    /// Wait for the answer to another request.
    case awaitAnswer
    case collectBody
    case connect
    /// `connect`, as a pooled connection turned out closed.
    case reconnect
    /// Send the request over the connection that was lent.
    case send
    /// Find out whether the held answer can be avoided.
    case settleRefusal
    /// Drop the held answer, and `connect` with the newer version.
    case resend
    case relayHeld(HeldReason)
    /// Send the origin's answer to the app.
    case relay
    /// `connect` after the pause.
    case pause
    case openTunnel
    case tunnel
    /// Send an answer of the proxy's own.
    /// - Parameter dropsComposed: the origin's head is in the outbound block, none of it sent, and is dropped.
    case answer(dropsComposed: Bool)
    /// Close the app's connection so that the app cannot take what was sent for complete.
    case cut
    /// A wait ended without result.
    case fail(Timeout)
    /// Record the request, and keep the app's connection open or close it.
    case finish(keepsClient: Bool)
    /// Record the request and close the app's connection: the app has left, or reads nothing.
    case leave
    /// Record the request and close both sides of the tunnel.
    case endTunnel
  }

  enum HeldReason: Equatable { case decided, bodyNotKept, timeUp }

  enum Timeout: Equatable { case credential, connection, tunnel, app, origin }

  /// How much of the final answer was sent to the app.
  enum Answer: Equatable {
    case none
    /// It is in the outbound block.
    case composed
    /// No other answer can follow.
    case begun
  }

  private(set) var phase = Phase.routing
  private(set) var answer = Answer.none
  /// The request was sent again after a refusal, which happens only once.
  private(set) var isResent = false
  /// How often it was sent again because the origin told the credential how to prepare it.
  private(set) var challenges: UInt8 = 0
  /// How often a parent had it sent again to authenticate itself.
  private(set) var parentChallenges: UInt8 = 0
  /// How often it was sent again because the origin had not processed it.
  private(set) var unprocessed: UInt8 = 0
  /// The decision about the refusal was made.
  private(set) var refusalIsSettled = false
  /// An origin answered 417 to an expectation that was the proxy's.
  private(set) var hasMetExpectationFailure = false
  /// How often the entry's `retry` had the request sent again.
  private(set) var retries = 0
  /// Pooled connections found closed.
  private(set) var staleConnections = 0

  var hasEnded: Bool { phase == .ended }

  /// An input that its phase does not expect changes nothing.
  mutating func handle(_ input: Input) -> Step {
    switch input {
    case .originFound(let needsCredential):
      guard phase == .routing || phase == .collapsed else { return .none }
      return needsCredential ? obtain() : connect()
    case .tunnelAllowed(let isAnswered):
      guard phase == .routing else { return .none }
      phase = .opening
      if isAnswered { answer = .begun }
      return .openTunnel
    case .answerFound: return phase == .routing || phase == .collapsed || phase == .exchanging ? answerItself() : .none
    case .answerAwaited:
      guard phase == .routing || phase == .collapsed else { return .none }
      phase = .collapsed
      return .awaitAnswer
    case .credentialAttached: return phase == .authorizing ? connect() : .none
    case .bodyNeeded:
      guard phase == .authorizing || phase == .exchanging else { return .none }
      phase = .collecting
      return .collectBody
    case .bodyCollected: return phase == .collecting ? connect() : .none
    case .connectionLent:
      guard phase == .connecting else { return .none }
      phase = .exchanging
      return .send
    case .preparationNeeded:
      if phase == .exchanging { phase = .preparing }
      return .none
    case .preparationArrived: return phase == .preparing ? connect() : .none
    case .credentialExpired: return phase == .exchanging ? obtain() : .none
    case .attemptFailed(let isStale, let mayRepeat): return attemptFailed(isStale, mayRepeat)
    case .notProcessed: return notProcessed()
    case .originFailed: return phase == .connecting || phase == .exchanging ? connect() : .none
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
      guard phase == .relaying || phase == .answering else { return .none }
      // An answer through the store is in the outbound block as one that is relayed is.
      if phase == .answering { answer = .composed }
      if hasBegun { answer = .begun }
      return answerItself()
    case .answerDropped: return phase == .exchanging ? pause() : .none
    case .expectationRefused:
      guard phase == .exchanging else { return .none }
      hasMetExpectationFailure = true
      return connect()
    case .validationRefused: return phase == .exchanging ? connect() : .none
    case .challenged:
      guard phase == .exchanging || phase == .holding else { return .none }
      challenges += 1
      return connect()
    case .parentChallenged:
      guard phase == .exchanging else { return .none }
      parentChallenges += 1
      return connect()
    case .redirected:
      // The store may have the redirect, or somebody else's request has brought it.
      guard phase == .exchanging || phase == .routing || phase == .collapsed else { return .none }
      beginAgain()
      return .beginHop
    case .protocolChanged: return phase == .exchanging ? tunnel() : .none
    case .tunnelOpened: return phase == .opening ? tunnel() : .none
    case .answerSent(let keepsClient):
      return phase == .relaying || phase == .answering ? end(.finish(keepsClient: keepsClient)) : .none
    case .failed: return answerItself()
    case .timeUp(let waiting): return timeUp(waiting)
    case .clientClosed(let bodyIsRead): return clientClosed(bodyIsRead)
    case .clientBroken: return clientBroken()
    case .tunnelEnded: return phase == .tunnelling ? end(.endTunnel) : .none
    }
  }

  /// A refusal is relayed without having been held.
  mutating func markRefusalSettled() { refusalIsSettled = true }

  // MARK: Ways

  /// At another target, refusals, challenges and failures are news.
  private mutating func beginAgain() {
    phase = .routing
    isResent = false
    challenges = 0
    parentChallenges = 0
    refusalIsSettled = false
    hasMetExpectationFailure = false
    retries = 0
    staleConnections = 0
    unprocessed = 0
  }

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
      return mayRepeat ? pause() : answerItself()
    case .holding, .relaying: return answerItself()
    case .routing, .authorizing, .collapsed, .collecting, .preparing, .pausing, .opening, .tunnelling, .answering, .ended:
      return .none
    }
  }

  /// The first time at once, then after a pause: the origin may be short of something.
  private mutating func notProcessed() -> Step {
    guard phase == .connecting || phase == .exchanging else { return .none }
    unprocessed += 1
    phase = unprocessed == 1 ? .connecting : .pausing
    return unprocessed == 1 ? .reconnect : .pause
  }

  private mutating func successorFound(_ canReplay: Bool) -> Step {
    guard phase == .holding else { return .none }
    // The rest of the app's body did not fit into the tee: the held answer is all that there is.
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

  /// The proxy's own answer, where one is still possible.
  private mutating func answerItself() -> Step {
    switch phase {
    case .ended: return .none
    case .tunnelling: return end(.endTunnel)
    case .routing, .authorizing, .collapsed, .collecting, .connecting, .preparing, .exchanging, .holding, .relaying, .pausing,
      .opening, .answering:
      if answer == .begun { return end(.cut) }
      let isComposed = answer == .composed
      phase = .answering
      answer = .begun
      return .answer(dropsComposed: isComposed)
    }
  }

  private mutating func timeUp(_ waiting: Waiting) -> Step {
    switch phase {
    case .authorizing, .preparing: return .fail(.credential)
    case .collecting: return .fail(.app)
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
    // The fetch says when it has waited long enough.
    case .collapsed, .ended: return .none
    }
  }

  private mutating func clientBroken() -> Step {
    switch phase {
    case .ended: return .none
    case .tunnelling: return end(.endTunnel)
    case .routing, .authorizing, .collapsed, .collecting, .connecting, .preparing, .exchanging, .holding, .relaying, .pausing,
      .opening, .answering:
      return end(.leave)
    }
  }

  /// The app has sent FIN. An app whose time was up sends FIN, not RST, so FIN behind a complete message means that it has
  /// left. While the request waits, the proxy does not read its body; then FIN means that the message is complete or never will
  /// be. In a tunnel, and while the body is sent to the origin, FIN is a half-close. A tunnel that is being opened is one only if
  /// the app has the 200. An answer of the proxy's own is still sent.
  private mutating func clientClosed(_ bodyIsRead: Bool) -> Step {
    switch phase {
    case .authorizing, .collapsed, .connecting, .preparing, .pausing: end(.leave)
    case .routing, .collecting, .exchanging, .holding, .relaying: bodyIsRead ? end(.leave) : .none
    case .opening: answer == .begun ? .none : end(.leave)
    case .tunnelling, .answering, .ended: .none
    }
  }
}
