import Dispatch
import Synchronization

/// Who caused a look-up.
public enum NameAsker: Sendable, Hashable {
  /// The name is in the configuration.
  case configuration
  /// A client, by its name or address, chose the name.
  case client(String)
}

/// The process's lanes for look-ups, which block while a name server is silent. Names from the configuration have their own
/// lanes, so clients cannot delay them. One zone uses at most half of either set of lanes, one client at most half of those for
/// clients' names. Each name is looked up only once at a time, for all loops that wait for it.
final class NameLanes: Sendable {
  typealias Answer = Resolver.Answer

  static let shared = NameLanes { Resolver.query($0) }

  /// One wait for an answer.
  struct Ticket: Sendable {
    fileprivate let name: Name
    fileprivate let number: UInt64
  }

  fileprivate struct Name: Hashable {
    var host: String
    /// The look-up runs in the lanes for names from the configuration.
    var isOfConfiguration: Bool
  }

  fileprivate struct Lookup {
    let zone: String
    /// Who waits for it. The first one's share of the backlog holds it.
    var askers: [NameAsker]
    var deliveries: [UInt64: @Sendable (Answer) -> Void]
    /// Not nil: it runs, on this one's share.
    var account: NameAsker?
  }

  /// Counts by key.
  fileprivate struct Tally<Key: Hashable> {
    private var counts: [Key: Int] = [:]
    subscript(key: Key) -> Int { counts[key] ?? 0 }
    mutating func add(_ key: Key) { counts[key, default: 0] += 1 }
    mutating func remove(_ key: Key) {
      guard let count = counts[key] else { return }
      counts[key] = count > 1 ? count - 1 : nil
    }
  }

  /// Lanes, or places in the backlog. One zone or client may use at most half of them.
  fileprivate struct Shares {
    let capacity: Int
    private(set) var count = 0
    private var zones = Tally<String>()
    private var askers = Tally<NameAsker>()
    private var half: Int { max(capacity / 2, 1) }

    init(capacity: Int) { self.capacity = capacity }

    func hasRoom(_ zone: String, _ asker: NameAsker) -> Bool {
      count < capacity && zones[zone] < half && (asker == .configuration || askers[asker] < half)
    }
    mutating func take(_ zone: String, _ asker: NameAsker) {
      count += 1
      zones.add(zone)
      askers.add(asker)
    }
    mutating func giveBack(_ zone: String, _ asker: NameAsker) {
      count -= 1
      zones.remove(zone)
      askers.remove(asker)
    }
  }

  /// One set of lanes and its waiting look-ups, the oldest first.
  fileprivate struct Side {
    var running: Shares
    var backlog: Shares
    var waiting: [Name] = []
    var idle: [DispatchQueue] = []
  }

  fileprivate struct State {
    var lookups: [Name: Lookup] = [:]
    var configuration: Side
    var clients: Side
    var tickets: UInt64 = 0
  }

  private let state: Mutex<State>
  private let query: @Sendable (String) -> Answer

  /// - Parameters:
  ///   - width: lanes in each set.
  ///   - backlog: look-ups that may wait for each set.
  ///   - query: resolves a name; blocks.
  init(width: Int = 16, backlog: Int = 2048, query: @escaping @Sendable (String) -> Answer) {
    let side = Side(running: Shares(capacity: width), backlog: Shares(capacity: backlog))
    state = Mutex(State(configuration: side, clients: side))
    self.query = query
  }

  /// Calls `deliver` once, on a lane. Returns nil and never calls `deliver` if too many look-ups wait.
  func lookUp(_ host: String, for asker: NameAsker, deliver: @escaping @Sendable (Answer) -> Void) -> Ticket? {
    let name = Name(host: host, isOfConfiguration: asker == .configuration)
    let (ticket, begun) = state.withLock { state -> (Ticket?, [(Name, DispatchQueue)]) in
      state.tickets += 1
      let ticket = Ticket(name: name, number: state.tickets)
      if state.lookups[name] == nil {
        let zone = Self.zone(of: host)
        guard state[name].backlog.hasRoom(zone, asker) else { return (nil, []) }
        state[name].backlog.take(zone, asker)
        state[name].waiting.append(name)
        state.lookups[name] = Lookup(zone: zone, askers: [asker], deliveries: [:])
      }
      state.lookups[name]?.deliveries[ticket.number] = deliver
      state.join(asker, name)
      return (ticket, state.begin(like: name))
    }
    run(begun)
    return ticket
  }

  /// Another asker wants the same answer. If the first asker has used up its share, the look-up may run on this one's.
  func join(_ ticket: Ticket, _ asker: NameAsker) {
    run(
      state.withLock { state in
        state.join(asker, ticket.name)
        return state.begin(like: ticket.name)
      })
  }

  /// Cancels a wait. Drops a look-up that has not begun and that nobody else waits for.
  /// - Returns: whether it had not begun, so that nothing will be delivered.
  func withdraw(_ ticket: Ticket) -> Bool {
    state.withLock { state in
      guard let lookup = state.lookups[ticket.name], lookup.account == nil, lookup.deliveries[ticket.number] != nil else {
        return false
      }
      state.lookups[ticket.name]?.deliveries[ticket.number] = nil
      guard lookup.deliveries.count == 1 else { return true }
      state.lookups[ticket.name] = nil
      state[ticket.name].backlog.giveBack(lookup.zone, lookup.askers[0])
      state[ticket.name].waiting.removeAll { $0 == ticket.name }
      return true
    }
  }

  private func run(_ begun: [(name: Name, lane: DispatchQueue)]) {
    for (name, lane) in begun {
      lane.async { @Sendable [self] in
        let answer = query(name.host)
        finish(name, lane, answer)
      }
    }
  }

  private func finish(_ name: Name, _ lane: DispatchQueue, _ answer: Answer) {
    let (deliveries, begun) = state.withLock { state -> ([@Sendable (Answer) -> Void], [(Name, DispatchQueue)]) in
      guard let lookup = state.lookups.removeValue(forKey: name), let account = lookup.account else { return ([], []) }
      state[name].running.giveBack(lookup.zone, account)
      state[name].idle.append(lane)
      return (Array(lookup.deliveries.values), state.begin(like: name))
    }
    for deliver in deliveries { deliver(answer) }
    run(begun)
  }

  /// The zone of one administrator, as far as a name shows it: the last two labels, or three if the last two look like a
  /// country's registry (`co.uk`, `com.au`).
  static func zone(of host: String) -> String {
    let labels = host.split(separator: ".")
    guard labels.count > 2 else { return host }
    let isRegistry = labels[labels.count - 1].utf8.count == 2 && labels[labels.count - 2].utf8.count <= 3
    return labels.suffix(isRegistry ? 3 : 2).joined(separator: ".")
  }
}

extension NameLanes.State {
  fileprivate subscript(name: NameLanes.Name) -> NameLanes.Side {
    get { name.isOfConfiguration ? configuration : clients }
    _modify { if name.isOfConfiguration { yield &configuration } else { yield &clients } }
  }

  /// Most askers of one look-up. A few are enough, as each has its own share of the lanes.
  fileprivate mutating func join(_ asker: NameAsker, _ name: NameLanes.Name) {
    guard let lookup = lookups[name], lookup.account == nil, lookup.askers.count < 8, !lookup.askers.contains(asker) else {
      return
    }
    lookups[name]?.askers.append(asker)
  }

  /// Starts waiting look-ups in the set of `name`, as far as there are free lanes.
  fileprivate mutating func begin(like name: NameLanes.Name) -> [(NameLanes.Name, DispatchQueue)] {
    var begun: [(NameLanes.Name, DispatchQueue)] = []
    var index = 0
    while index < self[name].waiting.count, self[name].running.count < self[name].running.capacity {
      let next = self[name].waiting[index]
      guard let lookup = lookups[next],
        let account = lookup.askers.first(where: { self[name].running.hasRoom(lookup.zone, $0) })
      else {
        index += 1
        continue
      }
      self[name].waiting.remove(at: index)
      self[name].backlog.giveBack(lookup.zone, lookup.askers[0])
      self[name].running.take(lookup.zone, account)
      lookups[next]?.account = account
      begun.append((next, self[name].idle.popLast() ?? DispatchQueue(label: "lane.names")))
    }
    return begun
  }
}
