import Cache
import EventIO

/// One loop's fetches, and its requests that read those of any loop. Confined to the loop, which owns it.
final class CacheDesk: EventHandler {
  /// Requests that go on per event-loop turn. Bounds how long one answer can hold the loop.
  private static let wakeUps = 64

  /// Milliseconds.
  private static let sweepPause = 10_000

  private let loop: EventLoop
  private var lastReader: UInt64 = 0
  private var readers: [ReaderID: JoinedFetch] = [:]
  /// Those that read a body.
  private var reading: [ObjectIdentifier: [ReaderID]] = [:]
  private var news: [(reader: ReaderID, news: ReaderNews)] = []
  private var taken = 0

  let store: CacheStore
  let variants = RecentVariants()
  let requests = RecentRequests()
  let heads = RecentHeads()
  private var isSweeping = false

  private init(_ loop: EventLoop, _ store: CacheStore) {
    self.loop = loop
    self.store = store
  }

  static func install(on loop: EventLoop, _ store: CacheStore) -> CacheDesk {
    let desk = CacheDesk(loop, store)
    loop.install(desk)
    return desk
  }

  // MARK: The store

  /// An answer was stored: now and then the useless ones are dropped, as long as there are any.
  func noteStored() {
    if isSweeping { return }
    isSweeping = true
    loop.arm(self, afterMilliseconds: Self.sweepPause)
  }

  override func expired(on loop: EventLoop) {
    store.sweep(now: loop.now)
    isSweeping = store.wantsSweep
    if isSweeping { loop.arm(self, afterMilliseconds: Self.sweepPause) }
  }

  // MARK: Fetches of this loop

  /// nil: nobody has joined it, or it has ended.
  func fetch(of flight: Flight) -> SharedFetch? { flight.owner as? SharedFetch }

  func join(_ flight: Flight, _ id: ReaderID, _ asked: AskedFields, from executor: LoopExecutor, isSecondTry: Bool) {
    if let fetch = fetch(of: flight) ?? (flight.owner as? any FlightLeader)?.openFetch() {
      return fetch.join(id, asked, from: executor, isSecondTry: isSecondTry)
    }
    // It has ended while the request was on its way here.
    executor.call { loop in loop.resident(CacheDesk.self).tell([(id, .lookAgain)]) }
  }

  // MARK: Readers on this loop

  /// Requests that wait for a head.
  var waitingCount: Int { readers.values.count { $0.subscription == nil } }

  /// Unique in the process.
  func newReader() -> ReaderID {
    lastReader += 1
    return ReaderID(UInt64(loop.executor.index) << 48 | lastReader)
  }

  func began(_ joined: JoinedFetch) { readers[joined.id] = joined }

  func ended(_ joined: JoinedFetch) {
    readers[joined.id] = nil
    guard joined.subscription != nil else { return }
    let key = ObjectIdentifier(joined.flight)
    reading[key]?.removeAll { $0 == joined.id }
    if reading[key]?.isEmpty == true { reading[key] = nil }
  }

  func reads(_ joined: JoinedFetch) { reading[ObjectIdentifier(joined.flight), default: []].append(joined.id) }

  func wake(_ flight: Flight) {
    for id in reading[ObjectIdentifier(flight)] ?? [] { readers[id]?.readAgain() }
  }

  func tell(_ list: [(reader: ReaderID, news: ReaderNews)]) {
    news += list
    loop.again(self)
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    let end = min(news.count, taken + Self.wakeUps)
    while taken < end {
      let next = news[taken]
      taken += 1
      // It may have left meanwhile.
      readers[next.reader]?.told(next.news)
    }
    if taken == news.count {
      news.removeAll(keepingCapacity: news.count <= 1024)
      taken = 0
    } else {
      loop.again(self)
    }
  }
}
