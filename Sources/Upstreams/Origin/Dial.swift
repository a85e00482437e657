import EventIO
import Streams
import Trust

/// Opens a stream to a host: directly (`HostDial`), or by the ways of a route (`WayDial`). Origins and tunnels use the same code. The
/// object that waits for the stream owns the dial.
public class Dial: EventHandler {
  public struct Target {
    public var host: String
    public var port: UInt16
    /// Whether `forbidden_addresses` applies.
    public var checksAddresses: Bool
    /// How the host is reached; nil: directly, from any address.
    public var route: Route?
    /// Clear HTTP is spoken to the host.
    public var isClear: Bool
    /// The host is the path of a unix socket: no name has a slash.
    public var isUnix: Bool { host.utf8.first == UInt8(ascii: "/") }

    public init(host: String, port: UInt16, checksAddresses: Bool, route: Route? = nil, isClear: Bool = false) {
      self.isClear = isClear
      self.host = host
      self.port = port
      self.checksAddresses = checksAddresses
      self.route = route
    }
  }

  public enum Progress {
    /// From now on the time limit of connecting applies, not that of a look-up.
    case connecting
    case connected(Connected)
    case failed(UpstreamError)
  }

  /// An open stream. Its socket is registered with the loop under a temporary handler; the receiver replaces it
  /// (`EventLoop.hand`).
  public struct Connected {
    public let stream: ByteStream
    /// Of the far end of the socket: the host's, or the parent's.
    public let address: Address
    /// The parent behind which the host is; nil: reached directly.
    public var parent: Parent?
    /// The verdict on an https:// parent; nil: there is no such parent.
    var verdict: VerdictRecord?
    /// The parent takes requests in absolute-form; nil: the stream leads to the host.
    public var absolute: AbsoluteForm?
    /// What the host has sent behind the parent's answer.
    public var rest: [UInt8] = []
  }

  unowned final let upstreams: Upstreams
  final let report: (Progress) -> Void

  init(on upstreams: Upstreams, report: @escaping (Progress) -> Void) {
    self.upstreams = upstreams
    self.report = report
  }

  /// - Parameter report: called at most twice, possibly before `start` returns, and never after `cancel`.
  public static func to(_ target: Target, on upstreams: Upstreams, report: @escaping (Progress) -> Void) -> Dial {
    guard let route = target.route, !route.isDirect else { return HostDial(target, on: upstreams, report: report) }
    return WayDial(target, route, on: upstreams, report: report)
  }

  /// - Parameters:
  ///   - asker: is charged for the look-up, unless the configuration itself names the host.
  ///   - limit: nanoseconds that connecting may take, the whole way.
  public func start(for asker: NameAsker, within limit: Int64) {}

  /// Reports nothing any more, and closes what is open.
  public func cancel() {}

  /// When the time limit of connecting ends, if it moves: waiting for a revocation answer does not count. Nanoseconds of the loop's
  /// clock; Int64.max while it is waited for.
  public var movedEnd: Int64? { nil }

  /// What to say if the time was up now. The dial goes on, for others.
  var overdue: UpstreamError { .connectTimeout }

  /// The time limit of connecting has passed.
  /// - Returns: what to say of it. The caller cancels next.
  public func timeUp() -> UpstreamError { .connectTimeout }
}

/// Connects to a host directly: resolves the name, applies the address rules, and races the remaining addresses.
final class HostDial: Dial {
  private let target: Target
  private var lookup: Resolver.Waiter?
  private var race: ConnectionRace?

  init(_ target: Target, on upstreams: Upstreams, report: @escaping (Progress) -> Void) {
    self.target = target
    super.init(on: upstreams, report: report)
  }

  override func start(for asker: NameAsker, within limit: Int64) {
    if target.isUnix { return connect(to: [Address(unixPath: target.host)], isWritten: true) }
    if let written = target.route?.addresses { return connect(to: written, isWritten: true) }
    let payer = upstreams.rules.writtenHosts.contains(target.host) ? .configuration : asker
    switch upstreams.loop.resolver.lookUp(target.host, for: payer, deliver: { [unowned self] in self.resolved($0) }) {
    case .known(let answer): resolved(answer)
    case .pending(let waiter): lookup = waiter
    }
  }

  override func cancel() {
    lookup?.cancel()
    race?.cancel()
    lookup = nil
    race = nil
  }

  private func resolved(_ answer: Resolver.Answer) {
    lookup = nil
    switch answer {
    case .failure(let failure): report(.failed(UpstreamError(failure, of: target.host)))
    case .success(let addresses): connect(to: addresses, isWritten: false)
    }
  }

  /// - Parameter isWritten: the configuration has them (`hosts`), so `forbidden_addresses` does not apply. Our own listeners are forbidden
  ///   still: behind them an app would be another client, the proxy itself.
  private func connect(to known: [Address], isWritten: Bool) {
    var addresses = known
    for index in addresses.indices { addresses[index].port = target.port }
    if target.checksAddresses {
      addresses = isWritten ? addresses.filter { !upstreams.isOwnListener($0) } : upstreams.permitted(addresses)
      guard !addresses.isEmpty else { return report(.failed(.addressForbidden(target.host))) }
    }
    if let route = target.route {
      addresses = addresses.filter { route.source.permits($0.family) }
      guard !addresses.isEmpty else { return report(.failed(.familyExcluded(target.host))) }
    }
    report(.connecting)
    let race = ConnectionRace(on: upstreams.loop, to: addresses, from: target.route?.source.addresses ?? []) {
      [unowned self] in self.raced($0)
    }
    self.race = race
    race.start()
  }

  private func raced(_ result: Result<ConnectionRace.Winner, ConnectionRace.Failure>) {
    race = nil
    switch result {
    case .failure(.system(let error)): report(.failed(.connectFailed(error)))
    case .failure(.badSource(let source, let error)): report(.failed(.badSource(source.host, error)))
    case .failure(.outOfDescriptors):
      upstreams.ranOutOfDescriptors()
      report(.failed(.outOfDescriptors))
    case .success(let connection):
      let stream = ByteStream(connection)
      if target.checksAddresses, upstreams.isOwnListener(connected: connection.descriptor, to: connection.address) {
        stream.close(on: upstreams.loop)
        return report(.failed(.addressForbidden(target.host)))
      }
      report(.connected(Connected(stream: stream, address: connection.address)))
    }
  }
}
