import CSystem
import Crypto
import EventIO
import TLS

/// Serves a responder over HTTP/2 and nothing else, as some APIs do. Lives on its loop.
final class MultiplexedServer: EventHandler {
  private let socket: ListeningSocket
  private let context: TLSContext
  private let responder: Responder
  private unowned let loop: EventLoop
  private var token: Token?
  private let opened: () -> Void

  /// - Parameter opened: a client has connected.
  init(
    on loop: EventLoop, socket: ListeningSocket, identity: TLSIdentity, _ responder: Responder, opened: @escaping () -> Void
  ) throws(OpenSSLError) {
    self.opened = opened
    self.loop = loop
    self.socket = socket
    self.responder = responder
    var options = ServerOptions(identity: identity)
    options.alpn = [ApplicationProtocol.http2.rawValue]
    context = try .server(options)
    super.init()
    token = loop.register(socket.descriptor, self, interest: CSYS_LEVEL_IN)
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    while case .connection(let descriptor, _) = socket.accept() {
      guard let tls = try? TLSConnection(context: context, accepting: descriptor) else {
        Socket.close(descriptor)
        continue
      }
      opened()
      MultiplexedConnection(descriptor, tls, responder, loop).begin()
    }
  }
}
