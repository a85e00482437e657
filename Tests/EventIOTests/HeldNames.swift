import CSystem
import Dispatch
import Synchronization

@testable import EventIO

/// Name servers that answer when the test says so.
final class HeldNames: Sendable {
  fileprivate struct State {
    var asked: [String] = []
    var gates: [String: DispatchSemaphore] = [:]
    var answers: [String: Resolver.Answer] = [:]
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }
  private let state = Mutex(State())

  /// Every look-up that has begun, in order.
  var asked: [String] { state.withLock { $0.asked } }

  func lanes(width: Int = 4, backlog: Int = 8) -> NameLanes { NameLanes(width: width, backlog: backlog) { self.ask($0) } }

  private func ask(_ host: String) -> Resolver.Answer {
    let (gate, told) = state.withLock { state -> (DispatchSemaphore, [CheckedContinuation<Void, Never>]) in
      state.asked.append(host)
      let count = state.asked.count
      let told = state.watchers.filter { $0.count <= count }.map(\.continuation)
      state.watchers.removeAll { $0.count <= count }
      return (state.gate(host), told)
    }
    for continuation in told { continuation.resume() }
    gate.wait()
    return state.withLock { $0.answers[host] ?? .failure(.notFound) }
  }

  /// One look-up of `host`, running or later, ends with this.
  func answer(_ host: String, _ answer: Resolver.Answer = .success([])) {
    state.withLock {
      $0.answers[host] = answer
      return $0.gate(host)
    }.signal()
  }

  /// Waits until this many look-ups have begun since the start.
  func begun(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock {
        if $0.asked.count >= count { return true }
        $0.watchers.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  static func addresses(_ literals: String...) -> Resolver.Answer {
    .success(literals.compactMap { Address(literal: $0, port: 0) })
  }
}

extension HeldNames.State {
  fileprivate mutating func gate(_ host: String) -> DispatchSemaphore {
    let gate = gates[host] ?? DispatchSemaphore(value: 0)
    gates[host] = gate
    return gate
  }
}
