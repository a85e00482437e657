import Testing
@testable import WayOut

/// Many connections, hops that come and go, and a clock that jumps: what must hold holds after each step.
struct RandomWayTests {
  private struct Connection {
    var attempt: WayAttempt
    var ways: [Int?]
    var tried: [Int]
    var until: Int64
    var witness: WayHealth.Witness?
  }

  private struct World {
    var random: SystemSeed
    var health = WayHealth()
    var now: Int64 = 0
    var connections: [Connection] = []
    let hops = (0..<4).map { Hop(scheme: .http, host: "p\($0)", port: 1) }

    init(seed: UInt64) { random = SystemSeed(state: seed) }

    func hop(_ way: Int?) -> Hop? { way.map { hops[$0] } }

    /// Whoever has a claim is a connection that tries the hop.
    func checkClaims() {
      let tried = connections.compactMap { connection -> Hop? in
        guard let current = connection.attempt.current, current.claim != nil else { return nil }
        return hop(connection.ways[current.index])
      }
      #expect(health.hopsThatAreTried(at: now).isSubset(of: tried), "a claim has outlived its attempt")
    }

    /// Single tries of a hop, for all or for this witness, that run, and whose time is not over.
    func singles(_ hop: Hop, _ witness: WayHealth.Witness?) -> Int {
      connections.count { connection in
        guard let current = connection.attempt.current, let claim = current.claim, connection.until > now else { return false }
        guard claim.isOfAll != health.isUp(hop), claim.isOfAll || connection.witness == witness else { return false }
        return self.hop(connection.ways[current.index]) == hop
      }
    }

    func isUp(_ way: Int?, for witness: WayHealth.Witness?) -> Bool { hop(way).map { health.isUp($0, for: witness) } ?? true }

    mutating func take(_ step: WayAttempt.Step?, _ connection: Connection, end: Int64) {
      var connection = connection
      guard case .tryWay(let index, let until)? = step else { return }
      #expect(!connection.tried.contains(index), "a way is tried twice")
      #expect(until <= max(end, now))
      if let hop = hop(connection.ways[index]), !health.isUp(hop, for: connection.witness) {
        let left = connection.ways.indices.filter { !connection.tried.contains($0) }
        if connection.attempt.current?.claim != nil {
          #expect(singles(hop, connection.witness) == 0, "two tries of a half-open hop at once")
        } else {
          let isForced = left.allSatisfy { !isUp(connection.ways[$0], for: connection.witness) }
          #expect(isForced && index == left.first, "a hop that is down is tried before one that is up, or out of order")
        }
      }
      connection.tried.append(index)
      connection.until = until
      connections.append(connection)
    }

    mutating func step() {
      switch random.next() % 9 {
      case 8 where !connections.isEmpty:
        // It waits for its app, or goes on.
        let index = Int(random.next() % UInt64(connections.count))
        if random.next() % 2 == 0 {
          connections[index].attempt.share(&health)
        } else if connections[index].attempt.isInDoubt {
          let until = max(connections[index].until, now + Int64(random.next() % 9_000_000_000))
          connections[index].attempt.renew(&health, now: now, until: until)
          if connections[index].attempt.isTrial { connections[index].until = until }
        }
      case 0, 1:
        let ways = (0..<(1 + Int(random.next() % 4))).map { _ in
          let way = Int(random.next() % 5)
          return way == 4 ? nil : way
        }
        let end = now + Int64(random.next() % 20_000_000_000)
        let witness = [nil, 1, 2, 3][Int(random.next() % 4)].map { WayHealth.Witness($0) }
        let isAllDown = ways.allSatisfy { !isUp($0, for: witness) }
        var attempt = WayAttempt(ways.map(hop), until: end, by: witness)
        let step = attempt.start(&health, now: now)
        guard case .tryWay(let index, let until) = step else {
          Issue.record("nothing is tried")
          return
        }
        #expect(until - now == max(0, end - now) / Int64(ways.count))
        if !isAllDown, let up = ways.firstIndex(where: { isUp($0, for: witness) }) {
          #expect(index <= up, "a way that is up is passed over")
        }
        take(step, Connection(attempt: attempt, ways: ways, tried: [], until: 0, witness: witness), end: end)
      case 2: now += Int64(random.next() % 8_000_000_000)
      case 3 where !connections.isEmpty:
        var connection = connections.remove(at: Int(random.next() % UInt64(connections.count)))
        connection.attempt.cancel(&health)
      default:
        guard !connections.isEmpty else { return }
        var connection = connections.remove(at: Int(random.next() % UInt64(connections.count)))
        let outcomes: [WayAttempt.Outcome] = [
          .connected, .broken, .broken, .broken, .refused, .unreachable, .unusable, .unasked, .overdue, .silent, .unanswered,
          .unanswered,
        ]
        let outcome = outcomes[Int(random.next() % UInt64(outcomes.count))]
        let way = hop(connection.ways[connection.tried.last!])
        let wasUp = way.map(health.isUp)
        let isLast = random.next() % 3 == 0
        let step = connection.attempt.ended(outcome, isLast: isLast, &health, now: now, random: random.next())
        #expect(!isLast || step == nil)
        switch outcome {
        case .connected:
          #expect(step == nil)
          if let way { #expect(health.isUp(way)) }
        case .silent:
          #expect(step == nil)
          if let way, let wasUp { #expect(health.isUp(way) == wasUp, "silence shows nothing") }
          if let claim = connection.attempt.claim, let way { health.gaveUp(way, claim: claim) }
        case .refused, .unusable:
          #expect(isLast || step == .stop(failedIndex: connection.tried.last!), "a refusal is evaded")
          if let way, let wasUp { #expect(health.isUp(way) || !wasUp, "a refusal is blamed on the hop") }
        case .broken: if let way { #expect(!health.isUp(way)) }
        case .unanswered: if let way { #expect(!health.isUp(way, for: connection.witness)) }
        case .unreachable: if let way { #expect(health.isUp(way)) }
        case .unasked, .overdue: if let way { #expect(health.isUp(way) == wasUp, "the hop was not asked") }
        }
        if case .stop(let failed)? = step {
          #expect(failed == connection.tried.last!)
          return
        }
        take(step, connection, end: .max)
      }
    }
  }

  @Test func `single tries, order and refusals hold for any history`() {
    for seed in 1...300 as ClosedRange<UInt64> {
      var world = World(seed: seed)
      for _ in 0..<400 {
        world.step()
        world.checkClaims()
      }
    }
  }
}

/// xorshift64*: the same history for the same seed.
private struct SystemSeed {
  var state: UInt64
  mutating func next() -> UInt64 {
    state ^= state >> 12
    state ^= state << 25
    state ^= state >> 27
    return (state &* 2_685_821_657_736_338_717) >> 16
  }
}
