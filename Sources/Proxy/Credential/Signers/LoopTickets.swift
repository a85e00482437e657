import Credentials
import EventIO
import Files
import Forwarding
import Kerberos
import Signing

/// One loop's tickets of a `negotiate` credential, and the requests that wait for them. The credential's owner fetches tickets, and tells
/// all loops. Confined to the loop.
///
/// A request that was woken never waits for the same again: each wait ends with news for it, and the number of its waits is bounded.
final class LoopTickets {
  /// Waits of one request for tickets that are gone again when they come.
  private static let maximumWaits = 8
  /// Waits of one request because keytab or ticket cache have changed.
  private static let maximumChanges = 2
  /// Milliseconds that requests with a usable ticket wait for the one of a changed source.
  private static let patience = 1_000

  /// The view that owns this.
  unowned(unsafe) var view: CredentialView?
  /// Of the largest ticket that was held here.
  private(set) var tokenLimit = 0
  private(set) var policy: NegotiatePolicy?
  private let loop: EventLoop
  /// Below a wildcard each host is an origin, and a service, of its own.
  private let capacity: Int
  private var origins: [OriginAuthority: TicketOrigin] = [:]
  private var services: [String: LoopTicketService] = [:]
  /// Of the credential.
  private var version: UInt64 = 0
  /// The source's state, read once a turn.
  private var looked: (mark: FileIdentity?, at: Int64) = (nil, .min)
  private let waking: WakeUps

  enum Supply {
    case ready(TicketNews.Held)
    case wait
    case unavailable(ProxyError)
  }

  init(on loop: EventLoop, capacity: Int = 1_024) {
    self.loop = loop
    self.capacity = capacity
    waking = WakeUps(loop)
  }

  /// Of the loop's clock.
  var nanoseconds: Int64 { loop.now }
  /// Monotonic milliseconds.
  private var now: Int64 { loop.now / 1_000_000 }

  // MARK: What requests ask

  /// A request has this version of the credential, or an older one: then it uses the tickets of today.
  func adopt(_ policy: NegotiatePolicy, _ version: UInt64) {
    guard version > self.version else { return }
    defer { self.policy = policy }
    self.version = version
    // Promised for a reload without a KDC: held tickets go on.
    if let before = self.policy, before.hasSameTickets(as: policy) { return }
    looked.at = .min
    origins = [:]
    // Tickets may be another principal's.
    for service in services.values where service.held?.of != version { service.held = nil }
    services = services.filter { !$0.value.waiting.isEmpty || $0.value.held != nil }
  }

  /// The one that an earlier request to that origin has led to.
  func known(at origin: OriginAuthority) -> TicketOrigin? { origins[origin] }

  func service(at origin: OriginAuthority) -> LoopTicketService {
    if let known = origins[origin] { return known.service }
    if origins.count >= capacity { origins.remove(at: origins.startIndex) }
    // As it is written: no DNS.
    let name = policy?.servicePrincipal ?? "HTTP/" + origin.host
    if services[name] == nil, services.count >= capacity { forgetOne() }
    let service = services[name] ?? LoopTicketService(name, self)
    services[name] = service
    origins[origin] = TicketOrigin(service)
    return service
  }

  private func forgetOne() {
    let idle = services.values.filter(\.waiting.isEmpty)
    guard let service = idle.first(where: { $0.held == nil }) ?? idle.first else { return }
    services[service.name] = nil
    origins = origins.filter { $0.value.service !== service }
  }

  func supply(_ service: LoopTicketService, _ session: NegotiateSession, for request: CredentialWaiter) -> Supply {
    guard let held = service.held, isUsable(held, session) else {
      if let problem = session.tickets.problem {
        session.tickets.problem = nil
        return .unavailable(problem)
      }
      guard session.tickets.count < Self.maximumWaits else {
        let reason = "the tickets for \(service.name) expire as soon as they come"
        return .unavailable(.credentialUnavailable(view?.setup.name ?? "", reason: reason, retryAfter: 1))
      }
      return wait(service, session, request, session.refused > 0 ? .refused(session.refused) : .missing)
    }
    session.tickets.problem = nil
    let mark = mark
    if service.tried != mark, !service.isOverdue, session.tickets.changes < Self.maximumChanges {
      session.tickets.changes += 1
      if service.deadline == .max { loop.arm(service, afterMilliseconds: Self.patience) }
      return wait(service, session, request, .changed)
    }
    if held.version <= session.tickets.doubted, !service.isOverdue {
      session.tickets.doubted = 0
      if service.deadline == .max { loop.arm(service, afterMilliseconds: Self.patience) }
      return wait(service, session, request, .refused(held.version))
    }
    // The held ticket goes on, whatever becomes of the next one.
    if now >= service.retry.at {
      if held.mark != mark, service.retry.isWorthwhile {
        ask(service, .changed)
      } else if now >= held.renewal {
        ask(service, .ahead)
      }
    }
    return .ready(held)
  }

  private var mark: FileIdentity? {
    if looked.at != loop.now { looked = (policy?.mark, loop.now) }
    return looked.mark
  }

  private func isUsable(_ held: TicketNews.Held, _ session: NegotiateSession) -> Bool {
    now < held.expiry && held.version > session.refused
  }

  private func wait(
    _ service: LoopTicketService, _ session: NegotiateSession, _ request: CredentialWaiter,
    _ reason: TicketMachine<FileIdentity>.Reason
  ) -> Supply {
    session.tickets.count += 1
    service.append(request, session)
    ask(service, reason)
    return .wait
  }

  private func ask(_ service: LoopTicketService, _ reason: TicketMachine<FileIdentity>.Reason) {
    guard !service.isAsked, let view else { return }
    service.isAsked = true
    let (setup, name, executor) = (view.setup, service.name, loop.executor)
    view.home.call { loop in
      (CredentialDesk.of(loop).owner(of: setup) as? TicketOwner)?.want(name, reason, from: executor)
    }
  }

  // MARK: What the owner says

  func told(_ news: TicketNews) {
    guard let service = services[news.service] else { return }
    service.isAsked = false
    service.isOverdue = false
    loop.disarm(service)
    // The reply to a question of an earlier configuration: those who wait ask again.
    if news.of >= version { take(news, service) }
    wake(service) { _ in true }
  }

  private func take(_ news: TicketNews, _ service: LoopTicketService) {
    switch news.outcome {
    case .ticket(let held):
      // The one that is held already is good for this state of the source, too.
      service.tried = held.mark
      guard held.of != service.held?.of || held.version > service.held?.version ?? 0 else { return }
      // Perhaps of another principal.
      if held.mark != service.held?.mark { for origin in origins.values where origin.service === service { origin.forgive() } }
      service.held = held
      service.retry = LoopTicketService.Retry()
      tokenLimit = max(tokenLimit, held.ticket.tokenLimit)
    case .failure(let failure):
      guard let view else { return }
      service.tried = failure.mark
      let isTemporary = if case .temporarily = failure.why { true } else { false }
      service.retry = LoopTicketService.Retry(at: now + failure.pause, isWorthwhile: isTemporary)
      let error = ProxyError(failure.why, of: view.setup.name)
      for wait in service.waiting { wait.session.tickets.problem = error }
    }
  }

  /// Requests have waited for the ticket of a changed source for long: those with a usable one go on.
  func overdue(_ service: LoopTicketService) {
    service.isOverdue = true
    guard let held = service.held else { return }
    wake(service) { isUsable(held, $0) }
  }

  private func wake(_ service: LoopTicketService, where matches: (NegotiateSession) -> Bool) {
    waking.add(service.waiting.filter { matches($0.session) }.compactMap(\.request))
    service.waiting.removeAll { matches($0.session) }
  }
}
