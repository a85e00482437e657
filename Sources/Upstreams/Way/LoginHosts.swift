/// A target's host without its port, as a hash that is seeded for this process: nobody can choose hosts that collide.
typealias LoginHost = Int

/// For what a parent is asked. A parent may let one port of a host through and refuse another.
struct LoginTarget: Hashable {
  var host: LoginHost
  var port: UInt16
  /// Of several addresses the one that the parent is asked for (`resolve: here`), as a hash. It is no part of the target's identity: all of
  /// them together are one host.
  var address = 0

  static func == (one: LoginTarget, other: LoginTarget) -> Bool { one.host == other.host && one.port == other.port }
  func hash(into hasher: inout Hasher) {
    hasher.combine(host)
    hasher.combine(port)
  }
}

extension LoginTarget {
  init(_ name: some StringProtocol, _ port: UInt16) { self.init(host: name.hashValue, port: port) }
}

/// The last ones of which something is known.
struct LoginRecents<Item: Hashable> {
  private let capacity: Int
  private var items: Set<Item> = []
  /// The latest is the last.
  private var order: [Item] = []

  init(capacity: Int) { self.capacity = capacity }

  var isEmpty: Bool { items.isEmpty }

  func contains(_ item: Item) -> Bool { items.contains(item) }

  /// Makes it the latest.
  /// - Returns: whether it is new.
  @discardableResult mutating func insert(_ item: Item) -> Bool {
    let isNew = items.insert(item).inserted
    if !isNew {
      guard order.last != item else { return false }
      order.removeAll { $0 == item }
    } else if order.count >= capacity {
      items.remove(order.removeFirst())
    }
    order.append(item)
    return isNew
  }

  mutating func remove(_ item: Item) -> Bool {
    guard items.remove(item) != nil else { return false }
    order.removeAll { $0 == item }
    return true
  }

  mutating func removeAll() {
    items = []
    order = []
  }
}

typealias LoginHosts = LoginRecents<LoginHost>

/// Targets for which a parent has accepted a credential.
struct LoginServed {
  private var targets = LoginRecents<LoginTarget>(capacity: 256)
  private var hosts = LoginHosts(capacity: 256)

  var isEmpty: Bool { targets.isEmpty }

  func contains(_ target: LoginTarget) -> Bool { targets.contains(target) }

  /// - Returns: whether no port of its host was served: one host says nothing new with each of its ports.
  mutating func insert(_ target: LoginTarget) -> Bool {
    targets.insert(target)
    return hosts.insert(target.host)
  }

  mutating func remove(_ target: LoginTarget) -> Bool {
    guard targets.remove(target) else { return false }
    _ = hosts.remove(target.host)
    return true
  }
}

/// Hosts for which a credential is held back, but for those ports that were served. Times in nanoseconds of the monotonic clock.
struct LoginHolds {
  struct Hold {
    var asked: String
    /// For which it was refused.
    var port: UInt16
    var until: Int64
    var pause: Int64
  }

  private let capacity: Int
  private(set) var holds: [LoginHost: Hold] = [:]

  init(capacity: Int) { self.capacity = capacity }

  func live(_ host: LoginHost, at now: Int64) -> Hold? {
    guard !holds.isEmpty, let hold = holds[host], now < hold.until else { return nil }
    return hold
  }

  /// - Parameters:
  ///   - first: how long; each further one is twice as long, if it follows within the time of the last.
  ///   - longest: no longer than this.
  mutating func hold(_ target: LoginTarget, asked: String, first: Int64, longest: Int64, at now: Int64) {
    let host = target.host
    var pause = first
    if let last = holds[host], now < last.until + last.pause {
      // Several connections may say the same at once.
      if now < last.until { return }
      pause = max(first, min(2 * last.pause, longest))
    }
    // Apps choose hosts, so there may be many.
    if holds[host] == nil, holds.count >= capacity {
      holds = holds.filter { now < $0.value.until + $0.value.pause }
      if holds.count >= capacity, let soonest = holds.min(by: { $0.value.until < $1.value.until }) {
        holds[soonest.key] = nil
      }
    }
    holds[host] = Hold(asked: asked, port: target.port, until: now + pause, pause: pause)
  }

  /// It is accepted for this target. For another port of the host that says nothing.
  mutating func remove(_ target: LoginTarget) {
    if !holds.isEmpty, holds[target.host]?.port == target.port { holds[target.host] = nil }
  }
}

/// A pause that doubles. Times in nanoseconds of the monotonic clock.
struct LoginPause {
  private(set) var until: Int64 = .min
  private var length: Int64 = 0

  /// The next one, unless one goes on.
  mutating func begin(first: Int64, longest: Int64, at now: Int64) {
    guard now >= until else { return }
    length = length == 0 ? first : min(2 * length, longest)
    until = now + length
  }

  /// As long as the last one, unless one goes on.
  mutating func again(first: Int64, at now: Int64) {
    guard now >= until else { return }
    length = max(length, first)
    until = now + length
  }
}
