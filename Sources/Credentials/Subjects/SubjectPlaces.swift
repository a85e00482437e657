/// The places of a table of subjects: who gets one, and who is evicted. Bounded; every operation takes constant time.
struct SubjectPlaces: Sendable {
  enum Phase: Sendable {
    case idle
    case queued(Secret)
    case flying(Secret)
  }

  struct Entry: Sendable {
    let key: SubjectKey
    let budget: Int
    var phase = Phase.idle
    fileprivate(set) var credential: RenderedCredential?
    /// An API has refused this version, and an exchange is to show why.
    var refusedVersion: UInt64?
    /// The server has accepted the subject once.
    var wasAccepted = false
    /// Requests wait for it. Then it is not evicted.
    var isAwaited = false
    /// When the last request began to wait for it.
    var needed: Int64 = 0
    /// When the running exchange began: lifetimes count from here.
    var requested: Int64 = 0
    var refusedUntil = Int64.min
    var failure: (until: Int64, count: Int, why: CredentialUnavailable)?
    /// Exchanges that refusals caused.
    var window: (start: Int64, count: Int) = (.min, 0)
  }

  /// By client, in the order of their first requests.
  var budgets: [SubjectBudget] = []
  private var limit: Int
  /// Versions that requests may still have, besides those in the entries.
  private var held = HeldVersions()
  /// There are logins that can end: an actor's.
  var canWithdraw = false
  private var entries: [Entry?] = []
  private var free: [Int] = []
  private var places: [SubjectKey: Int] = [:]
  private var clients: [SubjectClient: Int] = [:]
  /// The budget that was looked at last.
  private var hand = 0
  /// Entries that may be evicted: all, and those of each client.
  private var recent = RecencyLinks()
  private var recentOfClient = RecencyLinks()

  /// - Parameter limit: entries, at least 1.
  init(limit: Int) {
    self.limit = limit
    recent.makeNodes(upTo: Self.anchor)
  }

  var count: Int { places.count }

  func place(of key: SubjectKey) -> Int? { places[key] }

  subscript(place: Int) -> Entry? {
    get { entries[place] }
    set { entries[place] = newValue }
  }

  mutating func change(_ body: (inout Entry) -> Void) {
    for place in entries.indices {
      guard var entry = entries[place] else { continue }
      body(&entry)
      entries[place] = entry
    }
  }

  mutating func shrink(to limit: Int) {
    self.limit = limit
    while places.count > limit, evict() {}
  }

  /// A place for a new subject; nil if requests wait for every one that it could take. One client has half of the places at
  /// most.
  mutating func insert(_ key: SubjectKey, _ budget: Int) -> Int? {
    if budgets[budget].entries >= max(1, limit / 2), !evict(of: budget) { return nil }
    if places.count >= limit, !evict() { return nil }
    let place = free.popLast() ?? makePlace()
    entries[place] = Entry(key: key, budget: budget)
    places[key] = place
    budgets[budget].entries += 1
    return place
  }

  private mutating func makePlace() -> Int {
    entries.append(nil)
    recent.makeNodes(upTo: node(entries.count - 1))
    recentOfClient.makeNodes(upTo: nodeOfClient(entries.count - 1))
    return entries.count - 1
  }

  // Nodes of `recent`: the anchor, then the places. Of `recentOfClient`: places and anchors of budgets by turns.
  private static let anchor = 0
  private func node(_ place: Int) -> Int { place + 1 }
  private func nodeOfClient(_ place: Int) -> Int { 2 * place }
  private func anchor(_ budget: Int) -> Int { 2 * budget + 1 }

  /// The least recently used entry of all that nobody waits for; false: there is none.
  private mutating func evict() -> Bool {
    guard let node = recent.last(of: Self.anchor) else { return false }
    remove(node - 1)
    return true
  }

  private mutating func evict(of budget: Int) -> Bool {
    guard let node = recentOfClient.last(of: anchor(budget)) else { return false }
    remove(node / 2)
    return true
  }

  mutating func remove(_ place: Int) {
    guard let entry = entries[place] else { return }
    unlist(place)
    if canWithdraw, let credential = entry.credential { held.add(credential) }
    entries[place] = nil
    places[entry.key] = nil
    budgets[entry.budget].entries -= 1
    free.append(place)
  }

  mutating func replace(_ place: Int, with next: RenderedCredential?) {
    if canWithdraw, let credential = entries[place]?.credential { held.add(credential) }
    entries[place]?.credential = next
  }

  /// No token is sent any more, whoever has it.
  mutating func withdraw() {
    held.withdraw()
    change { entry in
      entry.credential?.withdraw()
      entry.credential = nil
    }
  }

  mutating func unlist(_ place: Int) {
    recent.remove(node(place))
    recentOfClient.remove(nodeOfClient(place))
  }

  /// Requests wait for it: it is not evicted.
  mutating func hold(_ place: Int, _ now: Int64) {
    entries[place]?.isAwaited = true
    entries[place]?.needed = now
    unlist(place)
  }

  /// It is the most recently used one, unless something waits for it.
  mutating func touch(_ place: Int) {
    guard let entry = entries[place], !entry.isAwaited, case .idle = entry.phase else { return }
    unlist(place)
    recent.insert(node(place), in: Self.anchor)
    recentOfClient.insert(nodeOfClient(place), in: anchor(entry.budget))
  }

  // MARK: Clients

  private static let keptBudgets = 1_024
  /// Looked at for each new client beyond these.
  private static let budgetsPerLook = 16

  mutating func budget(of client: SubjectClient, _ now: Int64) -> Int {
    if let known = clients[client] { return known }
    // Those of clients that went away serve again.
    if budgets.count >= Self.keptBudgets, let idle = idleBudget(now) {
      clients[budgets[idle].client] = nil
      budgets[idle] = SubjectBudget(client)
      clients[client] = idle
      return idle
    }
    budgets.append(SubjectBudget(client))
    recentOfClient.makeNodes(upTo: anchor(budgets.count - 1))
    clients[client] = budgets.count - 1
    return budgets.count - 1
  }

  /// Nil if the next few are all in use: there are so many clients now.
  private mutating func idleBudget(_ now: Int64) -> Int? {
    for _ in 0..<Self.budgetsPerLook {
      hand = (hand + 1) % budgets.count
      if budgets[hand].isIdle(now) { return hand }
    }
    return nil
  }
}
