import EventIO
import Interception
import Synchronization
import TLS

/// The leafs of all loops. An EC key signs on the loop that asks; one that is slow signs in a lane, while the handshakes wait.
public final class LeafStore: Sendable {
  private static let lane = Lane(label: "lane.signatures", width: 1, backlog: 1024)

  enum Found {
    case leaf(Leaf)
    /// The waiter is told.
    case later
    case failed
  }

  /// A handshake that waits on its loop.
  struct Waiter: Sendable {
    let loop: LoopExecutor
    let ticket: Int
  }

  private struct State {
    var cache = LeafCache(capacity: 1000)
    var waiting: [LeafCache.Key: [Waiter]] = [:]
    var made: UInt64 = 0
  }
  private let state = Mutex(State())

  init() {}

  /// How many leafs are kept now, and how many were made so far.
  public var figures: (kept: Int, made: UInt64) { state.withLock { ($0.cache.count, $0.made) } }

  /// - Parameters:
  ///   - hosts: one leaf has them all.
  ///   - lifetime: seconds.
  func find(_ hosts: [PeerName], by authority: SigningCA, lifetime: Int64, for waiter: Waiter) -> Found {
    // No name has a comma.
    let host = hosts.count == 1 ? hosts[0] : PeerName(hosts.map(\.text).joined(separator: ","))
    let key = LeafCache.Key(host: host, authority: authority)
    let now = wallClockSeconds()
    let answer = state.withLock { state in
      let answer = state.cache.look(key, at: now)
      switch answer {
      case .wait: state.waiting[key, default: []].append(waiter)
      case .make(nil) where authority.signsSlowly: state.waiting[key, default: []].append(waiter)
      case .make, .leaf: break
      }
      return answer
    }
    switch answer {
    case .leaf(let leaf): return .leaf(leaf)
    case .wait: return .later
    case .make(let old):
      guard authority.signsSlowly else {
        let leaf = try? authority.makeLeaf(forAll: hosts, lifetime: lifetime, now: now)
        finish(key, leaf)
        return (leaf ?? old).map { .leaf($0) } ?? .failed
      }
      let isQueued = Self.lane.run {
        self.finish(key, try? authority.makeLeaf(forAll: hosts, lifetime: lifetime, now: wallClockSeconds()))
      }
      if !isQueued { finish(key, nil) }
      return old.map { .leaf($0) } ?? (isQueued ? .later : .failed)
    }
  }

  private func finish(_ key: LeafCache.Key, _ leaf: Leaf?) {
    let waiters = state.withLock { state in
      if let leaf {
        state.cache.made(leaf, for: key)
        state.made += 1
      } else {
        state.cache.failed(key)
      }
      return state.waiting.removeValue(forKey: key) ?? []
    }
    let isMade = leaf != nil
    for waiter in waiters {
      waiter.loop.call { $0.resident(Handshakes.self).resume(waiter.ticket, isMade: isMade) }
    }
  }

  /// Leafs of other authorities go.
  func adopt(_ authorities: [SigningCA], capacity: Int) {
    state.withLock {
      $0.cache.resize(to: capacity)
      $0.cache.keep(only: authorities)
    }
  }
}
