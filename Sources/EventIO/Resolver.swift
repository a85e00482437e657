import CSystem

/// getaddrinfo in its lane, with a small cache per loop: answers for 30 s, refreshed ahead while they are in use; failures for 5 s.
public final class Resolver {
  public enum Failure: Error, Sendable {
    case notFound
    /// The resolver itself failed; its text.
    case broken(String)
    /// Too many look-ups wait already.
    case overloaded
  }
  public typealias Answer = Result<[Address], Failure>

  /// Who waits for an answer. Called once, on the loop, unless cancelled.
  public final class Waiter {
    fileprivate var deliver: ((Answer) -> Void)?
    init(_ deliver: @escaping (Answer) -> Void) { self.deliver = deliver }
    public func cancel() { deliver = nil }
  }
  public enum Lookup {
    case known(Answer)
    case pending(Waiter)
  }

  private struct Entry {
    var answer: Answer?
    var expires: Int64 = 0
    var isLoading = false
    var waiters: [Waiter] = []
  }
  private static let second: Int64 = 1_000_000_000
  private static let positiveLife = 30 * second
  private static let refreshAhead = 5 * second
  private static let negativeLife = 5 * second
  private static let capacity = 1024

  private unowned let loop: EventLoop
  private var entries: [String: Entry] = [:]

  init(loop: EventLoop) { self.loop = loop }

  /// Addresses of `host` with port 0, in the order of getaddrinfo (RFC 6724). `deliver` is called only for `.pending`.
  public func lookUp(_ host: String, deliver: @escaping (Answer) -> Void) -> Lookup {
    if let literal = Address(literal: host, port: 0) { return .known(.success([literal])) }
    if let entry = entries[host], let answer = entry.answer, entry.expires > loop.now {
      if case .success = answer, !entry.isLoading, entry.expires - loop.now < Self.refreshAhead { load(host) }
      return .known(answer)
    }
    let waiter = Waiter(deliver)
    entries[host, default: Entry()].waiters.append(waiter)
    if entries[host]?.isLoading == false { load(host) }
    return .pending(waiter)
  }

  private func load(_ host: String) {
    entries[host, default: Entry()].isLoading = true
    let executor = loop.executor
    let accepted = Lane.names.run {
      let answer = Self.query(host)
      executor.call { $0.resolver.finish(host, answer) }
    }
    if !accepted { executor.call { $0.resolver.finish(host, .failure(.overloaded)) } }
  }

  private func finish(_ host: String, _ answer: Answer) {
    guard var entry = entries.removeValue(forKey: host) else { return }
    let waiters = entry.waiters
    entry.waiters = []
    entry.isLoading = false
    switch answer {
    case .success: entry = Entry(answer: answer, expires: loop.now + Self.positiveLife)
    case .failure(.overloaded): break
    case .failure:
      // A failed refresh does not take away an answer that is still good.
      if case .success? = entry.answer, entry.expires > loop.now { break }
      entry = Entry(answer: answer, expires: loop.now + Self.negativeLife)
    }
    if entries.count >= Self.capacity { evict() }
    if entry.answer != nil { entries[host] = entry }
    for waiter in waiters { waiter.deliver?(answer) }
  }

  private func evict() {
    let now = loop.now
    entries = entries.filter { $0.value.isLoading || $0.value.expires > now }
    if entries.count >= Self.capacity, let victim = entries.first(where: { !$0.value.isLoading })?.key {
      entries.removeValue(forKey: victim)
    }
  }

  private static func query(_ host: String) -> Answer {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = Int32(AI_ADDRCONFIG)
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, nil, &hints, &list)
    defer { if let list { freeaddrinfo(list) } }
    guard status == 0 else {
      switch status {
      // glibc names EAI_NODATA, "no address of this family", for GNU sources only.
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
