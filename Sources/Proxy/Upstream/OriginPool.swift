import EventIO
import TLS
import Trust

/// One loop's connections to one origin, and the requests that wait for one.
final class OriginPool {
  /// A handshake costs 0.6 ms of the loop: at most so many at once.
  private static let handshakes = 16

  let origin: Origin
  /// Lives as long as its loop, which never ends.
  unowned(unsafe) let worker: Worker
  let limit: OriginLimit
  private var idle = ContiguousArray<UpstreamConnection>()
  /// Those that rest with the one client connection that they belong to.
  private var bound = ContiguousArray<UpstreamConnection>()
  private var connecting = ContiguousArray<UpstreamConnection>()
  private var line = WaitingLine()
  private(set) var active = 0
  private(set) var isRetired = false
  /// The worker has no record of it: it had nothing left. A request may still hold it.
  var isForgotten = false
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

  init(_ origin: Origin, limit: OriginLimit, worker: Worker) {
    self.origin = origin
    trustKey = origin.identity.trustKey
    self.limit = limit
    timeouts = Deadlines(worker.snapshot.settings.timeouts)
    self.worker = worker
  }

  var idleCount: Int { idle.count + bound.count }
  var isConnecting: Bool { !connecting.isEmpty }
  /// An answer about revocation is waited for, which has time limits of its own.
  var isJudging: Bool { connecting.contains { $0.phase == .judging } }
  var connectingCount: Int { connecting.count }
  var isEmpty: Bool { idle.isEmpty && bound.isEmpty && connecting.isEmpty && active == 0 && line.isEmpty }
  /// Names were resolved and connections made lately.
  var isWarm: Bool { !idle.isEmpty || active > 0 }

  // MARK: Requests

  /// Begins the attempt on a connection, now or when one can be had.
  func serve(_ attempt: Attempt) {
    let request = attempt.request
    if let entry = request.entry { timeouts = entry.timeouts }
    if isForgotten { worker.remember(self) }
    if !request.client.bound.isEmpty, let connection = request.client.bound.resting(in: self) {
      return serve(attempt, on: connection)
    }
    if let connection = idle.popLast() {
      if connection.isTrusted(at: worker.loop.now) {
        active += 1
        connection.begin(attempt)
      } else {
        line.append(attempt, at: worker.loop.now)
        judgeAgain(connection)
      }
      return
    }
    line.append(attempt, at: worker.loop.now)
    connectForLine()
  }

  /// Begins the attempt on the connection that belongs to its client; where that is of no use any more, on a new one.
  private func serve(_ attempt: Attempt, on own: UpstreamConnection) {
    guard own.mayServe(attempt) else {
      line.append(attempt, at: worker.loop.now)
      return own.close()
    }
    bound.removeAll { $0 === own }
    active += 1
    own.begin(attempt)
  }

  /// The attempt waits no longer.
  func abandon(_ attempt: Attempt) {
    line.remove(attempt)
    tidy()
  }

  private func connectForLine() {
    let capacity = worker.snapshot.settings.limits.upstreamConnections
    while wantsPlace {
      if !limit.take(of: capacity) {
        limit.wait(worker.loop.executor, in: worker.group)
        // A place that was given back before the wait was known woke nobody.
        guard limit.take(of: capacity) else { return }
      }
      let connection = UpstreamConnection(self, worker)
      connecting.append(connection)
      connection.open()
    }
  }

  var wantsPlace: Bool { line.count > connecting.count && connecting.count < Self.handshakes }

  /// Another loop's, or an own, connection has ended while requests stood in line here. Who wants no place passes it on.
  func placeFreed() {
    if wantsPlace { connectForLine() } else { limit.wakeOne() }
  }

  /// Another loop's requests wait for a place: an idle connection here is worth less.
  func surrenderIdle() {
    if !idle.isEmpty { idle.removeFirst().close() }
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
    if !line.isEmpty { connectForLine() }
  }

  func failed(_ connection: UpstreamConnection, _ error: ProxyError) {
    connecting.removeAll { $0 === connection }
    // Who was in line when this connection was begun would have got it: the failure is theirs. Others get a try of their own.
    for attempt in line.removeAll(upTo: connection.began) { attempt.fail(error) }
    if !line.isEmpty { connectForLine() }
  }

  /// A connection whose exchange has ended in step.
  func release(_ connection: UpstreamConnection) {
    active -= 1
    offer(connection)
  }

  /// The same, of one that belongs to a client connection: it waits for that one's next request, and for no other.
  func keep(_ connection: UpstreamConnection) {
    active -= 1
    bound.append(connection)
    if isRetired || worker.isDraining { return connection.close() }
    connection.rested(until: worker.loop.now + timeouts.upstreamIdle)
  }

  /// An idle connection is not to be lent for the moment: it counts as active until `release` or `keep`, or its end.
  func withdraw(_ connection: UpstreamConnection) {
    idle.removeAll { $0 === connection }
    bound.removeAll { $0 === connection }
    active += 1
  }

  private func offer(_ connection: UpstreamConnection) {
    // Who is still in line began before the pool was retired, and has nowhere else to go.
    if line.isEmpty && (isRetired || worker.isDraining) { return connection.close() }
    if !line.isEmpty, !connection.isTrusted(at: worker.loop.now) { return judgeAgain(connection) }
    if let attempt = line.removeFirst() {
      active += 1
      connection.begin(attempt)
      return
    }
    // Another loop's requests wait for a place: an idle connection here is worth less.
    if limit.isWaitedFor(byOtherThan: worker.loop.executor) { return connection.close() }
    idle.append(connection)
    connection.rested(until: worker.loop.now + timeouts.upstreamIdle)
  }

  /// A connection is closed, whatever it was doing.
  func ended(_ connection: UpstreamConnection, was phase: UpstreamConnection.Phase) {
    switch phase {
    case .idle:
      // The oldest expire first, and stand first.
      if let index = idle.firstIndex(where: { $0 === connection }) { idle.remove(at: index) }
      bound.removeAll { $0 === connection }
    case .active, .settling: active -= 1
    default: connecting.removeAll { $0 === connection }
    }
    limit.giveBack()
    if !line.isEmpty { connectForLine() }
    tidy()
  }

  /// Who asks for the name of the connection that is about to be begun.
  var asker: NameAsker { line.newest?.request.asker ?? .configuration }

  /// No entry leads here any more: idle connections end now, others after their exchange.
  func retire() {
    isRetired = true
    let resting = idle + bound
    idle = []
    bound = []
    for connection in resting { connection.close() }
  }

  /// Nothing is left here, perhaps.
  func tidy() {
    if isEmpty, !isForgotten { worker.emptied(self) }
  }
}

/// First in, first out; leaving from the middle is rare.
private struct WaitingLine {
  private var attempts: [(attempt: Attempt, since: Int64)] = []
  private var head = 0

  var count: Int { attempts.count - head }
  var isEmpty: Bool { count == 0 }

  var newest: Attempt? { isEmpty ? nil : attempts.last?.attempt }

  mutating func append(_ attempt: Attempt, at time: Int64) { attempts.append((attempt, time)) }

  mutating func removeFirst() -> Attempt? {
    guard !isEmpty else { return nil }
    defer {
      head += 1
      if head > 64, head * 2 > attempts.count {
        attempts.removeFirst(head)
        head = 0
      } else if isEmpty {
        attempts.removeAll(keepingCapacity: attempts.count < 64)
        head = 0
      }
    }
    return attempts[head].attempt
  }

  mutating func removeAll(upTo time: Int64) -> [Attempt] {
    let waiting = attempts[head...]
    let leaving = waiting.filter { $0.since <= time }.map(\.attempt)
    attempts = waiting.filter { $0.since > time }
    head = 0
    return leaving
  }

  mutating func remove(_ attempt: Attempt) {
    if let index = attempts[head...].firstIndex(where: { $0.attempt === attempt }) { attempts.remove(at: index) }
  }
}
