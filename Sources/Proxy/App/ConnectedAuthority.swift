/// After `CONNECT host:80` to a host that an entry matches: the authority of the requests in origin-form that follow on the
/// connection. The first byte that follows decides: such requests, or a TLS handshake for the real host.
final class ConnectedAuthority {
  let host: String
  let port: UInt16
  /// As the app spelled it.
  let text: String
  /// Proxy-Authorization of the CONNECT; nil: it had none. Each request checks it again, because a reload may have changed the
  /// clients.
  let authorization: [UInt8]?
  /// Nothing has followed the CONNECT yet.
  var isUnproven = true

  init(host: String, port: UInt16, text: String, authorization: [UInt8]?) {
    self.host = host
    self.port = port
    self.text = text
    self.authorization = authorization
  }
}
