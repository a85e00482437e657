import Foundation
import Testing

/// Faults at random over five processes with one refresh token. Equal seeds choose equal faults; when they strike depends on the machine.
final class FaultRun {
  struct Random: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var value = state
      value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
      value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
      return value ^ (value >> 31)
    }
  }

  enum Fault: String, CaseIterable {
    case kill, freeze, cut, hang, slow, storeKilled, storeFrozen, failOver

    /// Of the store, not of one process.
    var isOfStore: Bool { [.storeKilled, .storeFrozen, .failOver].contains(self) }

    /// While the store is away, nothing can go wrong; and a store that is interrupted once in a claim's time keeps everybody from taking
    /// over a dead holder's.
    static let weighted = allCases.flatMap { Array(repeating: $0, count: $0.isOfStore ? 1 : 10) }
  }

  static let oauth = [
    "grant: refresh_token", "refresh_token: first-5ecret-refresh", "timeout: 2s", "refresh_before_expiry: 1s",
  ]
  /// Seconds: a claim with this `timeout`, and the part of it in which its request is sent.
  static let claim = 14.0
  static let sending = 3.0

  private static let store = ["appendonly yes", "appendfsync always", "repl-diskless-sync-delay 0"]

  let fleet: Fleet
  /// The master.
  private var redis: RedisServer
  private var random: Random
  private var heals: [(at: Date, place: Int, heal: () throws -> Void)] = []
  private(set) var struck: [Fault: Int] = [:]
  /// By status; 0: the connection has ended.
  let answers = Monitor<[Int: Int]>([:])
  /// The time of the last answer 200, and the longest time without one, in seconds.
  let pauses = Monitor((last: Date(), longest: 0.0))
  /// Why a request was refused, with the number of such answers.
  let reasons = Monitor<[String: Int]>([:])
  private let current: Monitor<[ProxyProcess]>
  private let isOver = Monitor(false)
  private let asking = Monitor(0)

  init(seed: UInt64) throws {
    random = Random(state: seed)
    // Every refresh token that it has issued stays valid, so that the run goes on after what the table allows. Uses are counted.
    fleet = try Fleet(
      #"{"rotate": true, "refresh_token": "first-5ecret-refresh", "grace": true, "expires_in": 3, "delay": 0.2}"#,
      redis: Self.store)
    redis = fleet.redis
    try fleet.startRelayed(5, Self.oauth)
    current = Monitor(fleet.proxies)
  }

  func run(seconds: Double) throws {
    for index in 0..<5 { ask(index) }
    let end = Date(timeIntervalSinceNow: seconds)
    while Date() < end {
      try heal(until: Date())
      try strike()
      if Int.random(in: 0..<3, using: &random) == 0 { try fleet.server.set(#"{"revoke": true}"#) }
      usleep(UInt32.random(in: 200_000...2_000_000, using: &random))
    }
    try heal(until: .distantFuture)
    isOver.change { $0 = true }
    _ = asking.wait(90) { $0 == 0 ? true : nil }
  }

  /// A client of one process, whichever that is now.
  private func ask(_ index: Int) {
    let (url, current, isOver, answers, reasons, pauses, asking) = (
      fleet.server.url(), current, isOver, answers, reasons, pauses, asking
    )
    asking.change { $0 += 1 }
    let thread = Thread {
      while !isOver.change({ $0 }) {
        let proxy = current.change { $0[index] }
        var status = 0
        if let connection = try? proxy.connect() {
          connection.timeout = 80
          try? connection.send(ProxyProcess.request("GET", url))
          let answer = try? connection.readAnswer()
          status = answer?.status ?? 0
          if status == 503, let answer {
            let details = answer.head.components(separatedBy: "details=\"").last?.prefix { $0 != "\"" && $0 != "\r" } ?? ""
            reasons.change { $0[String(details.map { $0.isNumber ? "#" : $0 }), default: 0] += 1 }
          }
        }
        answers.change { $0[status, default: 0] += 1 }
        if status == 200 {
          pauses.change { $0 = (Date(), max($0.longest, Date().timeIntervalSince($0.last))) }
        }
        usleep(60_000)
      }
      asking.change { $0 -= 1 }
    }
    thread.start()
  }

  private func heal(until now: Date) throws {
    for one in heals where one.at <= now { try one.heal() }
    heals.removeAll { $0.at <= now }
  }

  private func strike() throws {
    let index = Int.random(in: 0..<5, using: &random)
    let fault = Fault.weighted.randomElement(using: &random) ?? .kill
    let isLong = Int.random(in: 0..<5, using: &random) == 0
    let seconds = isLong ? Double.random(in: 15...19, using: &random) : Double.random(in: 0.1...4, using: &random)
    let place = fault.isOfStore ? -1 : index
    guard !heals.contains(where: { $0.place == place }) else { return }
    struck[fault, default: 0] += 1
    let (proxy, relay) = (current.change { $0[index] }, fleet.relays[index])
    switch fault {
    case .kill:
      proxy.process.signal(SIGKILL)
      _ = proxy.process.awaitEnd(seconds: 10)
      later(min(seconds, 4), place) { try self.replace(index) }
    case .freeze:
      try proxy.pause()
      later(seconds, place) { proxy.goOn() }
    case .cut:
      try relay.refuse()
      later(seconds, place) { try relay.serve() }
    case .hang:
      try relay.hold([.requests, .answers, .both].randomElement(using: &random) ?? .both)
      later(seconds, place) { try relay.serve() }
    case .slow:
      try relay.delay(milliseconds: Int.random(in: 20...400, using: &random))
      later(seconds, place) { try relay.serve() }
    case .storeKilled:
      redis.kill()
      later(min(seconds, 3), place) { try self.redis.start() }
    case .storeFrozen:
      redis.freeze()
      later(min(seconds, 3), place) { self.redis.thaw() }
    case .failOver:
      let replica = try RedisServer(Self.store)
      // Not in its configuration: it must be a master when it starts again.
      try replica.command("replicaof", "127.0.0.1", "\(redis.port)")
      try #require(try eventually { try replica.command("info", "replication").contains("master_link_status:up") })
      redis.kill()
      redis = replica
      later(min(seconds, 3), place) {
        try replica.command("replicaof", "no", "one")
        for relay in self.fleet.relays { try relay.move(to: replica.port) }
      }
    }
  }

  private func later(_ seconds: Double, _ place: Int, _ heal: @escaping () throws -> Void) {
    heals.append((Date(timeIntervalSinceNow: seconds), place, heal))
  }

  private func replace(_ index: Int) throws {
    let settings = "{address: \"redis://127.0.0.1:\(fleet.relays[index].port)\", timeout: 1s}"
    let proxy = try fleet.start(try fleet.configuration(Self.oauth, name: "proxy\(index + 1)", redis: settings))
    current.change { $0[index] = proxy }
  }

  /// Token requests that a process gave up, though the server may have answered: then it is let try once more at once.
  var givenUp: Int {
    fleet.proxies.reduce(0) { $0 + $1.process.lines.count { $0.contains("did not answer in time") } }
  }

  /// Uses of a refresh token that had been used before, with the seconds since then.
  func repeated() throws -> [(token: String, after: Double)] {
    var last: [String: Double] = [:]
    var all: [(String, Double)] = []
    for request in try fleet.server.state().requests {
      guard let token = request.form["refresh_token"] else { continue }
      if let before = last[token] { all.append((token, request.at - before)) }
      last[token] = request.at
    }
    return all
  }
}
