import HTTPWire
import TLS

/// After a CONNECT to a host that an entry matches: the authority of the requests that follow on the connection, in the clear or inside
/// of TLS that the proxy itself answers. What comes first decides which, or that it is a tunnel to the real host.
final class ConnectedAuthority {
  let host: String
  let port: UInt16
  /// As the app spelled it; inside of TLS as URLs have it.
  private(set) var text: String
  /// The CONNECT's Proxy-Authorization: it is looked at again for each request, as a reload may have changed the clients.
  let authorization: [UInt8]?
  /// The proxy answers a handshake itself. Decided before the 200: it is never tunnelled instead, nor the other way round.
  let isIntercepted: Bool
  /// Nanoseconds: the time of the 200.
  let established: Int64
  /// Of the snapshot that has last said that requests inside of TLS may go on.
  var generation = -1
  /// Nothing has followed yet.
  var isUnproven = true
  /// Requests come inside of TLS that was answered for this authority.
  private(set) var isSecure = false
  /// The handshake is over, and nothing has come inside of it yet: how it was.
  var pendingOutcome: HandshakeOutcome?
  /// The Host that was found to be this authority: the same bytes need no second look.
  private var knownHost: [UInt8] = []

  init(host: String, port: UInt16, text: String, authorization: [UInt8]?, isIntercepted: Bool, established: Int64) {
    self.host = host
    self.port = port
    self.text = text
    self.authorization = authorization
    self.isIntercepted = isIntercepted
    self.established = established
  }

  /// The handshake for it is done.
  func secured(_ outcome: HandshakeOutcome) {
    isUnproven = false
    isSecure = true
    pendingOutcome = outcome
    text = Authority.text(host: host, port: port, defaultPort: 443)
  }

  /// Whether a Host field of a request inside of TLS means this authority.
  func isNamed(by field: ByteSlice, in bytes: UnsafeRawBufferPointer) -> Bool {
    let value = field.bytes(in: bytes)
    if knownHost.withUnsafeBytes({ equalBytes($0, value) }) { return true }
    guard let authority = try? Authority(field, in: bytes), isSame(authority.host, authority.port, in: bytes) else {
      return false
    }
    knownHost = Array(value)
    return true
  }

  /// - Parameter port: nil: the one of https://.
  func isSame(_ host: ByteSlice, _ port: UInt16?, in bytes: UnsafeRawBufferPointer) -> Bool {
    guard port ?? 443 == self.port else { return false }
    return PeerName(String(decoding: host.bytes(in: bytes), as: UTF8.self)).isSameHost(as: PeerName(self.host))
  }
}
