import CSystem
import Dispatch
import Glibc
import Settings
import Synchronization

/// Where log lines go. Lines are handed over as bytes and written by a queue of its own: no loop ever waits for a disk or a
/// slow reader of standard output. When the writer falls behind, lines are dropped and counted, not kept without bound.
public final class LogOutput: Sendable {
  private static let capacity = 8 << 20

  private struct State {
    var pending: [UInt8] = []
    var isScheduled = false
    var dropped = 0
  }
  fileprivate struct Target {
    var destination: LogSettings.Destination
    var descriptor: Int32
  }
  private let queue = DispatchQueue(label: "log")
  private let state = Mutex(State())
  private let target: Mutex<Target>

  public struct OpenError: Error, CustomStringConvertible {
    public let path: String
    public let error: Int32
    public var description: String { "cannot open log file \(path): \(String(cString: strerror(error)))" }
  }

  public init(_ destination: LogSettings.Destination) throws(OpenError) {
    target = Mutex(Target(destination: destination, descriptor: try Self.open(destination)))
  }

  private static func open(_ destination: LogSettings.Destination) throws(OpenError) -> Int32 {
    switch destination {
    case .standardOutput: return STDOUT_FILENO
    case .standardError: return STDERR_FILENO
    case .file(let path):
      let descriptor = csys_open(path, O_WRONLY | O_CREAT | O_APPEND, 0o640)
      guard descriptor >= 0 else { throw OpenError(path: path, error: -descriptor) }
      return descriptor
    }
  }

  /// Takes whole lines, each with its newline.
  public func write(_ lines: [UInt8]) {
    let schedules = state.withLock { state in
      guard state.pending.count + lines.count <= Self.capacity else {
        state.dropped += 1
        return false
      }
      state.pending += lines
      if state.isScheduled { return false }
      state.isScheduled = true
      return true
    }
    if schedules { queue.async { @Sendable in self.drain() } }
  }

  /// How many writes were dropped so far because the writer had fallen behind.
  public var dropped: Int { state.withLock { $0.dropped } }

  /// A destination that is open, but not yet written to.
  struct Prepared {
    fileprivate var target: Target
    func discard() {
      if case .file = target.destination { _ = csys_close(target.descriptor) }
    }
  }

  /// Opens another destination; nil where it is the present one.
  func prepare(_ destination: LogSettings.Destination) throws(OpenError) -> Prepared? {
    if target.withLock({ $0.destination == destination }) { return nil }
    return Prepared(target: Target(destination: destination, descriptor: try Self.open(destination)))
  }

  /// Writes there from now on; what was handed over before may go either way.
  func adopt(_ prepared: Prepared) {
    queue.sync {
      let old = target.withLock { target in
        let old = target
        target = prepared.target
        return old
      }
      if case .file = old.destination { _ = csys_close(old.descriptor) }
    }
  }

  /// Opens the file anew (SIGUSR1, after log rotation). What cannot be opened changes nothing.
  public func reopen() throws(OpenError) {
    let destination = target.withLock { $0.destination }
    adopt(Prepared(target: Target(destination: destination, descriptor: try Self.open(destination))))
  }

  /// Waits until everything handed over so far has been written.
  public func flush() { queue.sync { drain() } }

  private func drain() {
    while true {
      let bytes = state.withLock { state in
        let bytes = state.pending
        state.pending = []
        if bytes.isEmpty { state.isScheduled = false }
        return bytes
      }
      if bytes.isEmpty { return }
      let descriptor = target.withLock { $0.descriptor }
      var start = 0
      while start < bytes.count {
        let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress! + start, bytes.count - start) }
        if count > 0 { start += count } else if count < 0, csys_errno() != EINTR { break }
      }
    }
  }
}
