import Testing

@testable import Upstreams

/// What must hold of a parent's password, whatever clients, targets, origins and parents do. Many hosts ask all the time, the worst first.
@Suite struct RandomLoginRulesTests {
  private struct Random: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      return mixed ^ (mixed >> 31)
    }
  }

  private enum Verdict { case accepted, refused, nothing, closed }
  /// What becomes of a presentation; nil: there is no answer.
  private typealias Fate = (verdict: Verdict, after: Double)?

  private struct World {
    var version = LoginVersion(hasCredential: true)
    var now = 0.0
    var numbers: UInt64 = 0
    /// Presentations whose end is to come.
    var pending: [(at: Double, verdict: Verdict, form: LoginVersion.Form, target: LoginTarget, number: UInt64?)] = []
    /// When it was presented to nobody's use.
    var vain: [LoginVersion.Form: [Double]] = [:]
    var clock: Int64 { Int64(now * 1e9) }

    mutating func ask(
      _ form: LoginVersion.Form, _ host: Int, port: UInt16 = 443, _ fate: () -> Fate
    ) -> LoginSide.Entrance {
      let target = LoginTarget(host: host, port: port)
      let entrance = version.enter(form, target, number: numbers + 1, now: clock)
      guard case .go(let number, _) = entrance else { return entrance }
      if let number { numbers = number }
      let end = fate() ?? (.closed, 30)
      // Whoever has left, it is read for 30 s.
      let (verdict, after) = end.after > 30 ? (.closed, 30) : end
      if verdict == .refused || verdict == .closed { vain[form, default: []].append(now) }
      pending.append((now + after, verdict, form, target, number))
      return entrance
    }

    /// - Returns: hosts for which it was accepted, and whether it was refused.
    mutating func pass(_ time: Double) -> (accepted: [Int], isRefused: Bool) {
      now += time
      var (accepted, isRefused): ([Int], Bool) = ([], false)
      for event in pending.filter({ $0.at <= now }).sorted(by: { $0.at < $1.at }) {
        let at = Int64(event.at * 1e9)
        switch event.verdict {
        case .accepted:
          version.accepted(event.form, event.target, trial: event.number, now: at)
          accepted.append(event.target.host)
        case .refused:
          let (form, target) = (event.form, event.target)
          _ = version.refused(form, target, asked: "", trial: event.number, pause: nil, now: at)
          isRefused = true
        case .nothing: if let number = event.number { version.leave(event.form, number) }
        case .closed: if let number = event.number { version.unanswered(event.form, number, now: at) }
        }
      }
      pending.removeAll { $0.at <= now }
      return (accepted, isRefused)
    }

    /// Most of them in any hour.
    func most(_ form: LoginVersion.Form) -> Int {
      let times = vain[form] ?? []
      return times.indices.map { first in times[first...].prefix { $0 < times[first] + 3600 }.count }.max() ?? 0
    }
  }

  private static let hours = 1.2

  /// - Parameter fate: of what a parent does that accepts it for nobody.
  private func tryInVain(_ seed: UInt64, hosts: Int, _ fate: (inout Random) -> Fate) -> World {
    var (world, random) = (World(), Random(state: seed))
    while world.now < Self.hours * 3600 {
      for _ in 0..<4 {
        let form: LoginVersion.Form = Bool.random(using: &random) ? .tunnel : .absolute
        let port = UInt16.random(in: 1...4, using: &random)
        _ = world.ask(form, Int.random(in: 0..<hosts, using: &random), port: port) { fate(&random) }
      }
      _ = world.pass(Double.random(in: 0.05...1, using: &random))
    }
    return world
  }

  @Test(arguments: 0..<2, [1, 2, 5, 1_000_000])
  func `a wrong password that is refused within 3 s is presented once by CONNECT, and 12 times an hour in absolute-form`(
    _ seed: UInt64, _ hosts: Int
  ) {
    let world = tryInVain(seed, hosts: hosts) { (.refused, Double.random(in: 0.01...1.9, using: &$0)) }
    #expect(world.vain[.tunnel, default: []].count <= 1)
    #expect(world.most(.absolute) <= 12)
    // As if no CONNECT were asked for.
    var (alone, random) = (World(), Random(state: seed))
    while alone.now < Self.hours * 3600 {
      for _ in 0..<4 { _ = alone.ask(.absolute, Int.random(in: 0..<hosts, using: &random)) { (.refused, 0.1) } }
      _ = alone.pass(0.5)
    }
    #expect((1...12).contains(alone.most(.absolute)), "\(alone.most(.absolute))")
  }

  @Test(arguments: 0..<1, [1, 2, 5, 1_000_000])
  func `a parent that never answers gets it 70 times an hour at most in each form`(_ seed: UInt64, _ hosts: Int) {
    let fates: [Fate] = [nil, (.closed, 0), (.closed, 2), (.closed, 7)]
    for fate in fates + [nil] {
      let world = tryInVain(seed, hosts: hosts) { random in
        fate == nil ? nil : Int.random(in: 0..<5, using: &random) == 0 ? nil : fate
      }
      for form in [LoginVersion.Form.tunnel, .absolute] {
        #expect((1...70).contains(world.most(form)), "\(form) \(world.most(form))")
      }
    }
  }

  @Test(arguments: 0..<3) func `one that refuses late gets it three times at most by CONNECT`(_ seed: UInt64) {
    let world = tryInVain(seed, hosts: 1000) { (.refused, Double.random(in: 3...14, using: &$0)) }
    #expect((1...6).contains(world.vain[.tunnel, default: []].count), "\(world.vain[.tunnel, default: []].count)")
  }

  /// Once for each target that was served, a host with its port, and 12 times for all others.
  ///
  /// The parent asks nobody for a password who wants one of the first hosts: at any port, or at 443 alone.
  @Test(arguments: 0..<2, [(0, false), (5, false), (5, true)])
  func `one that was right is presented a bounded number of times once it is wrong`(
    _ seed: UInt64, _ exemption: (hosts: Int, isOfOnePort: Bool)
  ) {
    var (world, random) = (World(), Random(state: seed))
    let (exempt, served, hosts) = (exemption.hosts, 40, 100_000)
    let ports: [UInt16] = [443, 8443]
    for host in 0..<served {
      for form in [LoginVersion.Form.tunnel, .absolute] {
        for port in ports {
          world.version.accepted(form, LoginTarget(host: host, port: port), trial: nil, now: 0)
        }
      }
    }
    var (inFlight, isKnown) = ([LoginVersion.Form: Int](), false)
    while world.now < Self.hours * 3600 {
      for _ in 0..<6 {
        let host = Int.random(in: 0..<(Bool.random(using: &random) ? served : hosts), using: &random)
        let form: LoginVersion.Form = Bool.random(using: &random) ? .tunnel : .absolute
        let port = Bool.random(using: &random) ? 443 : UInt16.random(in: 8000..<9000, using: &random)
        let isExempt = host < exempt && (port == 443 || !exemption.isOfOnePort)
        _ = world.ask(form, host, port: port) { isExempt ? (.accepted, 0.1) : (.refused, 0.4) }
      }
      if world.pass(0.3).isRefused, !isKnown {
        isKnown = true
        inFlight = world.vain.mapValues(\.count)
      }
    }
    for form in [LoginVersion.Form.tunnel, .absolute] {
      let most = world.most(form) - inFlight[form, default: 0]
      #expect(most <= served * ports.count + 12, "\(form) \(most)")
    }
    if exempt == 0 { #expect(world.vain[.tunnel, default: []].count - inFlight[.tunnel, default: 0] <= 12) }
  }

  /// The pauses after each third of them.
  private static func bound(dead: Int) -> Double {
    var (time, pause) = (3 * Double(dead + 2), 5.0)
    for _ in 0..<(dead / 3) {
      time += pause
      pause = min(2 * pause, 300)
    }
    return time
  }

  @Test(arguments: 0..<3, [0, 1, 2, 3, 8, 14])
  func `dead targets hold up tunnels of a right password each 3 s once, and origins never`(_ seed: UInt64, _ dead: Int) {
    var (world, random) = (World(), Random(state: seed))
    let (healthy, blocked) = (-1, -2)
    var (acceptedAt, isAsking): (Double?, Bool) = (nil, false)
    while world.now < min(3600, (acceptedAt ?? 3600) + 300) {
      for host in 0..<dead { _ = world.ask(.tunnel, host) { nil } }
      _ = world.ask(.tunnel, blocked) { (.nothing, 0.05) }
      for _ in 0..<4 {
        let host = Int.random(in: 0..<30, using: &random)
        let fates: [Fate] = [nil, (.closed, 0), (.refused, 0.1), (.refused, 4), (.nothing, 0), (.accepted, 0.1)]
        _ = world.ask(.absolute, host) { fates.randomElement(using: &random) ?? nil }
      }
      if !isAsking || acceptedAt != nil {
        let entrance = world.ask(.tunnel, healthy) {
          isAsking = acceptedAt == nil
          return (.accepted, 0.2)
        }
        if acceptedAt != nil { #expect(entrance == .go()) }
      }
      if world.pass(0.5).accepted.contains(healthy), acceptedAt == nil { acceptedAt = world.now }
    }
    let time = acceptedAt ?? .infinity
    #expect(time <= Self.bound(dead: dead) + 1, "\(time) s")
  }

  /// squid refuses a target so whose rule ends with an ACL of users.
  @Test(arguments: 0..<2)
  func `a parent's own 407 for some targets keeps no host waiting that was served`(_ seed: UInt64) {
    var (world, random) = (World(), Random(state: seed))
    for host in 0..<3 { world.version.accepted(.tunnel, LoginTarget(host: host, port: 443), trial: nil, now: 0) }
    var since: [Int: Double] = [:]
    while world.now < 3600 {
      _ = world.ask(.tunnel, Int.random(in: 1000..<100_000, using: &random)) {
        Bool.random(using: &random) ? (.refused, 0.1) : nil
      }
      // Also for other ports of theirs.
      let (other, port) = (Int.random(in: 0..<3, using: &random), UInt16.random(in: 8000..<9000, using: &random))
      _ = world.ask(.tunnel, other, port: port) { (.refused, 0.1) }
      for host in 0..<3 {
        let entrance = world.ask(.tunnel, host) { (.accepted, Double.random(in: 0.1...1, using: &random)) }
        if case .go = entrance { since[host] = nil } else if since[host] == nil { since[host] = world.now }
        if let since = since[host] { #expect(world.now - since < 9.5, "\(entrance)") }
      }
      _ = world.pass(0.25)
    }
  }
}
