import Testing

@testable import Proxy

/// A driver without sockets throws random events at the machine, each one that its state allows, and keeps account of what it holds.
@Suite struct RandomRequestTests {
  /// What a real driver holds on to between events.
  private struct Driver {
    var machine = RequestMachine()
    /// A place in the line for a credential, and one in the line for a connection.
    var waitsForCredential = false
    var waitsForConnection = false
    var hasConnection = false
    var holdsAnswer = false
    var isOpening = false
    var hasTunnel = false
    /// The origin's head stands in the outbound block.
    var composed = false
    var bytesWent = false
    /// Answers whose first byte may go to the app, and ends of the app's turn.
    var answers = 0
    var ends = 0
    var steps = 0

    mutating func dropAttempt() {
      waitsForCredential = false
      waitsForConnection = false
      hasConnection = false
      holdsAnswer = false
      isOpening = false
    }

    mutating func end() {
      dropAttempt()
      hasTunnel = false
      ends += 1
    }

    /// Performs steps until the machine wants none.
    mutating func take(_ input: RequestMachine.Input, _ random: inout SystemRandomNumberGenerator) {
      var next: RequestMachine.Input? = input
      while let input = next {
        steps += 1
        next = perform(machine.handle(input), &random)
      }
    }

    mutating func perform(_ step: RequestMachine.Step, _ random: inout SystemRandomNumberGenerator) -> RequestMachine.Input? {
      switch step {
      case .none: return nil
      case .beginHop: dropAttempt()
      case .obtainCredential:
        #expect(!waitsForCredential && !waitsForConnection)
        hasConnection = false
        if Bool.random(using: &random) { return .credentialAttached }
        waitsForCredential = true
      case .collectBody:
        #expect(!waitsForCredential)
        hasConnection = false
        return Bool.random(using: &random) ? .bodyCollected : nil
      case .connect, .reconnect, .resend:
        dropAttempt()
        if Bool.random(using: &random) {
          hasConnection = true
          return .connectionLent
        }
        waitsForConnection = true
      case .send:
        #expect(hasConnection && !waitsForConnection)
        switch Int.random(in: 0..<24, using: &random) {
        case 0...2: return .credentialExpired
        case 3: return .bodyNeeded
        case 4...5:
          hasConnection = false
          return .preparationNeeded
        default: return nil
        }
      case .settleRefusal:
        holdsAnswer = true
        if Bool.random(using: &random) { return .refusalStands }
        waitsForCredential = true
      case .relayHeld:
        #expect(holdsAnswer)
        waitsForCredential = false
        holdsAnswer = false
        composed = true
        return Bool.random(using: &random) ? .answerComposed : .attemptFailed(isStale: false, mayRepeat: false)
      case .relay: composed = true
      case .pause: dropAttempt()
      case .openTunnel: isOpening = true
      case .tunnel:
        isOpening = false
        hasConnection = false
        hasTunnel = true
        answers += 1
      case .answer(let dropsComposed):
        // Only a head of which nothing has gone is dropped.
        #expect(!bytesWent && (!dropsComposed || composed))
        dropAttempt()
        answers += 1
        bytesWent = true
        return Bool.random(using: &random) ? .answerSent(keepsClient: Bool.random(using: &random)) : nil
      case .awaitAnswer: return nil
      case .fail: return .failed
      case .finish:
        if answers == 0 { answers += 1 }
        end()
      case .cut, .leave, .endTunnel: end()
      }
      return nil
    }

    /// What can happen in this state.
    func possible(_ random: inout SystemRandomNumberGenerator) -> RequestMachine.Input {
      let always: [RequestMachine.Input] = [
        .clientBroken, .clientClosed(bodyIsRead: true), .clientClosed(bodyIsRead: false), .failed,
        .timeUp([.head, .app, .origin].randomElement(using: &random) ?? .app),
      ]
      // Rare, or no request would come far.
      if Int.random(in: 0..<6, using: &random) == 0 { return always.randomElement(using: &random) ?? .failed }
      let inputs: [RequestMachine.Input] =
        switch machine.phase {
        case .routing:
          [
            .originFound(needsCredential: true), .originFound(needsCredential: false),
            .tunnelAllowed(isAnswered: Bool.random(using: &random)), .answerFound, .answerAwaited,
            .redirected,
          ]
        case .collapsed:
          [
            .originFound(needsCredential: true), .originFound(needsCredential: false), .answerFound, .answerAwaited, .failed,
            .redirected,
          ]
        case .authorizing: [.credentialAttached, .bodyNeeded, .failed]
        case .collecting: [.bodyCollected, .failed]
        case .preparing: [.preparationArrived]
        case .connecting:
          [
            .connectionLent, .connectionLent, .originFailed, .notProcessed,
            .attemptFailed(isStale: false, mayRepeat: Bool.random(using: &random)),
          ]
        case .exchanging:
          [
            .answerHeld, .answerComposed, .answerDropped, .expectationRefused, .challenged, .parentChallenged,
            .validationRefused, .answerFound, .notProcessed,
            .redirected, .protocolChanged,
            .attemptFailed(isStale: Bool.random(using: &random), mayRepeat: Bool.random(using: &random)),
          ]
        case .holding: [.successorFound(canReplay: Bool.random(using: &random)), .refusalStands, .challenged]
        case .relaying: [.answerBegun, .answerSent(keepsClient: true), .answerBroken(hasBegun: Bool.random(using: &random))]
        case .pausing: [.timeUp(.app)]
        case .opening: [.tunnelOpened, .failed]
        case .tunnelling: [.tunnelEnded]
        case .answering: [.answerSent(keepsClient: true)]
        case .ended: always
        }
      return inputs.randomElement(using: &random) ?? .failed
    }
  }

  @Test func `whatever happens, a request ends once, and gives everything back`() {
    var random = SystemRandomNumberGenerator()
    let clock = ContinuousClock()
    let end = clock.now + .milliseconds(700)
    var requests = 0
    while clock.now < end {
      requests += 1
      var driver = Driver()
      var events = 0
      while !driver.machine.hasEnded {
        events += 1
        let input = driver.possible(&random)
        if case .connectionLent = input {
          driver.waitsForConnection = false
          driver.hasConnection = true
        }
        switch input {
        case .credentialAttached, .bodyNeeded, .challenged, .parentChallenged: driver.waitsForCredential = false
        default: break
        }
        if case .successorFound = input { driver.waitsForCredential = false }
        if case .refusalStands = input { driver.waitsForCredential = false }
        if case .answerBegun = input { driver.bytesWent = true }
        if case .answerBroken(hasBegun: true) = input { driver.bytesWent = true }
        driver.take(input, &random)
        guard events < 10_000 else {
          Issue.record("a request does not end: \(driver.machine)")
          return
        }
      }
      #expect(driver.ends == 1 && driver.answers <= 1)
      #expect(!driver.waitsForCredential && !driver.waitsForConnection && !driver.hasConnection && !driver.holdsAnswer)
      #expect(!driver.isOpening && !driver.hasTunnel)
      let before = driver.machine
      for input in RequestMachineTests.inputs { #expect(driver.machine.handle(input) == .none) }
      #expect(driver.machine == before)
    }
    #expect(requests > 1_000)
  }
}
