import Testing

@testable import Proxy

/// One table a phase: each input, the step that it leads to and the phase after it. An input that is not in its table changes nothing.
@Suite struct RequestMachineTests {
  typealias Input = RequestMachine.Input
  typealias Step = RequestMachine.Step
  typealias Phase = RequestMachine.Phase

  /// Every input, with every value that makes a difference.
  static let inputs: [Input] =
    [
      .originFound(needsCredential: false), .originFound(needsCredential: true), .tunnelAllowed(isAnswered: false),
      .tunnelAllowed(isAnswered: true), .answerFound,
      .answerAwaited, .validationRefused,
      .credentialAttached, .bodyNeeded, .bodyCollected, .preparationNeeded, .preparationArrived,
      .connectionLent, .credentialExpired, .answerHeld, .successorFound(canReplay: true), .successorFound(canReplay: false),
      .refusalStands, .answerComposed, .answerBegun, .answerBroken(hasBegun: true), .answerBroken(hasBegun: false),
      .answerDropped, .originFailed, .notProcessed,
      .expectationRefused, .challenged, .parentChallenged, .redirected,
      .protocolChanged, .tunnelOpened, .answerSent(keepsClient: true),
      .answerSent(keepsClient: false),
      .failed,
      .timeUp(.head), .timeUp(.app), .timeUp(.origin), .clientClosed(bodyIsRead: true), .clientClosed(bodyIsRead: false),
      .clientBroken, .tunnelEnded,
    ] + [true, false].flatMap { stale in [true, false].map { .attemptFailed(isStale: stale, mayRepeat: $0) } }

  /// A machine that has had these inputs.
  static func machine(after inputs: Input...) -> RequestMachine {
    var machine = RequestMachine()
    for input in inputs { _ = machine.handle(input) }
    return machine
  }

  static let routing = machine()
  static let collapsed = machine(after: .answerAwaited)
  static let authorizing = machine(after: .originFound(needsCredential: true))
  static let collecting = machine(after: .originFound(needsCredential: true), .bodyNeeded)
  static let connecting = machine(after: .originFound(needsCredential: false))
  static let preparing = machine(after: .originFound(needsCredential: false), .connectionLent, .preparationNeeded)
  static let exchanging = machine(after: .originFound(needsCredential: false), .connectionLent)
  static let holding = machine(after: .originFound(needsCredential: false), .connectionLent, .answerHeld)
  static let composed = machine(after: .originFound(needsCredential: false), .connectionLent, .answerComposed)
  static let relaying = machine(after: .originFound(needsCredential: false), .connectionLent, .answerComposed, .answerBegun)
  static let pausing = machine(after: .originFound(needsCredential: false), .connectionLent, .answerDropped)
  static let opening = machine(after: .tunnelAllowed(isAnswered: false))
  static let tunnelling = machine(after: .tunnelAllowed(isAnswered: false), .tunnelOpened)
  static let answering = machine(after: .failed)
  static let ended = machine(after: .failed, .answerSent(keepsClient: true))

  /// Gives the machine every input, each to a copy of its own, and compares with the table.
  static func check(_ machine: RequestMachine, _ rows: [(Input, Step, Phase)], at location: SourceLocation = #_sourceLocation) {
    for input in inputs {
      let row = rows.first { $0.0 == input }
      var after = machine
      let step = after.handle(input)
      #expect(step == row?.1 ?? .none, "\(input)", sourceLocation: location)
      #expect(after.phase == row?.2 ?? machine.phase, "\(input)", sourceLocation: location)
    }
  }

  private static let answer = Step.answer(dropsComposed: false)

  @Test func `routing: what was found decides the way`() {
    Self.check(
      Self.routing,
      [
        (.originFound(needsCredential: true), .obtainCredential, .authorizing),
        (.originFound(needsCredential: false), .connect, .connecting),
        (.tunnelAllowed(isAnswered: false), .openTunnel, .opening),
        (.tunnelAllowed(isAnswered: true), .openTunnel, .opening),
        (.answerFound, Self.answer, .answering), (.answerAwaited, .awaitAnswer, .collapsed), (.redirected, .beginHop, .routing),
        (.failed, Self.answer, .answering), (.timeUp(.head), .fail(.app), .routing),
        (.timeUp(.app), .fail(.app), .routing), (.timeUp(.origin), .fail(.app), .routing),
        (.clientClosed(bodyIsRead: true), .leave, .ended), (.clientBroken, .leave, .ended),
      ])
  }

  @Test func `collapsed: another request's answer, or a request of its own`() {
    Self.check(
      Self.collapsed,
      [
        (.originFound(needsCredential: true), .obtainCredential, .authorizing),
        (.originFound(needsCredential: false), .connect, .connecting),
        (.answerFound, Self.answer, .answering), (.failed, Self.answer, .answering),
        (.answerAwaited, .awaitAnswer, .collapsed), (.redirected, .beginHop, .routing),
        (.clientClosed(bodyIsRead: true), .leave, .ended), (.clientClosed(bodyIsRead: false), .leave, .ended),
        (.clientBroken, .leave, .ended),
      ])
  }

  @Test func `authorizing: a credential leads to a connection, none to an answer`() {
    Self.check(
      Self.authorizing,
      [
        (.credentialAttached, .connect, .connecting), (.bodyNeeded, .collectBody, .collecting),
        (.failed, Self.answer, .answering),
        (.timeUp(.head), .fail(.credential), .authorizing), (.timeUp(.app), .fail(.credential), .authorizing),
        (.timeUp(.origin), .fail(.credential), .authorizing), (.clientClosed(bodyIsRead: true), .leave, .ended),
        (.clientClosed(bodyIsRead: false), .leave, .ended), (.clientBroken, .leave, .ended),
      ])
  }

  @Test func `collecting: a whole body leads to a connection`() {
    Self.check(
      Self.collecting,
      [
        (.bodyCollected, .connect, .connecting), (.failed, Self.answer, .answering),
        (.timeUp(.head), .fail(.app), .collecting), (.timeUp(.app), .fail(.app), .collecting),
        (.timeUp(.origin), .fail(.app), .collecting), (.clientClosed(bodyIsRead: true), .leave, .ended),
        (.clientBroken, .leave, .ended),
      ])
  }

  @Test func `preparing: what was waited for leads to a connection`() {
    Self.check(
      Self.preparing,
      [
        (.preparationArrived, .connect, .connecting), (.failed, Self.answer, .answering),
        (.timeUp(.head), .fail(.credential), .preparing), (.timeUp(.app), .fail(.credential), .preparing),
        (.timeUp(.origin), .fail(.credential), .preparing), (.clientClosed(bodyIsRead: true), .leave, .ended),
        (.clientClosed(bodyIsRead: false), .leave, .ended), (.clientBroken, .leave, .ended),
      ])
  }

  @Test func `connecting: a connection is sent over, a failed one is followed by another, a pause or an answer`() {
    Self.check(
      Self.connecting,
      [
        (.originFailed, .connect, .connecting), (.notProcessed, .reconnect, .connecting),
        (.connectionLent, .send, .exchanging), (.attemptFailed(isStale: true, mayRepeat: true), .reconnect, .connecting),
        (.attemptFailed(isStale: true, mayRepeat: false), .reconnect, .connecting),
        (.attemptFailed(isStale: false, mayRepeat: true), .pause, .pausing),
        (.attemptFailed(isStale: false, mayRepeat: false), Self.answer, .answering), (.failed, Self.answer, .answering),
        (.timeUp(.head), .fail(.connection), .connecting), (.timeUp(.app), .fail(.connection), .connecting),
        (.timeUp(.origin), .fail(.connection), .connecting), (.clientClosed(bodyIsRead: true), .leave, .ended),
        (.clientClosed(bodyIsRead: false), .leave, .ended), (.clientBroken, .leave, .ended),
      ])
  }

  @Test func `exchanging: the answer's head decides`() {
    Self.check(
      Self.exchanging,
      [
        (.credentialExpired, .obtainCredential, .authorizing), (.answerHeld, .settleRefusal, .holding),
        (.answerComposed, .relay, .relaying), (.answerDropped, .pause, .pausing), (.expectationRefused, .connect, .connecting),
        (.originFailed, .connect, .connecting), (.notProcessed, .reconnect, .connecting),
        (.answerFound, Self.answer, .answering), (.validationRefused, .connect, .connecting),
        (.challenged, .connect, .connecting), (.parentChallenged, .connect, .connecting),
        (.bodyNeeded, .collectBody, .collecting),
        (.redirected, .beginHop, .routing),
        (.preparationNeeded, .none, .preparing),
        (.protocolChanged, .tunnel, .tunnelling), (.attemptFailed(isStale: true, mayRepeat: true), .reconnect, .connecting),
        (.attemptFailed(isStale: true, mayRepeat: false), .reconnect, .connecting),
        (.attemptFailed(isStale: false, mayRepeat: true), .pause, .pausing),
        (.attemptFailed(isStale: false, mayRepeat: false), Self.answer, .answering), (.failed, Self.answer, .answering),
        // The head has a deadline of its own.
        (.timeUp(.app), .fail(.app), .exchanging), (.timeUp(.origin), .fail(.origin), .exchanging),
        // While the body goes up, FIN is half-close.
        (.clientClosed(bodyIsRead: true), .leave, .ended), (.clientBroken, .leave, .ended),
      ])
  }

  @Test func `holding: a newer version sends the request again, everything else relays the refusal`() {
    Self.check(
      Self.holding,
      [
        (.successorFound(canReplay: true), .resend, .connecting), (.challenged, .connect, .connecting),
        (.successorFound(canReplay: false), .relayHeld(.bodyNotKept), .exchanging),
        (.refusalStands, .relayHeld(.decided), .exchanging), (.timeUp(.head), .relayHeld(.timeUp), .exchanging),
        (.timeUp(.app), .relayHeld(.timeUp), .exchanging), (.timeUp(.origin), .relayHeld(.timeUp), .exchanging),
        (.attemptFailed(isStale: true, mayRepeat: true), Self.answer, .answering),
        (.attemptFailed(isStale: true, mayRepeat: false), Self.answer, .answering),
        (.attemptFailed(isStale: false, mayRepeat: true), Self.answer, .answering),
        (.attemptFailed(isStale: false, mayRepeat: false), Self.answer, .answering), (.failed, Self.answer, .answering),
        (.clientClosed(bodyIsRead: true), .leave, .ended), (.clientBroken, .leave, .ended),
      ])
  }

  @Test func `holding: what became of the refusal is decided once`() {
    var relayed = Self.holding
    _ = relayed.handle(.refusalStands)
    #expect(relayed.refusalIsSettled && !relayed.isResent)
    #expect(relayed.handle(.answerComposed) == .relay)
    var resent = Self.holding
    _ = resent.handle(.successorFound(canReplay: true))
    #expect(resent.isResent && !resent.refusalIsSettled)
    var direct = Self.exchanging
    direct.markRefusalSettled()
    #expect(direct.refusalIsSettled && direct.phase == .exchanging)
  }

  @Test func `relaying: until a byte has gone, another answer can take its place`() {
    let other = Step.answer(dropsComposed: true)
    Self.check(
      Self.composed,
      [
        (.answerBroken(hasBegun: false), other, .answering), (.answerBroken(hasBegun: true), .cut, .ended),
        (.attemptFailed(isStale: true, mayRepeat: true), other, .answering),
        (.attemptFailed(isStale: true, mayRepeat: false), other, .answering),
        (.attemptFailed(isStale: false, mayRepeat: true), other, .answering),
        (.attemptFailed(isStale: false, mayRepeat: false), other, .answering), (.failed, other, .answering),
        (.answerSent(keepsClient: true), .finish(keepsClient: true), .ended),
        (.answerSent(keepsClient: false), .finish(keepsClient: false), .ended), (.timeUp(.app), .fail(.app), .relaying),
        (.timeUp(.origin), .fail(.origin), .relaying), (.clientClosed(bodyIsRead: true), .leave, .ended),
        (.clientBroken, .leave, .ended),
      ])
  }

  @Test func `relaying: an answer that has begun ends whole or is cut`() {
    Self.check(
      Self.relaying,
      [
        (.answerBroken(hasBegun: false), .cut, .ended), (.answerBroken(hasBegun: true), .cut, .ended),
        (.attemptFailed(isStale: true, mayRepeat: true), .cut, .ended),
        (.attemptFailed(isStale: true, mayRepeat: false), .cut, .ended),
        (.attemptFailed(isStale: false, mayRepeat: true), .cut, .ended),
        (.attemptFailed(isStale: false, mayRepeat: false), .cut, .ended), (.failed, .cut, .ended),
        (.answerSent(keepsClient: true), .finish(keepsClient: true), .ended),
        (.answerSent(keepsClient: false), .finish(keepsClient: false), .ended), (.timeUp(.app), .fail(.app), .relaying),
        (.timeUp(.origin), .fail(.origin), .relaying), (.clientClosed(bodyIsRead: true), .leave, .ended),
        (.clientBroken, .leave, .ended),
      ])
  }

  @Test func `pausing: the next try comes with the time`() {
    Self.check(
      Self.pausing,
      [
        (.timeUp(.head), .connect, .connecting), (.timeUp(.app), .connect, .connecting),
        (.timeUp(.origin), .connect, .connecting), (.failed, Self.answer, .answering),
        (.clientClosed(bodyIsRead: true), .leave, .ended), (.clientClosed(bodyIsRead: false), .leave, .ended),
        (.clientBroken, .leave, .ended),
      ])
    #expect(Self.pausing.retries == 1)
  }

  @Test func `opening: the far end makes a tunnel, none an answer`() {
    Self.check(
      Self.opening,
      [
        (.tunnelOpened, .tunnel, .tunnelling), (.failed, Self.answer, .answering), (.timeUp(.head), .fail(.tunnel), .opening),
        (.timeUp(.app), .fail(.tunnel), .opening), (.timeUp(.origin), .fail(.tunnel), .opening),
        (.clientClosed(bodyIsRead: true), .leave, .ended), (.clientClosed(bodyIsRead: false), .leave, .ended),
        (.clientBroken, .leave, .ended),
      ])
  }

  @Test func `opening: after the 200 a failure is a cut, not an answer`() {
    var machine = Self.machine(after: .tunnelAllowed(isAnswered: true))
    #expect(machine.handle(.timeUp(.app)) == .fail(.tunnel))
    #expect(machine.handle(.failed) == .cut)
    #expect(machine.hasEnded)
  }

  @Test func `opening: after the 200 a FIN of the app is a half-close`() {
    for bodyIsRead in [true, false] {
      var machine = Self.machine(after: .tunnelAllowed(isAnswered: true))
      #expect(machine.handle(.clientClosed(bodyIsRead: bodyIsRead)) == .none)
      #expect(machine.handle(.tunnelOpened) == .tunnel)
    }
  }

  @Test func `tunnelling: every end closes both sides`() {
    Self.check(
      Self.tunnelling,
      [
        (.tunnelEnded, .endTunnel, .ended), (.failed, .endTunnel, .ended), (.clientBroken, .endTunnel, .ended),
        (.timeUp(.head), .endTunnel, .ended), (.timeUp(.app), .endTunnel, .ended), (.timeUp(.origin), .endTunnel, .ended),
      ])
  }

  @Test func `answering: the proxy's own answer is sent, cut, or not taken`() {
    Self.check(
      Self.answering,
      [
        (.answerSent(keepsClient: true), .finish(keepsClient: true), .ended),
        (.answerSent(keepsClient: false), .finish(keepsClient: false), .ended), (.failed, .cut, .ended),
        (.answerBroken(hasBegun: false), .answer(dropsComposed: true), .answering),
        (.answerBroken(hasBegun: true), .cut, .ended),
        (.timeUp(.head), .leave, .ended), (.timeUp(.app), .leave, .ended), (.timeUp(.origin), .leave, .ended),
        (.clientBroken, .leave, .ended),
      ])
  }

  @Test func `ended: nothing has an effect`() { Self.check(Self.ended, []) }

  @Test func `stale connections are counted, and 417 is remembered`() {
    var machine = Self.exchanging
    _ = machine.handle(.attemptFailed(isStale: true, mayRepeat: false))
    #expect(machine.staleConnections == 1 && machine.retries == 0)
    _ = machine.handle(.connectionLent)
    _ = machine.handle(.expectationRefused)
    #expect(machine.hasMetExpectationFailure)
  }

  @Test func `what the origin has not processed is sent again, at once and then after pauses`() {
    var machine = Self.exchanging
    #expect(machine.handle(.notProcessed) == .reconnect && machine.unprocessed == 1)
    _ = machine.handle(.connectionLent)
    #expect(machine.handle(.notProcessed) == .pause && machine.phase == .pausing && machine.unprocessed == 2)
    #expect(machine.handle(.timeUp(.app)) == .connect)
    _ = machine.handle(.connectionLent)
    #expect(machine.handle(.notProcessed) == .pause && machine.unprocessed == 3)
    #expect(machine.retries == 0 && machine.staleConnections == 0)
  }

  @Test func `a redirect leads to another target, where refusals, challenges and failures are news`() {
    var machine = Self.machine(
      after: .originFound(needsCredential: true), .credentialAttached, .connectionLent,
      .attemptFailed(isStale: true, mayRepeat: false),
      .connectionLent, .parentChallenged, .connectionLent, .challenged, .connectionLent, .expectationRefused, .connectionLent,
      .answerDropped, .timeUp(.app),
      .connectionLent, .answerHeld, .successorFound(canReplay: true), .connectionLent)
    machine.markRefusalSettled()
    #expect(
      machine.parentChallenges == 1 && machine.isResent && machine.challenges == 1 && machine.retries == 1
        && machine.staleConnections == 1)
    #expect(machine.handle(.redirected) == .beginHop)
    #expect(machine == RequestMachine())
  }

  @Test func `a challenge is counted, and leaves the retry after a refusal and those of the entry untouched`() {
    var machine = Self.exchanging
    for count in 1...2 as ClosedRange<UInt8> {
      #expect(machine.handle(.challenged) == .connect)
      #expect(machine.challenges == count)
      _ = machine.handle(.connectionLent)
    }
    #expect(!machine.isResent && !machine.refusalIsSettled && machine.retries == 0 && machine.staleConnections == 0)
    _ = machine.handle(.answerHeld)
    #expect(machine.handle(.successorFound(canReplay: true)) == .resend)
  }

  @Test func `a parent's challenges are none of the origin's, and each hop counts its own`() {
    var machine = Self.exchanging
    _ = machine.handle(.parentChallenged)
    _ = machine.handle(.connectionLent)
    #expect(machine.parentChallenges == 1 && machine.challenges == 0)
    _ = machine.handle(.redirected)
    _ = machine.handle(.originFound(needsCredential: false))
    _ = machine.handle(.connectionLent)
    _ = machine.handle(.challenged)
    #expect(machine.parentChallenges == 0 && machine.challenges == 1)
  }
}
