import CSystem
import Dispatch
import EventIO
import Settings
import Synchronization

/// The output of the log. Takes lines as bytes and writes them on its own queue, so that no loop waits for a disk or for a slow
/// reader of standard output. If the writer falls behind, it drops lines and counts them, so that memory stays bounded.
///
/// A write may hang forever: a full pipe, a file system that does not answer. So every wait for a writer has a deadline, and a
/// new destination gets whatever the hanging one has not begun to write.
public final class LogOutput: Sendable {
  private static let capacity = 8 << 20
  /// Most former destinations with a hanging write. Each costs a thread and the bytes of its write.
  private static let mostHanging = 4

  fileprivate struct State {
    var pending: [UInt8] = []
    var dropped = 0
    var current: LogDestination
    /// A write to `current` is scheduled or runs. True whenever `pending` is not empty.
    var isBusy = false
    /// Destinations that were replaced while busy.
    var former: [LogDestination] = []
  }
  private let state: Mutex<State>
  private let opener: LogOpener

  public struct OpenError: Error, CustomStringConvertible {
    public let path: String
    public let reason: String
    public var description: String { "cannot open log file \(path): \(reason)" }
  }

  public convenience init(_ settings: LogSettings.Destination) throws(OpenError) { try self.init(settings, LogOpener()) }

  init(_ settings: LogSettings.Destination, _ opener: LogOpener) throws(OpenError) {
    self.opener = opener
    state = Mutex(State(current: try opener.open(settings)))
  }

  /// Takes whole lines, each with its newline.
  public func write(_ lines: [UInt8]) {
    let destination: LogDestination? = state.withLock { state in
      guard state.pending.count + lines.count <= Self.capacity else {
        state.dropped += 1
        return nil
      }
      state.pending += lines
      return state.begin()
    }
    if let destination { schedule(destination) }
  }

  /// Number of dropped writes: the writer had fallen behind, or the destination accepted no more.
  public var dropped: Int { state.withLock { $0.dropped } }

  /// A destination that is open, but not in use yet.
  struct Prepared {
    fileprivate let destination: LogDestination
  }

  /// Opens another destination; nil if it is the current one. Waits for the file system, up to a deadline.
  func prepare(_ settings: LogSettings.Destination) throws(OpenError) -> Prepared? {
    if state.withLock({ $0.current.settings == settings }) { return nil }
    return Prepared(destination: try open(settings))
  }

  /// Writes to this destination from now on. A write that has begun finishes at the old one; the rest goes to the new one.
  func adopt(_ prepared: Prepared) { replace(with: prepared.destination, if: nil) }

  /// Opens the file again (SIGUSR1, after log rotation). If that fails, nothing changes. Waits for the file system, up to a
  /// deadline.
  public func reopen() throws(OpenError) {
    let current = state.withLock { $0.current }
    guard current.isFile else { return }
    replace(with: try open(current.settings), if: current)
  }

  private func open(_ settings: LogSettings.Destination) throws(OpenError) -> LogDestination {
    let former = state.withLock { $0.former }
    // Back to standard output: the same object keeps its lines in order, and no second thread writes between them.
    if let same = former.first(where: { $0.settings == settings && !$0.isFile }) { return same }
    if former.count >= Self.mostHanging, case .file(let path) = settings {
      throw OpenError(path: path, reason: "writes to \(former.count) earlier destinations of the log still hang")
    }
    return try opener.open(settings)
  }

  /// - Parameter expected: does nothing if another destination is in use meanwhile.
  private func replace(with next: LogDestination, if expected: LogDestination?) {
    let destination: LogDestination? = state.withLock { state in
      guard expected == nil || state.current === expected else { return nil }
      if state.isBusy { state.former.append(state.current) }
      state.isBusy = state.former.contains { $0 === next }
      state.former.removeAll { $0 === next }
      state.current = next
      return state.pending.isEmpty ? nil : state.begin()
    }
    if let destination { schedule(destination) }
  }

  /// Waits until everything passed to `write` so far is written, at most this long.
  /// - Returns: false after the deadline.
  @discardableResult
  public func flush(within milliseconds: Int) -> Bool {
    let deadline = csys_monotonic() + Int64(milliseconds) * 1_000_000
    let (current, former) = state.withLock { ($0.current, $0.former) }
    return ([current] + former).reduce(true) { isWritten, destination in
      let left = Int(max(deadline - csys_monotonic(), 0) / 1_000_000)
      return destination.queue.run(within: left) { self.drain(destination) } != nil && isWritten
    }
  }

  private func schedule(_ destination: LogDestination) { destination.queue.async { @Sendable in self.drain(destination) } }

  /// Runs on the destination's queue.
  private func drain(_ destination: LogDestination) {
    while let bytes = state.withLock({ $0.take(for: destination) }) {
      if !destination.write(bytes) { state.withLock { $0.dropped += 1 } }
    }
  }
}

extension LogOutput.State {
  /// - Returns: the destination to schedule a write on; nil if one is scheduled or runs.
  fileprivate mutating func begin() -> LogDestination? {
    if isBusy { return nil }
    isBusy = true
    return current
  }

  /// The next bytes for the destination to write; nil if there are none.
  fileprivate mutating func take(for destination: LogDestination) -> [UInt8]? {
    guard destination === current else {
      former.removeAll { $0 === destination }
      return nil
    }
    guard !pending.isEmpty else {
      isBusy = false
      return nil
    }
    let bytes = pending
    pending = []
    return bytes
  }
}
