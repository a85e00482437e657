/// After `CONNECT host:80` to a host that an entry matches: the authority of the requests in origin-form that follow on the
/// connection. What comes first decides whether they do, or a TLS handshake for the real host.
final class ConnectedAuthority {
  let host: String
  let port: UInt16
  /// As the app spelled it.
  let text: String
  /// The CONNECT's Proxy-Authorization: it is looked at again for each request, as a reload may have changed the clients.
  let authorization: [UInt8]?
  /// Nothing has followed yet.
  var isUnproven = true

  init(host: String, port: UInt16, text: String, authorization: [UInt8]?) {
    self.host = host
    self.port = port
    self.text = text
    self.authorization = authorization
  }
}
