import Crypto
import EventIO
import HTTPWire
import Routing
import Settings

extension ClientIdentity {
  init(_ client: ClientSettings) { self.init(name: client.name, access: client.allow, maxRequests: client.maxRequests) }

  init(anonymousIn settings: Settings) {
    self.init(name: nil, access: settings.anonymous, maxRequests: settings.anonymousMaxRequests)
  }
}

/// What the last Proxy-Authorization of a connection was found to be: the same bytes need no second look.
struct AccessMemo {
  var field: [UInt8]
  /// Of the snapshot: an address could be another snapshot's by now.
  var generation: Int
  var identity: ClientIdentity
}

extension Request {
  /// Who asks; from here on the request is one of that client's in flight.
  /// - Parameter earlier: the Proxy-Authorization of the CONNECT that this request came through; requests inside have none.
  func identify(_ bytes: UnsafeRawBufferPointer, earlier: [UInt8]? = nil) throws(ProxyError) -> ClientIdentity {
    let identity = try findIdentity(bytes, earlier: earlier)
    try admit(identity)
    return identity
  }

  /// The same for what has no head of its own: by the Proxy-Authorization of the CONNECT before it, or without one.
  func identify(earlier: [UInt8]?) throws(ProxyError) -> ClientIdentity {
    let identity = try findIdentity(earlier: earlier)
    try admit(identity)
    return identity
  }

  /// By Proxy-Authorization, else by address, else anonymous where the listener allows it. Wrong credentials are 407 everywhere,
  /// also where nobody has to say who it is.
  private func findIdentity(_ bytes: UnsafeRawBufferPointer, earlier: [UInt8]?) throws(ProxyError) -> ClientIdentity {
    if knowsNobody { return ClientIdentity(anonymousIn: snapshot.settings) }
    guard let field = worker.requestHead.fields.first(.proxyAuthorization) else { return try findIdentity(earlier: earlier) }
    guard worker.requestHead.fields.count(of: .proxyAuthorization) == 1 else { throw .wrongPassword }
    guard let found = self.identity(by: field.value.bytes(in: bytes)) else { throw .wrongPassword }
    summary.client = found.name
    return found
  }

  /// There are no clients to tell apart: what anybody says is not looked at.
  private var knowsNobody: Bool { snapshot.settings.clients.isEmpty && !client.listener.settings.clientsRequired }

  private func findIdentity(earlier: [UInt8]?) throws(ProxyError) -> ClientIdentity {
    let settings = snapshot.settings
    if knowsNobody { return ClientIdentity(anonymousIn: settings) }
    let identity: ClientIdentity
    if let earlier {
      guard let found = earlier.withUnsafeBytes({ self.identity(by: $0) }) else { throw .wrongPassword }
      identity = found
    } else if let found = byAddress(settings.clients) {
      identity = found
    } else if !client.listener.settings.clientsRequired {
      identity = ClientIdentity(anonymousIn: settings)
    } else {
      throw .passwordRequired
    }
    summary.client = identity.name
    return identity
  }

  private func identity(by value: UnsafeRawBufferPointer) -> ClientIdentity? {
    let generation = snapshot.generation
    if let memo = client.accessMemo, memo.generation == generation, memo.field.withUnsafeBytes({ equalBytes($0, value) }) {
      return memo.identity
    }
    guard let found = Self.byPassword(value, snapshot.settings.clients) else { return nil }
    client.accessMemo = AccessMemo(field: Array(value), generation: generation, identity: found)
    return found
  }

  /// RFC 7617 section 2.
  static func byPassword(_ value: UnsafeRawBufferPointer, _ clients: [ClientSettings]) -> ClientIdentity? {
    guard value.count > 6, equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: value[..<6]), "basic ") else { return nil }
    let encoded = value[6...].drop { $0 == 32 }
    guard let decoded = Base64.decode(Array(encoded)), let colon = decoded.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let name = String(decoding: decoded[..<colon], as: UTF8.self)
    // Digests of equal length are compared, so that neither content nor length shows in time; one comparison happens for unknown
    // names, too.
    let given = SHA256.digest(Array(decoded[(colon + 1)...]))
    let client = clients.first { $0.name == name && $0.password != nil }
    let isRight = constantTimeEquals(given, SHA256.digest(client?.password?.bytes ?? []))
    guard let client, isRight else { return nil }
    return ClientIdentity(client)
  }

  private func byAddress(_ clients: [ClientSettings]) -> ClientIdentity? {
    guard let address = client.peer.bytes else { return nil }
    let match = clients.first { $0.from.contains { range in range.contains(address) } }
    return match.map { ClientIdentity($0) }
  }
}
