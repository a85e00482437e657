/// The upstream connections that belong to one client connection, as NTLM or Negotiate was spoken over them (RFC 4559 section 6):
/// they answer for whoever authenticated there, and so serve nobody else, whatever stands in line. They end with the client's.
struct BoundConnections {
  private var connections: [UpstreamConnection] = []

  var isEmpty: Bool { connections.isEmpty }

  mutating func add(_ connection: UpstreamConnection) { connections.append(connection) }

  mutating func remove(_ connection: UpstreamConnection) { connections.removeAll { $0 === connection } }

  /// One to that origin that rests.
  func resting(in pool: OriginPool) -> UpstreamConnection? {
    connections.first { $0.pool === pool && $0.phase == .idle }
  }

  func contains(_ connection: UpstreamConnection) -> Bool { connections.contains { $0 === connection } }

  fileprivate mutating func takeAll() -> [UpstreamConnection] {
    defer { connections = [] }
    return connections
  }
}

extension ClientConnection {
  /// It serves nothing more. A connection of an exchange under way ends with that.
  func endBound() {
    guard !bound.isEmpty else { return }
    for connection in bound.takeAll() where connection.phase == .idle { connection.close() }
  }
}

extension UpstreamConnection {
  /// Whom it belongs to: a connection, and the name that its requests came under.
  struct Owner {
    /// Holds this connection in turn, until either is closed.
    let client: ClientConnection
    let name: String?
  }

  /// It belongs to this request's client connection from now on.
  func bind(to request: Request) {
    guard owner == nil else { return }
    owner = Owner(client: request.client, name: request.summary.client)
    request.client.bound.add(self)
  }

  func unbind() {
    owner?.client.bound.remove(self)
    owner = nil
  }

  /// Not where its verdict has run out, or another user of the same client connection has authenticated over it.
  func mayServe(_ attempt: Attempt) -> Bool {
    isTrusted(at: loop.now) && owner?.name == attempt.request.summary.client
  }
}
