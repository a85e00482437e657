import CSystem

/// One loop's cache of addresses. Answers are valid for 30 s. The loop refreshes them ahead while they are in use, and uses
/// them for 5 min more while a new one is fetched (RFC 8767). It remembers failures for 5 s. `NameLanes` calls getaddrinfo.
public final class Resolver {
  public enum Failure: Error, Sendable {
    case notFound
    /// The resolver failed; its error text.
    case broken(String)
    /// Too many look-ups wait.
    case overloaded
  }
  public typealias Answer = Result<[Address], Failure>

  /// Waits for an answer. Called once, on the loop, unless cancelled.
  public final class Waiter {
    fileprivate var deliver: ((Answer) -> Void)?
    private let host: String
    private unowned let resolver: Resolver
    fileprivate init(_ host: String, _ resolver: Resolver, _ deliver: @escaping (Answer) -> Void) {
      self.host = host
      self.resolver = resolver
      self.deliver = deliver
    }
    /// Cancels: nothing will be delivered.
    public func cancel() {
      guard deliver != nil else { return }
      deliver = nil
      resolver.left(self, host)
    }
  }
  public enum Lookup {
    case known(Answer)
    case pending(Waiter)
  }

  fileprivate struct Entry {
    var answer: Answer?
    var expires: Int64 = 0
    /// Earliest time of the next fetch, after a failed one.
    var retryAt: Int64 = 0
    /// Who asked last.
    var isOfConfiguration = false
    var isLoading = false
    var ticket: NameLanes.Ticket?
    var waiters: [Waiter] = []
  }
  private static let second: Int64 = 1_000_000_000
  static let positiveLife = 30 * second
  static let refreshAhead = 5 * second
  static let staleLife = 300 * second
  static let negativeLife = 5 * second
  static let capacity = 1024

  private unowned let loop: EventLoop
  private let lanes: NameLanes
  private let clock: () -> Int64
  private var entries: [String: Entry] = [:]

  /// - Parameter clock: returns nanoseconds; nil = the loop's clock.
  init(loop: EventLoop, lanes: NameLanes = .shared, clock: (() -> Int64)? = nil) {
    self.loop = loop
    self.lanes = lanes
    self.clock = clock ?? { [unowned loop] in loop.now }
  }

  /// Addresses of `host` with port 0, in getaddrinfo's order (RFC 6724). Calls `deliver` only after `.pending`.
  public func lookUp(
    _ host: String, for asker: @autoclosure () -> NameAsker, deliver: @escaping (Answer) -> Void
  ) -> Lookup {
    if let literal = Address(literal: host, port: 0) { return .known(.success([literal])) }
    let now = clock()
    if let entry = entries[host], let answer = entry.usableAnswer(at: now) {
      if case .success = answer, entry.expires - now < Self.refreshAhead, entry.retryAt <= now { load(host, asker()) }
      return .known(answer)
    }
    let waiter = Waiter(host, self, deliver)
    load(host, asker())
    entries[host, default: Entry()].waiters.append(waiter)
    return .pending(waiter)
  }

  private func load(_ host: String, _ asker: NameAsker) {
    var entry = entries[host] ?? Entry()
    let isOfConfiguration = asker == .configuration
    if entry.isLoading, entry.isOfConfiguration || !isOfConfiguration {
      if let ticket = entry.ticket { lanes.join(ticket, asker) }
      return
    }
    // If a client asked for a name that is now in the configuration, the look-up must not wait behind those of clients.
    let executor = loop.executor
    entry.ticket = lanes.lookUp(host, for: asker) { answer in executor.call { $0.resolver.finish(host, answer) } }
    entry.isLoading = true
    entry.isOfConfiguration = isOfConfiguration
    entries[host] = entry
    if entry.ticket == nil { executor.call { $0.resolver.finish(host, .failure(.overloaded)) } }
  }

  /// If nobody waits for a look-up any more, it gives up its place in the lanes' backlog.
  private func left(_ waiter: Waiter, _ host: String) {
    guard var entry = entries[host] else { return }
    entry.waiters.removeAll { $0 === waiter }
    if entry.waiters.isEmpty, entry.isLoading, let ticket = entry.ticket, lanes.withdraw(ticket) {
      entry.isLoading = false
      entry.ticket = nil
    }
    entries[host] = entry.isLoading || entry.answer != nil ? entry : nil
  }

  private func finish(_ host: String, _ answer: Answer) {
    guard var entry = entries.removeValue(forKey: host) else { return }
    let now = clock()
    let waiters = entry.waiters
    entry.waiters = []
    entry.isLoading = false
    entry.ticket = nil
    entry.take(answer, at: now)
    if entries.count >= Self.capacity { evict(at: now) }
    if entry.answer != nil { entries[host] = entry }
    for waiter in waiters {
      let deliver = waiter.deliver
      waiter.deliver = nil
      deliver?(answer)
    }
  }

  /// Drops names that clients chose first, so that a client with many names does not displace the configuration's.
  private func evict(at now: Int64) {
    entries = entries.filter { $0.value.isLoading || $0.value.usableAnswer(at: now) != nil }
    guard entries.count >= Self.capacity else { return }
    let victims = entries.filter { !$0.value.isLoading && !$0.value.isOfConfiguration }.keys.prefix(Self.capacity / 8)
    for host in victims { entries.removeValue(forKey: host) }
    if victims.isEmpty, let victim = entries.first(where: { !$0.value.isLoading })?.key { entries.removeValue(forKey: victim) }
  }

  static func query(_ host: String) -> Answer {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = Int32(AI_ADDRCONFIG)
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, nil, &hints, &list)
    defer { if let list { freeaddrinfo(list) } }
    guard status == 0 else {
      switch status {
      // glibc defines EAI_NODATA, "no address of this family", for GNU sources only.
      case EAI_NONAME, -5: return .failure(.notFound)
      default: return .failure(.broken(String(cString: gai_strerror(status))))
      }
    }
    var addresses: [Address] = []
    var item = list
    while let current = item {
      if let address = Address(current.pointee.ai_addr), !addresses.contains(address) { addresses.append(address) }
      item = current.pointee.ai_next
    }
    return addresses.isEmpty ? .failure(.notFound) : .success(addresses)
  }
}

extension Resolver.Entry {
  /// An answer that is available at once.
  fileprivate func usableAnswer(at now: Int64) -> Resolver.Answer? {
    switch answer {
    case .success where now < expires + Resolver.staleLife: answer
    case .failure where now < expires: answer
    default: nil
    }
  }

  fileprivate mutating func take(_ new: Resolver.Answer, at now: Int64) {
    switch new {
    case .success:
      answer = new
      expires = now + Resolver.positiveLife
      retryAt = 0
    case .failure(let failure):
      retryAt = now + Resolver.negativeLife
      switch (failure, usableAnswer(at: now)) {
      case (.overloaded, _): break
      // A failed refresh removes nothing, unless the answer has expired and the name is known not to exist (RFC 8767 section
      // 4).
      case (.broken, .success?): break
      case (.notFound, .success?) where now < expires: break
      default:
        answer = new
        expires = now + Resolver.negativeLife
      }
    }
  }
}
