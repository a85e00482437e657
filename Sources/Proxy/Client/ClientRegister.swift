import EventIO

/// The client connections of one loop. Owns them until they are closed.
final class ClientRegister {
  private unowned(unsafe) let services: LoopServices
  private(set) var clients = ContiguousArray<ClientConnection>()
  /// In progress, those over HTTP/2 as well.
  var requests: [Request] { clients.flatMap(\.requests) }
  /// Milliseconds that idle connections have left once the loop drains.
  private var drainGrace = 0
  /// Called when the process has room for connections again, so that paused acceptors resume.
  private let hasRoom: () -> Void

  init(_ services: LoopServices, hasRoom: @escaping () -> Void) {
    self.services = services
    self.hasRoom = hasRoom
  }

  /// Takes an accepted connection.
  /// - Returns: false if the loop had no room to register it. The connection tries again.
  func adopt(_ descriptor: Int32, _ peer: Address, _ listener: BoundListener) -> Bool {
    let client = ClientConnection(descriptor, peer: peer, listener: listener, services: services, register: self)
    client.place = clients.count
    clients.append(client)
    let isRegistered = client.begin()
    if services.isDraining { client.drain(grace: drainGrace) }
    return isRegistered
  }

  func ended(_ client: ClientConnection) {
    let last = clients.removeLast()
    if last !== client {
      clients[client.place] = last
      last.place = client.place
    }
    if services.shared.group.closed(on: services.loop.executor.index) { hasRoom() }
  }

  /// Connections close after their current exchange. Idle ones close after `grace` milliseconds. A request that arrives before
  /// that is the last one, and its answer says so.
  func drain(grace: Int) {
    drainGrace = grace
    for client in Array(clients) { client.drain(grace: grace) }
  }

  /// Connections that were accepted before also get the listener's new settings: above all, whether clients must identify
  /// themselves. Those whose address is no longer believed end: nothing better is known of who they are.
  func adopt(_ listeners: [BoundListener]) {
    for client in Array(clients) {
      guard let next = listeners.first(where: { $0.socket === client.listener.socket }) else { continue }
      client.listener = next
      if !client.isPeerBelieved { client.drain(grace: 0) }
    }
  }
}
