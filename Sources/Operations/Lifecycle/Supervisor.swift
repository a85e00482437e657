import CSystem
import Dispatch
import EventIO
import Synchronization

/// Speaks systemd's protocol (sd_notify(3), sd_watchdog_enabled(3)); does nothing without NOTIFY_SOCKET. Sends messages in order
/// from its own queue, so that a supervisor that does not read them delays neither a reload nor the exit.
public final class Supervisor: Sendable {
  private let path: String?
  /// Microseconds; nil = no watchdog.
  private let watchdog: Int64?
  private let queue = DispatchQueue(label: "supervisor")
  private let answered = Atomic<Int>(0)

  /// - Parameter environment: of the process: NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID.
  public init(environment: [String: String]) {
    path = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
    let isOurs = environment["WATCHDOG_PID"].map { $0 == "\(getpid())" } ?? true
    watchdog = isOurs ? environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil } : nil
  }

  /// Seconds that a message may wait for room in the supervisor's socket.
  private static let patience: Int32 = 1

  private func tell(_ lines: [String]) {
    guard path != nil else { return }
    queue.async { @Sendable in self.send(lines) }
  }

  private func send(_ lines: [String]) {
    guard let path else { return }
    _ = csys_notify(path, lines.joined(separator: "\n"), Self.patience)
  }

  public func ready(_ status: String) { tell(["READY=1", "STATUS=\(status)"]) }

  /// The caller calls `ready` afterwards, with either result. systemd 253 and later require the time.
  public func reloading() { tell(["RELOADING=1", "MONOTONIC_USEC=\(csys_monotonic() / 1_000)", "STATUS=reloading"]) }

  /// - Parameter milliseconds: how long the shutdown may take; extends a shorter TimeoutStopSec.
  public func stopping(milliseconds: Int) {
    tell(["STOPPING=1", "EXTEND_TIMEOUT_USEC=\(milliseconds * 1_000)", "STATUS=draining"])
  }

  /// Sends watchdog messages while every loop answers. If one hangs, systemd restarts the process.
  public func watch(_ loops: [LoopExecutor]) {
    guard let watchdog, path != nil else { return }
    answered.store(loops.count, ordering: .relaxed)
    // sd_watchdog_enabled(3) recommends half the interval; a third leaves room for one late answer.
    let interval = Int(max(watchdog / 3, 1_000))
    queue.async { @Sendable in self.beat(loops, everyMicroseconds: interval) }
  }

  private func beat(_ loops: [LoopExecutor], everyMicroseconds interval: Int) {
    if answered.load(ordering: .relaxed) >= loops.count {
      send(["WATCHDOG=1"])
      answered.store(0, ordering: .relaxed)
      for loop in loops { loop.call { _ in self.answered.add(1, ordering: .relaxed) } }
    }
    queue.asyncAfter(deadline: .now() + .microseconds(interval)) { @Sendable in self.beat(loops, everyMicroseconds: interval) }
  }
}
