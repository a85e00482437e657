import CSystem
import Dispatch
import EventIO
import Settings
import Synchronization

/// Where log lines go. Lines are handed over as bytes and written by a queue of its own: no loop ever waits for a disk or a
/// slow reader of standard output. When the writer falls behind, lines are dropped and counted, not kept without bound.
///
/// A write may hang for ever: a pipe that is full, a file system that does not answer. So nothing here waits for a writer without
/// a deadline, and another destination takes over what the hanging one has not begun to write.
public final class LogOutput: Sendable {
  private static let capacity = 8 << 20
  /// Former destinations in which a write hangs: each costs a thread and what it was writing.
  private static let mostHanging = 4

  fileprivate struct State {
    var pending: [UInt8] = []
    var dropped = 0
    var current: LogDestination
    /// A write to `current` is due or under way. True whenever there is something in `pending`.
    var isBusy = false
    /// Replaced while they were busy.
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

  /// How many writes were dropped so far: the writer had fallen behind, or the destination took nothing more.
  public var dropped: Int { state.withLock { $0.dropped } }

  /// A destination that is open, but not yet written to.
  struct Prepared {
    fileprivate let destination: LogDestination
  }

  /// Opens another destination; nil if it is the present one. Waits for the file system, but not for ever.
  func prepare(_ settings: LogSettings.Destination) throws(OpenError) -> Prepared? {
    if state.withLock({ $0.current.settings == settings }) { return nil }
    return Prepared(destination: try open(settings))
  }

  /// Writes there from now on. What a write to the old destination has begun ends there; the rest goes to the new one.
  func adopt(_ prepared: Prepared) { replace(with: prepared.destination, if: nil) }

  /// Opens the file again (SIGUSR1, after log rotation). If it cannot be opened, nothing changes. Waits for the file system, but
  /// not for ever.
  public func reopen() throws(OpenError) {
    let current = state.withLock { $0.current }
    guard current.isFile else { return }
    replace(with: try open(current.settings), if: current)
  }

  private func open(_ settings: LogSettings.Destination) throws(OpenError) -> LogDestination {
    let former = state.withLock { $0.former }
    // Standard output again: its lines keep their order, and no second thread writes between the bytes of one.
    if let same = former.first(where: { $0.settings == settings && !$0.isFile }) { return same }
    if former.count >= Self.mostHanging, case .file(let path) = settings {
      throw OpenError(path: path, reason: "writes to \(former.count) earlier destinations of the log still hang")
    }
    return try opener.open(settings)
  }

  /// - Parameter expected: where another one is in use meanwhile, nothing happens.
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

  /// Waits until everything handed over so far has been written, but no longer than this.
  /// - Returns: false if time was up.
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

  /// On the destination's queue.
  private func drain(_ destination: LogDestination) {
    while let bytes = state.withLock({ $0.take(for: destination) }) {
      if !destination.write(bytes) { state.withLock { $0.dropped += 1 } }
    }
  }
}

extension LogOutput.State {
  /// - Returns: the destination whose queue is to be told; nil if it is at work already.
  fileprivate mutating func begin() -> LogDestination? {
    if isBusy { return nil }
    isBusy = true
    return current
  }

  /// What the destination is to write next; nil if it has nothing more to write.
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
