import Credentials
import Crypto
import EventIO
import Files
import Forwarding
import HTTPWire
import Kerberos
import Signing

/// Authenticates each request by Kerberos in SPNEGO (RFC 4559), with a token from the first attempt on, so that no request is sent only
/// to be challenged. Tokens are made on the loop, with a ticket that is held.
final class NegotiateSigner: RequestSigner {
  /// Tokens of one authentication that the origin may answer with another one.
  private static let maximumRounds = 5
  /// Nanoseconds in which an origin for which a ticket was fetched again is not worth another one.
  private static let vainInterval: Int64 = 30_000_000_000
  private static let field = Array("WWW-Authenticate".utf8)
  private static let largestToken = 65_536

  let tickets: LoopTickets
  private let loop: EventLoop
  private var reason = RelayReason.refusedAgain

  init(on loop: EventLoop) {
    self.loop = loop
    tickets = LoopTickets(on: loop)
  }

  override var rounds: UInt8 { UInt8(Self.maximumRounds + 1) }
  override var unansweredReason: RelayReason { reason }

  override func note(_ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer) throws(ProxyError) -> AnyObject? {
    NegotiateSession()
  }

  // MARK: Out

  override func sizeLimit(of head: UnsafeRawBufferPointer, noted: AnyObject?) -> Int {
    let own = (noted as? NegotiateSession)?.next.count ?? 0
    // Not known before the origin is: the largest of the tickets that are held here.
    return Self.lineLength(of: max(own, tickets.tokenLimit))
  }

  private static func lineLength(of token: Int) -> Int { 32 + (token + 2) / 3 * 4 }

  override func prepare(_ draft: borrowing Draft, into block: Block) -> Preparation {
    guard let session = draft.noted as? NegotiateSession, case .negotiate(let policy)? = draft.credential.material else {
      return .refused(.internalError, why: "there is nothing to authenticate with")
    }
    tickets.adopt(policy, draft.credential.version)
    session.mutual = policy.mutual
    let connection = draft.request.connection
    // The origin expects the next token on the connection of the last one, and nowhere else.
    if !session.next.isEmpty, let connection, session.connection === connection {
      defer { session.next = [] }
      return write(session.next, into: block)
    }
    session.next = []
    session.authentication = nil
    session.isProved = false
    let service = tickets.service(at: draft.origin)
    let held: TicketNews.Held
    switch tickets.supply(service, session, for: draft.request) {
    case .ready(let ticket): held = ticket
    case .wait: return .wait
    case .unavailable(let error): return .refused(error, why: "no ticket for \(service.name)")
    }
    do throws(KerberosProblem) {
      let binding = policy.bindsChannel ? connection?.endPointBinding : nil
      let authentication = try service.initiator(of: held).authentication(binding: binding)
      let step = try authentication.step(nil)
      session.authentication = authentication
      session.version = held.version
      session.connection = connection
      return write(step.token, into: block)
    } catch {
      return .refused(.credentialUnavailable(draft.credential.name, reason: error.text, retryAfter: 1), why: error.text)
    }
  }

  private func write(_ token: [UInt8], into block: Block) -> Preparation {
    let text = Base64.encode(token)
    guard token.count <= Self.largestToken, block.room >= text.count + 32 else {
      return .refused(.internalError, why: "the token is \(token.count) bytes long")
    }
    block.append("Authorization: Negotiate ")
    block.append(text)
    block.append("\r\n")
    return .ready
  }

  // MARK: In

  override func read(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, of noted: AnyObject?, from origin: OriginAuthority,
    isNews: Bool
  ) -> Reading {
    if head.isInterim, head.status != 101 {
      head.fields.drop(named: Self.field, in: bytes)
      return .other
    }
    let answer = NegotiateAnswer(head, in: bytes)
    // What is left is of the connection to the origin.
    if head.status != 401, answer != .absent { head.fields.drop(named: Self.field, in: bytes) }
    if head.status == 401, answer != .absent { NegotiateAnswer.hideToken(in: &head, bytes) }
    guard isNews, let session = noted as? NegotiateSession else { return .other }
    return head.status == 401 ? challenged(answer, bytes, session, origin) : accepted(answer, bytes, session, origin)
  }

  /// The body of a 401 whose authentication goes on has been read, so that the connection is free for the next token.
  override func read(
    body: [UInt8], of head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, from origin: OriginAuthority
  ) -> Reading { .challenge(canAnswer: true) }

  private func accepted(
    _ answer: NegotiateAnswer, _ bytes: UnsafeRawBufferPointer, _ session: NegotiateSession, _ origin: OriginAuthority
  ) -> Reading {
    defer { session.authentication = nil }
    // Without a proof it may have let everybody pass.
    if session.isProved { tickets.known(at: origin)?.forgive() }
    switch answer {
    case .token(let token):
      if session.isProved { return .other }
      guard let step = try? session.authentication?.step(token, bytes), step.isComplete, step.isMutual else {
        return .invalid(.signing(.peer("its Kerberos token is wrong")))
      }
      tickets.known(at: origin)?.forgive()
      return .other
    case .malformed: return .invalid(.signing(.peer("its Kerberos token is wrong")))
    case .absent, .bare, .onlyNTLM:
      guard session.mutual == .required, !session.isProved else { return .other }
      return .invalid(.signing(.peer("its answer has no Kerberos token, and mutual is required")))
    }
  }

  private func challenged(
    _ answer: NegotiateAnswer, _ bytes: UnsafeRawBufferPointer, _ session: NegotiateSession, _ origin: OriginAuthority
  ) -> Reading {
    switch answer {
    case .absent: return .other
    case .onlyNTLM: return relay(.onlyNTLM)
    case .bare, .malformed: return refused(session, origin)
    case .token(let token):
      // A token that is an error of the service's makes the step fail: the ticket is refused.
      guard let step = try? session.authentication?.step(token, bytes) else { return refused(session, origin) }
      // It knows who asks, and says no.
      if step.isComplete, step.token.isEmpty { return .other }
      guard session.rounds < Self.maximumRounds else { return relay(.challengedAgain) }
      session.rounds += 1
      session.next = step.token
      session.isProved = step.isComplete && step.isMutual
      return .continues
    }
  }

  /// The ticket may be stale: of a key that the service has no more.
  private func refused(_ session: NegotiateSession, _ origin: OriginAuthority) -> Reading {
    let known = tickets.known(at: origin)
    session.authentication = nil
    session.next = []
    if session.hasRefetched {
      known?.refused(session.refused, now: loop.now, interval: Self.vainInterval)
      return relay(.refusedAgain)
    }
    if let known, known.isVain(session.version, now: loop.now) { return relay(.remembered) }
    // At once, as an answer without a proof may follow, and the next 401 after that: each request would have a ticket fetched.
    known?.refused(session.version, now: loop.now, interval: Self.vainInterval)
    session.hasRefetched = true
    session.refused = session.version
    return .challenge(canAnswer: true)
  }

  private func relay(_ reason: RelayReason) -> Reading {
    self.reason = reason
    return .challenge(canAnswer: false)
  }
}

extension Authentication {
  /// - Parameter text: the token in base64.
  func step(_ text: ByteSlice, _ bytes: UnsafeRawBufferPointer) throws(KerberosProblem) -> AuthenticationStep {
    guard let token = Base64.decode(text.bytes(in: bytes)) else { throw KerberosProblem(.temporary, "no base64") }
    do { return try token.withUnsafeBytes { try step($0) } } catch let error as KerberosProblem { throw error } catch {
      throw KerberosProblem(.temporary, "\(error)")
    }
  }
}
