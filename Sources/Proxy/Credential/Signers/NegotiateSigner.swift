import Credentials
import Crypto
import EventIO
import Files
import Forwarding
import HTTPWire
import Kerberos
import Signing

/// Authenticates each request by Kerberos in SPNEGO (RFC 4559), with a token from the first attempt on, so that no request is sent only
/// to be challenged. Tokens are made on the loop, with a ticket that is held; the credential's owner fetches tickets.
final class NegotiateSigner: RequestSigner {
  /// Below a wildcard each host is an origin of its own.
  private static let maximumOrigins = 1_024
  /// Tokens of one authentication that the origin may answer with another one.
  private static let maximumRounds = 5
  /// Nanoseconds in which a service that has refused a fresh ticket is not worth another one.
  private static let vainInterval: Int64 = 30_000_000_000
  private static let field = Array("WWW-Authenticate".utf8)
  private static let largestToken = 65_536

  /// The view that owns this.
  unowned(unsafe) var view: CredentialView?
  private let loop: EventLoop
  private var origins: [OriginAuthority: LoopService] = [:]
  private var services: [String: LoopService] = [:]
  /// Of the credential.
  private var version: UInt64 = 0
  private var policy: NegotiatePolicy?
  private var reason = RelayReason.refusedAgain
  private lazy var waking = WakeUps(loop)

  /// A ticket that the owner tells of.
  struct Arrived: Sendable {
    let ticket: any ServiceTicket
    let version: UInt64
    /// Of the credential.
    let of: UInt64
    /// Monotonic milliseconds.
    let expiry, renewal: Int64
    let mark: FileIdentity?
  }

  /// What this loop has for one service.
  private final class LoopService {
    let name: String
    var held: Arrived?
    /// Of the held ticket.
    var initiator: (any Initiator)?
    /// The state of the source that the held ticket is used in, though it was fetched in another.
    var mark: FileIdentity?
    var isAsked = false
    var waiting: [(request: WeakWaiter, session: NegotiateSession)] = []
    /// Nanoseconds of the loop's clock: until then it has refused a fresh ticket.
    var vainUntil: Int64 = 0
    init(_ name: String) { self.name = name }
  }

  private struct WeakWaiter { weak var request: CredentialWaiter? }

  init(on loop: EventLoop) { self.loop = loop }

  override var rounds: UInt8 { UInt8(Self.maximumRounds + 1) }
  override var unansweredReason: RelayReason { reason }

  override func note(_ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer) throws(ProxyError) -> AnyObject? {
    NegotiateSession()
  }

  // MARK: Out

  override func sizeLimit(of head: UnsafeRawBufferPointer, noted: AnyObject?) -> Int {
    let own = (noted as? NegotiateSession)?.next.count ?? 0
    // Not known before the origin is: the largest of the tickets that are held here.
    return Self.lineLength(of: max(own, largestTicket))
  }

  private static func lineLength(of token: Int) -> Int { 32 + (token + 2) / 3 * 4 }

  private var largestTicket = 0

  override func prepare(_ draft: borrowing Draft, into block: Block) -> Preparation {
    guard let session = draft.noted as? NegotiateSession, case .negotiate(let policy)? = draft.credential.material else {
      return .refused(.internalError, why: "there is nothing to authenticate with")
    }
    // A request that began before a reload has an older one, and uses the tickets of today.
    if draft.credential.version > version { adopt(policy, draft.credential.version) }
    let connection = draft.request.connection
    // The origin expects the next token on the connection of the last one, and nowhere else.
    if !session.next.isEmpty, let connection, session.connection === connection {
      defer { session.next = [] }
      return write(session.next, into: block)
    }
    session.next = []
    session.authentication = nil
    session.isProved = false
    let service = service(for: draft.origin, policy)
    if let problem = session.problem {
      session.problem = nil
      guard isUsable(service, session) else { return .refused(problem, why: "no ticket for \(service.name)") }
      // Held tickets go on, although another one was due.
      service.mark = policy.mark
    } else if let wait = waits(service, session, policy, draft.request) {
      return wait
    }
    guard let held = service.held else { return .refused(.internalError, why: "no ticket for \(service.name)") }
    do throws(KerberosProblem) {
      let initiator: any Initiator
      if let known = service.initiator { initiator = known } else { initiator = try held.ticket.initiator() }
      service.initiator = initiator
      let binding = policy.bindsChannel ? connection?.endPointBinding : nil
      let authentication = initiator.authentication(binding: binding)
      let step = try authentication.step(nil)
      session.authentication = authentication
      session.version = held.version
      session.connection = connection
      return write(step.token, into: block)
    } catch {
      return .refused(.credentialUnavailable(draft.credential.name, reason: error.text, retryAfter: 1), why: error.text)
    }
  }

  /// - Returns: nil: the held ticket serves.
  private func waits(
    _ service: LoopService, _ session: NegotiateSession, _ policy: NegotiatePolicy, _ request: CredentialWaiter
  ) -> Preparation? {
    let reason: TicketMachine<FileIdentity>.Reason
    if !isUsable(service, session) {
      reason = session.refused > 0 ? .refused(session.refused) : .missing
    } else if service.mark != policy.mark {
      reason = .changed
    } else {
      if let held = service.held, now >= held.renewal { ask(service, .ahead) }
      return nil
    }
    service.waiting.append((WeakWaiter(request: request), session))
    ask(service, reason)
    return .wait
  }

  private func isUsable(_ service: LoopService, _ session: NegotiateSession) -> Bool {
    guard let held = service.held else { return false }
    return now < held.expiry && held.version > session.refused
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

  /// Monotonic milliseconds.
  private var now: Int64 { loop.now / 1_000_000 }

  // MARK: Tickets

  /// Another version of the credential: its tickets may be another principal's.
  private func adopt(_ policy: NegotiatePolicy, _ version: UInt64) {
    self.policy = policy
    self.version = version
    origins = [:]
    for service in services.values where service.held?.of != version {
      service.held = nil
      service.initiator = nil
    }
    services = services.filter { !$0.value.waiting.isEmpty || $0.value.held != nil }
  }

  private func service(for origin: OriginAuthority, _ policy: NegotiatePolicy) -> LoopService {
    if let service = origins[origin] { return service }
    if origins.count >= Self.maximumOrigins { origins.remove(at: origins.startIndex) }
    if services.count >= Self.maximumOrigins, let idle = services.first(where: { $0.value.waiting.isEmpty })?.key {
      services[idle] = nil
    }
    // As it is written: no DNS.
    let name = policy.servicePrincipal ?? "HTTP/" + origin.host
    let service = services[name] ?? LoopService(name)
    services[name] = service
    origins[origin] = service
    return service
  }

  private func ask(_ service: LoopService, _ reason: TicketMachine<FileIdentity>.Reason) {
    guard !service.isAsked, let view else { return }
    service.isAsked = true
    let (setup, name, executor) = (view.setup, service.name, loop.executor)
    view.home.call { loop in
      (CredentialDesk.of(loop).owner(of: setup) as? TicketOwner)?.want(name, reason, from: executor)
    }
  }

  func arrived(_ name: String, _ arrived: Arrived) {
    guard let service = services[name] else { return }
    // The reply to a question of an earlier configuration: those who wait ask again.
    let isStale = arrived.of < version
    service.isAsked = false
    if !isStale, arrived.version > service.held?.version ?? 0 || arrived.of != service.held?.of {
      service.held = arrived
      service.initiator = nil
      service.mark = arrived.mark
      largestTicket = max(largestTicket, arrived.ticket.tokenLimit)
    }
    wake(service)
  }

  func failed(_ name: String, _ why: CredentialUnavailable) {
    guard let service = services[name], let view else { return }
    service.isAsked = false
    // Later requests ask again only once the source has changed.
    if service.held != nil { service.mark = policy?.mark }
    let error = ProxyError(why, of: view.setup.name)
    for wait in service.waiting { wait.session.problem = error }
    wake(service)
  }

  private func wake(_ service: LoopService) {
    waking.add(service.waiting.lazy.compactMap(\.request.request))
    service.waiting.removeAll()
  }

  // MARK: In

  override func read(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, of noted: AnyObject?, from origin: OriginAuthority,
    isNews: Bool
  ) -> Reading {
    if head.isInterim, head.status != 101 { return .other }
    let answer = NegotiateAnswer(head, in: bytes)
    // What is left is of the connection to the origin.
    if head.status != 401, answer != .absent { head.fields.drop(named: Self.field, in: bytes) }
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
    origins[origin]?.vainUntil = 0
    switch answer {
    case .token(let token):
      if session.isProved { return .other }
      guard let step = try? session.authentication?.step(token, bytes), step.isComplete, step.isMutual else {
        return .invalid(.signing(.peer("its Kerberos token is wrong")))
      }
      return .other
    case .malformed: return .invalid(.signing(.peer("its Kerberos token is wrong")))
    case .absent, .bare, .onlyNTLM:
      guard policy?.mutual == .required, !session.isProved else { return .other }
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
    let service = origins[origin]
    session.authentication = nil
    session.next = []
    if session.hasRefetched {
      service?.vainUntil = loop.now + Self.vainInterval
      return relay(.refusedAgain)
    }
    if let service, loop.now < service.vainUntil { return relay(.remembered) }
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
  fileprivate func step(_ text: ByteSlice, _ bytes: UnsafeRawBufferPointer) throws(KerberosProblem) -> AuthenticationStep {
    guard let token = Base64.decode(text.bytes(in: bytes)) else { throw KerberosProblem(.temporary, "no base64") }
    do { return try token.withUnsafeBytes { try step($0) } } catch let error as KerberosProblem { throw error } catch {
      throw KerberosProblem(.temporary, "\(error)")
    }
  }
}
