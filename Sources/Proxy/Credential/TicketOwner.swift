import CSystem
import Credentials
import EventIO
import Files
import Kerberos
import Signing
import Synchronization

/// Owns a `negotiate` credential: fetches tickets for services in a lane of its own, one at a time, and tells all loops.
final class TicketOwner: CredentialOwner {
  /// Below a wildcard each host is a service of its own.
  private static let maximumServices = 1_024

  private var rendered: RenderedCredential
  private var policy: NegotiatePolicy
  private var source: any TicketSource
  private var services: [String: TicketService] = [:]
  /// Increases with each change of the policy. What an earlier one brings is dropped.
  private var epoch = 0
  private var lastTicket: UInt64 = 0
  /// One credential's KDCs may be silent without holding up others.
  private let lane: Lane
  /// Consulted in the lane, where other services' fetches may wait behind the one that is refused.
  private var key = KeyGuard()
  private let begin: @Sendable (NegotiatePolicy) -> any TicketSource
  /// Seconds since 1970: of the ticket that was fetched last.
  private var expiry: Int64?

  private final class KeyGuard: Sendable { let pause = Mutex(KeyPause<FileIdentity>()) }

  private struct TicketService {
    var machine = TicketMachine<FileIdentity>()
    var ticket: (any ServiceTicket)?
  }

  /// What a fetch brings.
  private struct Fetched: Sendable {
    let result: Result<any ServiceTicket, KerberosProblem>
    /// The source's state before the fetch.
    let mark: FileIdentity?
  }

  /// - Parameters:
  ///   - version: number of the last one that an earlier owner of this name published.
  ///   - begin: how tickets are had.
  init(
    _ setup: CredentialSetup, _ policy: NegotiatePolicy, _ desk: CredentialDesk, serial: UInt64, after version: UInt64,
    begin: @escaping @Sendable (NegotiatePolicy) -> any TicketSource
  ) {
    self.policy = policy
    self.begin = begin
    rendered = RenderedCredential(name: setup.name, material: .negotiate(policy), version: version + 1)
    source = begin(policy)
    lane = Lane(label: "lane.kerberos.\(setup.name)", width: 1, backlog: Self.maximumServices)
    super.init(setup, desk, serial: serial)
    note(.empty)
  }

  override var latestVersion: UInt64 { rendered.version }
  override var isBusy: Bool { services.values.contains { $0.machine.isFetching } }

  override func reconfigure() {
    guard case .negotiate(let next) = setup.policy.kind, next != policy else { return }
    let isSame = next.hasSameTickets(as: policy)
    policy = next
    if isSame {
      rendered = RenderedCredential(name: name, material: .negotiate(next), version: rendered.version + 1)
      return publish(rendered)
    }
    epoch += 1
    standing.begin()
    source = begin(next)
    key = KeyGuard()
    rendered = RenderedCredential(name: name, material: .negotiate(next), version: rendered.version + 1)
    publish(rendered)
    let fetching = services.filter { $0.value.machine.isFetching }.keys
    services = [:]
    for service in fetching { want(service, .missing, from: nil) }
  }

  override func need(from executor: LoopExecutor) { publish(rendered, to: executor) }

  /// A loop asks for a ticket. All loops are told of a new one, this one alone if it is there already, or cannot be had.
  /// - Parameter executor: the loop; nil: all of them.
  func want(_ service: String, _ reason: TicketMachine<FileIdentity>.Reason, from executor: LoopExecutor?) {
    if services[service] == nil, services.count >= Self.maximumServices, let idle = idleService { services[idle] = nil }
    let mark = policy.mark
    let (need, fetches, isFresh) = services[service, default: TicketService()].machine.need(reason, mark: mark, now: now)
    switch need {
    case .ready: if let executor { tell(service, to: executor) }
    case .wait: if fetches { fetch(service, isFresh: isFresh, reason) }
    case .unavailable(let why):
      if let executor { tell(failure(of: service, why, mark), to: executor) }
    }
  }

  private var idleService: String? {
    let idle = services.filter { !$0.value.machine.isFetching }
    return (idle.first { !$0.value.machine.isUsable(at: now) } ?? idle.first)?.key
  }

  private func fetch(_ service: String, isFresh: Bool, _ reason: TicketMachine<FileIdentity>.Reason) {
    let byRefusal = if case .refused = reason { true } else { false }
    let (source, key, policy, epoch) = (source, key, policy, epoch)
    note(.refreshing)
    inLane(lane) {
      // Before the fetch: a change while it runs is noticed by the next request.
      let mark = policy.mark
      if let reason = key.pause.withLock({ $0.reason(mark: mark, now: csys_monotonic() / 1_000_000) }) {
        return Fetched(result: .failure(KerberosProblem(.needsOperator, reason)), mark: mark)
      }
      do throws(KerberosProblem) {
        let ticket = try source.ticket(for: service, isFresh: isFresh)
        if ticket.provesKey { key.pause.withLock { $0.accepted() } }
        return Fetched(result: .success(ticket), mark: mark)
      } catch {
        if error.kind == .keyRefused {
          key.pause.withLock { $0.refused(error.text, mark: mark, now: csys_monotonic() / 1_000_000) }
        }
        return Fetched(result: .failure(error), mark: mark)
      }
    } then: { owner, fetched in
      (owner as? TicketOwner)?.fetched(service, fetched, in: epoch, byRefusal: byRefusal)
    }
  }

  private func fetched(_ service: String, _ fetched: Fetched?, in epoch: Int, byRefusal: Bool) {
    guard epoch == self.epoch, services[service] != nil else { return }
    switch fetched?.result {
    case .success(let ticket):
      let lifetime = ticket.lifetime * 1_000
      guard lifetime >= TicketMachine<FileIdentity>.shortestLife else {
        let why = "its ticket for \(service) expires at once: see the accounts' maximum ticket life, and all clocks"
        return failed(service, KerberosProblem(.temporary, why), fetched?.mark)
      }
      lastTicket += 1
      services[service]?.ticket = ticket
      services[service]?.machine.fetched(version: lastTicket, lifetime: lifetime, mark: fetched?.mark, now: now)
      report(.refreshed(version: lastTicket, lifetime: lifetime, byRefusal: byRefusal))
      expiry = wallClockSeconds() + ticket.lifetime
      note(.ready, expiry: expiry)
      for executor in desk.group.executors { tell(service, to: executor) }
    case .failure(let problem): failed(service, problem, fetched?.mark)
    case nil: failed(service, KerberosProblem(.temporary, "too many services wait for tickets"), policy.mark)
    }
  }

  private func failed(_ service: String, _ problem: KerberosProblem, _ mark: FileIdentity?) {
    let kind: TicketMachine<FileIdentity>.Failure =
      switch problem.kind {
      case .temporary: .temporary
      case .needsOperator: .needsOperator
      case .keyRefused: .keyRefused
      }
    guard let why = services[service]?.machine.failed(kind, problem.text, mark: mark, now: now) else { return }
    switch why {
    case .temporarily(let text, let pause):
      report(.failed(text, retryIn: pause))
      note(.failed, reason: text)
    case .needsOperator, .needsLogin:
      report(.needsOperator(problem.text))
      noteOperator(problem)
    }
    let failure = failure(of: service, why, mark)
    for executor in desk.group.executors { tell(failure, to: executor) }
  }

  /// A service that the KDC does not know is not the credential's fault: any app could name one below a wildcard.
  private func noteOperator(_ problem: KerberosProblem) {
    guard problem.isOfService else { return note(.needsOperator, reason: problem.text) }
    let isServing = services.values.contains { $0.machine.isUsable(at: now) }
    if isServing { note(.ready, expiry: expiry) } else { note(.failed, reason: problem.text) }
  }

  private func tell(_ service: String, to executor: LoopExecutor) {
    guard let held = services[service], let ticket = held.ticket else { return }
    let news = TicketNews.Held(
      ticket: ticket, version: held.machine.version, of: rendered.version, expiry: held.machine.expiry,
      renewal: held.machine.renewal, mark: held.machine.mark)
    tell(TicketNews(service: service, of: rendered.version, outcome: .ticket(news)), to: executor)
  }

  private func failure(of service: String, _ why: CredentialUnavailable, _ mark: FileIdentity?) -> TicketNews {
    let pause = services[service]?.machine.pause(at: now) ?? 0
    return TicketNews(
      service: service, of: rendered.version, outcome: .failure(TicketNews.Failure(why: why, mark: mark, pause: pause)))
  }

  private func tell(_ news: TicketNews, to executor: LoopExecutor) { tell(executor) { $0.tickets?.told(news) } }

  // MARK: What is seen from outside

  private func report(_ event: CredentialEvent) {
    desk.registry.note(event, of: name)
    desk.observer.credential(name, event)
  }

  private func note(_ phase: CredentialReport.Phase, expiry: Int64? = nil, reason: String? = nil) {
    if isRetired { return }
    if phase == .needsOperator { standing.suspend() } else { standing.resume() }
    desk.registry.note(CredentialReport(name: name, phase: phase, version: rendered.version, expiry: expiry, reason: reason))
  }
}

extension CredentialView {
  /// Its loop's tickets, if it has such.
  fileprivate var tickets: LoopTickets? { (signer as? NegotiateSigner)?.tickets }
}

extension NegotiatePolicy {
  /// The state of keytab or ticket cache; nil: there is none, or it is no file.
  var mark: FileIdentity? {
    switch source {
    case .keytab(let path): FileReading.identity(path)
    case .cache(let name): name.hasPrefix("FILE:") ? FileReading.identity(String(name.dropFirst(5))) : nil
    case .password: nil
    }
  }
}

extension TicketClient {
  public convenience init(_ policy: NegotiatePolicy) {
    let source: TicketClient.Source =
      switch policy.source {
      case .keytab(let path): .keytab(path)
      case .cache(let name): .cache(name)
      case .password(let password): .password { password.bytes }
      }
    self.init(source, principal: policy.principal)
  }
}
