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

/// Identifies the client: by Proxy-Authorization, else by certificate, else by address, else as anonymous if the listener allows it. If
/// there are clients to tell apart, wrong credentials are always 407, even if the listener requires none.
enum ClientAccess {
  /// - Parameter earlier: Proxy-Authorization of the CONNECT that this request follows, as the request has none itself; nil:
  ///   none.
  static func identify(
    _ head: borrowing RequestHead, _ bytes: UnsafeRawBufferPointer, earlier: [UInt8]?, on app: AppConnection,
    in snapshot: Snapshot
  ) throws(ProxyError) -> ClientIdentity {
    if knowsNobody(app, snapshot) { return ClientIdentity(anonymousIn: snapshot.settings) }
    guard let field = head.fields.first(.proxyAuthorization) else {
      return try identify(earlier: earlier, on: app, in: snapshot)
    }
    guard head.fields.count(of: .proxyAuthorization) == 1 else { throw .wrongPassword }
    guard let found = identity(by: field.value.bytes(in: bytes), app, snapshot) else { throw .wrongPassword }
    return found
  }

  /// The same for a tunnel without a head of its own: by the Proxy-Authorization of the CONNECT before it, or without one.
  static func identify(earlier: [UInt8]?, on app: AppConnection, in snapshot: Snapshot) throws(ProxyError) -> ClientIdentity {
    if knowsNobody(app, snapshot) { return ClientIdentity(anonymousIn: snapshot.settings) }
    if let earlier {
      guard let found = earlier.withUnsafeBytes({ identity(by: $0, app, snapshot) }) else { throw .wrongPassword }
      return found
    }
    if let found = app.certificate.flatMap({ byCertificate($0, app, snapshot) }) { return found }
    if let found = byAddress(app, snapshot.settings.clients) { return found }
    guard !app.listener.settings.clientsRequired else { throw .passwordRequired }
    return ClientIdentity(anonymousIn: snapshot.settings)
  }

  /// There are no clients to tell apart: Proxy-Authorization is ignored.
  private static func knowsNobody(_ app: AppConnection, _ snapshot: Snapshot) -> Bool {
    snapshot.settings.clients.isEmpty && !app.listener.settings.clientsRequired
  }

  private static func identity(
    by value: UnsafeRawBufferPointer, _ app: AppConnection, _ snapshot: Snapshot
  ) -> ClientIdentity? {
    let generation = snapshot.generation
    if let memo = app.access, memo.generation == generation, memo.field.withUnsafeBytes({ equalBytes($0, value) }) {
      return memo.identity
    }
    guard let found = byPassword(value, snapshot.settings.clients) else { return nil }
    app.access = AccessMemo(field: Array(value), generation: generation, identity: found)
    return found
  }

  /// RFC 7617 section 2. nil if the field is no Basic credential, the name is unknown, or the password is wrong.
  private static func byPassword(_ value: UnsafeRawBufferPointer, _ clients: [ClientSettings]) -> ClientIdentity? {
    guard value.count > 6, equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: value[..<6]), "basic ") else { return nil }
    let encoded = value[6...].drop { $0 == 32 }
    guard let decoded = Base64.decode(Array(encoded)), let colon = decoded.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let name = String(decoding: decoded[..<colon], as: UTF8.self)
    // The digests have equal length, so the time of the comparison reveals neither content nor length. An unknown name costs
    // one comparison, too.
    let given = SHA256.digest(Array(decoded[(colon + 1)...]))
    let client = clients.first { $0.name == name && $0.password != nil }
    let isRight = constantTimeEquals(given, SHA256.digest(client?.password?.bytes ?? []))
    guard let client, isRight else { return nil }
    return ClientIdentity(client)
  }

  private static func byCertificate(
    _ shown: ClientCertificate, _ app: AppConnection, _ snapshot: Snapshot
  ) -> ClientIdentity? {
    shown.identity(generation: snapshot.generation) { certificate, anchors in
      // The listener's of today: a reload may have withdrawn the CA. Where the listener itself is gone, its connections go on.
      if let tls = app.listener.settings.tls, let listener = snapshot.listeners[tls] {
        guard anchors.isValid(under: listener.anchorPrints) else { return nil }
      }
      return snapshot.clientCertificates.client(of: certificate).map { ClientIdentity(snapshot.settings.clients[$0]) }
    }
  }

  private static func byAddress(_ app: AppConnection, _ clients: [ClientSettings]) -> ClientIdentity? {
    guard app.isPeerBelieved, let address = app.peer.bytes else { return nil }
    let match = clients.first { $0.from.contains { range in range.contains(address) } }
    return match.map { ClientIdentity($0) }
  }
}
