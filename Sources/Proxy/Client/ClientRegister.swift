import EventIO

/// The client connections of one loop. Owns them until they are closed.
final class ClientRegister {
  private unowned(unsafe) let services: LoopServices
  private(set) var clients = ContiguousArray<ClientConnection>()
  /// Milliseconds that idle connections are given once the loop drains.
  private var drainGrace = 0
  /// The process has room for connections again: acceptors that paused should go on.
  private let hasRoom: () -> Void

  init(_ services: LoopServices, hasRoom: @escaping () -> Void) {
    self.services = services
    self.hasRoom = hasRoom
  }

  /// A connection was accepted.
  /// - Returns: false: the loop had no room to register it, and will try again.
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

  /// Connections end with their present exchange, and idle ones after `grace` milliseconds, in which they are told with their next
  /// answer.
  func drain(grace: Int) {
    drainGrace = grace
    for client in Array(clients) { client.drain(grace: grace) }
  }

  /// Those that were accepted before come under the listener's new settings, too: who must say who it is, above all.
  func adopt(_ listeners: [BoundListener]) {
    for client in clients {
      if let next = listeners.first(where: { $0.socket === client.listener.socket }) { client.listener = next }
    }
  }
}
