import EventIO
import Foundation
import RedisClient
import RedisProtocol

/// Clients of many processes, on a few loops.
final class Crowd: Sendable {
  struct State {
    var connected = 0
    /// Seconds of the monotonic clock.
    var times: [Double] = []
    /// Since the write that was announced until its record was read.
    var adoptions: [Double] = []
    var written = 0.0
  }

  /// Of one loop.
  private final class Part {
    var clients: [RedisClient] = []
  }

  static let key = Array("authproxy:crowd".utf8)
  private static let loops = 2
  let state = Monitor(State())
  private let executors: [LoopExecutor]

  init(_ settings: RedisSettings, size: Int) {
    executors = (0..<Self.loops).map { _ in LoopExecutor() }
    for (number, executor) in executors.enumerated() {
      executor.start()
      let share = (size + number) / Self.loops
      executor.call { [state] loop in
        let part = Part()
        loop.install(part)
        for index in 0..<share {
          let client = RedisClient(
            settings, on: loop, gate: TestStore.gate, chance: { Double.random(in: 0..<1) },
            report: { [weak part] event in
              switch event {
              case .connected:
                state.change {
                  $0.connected += 1
                  $0.times.append(Self.now)
                }
              case .changed(let key) where key == Self.key:
                part?.clients[index].read(key) { _ in state.change { $0.adoptions.append(Self.now - $0.written) } }
              default: break
              }
            })
          part.clients.append(client)
          client.start()
        }
      }
    }
  }

  static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// The first client writes.
  func write(_ old: [UInt8]?, _ new: [UInt8]) {
    executors[0].call { [state] loop in
      state.change { $0.written = Self.now }
      loop.resident(Part.self).clients[0].compareAndSet(Self.key, expected: old, replacement: new) { _ in }
    }
  }

  func stop() {
    for executor in executors { executor.call { for client in $0.resident(Part.self).clients { client.stop() } } }
  }
}
