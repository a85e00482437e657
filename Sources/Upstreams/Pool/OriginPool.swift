import EventIO
import TLS
import Trust

/// One loop's connections to one origin, and the requests that wait for one.
///
/// An idle connection closes itself at the deadline that `place` and `keep` set (`UpstreamConnection.expired`), if the origin
/// speaks or closes (`lookWhileIdle`; after half a TLS record it has two seconds), and if its renewed verdict is bad. The pool
/// closes it if another loop's requests wait for a place (`surrenderIdle`, called through `OriginLimit.wait`) or a dial finds no
/// descriptor left, if several stale ones were found in a row (`dropIdle`) or a new one is to prove something (`beginAnew`), and
/// when a reload retires the pool (`retire`). One that belongs to an app connection also goes with it (`ClientHoldings.end`), for
/// the line (`connectForLine`), or if its verdict or user no longer fits (`serve`). A drain of the process leaves idle ones
/// alone: they end with it.
///
/// All that changes its connections and its line is in this file.
public final class OriginPool {
  /// Upper bound on handshakes at a time. Each costs the loop 0.6 ms.
  static let handshakes = 16
  /// The same for requests that share connections one after another: short ones need few.
  static let handshakesForLoners = 4

  /// So many connections that became free in a turn or two, of a loop that is behind with its work, show that the loop is what limits
  /// this origin's requests. A handshake would hold them up.
  private static let quickTurnover = 8
  /// With fewer connections another one is always worth its handshake.
  private static let fewConnections = 64

  public let origin: Origin
  /// HTTP/2 may be offered here: with TLS, and connections that no authentication binds to one request after another.
  public let mayOfferHTTP2: Bool
  /// Lives as long as its loop, which never ends.
  let upstreams: Upstreams
  let loop: EventLoop
  public let limit: OriginLimit
  private(set) var idle = ContiguousArray<UpstreamConnection>()
  /// Idle connections that each serve one app connection only.
  private(set) var bound = ContiguousArray<UpstreamConnection>()
  private(set) var connecting = ContiguousArray<UpstreamConnection>()
  /// HTTP/2 connections. The requests on them are exchanges with connections of their own.
  private(set) var carriers = ContiguousArray<Carrier>()
  /// How many requests the origin took at once, on the last of them; nil: it has not said so.
  private(set) var lastPeerLimit: Int?
  private var isSpreading = false
  /// Exchanges that wait for a connection. Each has taken a place of its client's share.
  private(set) var line = WaitingLine<Exchange>()
  private var heldBack = HeldBack<Exchange>()
  private var turn = OwnTurn()
  /// Connections that became free while another one was being lent.
  private(set) var returned = ContiguousArray<UpstreamConnection>()
  private var isLending = false
  private var isConnectingForLine = false
  /// A connection that closes now leaves its place to another loop.
  private(set) var handsOver = false
  private(set) var active = 0
  private var turnover = Turnover()
  private(set) var isRetired = false
  /// `Upstreams` has dropped its record, as the pool was empty. A request may still hold the pool.
  var isForgotten = false
  /// An entry of the current configuration refers to it.
  public var isOfEntry = false
  /// Name of the entry that leads here, for the metrics.
  var upstream = ""
  /// When the certificate that the origin showed last expires, in seconds since 1970.
  var certificateExpiry: Int64?
  /// The key of its TLS sessions.
  let trustKey: TrustKey
  /// The chain that was verified last.
  private var chain: [Certificate] = []
  /// Of the entry that asked last. Entries can share an origin and still have different timeouts.
  private(set) var timeouts: Deadlines
  /// How many connections the origin may have in the whole process.
  private(set) var capacity: Int
  /// Armed, or on the ready list, while new connections wait.
  private var restEnd: RestEnd?
  /// What is known of the protocol that the origin speaks; nil: HTTP/2 is not offered.
  let protocols: ProtocolMemory.Place?
  /// Of the pools of this origin to which HTTP/2 is offered, the one that was asked for last. Those never have one themselves, so no
  /// two pools own each other.
  private var lastOffering: OriginPool?
  /// Some of the origin's requests go in absolute-form, others through tunnels, each in a pool of their own.
  public let hasBothForms: Bool
  /// The same origin may have another pool: for requests of the other form, or another protocol. All share the limit.
  var hasSibling: Bool { hasBothForms || limit.hasStreams }

  init(_ origin: Origin, limit: OriginLimit, upstreams: Upstreams) {
    self.origin = origin
    trustKey = origin.identity.trustKey
    self.limit = limit
    timeouts = upstreams.rules.timeouts
    capacity = upstreams.rules.connections
    hasBothForms = origin.hasBothForms
    mayOfferHTTP2 = origin.identity.isTLS && origin.identity.account.isEmpty
    if origin.identity.streams != nil { limit.noteStreams() }
    protocols = origin.identity.streams.map { .init(origin.identity.ofEitherForm, isRequired: $0.isRequired) }
    self.upstreams = upstreams
    loop = upstreams.loop
  }

  var idleCount: Int { idle.count + bound.count + carriers.count { $0.isIdle } }
  /// Connections with a request on them. Of streams there may be more.
  var activeCount: Int { active + carriers.count { !$0.isIdle } }
  var streamCount: Int { carriers.reduce(0) { $0 + $1.count } }
  public var isConnecting: Bool { !connecting.isEmpty }
  /// A connection waits for a revocation answer, which has its own time limits.
  public var isJudging: Bool { connecting.contains { $0.isJudging } }
  var connectingCount: Int { connecting.count }
  var isEmpty: Bool {
    idle.isEmpty && bound.isEmpty && connecting.isEmpty && active == 0 && line.isEmpty && heldBack.isEmpty && carriers.isEmpty
  }
  /// It has resolved the name and connected recently: a connection is idle or active.
  public var isWarm: Bool { !idle.isEmpty || active > 0 || !carriers.isEmpty }

  // MARK: Requests

  /// Lends the exchange a connection, now or when one can be had.
  /// - Parameter timeouts: of its entry.
  public func serve(_ exchange: Exchange, timeouts: Deadlines) {
    self.timeouts = timeouts
    if isForgotten { upstreams.remember(self) }
    exchange.isWaiting = true
    guard let share = exchange.share else { preconditionFailure("an exchange has a share") }
    if !exchange.holdings.isEmpty, let own = exchange.holdings.resting(in: self) {
      if own.mayServe(exchange) { return lend(own: own, to: exchange) }
      own.close()
    }
    // Requests of the same client that are held back here go first.
    guard heldBack.isEmpty || !heldBack.contains(share), limit.take(share, of: shareable) else {
      heldBack.append(exchange, of: share, at: loop.now)
      return shareFreed(share)
    }
    if let protocols, multiplexes(protocols) {
      line.append(exchange, at: loop.now)
      return advance()
    }
    if let connection = nextIdle() {
      if connection.isTrusted(at: loop.now) {
        lend(connection, to: exchange)
      } else {
        line.append(exchange, at: loop.now)
        judgeAgain(connection)
      }
      return
    }
    line.append(exchange, at: loop.now)
    connectForLine()
  }

  /// Takes an idle connection whose requests its parent, if there is one, will still take.
  private func nextIdle() -> UpstreamConnection? {
    while let connection = idle.popLast() {
      guard let absolute = connection.absolute, !absolute.mayPresent(now: loop.now) else { return connection }
      connection.close()
    }
    return nil
  }

  /// Lends a connection that belongs to the exchange's app connection. It already counts in its client's share.
  private func lend(own: UpstreamConnection, to exchange: Exchange) {
    bound.removeAll { $0 === own }
    active += 1
    own.begin(exchange)
  }

  private func lend(_ connection: UpstreamConnection, to exchange: Exchange) {
    active += 1
    connection.share = exchange.share
    connection.begin(exchange)
  }

  /// Removes an exchange that no longer waits.
  /// - Returns: whether it was held back because its client used its whole share.
  func abandon(_ exchange: Exchange) -> Bool {
    guard let share = exchange.share else { return false }
    if heldBack.remove(exchange, of: share) {
      tidy()
      return true
    }
    if line.remove(exchange) {
      free(share)
      advance()
    }
    tidy()
    return false
  }

  /// Lends idle connections to the line, and opens connections for what is left of it.
  private func advance() {
    if !carriers.isEmpty { spread() }
    while line.count > connecting.count + returned.count, let connection = nextIdle() { offer(connection) }
    if !line.isEmpty { connectForLine() }
  }

  /// Opens connections for the line. If it wants more than there are places, it waits for the next one.
  func connectForLine() {
    // A connection that fails at once comes here again, for exchanges that were held back. The loop below serves them:
    // recursion would add one call for each of them.
    guard !isConnectingForLine else { return }
    isConnectingForLine = true
    defer { isConnectingForLine = false }
    while wantsPlace {
      if !limit.take(of: capacity) {
        // A waiting request is worth more than the next step of an app's authentication, which may never come.
        if let oldest = oldestBound {
          oldest.close()
          continue
        }
        if let other = siblingWithSurplus {
          other.surrenderIdle()
          continue
        }
        limit.wait(loop.executor, in: upstreams.shared.group)
        // A loop that gave a place back before it saw this wait has woken no loop.
        guard limit.take(of: capacity) else { return }
      }
      connect()
    }
  }

  /// Opens a connection, whose place is already taken.
  func connect() {
    let connection = UpstreamConnection(self, upstreams)
    connecting.append(connection)
    connection.open()
  }

  /// The origin has asked for less. The pool looks again when the pause is over.
  var isResting: Bool {
    let until = limit.calmUntil
    guard until > loop.now else { return false }
    if restEnd == nil { restEnd = RestEnd(self) }
    if let restEnd { loop.arm(restEnd, at: until) }
    return true
  }

  /// The loop has no time for more connections. The pool looks again in the next turn.
  var isLimitedByLoop: Bool {
    guard active >= Self.fewConnections, loop.isBehind, turnover.freed(in: loop.turn) >= Self.quickTurnover else {
      return false
    }
    if restEnd == nil { restEnd = RestEnd(self) }
    if let restEnd { loop.again(restEnd) }
    return true
  }

  // MARK: Shares

  /// Whether requests of that client are held back here.
  func holdsBack(for share: OriginShare) -> Bool { heldBack.contains(share) }
  /// Since when; nil: they are not.
  func holdsBackSince(for share: OriginShare) -> Int64? { heldBack.since(of: share) }

  /// Places of the share may be free: held back requests of that client take them and join the line.
  func shareFreed(_ share: OriginShare) {
    admit(share)
    advance()
  }

  private func admit(_ share: OriginShare) {
    while heldBack.contains(share) {
      if !limit.take(share, of: shareable) {
        share.wait(loop.executor)
        // A loop that gave a place back before it saw this wait has woken no loop.
        guard limit.take(share, of: shareable) else { return }
      }
      if let exchange = heldBack.removeFirst(of: share) {
        line.append(exchange, at: loop.now)
      } else {
        share.giveBack()
      }
    }
  }

  /// Gives a place of the share back, as an exchange or a wait in line has ended. The client's next held back request here
  /// joins the end of the line, or another loop or pool that holds its requests back is woken. The caller must call `advance` after it.
  private func free(_ share: OriginShare) {
    share.giveBack()
    guard !heldBack.isEmpty, heldBack.contains(share) else {
      share.wakeOne()
      return
    }
    let executor = upstreams.loop.executor
    let sibling = hasSibling ? upstreams.pool(holdingBackFor: share, otherThan: self) : nil
    let othersWait = sibling != nil || share.isWaitedFor(byOtherThan: executor)
    if heldBack.isOwnTurnOver(share, at: loop.now, othersWait: othersWait) {
      // This loop still waits for the next place.
      share.wait(executor)
      if share.wakeOne(otherThan: executor) { return }
      sibling?.shareFreed(share)
    }
    admit(share)
  }

  /// A reload has changed the limit of connections.
  func adopt(capacity: Int) {
    self.capacity = capacity
    admitHeldBack()
    advance()
  }

  private func admitHeldBack() {
    for share in heldBack.shares { admit(share) }
  }

  // MARK: Streams

  /// The pool of the same origin for requests that share HTTP/2 connections so. It remembers the last one, as a request usually asks
  /// for what the one before it asked for.
  /// - Parameters:
  ///   - streams: without an authority.
  ///   - authority: as the app asked for it; empty: the origin's own.
  public func offering(_ streams: StreamIdentity, authority: UnsafeRawBufferPointer) -> OriginPool {
    if origin.identity.streams?.equals(streams, authority: authority) == true { return self }
    if let last = lastOffering, !last.isForgotten, !last.isRetired,
      last.origin.identity.streams?.equals(streams, authority: authority) == true
    {
      return last
    }
    var whole = streams
    whole.authority = Array(authority)
    let pool = upstreams.pool(offering: whole, like: self)
    if origin.identity.streams == nil, !streams.isAlone { lastOffering = pool }
    tidy()
    return pool
  }

  func opened(_ carrier: Carrier) {
    connecting.removeAll { $0 === carrier.root }
    if isRetired || upstreams.isDraining, line.isEmpty { return carrier.root.close() }
    carriers.append(carrier)
  }

  /// The verdict of its connection was renewed, or the carrier has been retired for want of one.
  func judged(_ carrier: Carrier) {
    connecting.removeAll { $0 === carrier.root }
    // While the line is given out, this one is looked at next.
    if !isSpreading { advance() }
  }

  /// The origin has said how many requests it takes at once on a connection. If these are more, so is each client's share of them.
  func peerTakes(_ count: Int) {
    let before = shareable
    lastPeerLimit = count
    if shareable > before { admitHeldBack() }
  }

  /// A connection has free streams again, or is no longer expected to have some.
  func changed() {
    advance()
    tidy()
  }

  /// Gives the line to connections with free streams.
  private func spread() {
    guard !isSpreading else { return }
    isSpreading = true
    while let exchange = line.first, let carrier = carrier(for: exchange) {
      _ = line.removeFirst()
      lend(carrier.open(), to: exchange)
    }
    isSpreading = false
  }

  /// A stream has ended, and its exchange with it.
  func streamEnded(_ connection: UpstreamConnection) {
    exchangeEnded(on: connection)
    if isOwnTurnOver() { yieldPlace() }
    advance()
    tidy()
  }

  // MARK: Connections

  /// Judges an idle connection whose verdict has expired. It is lent once it has a new one.
  func judgeAgain(_ connection: UpstreamConnection) {
    connecting.append(connection)
    connection.judgeAgain()
  }

  /// Returns one shared array for all connections whose chains are equal: a chain takes tens of kilobytes.
  func shared(_ verified: [Certificate]) -> [Certificate] {
    if chain != verified { chain = verified }
    return chain
  }

  func opened(_ connection: UpstreamConnection) {
    connecting.removeAll { $0 === connection }
    offer(connection)
    // One handshake less: the next exchange in line gets its own connection.
    advance()
  }

  func failed(_ connection: UpstreamConnection, _ error: UpstreamError) {
    connecting.removeAll { $0 === connection }
    // Exchanges that were in line when this connection was begun would have got it, so its failure is theirs. The others get
    // another attempt.
    let failing = line.removeAll(upTo: connection.began)
    for exchange in failing { if let share = exchange.share { free(share) } }
    for exchange in failing {
      exchange.isWaiting = false
      exchange.failed(error)
    }
    advance()
  }

  /// A new connection cannot be used, and closes next. Another one may be better, so it fails only one of the exchanges that were
  /// in line when it was begun. If it failed none, the proxy would open connections without end to an origin that spoils them all.
  func unusable(_ connection: UpstreamConnection, _ error: UpstreamError) {
    connecting.removeAll { $0 === connection }
    if let exchange = line.removeFirst(upTo: connection.began) {
      if let share = exchange.share { free(share) }
      exchange.isWaiting = false
      exchange.failed(error)
    }
    advance()
  }

  /// A connection is free: its exchange has ended in step.
  func release(_ connection: UpstreamConnection) {
    turnover.note(in: loop.turn)
    exchangeEnded(on: connection)
    offer(connection)
    advance()
  }

  /// The same for a connection that belongs to one app connection. It waits for the next request of that app connection, so it
  /// still counts in its client's share.
  func keep(_ connection: UpstreamConnection) {
    active -= 1
    bound.append(connection)
    // Its next step comes at once.
    if connection.isReserved { return connection.rested(until: loop.now + timeouts.upstreamIdle) }
    if isRetired || upstreams.isDraining { return connection.close() }
    connection.rested(until: loop.now + timeouts.upstreamIdle)
    advance()
  }

  /// The next step of an authentication has not come.
  func reservationEnded(_ connection: UpstreamConnection) {
    if isRetired || upstreams.isDraining { return connection.close() }
    advance()
  }

  /// Takes an idle connection out of use for a moment. It counts as active until `release`, `keep`, or its end.
  func withdraw(_ connection: UpstreamConnection) {
    idle.removeAll { $0 === connection }
    bound.removeAll { $0 === connection }
    active += 1
  }

  private func exchangeEnded(on connection: UpstreamConnection) {
    active -= 1
    leaveShare(connection)
  }

  private func leaveShare(_ connection: UpstreamConnection) {
    guard let share = connection.share else { return }
    connection.share = nil
    free(share)
  }

  /// Offers a free connection to the line. An exchange can return it at once, if its token expired while it waited. Then the
  /// outer call offers it to the next exchange: recursion would add one call for each exchange that waits.
  private func offer(_ connection: UpstreamConnection) {
    guard !isLending else { return returned.append(connection) }
    isLending = true
    place(connection)
    while let next = returned.popLast() { place(next) }
    isLending = false
  }

  private func place(_ connection: UpstreamConnection) {
    if line.isEmpty {
      // A retired pool still serves its line: these exchanges began before, and have no other pool.
      if isRetired || isForLoners || upstreams.isDraining { return connection.close() }
      // Others' requests wait for a place, and need it more than an idle connection here.
      if othersWantPlace { return connection.close() }
      if let route = origin.route, upstreams.hasBetterWay(than: connection, on: route) { return connection.close() }
      idle.append(connection)
      return connection.rested(until: loop.now + timeouts.upstreamIdle)
    }
    if isOwnTurnOver() {
      handsOver = true
      connection.close()
      handsOver = false
      return
    }
    guard connection.isTrusted(at: loop.now) else { return judgeAgain(connection) }
    if let exchange = line.removeFirst() { lend(connection, to: exchange) }
  }

  /// A connection was closed in the given phase.
  func ended(_ connection: UpstreamConnection, was phase: UpstreamConnection.Phase) {
    switch phase {
    case .idle:
      // The oldest connections expire first, and are first in the list.
      if let index = idle.firstIndex(where: { $0 === connection }) { idle.remove(at: index) }
      bound.removeAll { $0 === connection }
      leaveShare(connection)
    case .active, .settling: exchangeEnded(on: connection)
    case .carrying:
      handsOver = carriers.contains { $0.root === connection && $0.handsOver }
      carriers.removeAll { $0.root === connection }
      connecting.removeAll { $0 === connection }
    default: connecting.removeAll { $0 === connection }
    }
    leavePlace()
    if phase == .carrying { handsOver = false }
    advance()
    tidy()
  }

  /// Whether requests in line here have had all places for so long, while others waited, that the next place is theirs.
  func isOwnTurnOver() -> Bool {
    turn.isOver(at: loop.now, othersWait: othersWantPlace)
  }

  /// Closes all idle connections. Several were found closed, one after another, so the others are likely to be closed as well.
  public func dropIdle() {
    let resting = idle
    idle = []
    for connection in resting { connection.close() }
  }

  /// What its origin is asked next goes over a new connection, whichever pool of it that is: an old one would prove nothing.
  public func beginAnew() {
    dropIdle()
    guard hasSibling else { return }
    for pool in upstreams.pools(sharing: limit) {
      pool.dropIdle()
      for carrier in pool.carriers { carrier.retire() }
    }
  }

  /// The asker that is charged for the name look-up of the next connection.
  var nameAsker: NameAsker { line.newest?.nameAsker ?? .configuration }

  /// No entry leads here any more: idle connections end now, others after their exchange.
  func retire() {
    isRetired = true
    let resting = idle + bound
    idle = []
    bound = []
    for connection in resting { connection.close() }
    for carrier in carriers { carrier.retire() }
  }

  /// Drops the pool's record if nothing is left in the pool.
  public func tidy() {
    if isEmpty, !isForgotten { upstreams.emptied(self) }
  }
}

/// Wakes a pool whose new connections waited.
private final class RestEnd: EventHandler {
  private weak var pool: OriginPool?
  init(_ pool: OriginPool) { self.pool = pool }
  override func expired(on loop: EventLoop) { pool?.changed() }
  override func ready(_ events: UInt32, on loop: EventLoop) { pool?.changed() }
}
