import Credentials
import Crypto
import Forwarding
import HTTPWire
import Kerberos
import Signing
import Upstreams

/// Kerberos in SPNEGO towards a parent proxy (RFC 4559 section 5), over one connection, with a ticket that is held. The first request has
/// a token; what follows goes without, as the parent has authenticated the connection.
final class ParentNegotiate: ParentAuthentication {
  /// Tokens of one authentication that the parent may answer with another one.
  private static let maximumRounds = 5

  private let policy: NegotiatePolicy
  private let held: TicketNews.Held
  private let tickets: LoopTickets
  private let origin: OriginAuthority
  private let binding: [UInt8]?
  private let memory: ParentMemory
  private var authentication: (any Authentication)?
  /// The next token of an authentication in progress.
  private var next: [UInt8] = []
  private var rounds = 0
  private var isProved = false
  /// The parent has accepted a token on this connection.
  private var isAuthenticated = false
  private(set) var hasAnswered = false
  /// The parent wants a token with each request, also over this connection, which is authenticated.
  private var wantsEachRequest = false
  /// The last request was in absolute-form, and its answer may be an origin's.
  private var isAbsolute = false
  /// A refused ticket locks no account.
  var pauseAfterRefusal: Int64? { ParentReading.pause }

  init(
    _ policy: NegotiatePolicy, _ held: TicketNews.Held, _ tickets: LoopTickets, _ origin: OriginAuthority, binding: [UInt8]?,
    _ memory: ParentMemory
  ) {
    self.policy = policy
    self.held = held
    self.tickets = tickets
    self.origin = origin
    self.binding = binding
    self.memory = memory
  }

  func sizeLimit(target: Int) -> Int { 32 + (max(next.count, held.ticket.tokenLimit) + 2) / 3 * 4 }

  func value(for request: ParentRequest) -> ParentValue {
    isAbsolute = request.origin != nil
    if !next.isEmpty {
      defer { next = [] }
      return field(next)
    }
    if isAuthenticated, !wantsEachRequest {
      hasAnswered = false
      return .none
    }
    rounds = 0
    isProved = false
    do throws(KerberosProblem) {
      let authentication = try tickets.service(at: origin).initiator(of: held).authentication(binding: binding)
      let step = try authentication.step(nil)
      self.authentication = authentication
      return field(step.token)
    } catch {
      return .failed(error.text)
    }
  }

  private func field(_ token: [UInt8]) -> ParentValue {
    hasAnswered = true
    return .field(Array("Negotiate ".utf8) + Base64.encode(token))
  }

  func read(_ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer) -> ParentReading {
    if head.status == 407 { return challenged(NegotiateAnswer(head, in: bytes, named: .proxyAuthenticate), bytes) }
    guard hasAnswered else { return .other }
    defer { authentication = nil }
    memory.refusedTicket = min(memory.refusedTicket, held.version - 1)
    var answer = NegotiateAnswer(head, in: bytes, named: .proxyAuthenticate)
    if answer == .absent { answer = NegotiateAnswer(head, in: bytes, named: .proxyAuthenticationInfo) }
    if isProved { return accepted() }
    switch answer {
    case .token(let token):
      guard let step = try? authentication?.step(token, bytes), step.isComplete, step.isMutual else {
        return .invalid("its Kerberos token is wrong")
      }
      return accepted()
    case .malformed: return .invalid("its Kerberos token is wrong")
    case .absent, .bare, .onlyNTLM:
      guard policy.mutual == .optional else {
        return .invalid("its answer has no Kerberos token, and mutual is required")
      }
      isAuthenticated = true
      return .other
    }
  }

  private func accepted() -> ParentReading {
    isAuthenticated = true
    tickets.known(at: origin)?.forgive()
    return .other
  }

  private func challenged(_ answer: NegotiateAnswer, _ bytes: UnsafeRawBufferPointer) -> ParentReading {
    switch answer {
    // NTLM never.
    case .absent, .onlyNTLM: return .refused(pause: ParentReading.pause)
    case .bare, .malformed:
      guard hasAnswered else {
        // The connection was authenticated, and this request is not.
        wantsEachRequest = true
        return .challenge(.anyConnection)
      }
      return refused()
    case .token(let token):
      guard hasAnswered, let step = try? authentication?.step(token, bytes) else { return refused() }
      // It knows who asks, and says no.
      if step.isComplete, step.token.isEmpty { return .refused(pause: ParentReading.pause) }
      guard rounds < Self.maximumRounds else { return .refused(pause: ParentReading.pause) }
      rounds += 1
      next = step.token
      isProved = step.isComplete && step.isMutual
      return .challenge(.thisConnection)
    }
  }

  /// The ticket may be stale: of a key that the parent has no more.
  private func refused() -> ParentReading {
    authentication = nil
    next = []
    if isAbsolute {
      guard tickets.nanoseconds >= memory.doubtPause else { return .refused(pause: ParentReading.pause) }
      memory.doubtPause = tickets.nanoseconds + ParentReading.pause
      memory.doubtedTicket = held.version
      return .challenge(.newTicket)
    }
    guard let known = tickets.known(at: origin) else { return .refused(pause: ParentReading.pause) }
    if known.isVain(held.version, now: tickets.nanoseconds) { return .refused(pause: ParentReading.pause) }
    known.refused(held.version, now: tickets.nanoseconds, interval: ParentReading.pause)
    memory.refusedTicket = max(memory.refusedTicket, held.version)
    return .challenge(.newTicket)
  }
}
