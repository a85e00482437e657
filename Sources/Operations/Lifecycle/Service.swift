import CSystem
import Dispatch
import EventIO
import Logging
import Proxy
import Settings
import Synchronization

/// The running proxy: loops, listeners, and the configuration in force. Everything that changes it runs on one control queue.
public final class Service: Sendable {
  public let group: LoopGroup
  public let output: LogOutput
  public let logger: Logger
  private let format: OperationalLogHandler.Format
  private let builder: SnapshotBuilder
  private let shared: Shared
  private let trustLog: TrustLog
  private let control = DispatchQueue(label: "control")
  private let state: Mutex<State>

  private struct State {
    var snapshot: Snapshot?
    var listeners: [BoundListener] = []
    var generation = 0
  }

  public struct StartError: Error, CustomStringConvertible {
    public enum Kind: Sendable { case bind, load }
    public let kind: Kind
    public let description: String
  }

  /// - Parameter threads: event loops.
  public init(threads: Int, output: LogOutput, log: LogSettings) {
    self.output = output
    let format = OperationalLogHandler.Format()
    format.follow(log)
    self.format = format
    logger = Logger(label: "authproxy") { _ in OperationalLogHandler(output, format) }
    let trustLog = TrustLog(logger)
    self.trustLog = trustLog
    builder = SnapshotBuilder { trustLog.warn($0) }
    group = LoopGroup(count: threads)
    shared = Shared(group: group)
    state = Mutex(State())
  }

  /// Binds, builds and serves; answers the bound addresses.
  public func start(_ settings: Settings) throws(StartError) -> [Address] {
    let snapshot: Snapshot
    do { snapshot = try builder.build(settings, generation: 1) } catch { throw StartError(kind: .load, description: "\(error)") }
    var listeners: [BoundListener] = []
    for listener in settings.listeners { listeners.append(try Self.bind(listener)) }
    group.connectionLimit = settings.limits.connections
    group.start()
    let (shared, output, format, bound, trustLog) = (shared, output, format, listeners, trustLog)
    group.all { loop in
      let worker = Worker.install(
        on: loop, shared: shared, snapshot: snapshot, observer: LoopRecorder(loop, output, format, trustLog, log: snapshot.settings.log))
      worker.listen(on: bound)
    }
    state.withLock { $0 = State(snapshot: snapshot, listeners: bound, generation: 1) }
    return listeners.map(\.socket.address)
  }

  private static func bind(_ settings: ListenerSettings) throws(StartError) -> BoundListener {
    do {
      switch settings.endpoint {
      case .tcp(let host, let port):
        guard let address = Address(literal: host, port: port) else {
          throw StartError(kind: .bind, description: "\(host) is no address")
        }
        return BoundListener(socket: try ListeningSocket(binding: address), settings: settings)
      case .unix(let path, let mode, let owner, let group):
        return BoundListener(
          socket: try ListeningSocket(
            binding: Address(unixPath: path), mode: mode, owner: try Owner.user(owner), group: try Owner.group(group)),
          settings: settings)
      case .inherited(let descriptor):
        return BoundListener(socket: try ListeningSocket(inherited: descriptor), settings: settings)
      }
    } catch { throw (error as? StartError) ?? StartError(kind: .bind, description: "\(error)") }
  }

  /// Puts another configuration in force: what did not change keeps its sockets, pools and state. Where something cannot be
  /// had, nothing changes.
  public func reload(_ settings: Settings) throws(StartError) {
    let (old, generation) = state.withLock { ($0.listeners, $0.generation + 1) }
    let snapshot: Snapshot
    do { snapshot = try builder.build(settings, generation: generation) } catch {
      throw StartError(kind: .load, description: "\(error)")
    }
    var listeners: [BoundListener] = []
    for wanted in settings.listeners {
      if let same = old.first(where: { $0.settings == wanted }) {
        listeners.append(same)
      } else if let socket = old.first(where: { $0.settings.endpoint == wanted.endpoint })?.socket {
        listeners.append(BoundListener(socket: socket, settings: wanted))
      } else {
        listeners.append(try Self.bind(wanted))
      }
    }
    format.follow(settings.log)
    group.connectionLimit = settings.limits.connections
    let bound = listeners
    group.all { loop in
      let worker = Worker.of(loop)
      worker.adopt(snapshot)
      worker.listen(on: bound)
      (worker.observer as? LoopRecorder)?.follow(settings.log)
    }
    state.withLock { $0 = State(snapshot: snapshot, listeners: bound, generation: generation) }
  }

  /// Stops accepting, ends idle connections, waits for the others up to `deadline` milliseconds; then calls `done`.
  public func drain(deadline: Int, done: @escaping @Sendable () -> Void) {
    state.withLock { $0.listeners = [] }
    group.all { Worker.of($0).drain() }
    let end = csys_monotonic() + Int64(deadline) * 1_000_000
    waitForEnd(until: end, done)
  }

  private func waitForEnd(until end: Int64, _ done: @escaping @Sendable () -> Void) {
    control.asyncAfter(deadline: .now() + .milliseconds(20)) { @Sendable in
      if self.group.connections == 0 || csys_monotonic() >= end {
        done()
      } else {
        self.waitForEnd(until: end, done)
      }
    }
  }

  /// Writes out what the loops' logs still hold.
  public func flushLogs() {
    let waiter = DispatchGroup()
    for executor in group.executors {
      waiter.enter()
      executor.call { loop in
        (Worker.of(loop).observer as? LoopRecorder)?.flush()
        waiter.leave()
      }
    }
    _ = waiter.wait(timeout: .now() + .seconds(1))
    output.flush()
  }
}

/// Users and groups by name or number.
private enum Owner {
  static func user(_ name: String?) throws(Service.StartError) -> UInt32? {
    guard let name else { return nil }
    if let number = UInt32(name) { return number }
    guard let entry = getpwnam(name) else { throw Service.StartError(kind: .bind, description: "there is no user \(name)") }
    return entry.pointee.pw_uid
  }
  static func group(_ name: String?) throws(Service.StartError) -> UInt32? {
    guard let name else { return nil }
    if let number = UInt32(name) { return number }
    guard let entry = getgrnam(name) else { throw Service.StartError(kind: .bind, description: "there is no group \(name)") }
    return entry.pointee.gr_gid
  }
}
