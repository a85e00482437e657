import EventIO
import TLS
import Trust

/// One loop's connections to one origin, and the requests that wait for one.
public final class OriginPool {
  /// A handshake costs 0.6 ms of the loop: at most so many at once.
  private static let handshakes = 16

  public let origin: Origin
  /// Lives as long as its loop, which never ends.
  unowned(unsafe) let upstreams: Upstreams
  public let limit: OriginLimit
  private var idle = ContiguousArray<UpstreamConnection>()
  /// Those that rest with the one client connection that they belong to.
  private var bound = ContiguousArray<UpstreamConnection>()
  private var connecting = ContiguousArray<UpstreamConnection>()
  /// Each has a place of its client's share.
  private var line = WaitingLine<Exchange>()
  private var heldBack = HeldBack<Exchange>()
  private var turn = OwnTurn()
  /// Came free while another one was being lent.
  private var returned = ContiguousArray<UpstreamConnection>()
  private var isLending = false
  private var isConnectingForLine = false
  /// What is closed now leaves its place to another loop.
  private var handsOver = false
  private(set) var active = 0
  private(set) var isRetired = false
  /// The worker has no record of it: it had nothing left. A request may still hold it.
  var isForgotten = false
  /// An entry of the present configuration holds on to it.
  public var isOfEntry = false
  /// Name of the entry that leads here, for the metrics.
  var upstream = ""
  /// Seconds since 1970, of the certificate that was shown last.
  var certificateExpiry: Int64?
  /// What its sessions hang on.
  let trustKey: TrustKey
  /// The chain that was verified last.
  private var chain: [Certificate] = []
  /// Of the entry that asked last: entries can share an origin, and still have each its own.
  private(set) var timeouts: Deadlines
  /// How many connections the origin may have in the whole process.
  private var capacity: Int

  init(_ origin: Origin, limit: OriginLimit, upstreams: Upstreams) {
    self.origin = origin
    trustKey = origin.identity.trustKey
    self.limit = limit
    timeouts = upstreams.rules.timeouts
    capacity = upstreams.rules.connections
    self.upstreams = upstreams
  }

  var idleCount: Int { idle.count + bound.count }
  public var isConnecting: Bool { !connecting.isEmpty }
  /// An answer about revocation is waited for, which has time limits of its own.
  public var isJudging: Bool { connecting.contains { $0.phase == .judging } }
  var connectingCount: Int { connecting.count }
  var isEmpty: Bool {
    idle.isEmpty && bound.isEmpty && connecting.isEmpty && active == 0 && line.isEmpty && heldBack.isEmpty
  }
  /// Names were resolved and connections made lately.
  public var isWarm: Bool { !idle.isEmpty || active > 0 }

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
    // Not before those of the same client who wait here already.
    guard heldBack.isEmpty || !heldBack.contains(share), limit.take(share, of: capacity) else {
      heldBack.append(exchange, of: share, at: upstreams.loop.now)
      return shareFreed(share)
    }
    if let connection = idle.popLast() {
      if connection.isTrusted(at: upstreams.loop.now) {
        lend(connection, to: exchange)
      } else {
        line.append(exchange, at: upstreams.loop.now)
        judgeAgain(connection)
      }
      return
    }
    line.append(exchange, at: upstreams.loop.now)
    connectForLine()
  }

  /// A connection that belongs to the exchange's client connection, and counts in its client's share already.
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

  /// The exchange waits no longer.
  /// - Returns: whether it was held back, as its client had all of its share.
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

  /// Those in line get what is idle here, then what is opened for them.
  private func advance() {
    while line.count > connecting.count + returned.count, let connection = idle.popLast() { offer(connection) }
    if !line.isEmpty { connectForLine() }
  }

  private func connectForLine() {
    // A connection that fails at once leads here again, and those who get the next try were held back: no call inside of another
    // for each of them.
    guard !isConnectingForLine else { return }
    isConnectingForLine = true
    defer { isConnectingForLine = false }
    while wantsPlace {
      if !limit.take(of: capacity) {
        // Whoever waits is worth more than the next leg of somebody's handshake, which may never come.
        if let oldest = bound.first {
          oldest.close()
          continue
        }
        limit.wait(upstreams.loop.executor, in: upstreams.shared.group)
        // A place that was given back before the wait was known woke nobody.
        guard limit.take(of: capacity) else { return }
      }
      connect()
    }
  }

  /// Opens a connection, whose place is taken.
  private func connect() {
    let connection = UpstreamConnection(self, upstreams)
    connecting.append(connection)
    connection.open()
  }

  var wantsPlace: Bool { line.count > connecting.count + returned.count && connecting.count < Self.handshakes }

  /// Another loop's, or an own, connection has ended while requests stood in line here. Who wants no place passes it on.
  func placeFreed() {
    if wantsPlace { connectForLine() } else { limit.wakeOne() }
  }

  /// Another loop's connection has ended for requests that stand in line here: its place is theirs.
  func placePassedOn() {
    if wantsPlace { connect() } else { limit.giveBack() }
  }

  // MARK: Shares

  /// Whether requests of that client are held back here.
  func holdsBack(for share: OriginShare) -> Bool { heldBack.contains(share) }

  /// Places of the share may be free: held back requests of that client take them and go into the line.
  func shareFreed(_ share: OriginShare) {
    admit(share)
    advance()
  }

  private func admit(_ share: OriginShare) {
    while heldBack.contains(share) {
      if !limit.take(share, of: capacity) {
        share.wait(upstreams.loop.executor)
        // A place that was given back before the wait was known woke nobody.
        guard limit.take(share, of: capacity) else { return }
      }
      if let exchange = heldBack.removeFirst(of: share) {
        line.append(exchange, at: upstreams.loop.now)
      } else {
        share.giveBack()
      }
    }
  }

  /// An exchange, or a wait in line, of that client is over. Its next request here goes into the line, behind those who stand
  /// there; or a loop is told that holds others back. To be followed by `advance`.
  private func free(_ share: OriginShare) {
    share.giveBack()
    guard !heldBack.isEmpty, heldBack.contains(share) else {
      share.wakeOne()
      return
    }
    let executor = upstreams.loop.executor
    let othersWait = share.isWaitedFor(byOtherThan: executor)
    if heldBack.isOwnTurnOver(share, at: upstreams.loop.now, othersWait: othersWait) {
      // Still to be told itself when the next one comes free.
      share.wait(executor)
      if share.wakeOne(otherThan: executor) { return }
    }
    admit(share)
  }

  /// A reload has changed how many connections there may be.
  func adopt(capacity: Int) {
    self.capacity = capacity
    for share in heldBack.shares { admit(share) }
    advance()
  }

  /// Another loop's requests wait for a place: an idle connection here is worth less.
  func surrenderIdle() {
    if let oldest = idle.first ?? bound.first { oldest.close() }
  }

  // MARK: Connections

  /// Its verdict has run out: it is lent when there is a new one.
  private func judgeAgain(_ connection: UpstreamConnection) {
    connecting.append(connection)
    connection.judgeAgain()
  }

  /// One object for all connections whose chains are equal: a chain takes tens of kilobytes.
  func shared(_ verified: [Certificate]) -> [Certificate] {
    if chain != verified { chain = verified }
    return chain
  }

  func opened(_ connection: UpstreamConnection) {
    connecting.removeAll { $0 === connection }
    offer(connection)
    // One handshake less: the next in line gets its own.
    advance()
  }

  func failed(_ connection: UpstreamConnection, _ error: UpstreamError) {
    connecting.removeAll { $0 === connection }
    // Who was in line when this connection was begun would have got it: the failure is theirs. Others get a try of their own.
    let failing = line.removeAll(upTo: connection.began)
    for exchange in failing { if let share = exchange.share { free(share) } }
    for exchange in failing {
      exchange.isWaiting = false
      exchange.failed(error)
    }
    advance()
  }

  /// A connection whose exchange has ended in step.
  func release(_ connection: UpstreamConnection) {
    exchangeEnded(on: connection)
    offer(connection)
    advance()
  }

  /// The same, of one that belongs to a client connection: it waits for that one's next request, and for no other. So it goes on
  /// counting in its client's share.
  func keep(_ connection: UpstreamConnection) {
    active -= 1
    bound.append(connection)
    if isRetired || upstreams.isDraining { return connection.close() }
    connection.rested(until: upstreams.loop.now + timeouts.upstreamIdle)
    advance()
  }

  /// An idle connection is not to be lent for the moment: it counts as active until `release` or `keep`, or its end.
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

  /// A connection is free. One that is lent can come back at once, as its request's token has ended while it waited: then it is
  /// offered to the next in line by the call that lent it, not by one call inside of another for each that waits.
  private func offer(_ connection: UpstreamConnection) {
    guard !isLending else { return returned.append(connection) }
    isLending = true
    place(connection)
    while let next = returned.popLast() { place(next) }
    isLending = false
  }

  private func place(_ connection: UpstreamConnection) {
    if line.isEmpty {
      // Who is still in line began before the pool was retired, and has nowhere else to go.
      if isRetired || upstreams.isDraining { return connection.close() }
      // Another loop's requests wait for a place: an idle connection here is worth less.
      if limit.isWaitedFor(byOtherThan: upstreams.loop.executor) { return connection.close() }
      idle.append(connection)
      return connection.rested(until: upstreams.loop.now + timeouts.upstreamIdle)
    }
    if isOwnTurnOver() {
      handsOver = true
      connection.close()
      handsOver = false
      return
    }
    guard connection.isTrusted(at: upstreams.loop.now) else { return judgeAgain(connection) }
    if let exchange = line.removeFirst() { lend(connection, to: exchange) }
  }

  /// A connection is closed, whatever it was doing.
  func ended(_ connection: UpstreamConnection, was phase: UpstreamConnection.Phase) {
    switch phase {
    case .idle:
      // The oldest expire first, and stand first.
      if let index = idle.firstIndex(where: { $0 === connection }) { idle.remove(at: index) }
      bound.removeAll { $0 === connection }
      leaveShare(connection)
    case .active, .settling: exchangeEnded(on: connection)
    default: connecting.removeAll { $0 === connection }
    }
    leavePlace()
    advance()
    tidy()
  }

  /// To requests in line here first, where they are not there at the cost of another loop's for long.
  private func leavePlace() {
    if handsOver || (!line.isEmpty && isOwnTurnOver()), limit.passOn(from: upstreams.loop.executor) { return }
    limit.giveBack()
  }

  /// Requests in line here have had all places for so long, while another loop's waited, that the next one is the other loop's.
  private func isOwnTurnOver() -> Bool {
    turn.isOver(at: upstreams.loop.now, othersWait: limit.isWaitedFor(byOtherThan: upstreams.loop.executor))
  }

  /// Several idle connections turned out closed, one after another: the others are no better.
  public func dropIdle() {
    let resting = idle
    idle = []
    for connection in resting { connection.close() }
  }

  /// Who asks for the name of the connection that is about to be begun.
  var nameAsker: NameAsker { line.newest?.nameAsker ?? .configuration }

  /// No entry leads here any more: idle connections end now, others after their exchange.
  func retire() {
    isRetired = true
    let resting = idle + bound
    idle = []
    bound = []
    for connection in resting { connection.close() }
  }

  /// Nothing is left here, perhaps.
  public func tidy() {
    if isEmpty, !isForgotten { upstreams.emptied(self) }
  }
}
