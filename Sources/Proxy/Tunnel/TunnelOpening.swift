import EventIO
import Streams

/// The way to a tunnel's far end: name, address rules, connection. Its errors are answers to the CONNECT.
final class TunnelOpening {
  private let target: TunnelTarget
  private unowned let request: Request
  private let deliver: (Result<(ByteStream, Address), ProxyError>) -> Void
  private var lookup: Resolver.Waiter?
  private var race: ConnectionRace?

  init(_ target: TunnelTarget, _ request: Request, deliver: @escaping (Result<(ByteStream, Address), ProxyError>) -> Void) {
    self.target = target
    self.request = request
    self.deliver = deliver
  }

  func start() {
    request.summary.connectStarted = request.loop.now
    let asker = request.snapshot.writesOut(target.host) ? .configuration : request.asker
    switch request.loop.resolver.lookUp(target.host, for: asker, deliver: { [unowned self] in self.resolved($0) }) {
    case .known(let answer): resolved(answer)
    case .pending(let waiter): lookup = waiter
    }
  }

  func cancel() {
    lookup?.cancel()
    race?.cancel()
  }

  private func resolved(_ answer: Resolver.Answer) {
    lookup = nil
    switch answer {
    case .failure(.notFound): deliver(.failure(.nameNotFound(target.host)))
    case .failure(.broken(let text)): deliver(.failure(.resolverFailed(target.host, text)))
    case .failure(.overloaded): deliver(.failure(.resolverFailed(target.host, "too many look-ups are waiting")))
    case .success(var addresses):
      for index in addresses.indices { addresses[index].port = target.port }
      addresses = request.worker.permitted(addresses)
      guard !addresses.isEmpty else { return deliver(.failure(.addressForbidden(target.host))) }
      let race = ConnectionRace(on: request.loop, to: addresses) { [unowned self] in self.raced($0) }
      self.race = race
      race.start()
    }
  }

  private func raced(_ result: Result<(descriptor: Int32, token: Token, address: Address), ConnectionRace.Failure>) {
    race = nil
    switch result {
    case .failure(.system(let error)): deliver(.failure(.connectFailed(error)))
    case .failure(.outOfDescriptors):
      request.worker.ranOutOfDescriptors()
      deliver(.failure(.outOfDescriptors))
    case .success(let (descriptor, token, address)):
      request.summary.connected = request.loop.clock()
      let stream = ByteStream(descriptor: descriptor, token: token)
      if request.worker.isOwnListener(connected: descriptor, to: address) {
        stream.close(on: request.loop)
        return deliver(.failure(.addressForbidden(target.host)))
      }
      deliver(.success((stream, address)))
    }
  }
}
