import EventIO
import Streams

/// Connects to a host: resolves the name, applies the address rules, and races the remaining addresses; or to a unix socket. Origins and tunnels use
/// the same code. The object that waits for the connection owns it.
public final class Dial {
  public struct Target {
    public var host: String
    public var port: UInt16
    /// Whether `forbidden_addresses` applies.
    public var checksAddresses: Bool
    /// The host is the path of a unix socket: no name has a slash.
    public var isUnix: Bool { host.utf8.first == UInt8(ascii: "/") }

    public init(host: String, port: UInt16, checksAddresses: Bool) {
      self.host = host
      self.port = port
      self.checksAddresses = checksAddresses
    }
  }

  public enum Progress {
    /// The addresses are known, and the proxy connects to them.
    case connecting
    /// Connected. The socket is registered with the loop under a temporary handler; the receiver replaces it
    /// (`EventLoop.hand`).
    case connected(ByteStream, Address)
    case failed(UpstreamError)
  }

  private let target: Target
  private unowned let upstreams: Upstreams
  private let report: (Progress) -> Void
  private var lookup: Resolver.Waiter?
  private var race: ConnectionRace?

  /// - Parameter report: called at most twice, possibly before `start` returns, and never after `cancel`.
  public init(_ target: Target, on upstreams: Upstreams, report: @escaping (Progress) -> Void) {
    self.target = target
    self.upstreams = upstreams
    self.report = report
  }

  /// - Parameter asker: is charged for the look-up, unless the configuration itself names the host.
  public func start(for asker: NameAsker) {
    if target.isUnix { return connect(to: [Address(unixPath: target.host)]) }
    let payer = upstreams.rules.writtenHosts.contains(target.host) ? .configuration : asker
    switch upstreams.loop.resolver.lookUp(target.host, for: payer, deliver: { [unowned self] in self.resolved($0) }) {
    case .known(let answer): resolved(answer)
    case .pending(let waiter): lookup = waiter
    }
  }

  public func cancel() {
    lookup?.cancel()
    race?.cancel()
    lookup = nil
    race = nil
  }

  private func resolved(_ answer: Resolver.Answer) {
    lookup = nil
    switch answer {
    case .failure(.notFound): report(.failed(.nameNotFound(target.host)))
    case .failure(.broken(let text)): report(.failed(.resolverFailed(target.host, text)))
    case .failure(.overloaded): report(.failed(.resolverFailed(target.host, "too many look-ups are waiting")))
    case .success(var addresses):
      for index in addresses.indices { addresses[index].port = target.port }
      if target.checksAddresses {
        addresses = upstreams.permitted(addresses)
        guard !addresses.isEmpty else { return report(.failed(.addressForbidden(target.host))) }
      }
      connect(to: addresses)
    }
  }

  private func connect(to addresses: [Address]) {
    report(.connecting)
    let race = ConnectionRace(on: upstreams.loop, to: addresses) { [unowned self] in self.raced($0) }
    self.race = race
    race.start()
  }

  private func raced(_ result: Result<ConnectionRace.Winner, ConnectionRace.Failure>) {
    race = nil
    switch result {
    case .failure(.system(let error)): report(.failed(.connectFailed(error)))
    case .failure(.outOfDescriptors):
      upstreams.ranOutOfDescriptors()
      report(.failed(.outOfDescriptors))
    case .success(let connection):
      let stream = ByteStream(connection)
      if target.checksAddresses, upstreams.isOwnListener(connected: connection.descriptor, to: connection.address) {
        stream.close(on: upstreams.loop)
        return report(.failed(.addressForbidden(target.host)))
      }
      report(.connected(stream, connection.address))
    }
  }
}
