import CSystem
import EventIO
import TLS

/// An HTTP/1.1 server over TLS on one loop: for the demo, so plain where the proxy is fast. Bodies are held in memory, pipelined
/// requests are answered in order.
public final class TLSServer: EventHandler {
  private let socket: ListeningSocket
  private let context: TLSContext
  private let responder: Responder

  /// Serves from the next turn of the loop on, until the process ends.
  /// - Parameter socket: bound and listening; owned from here on.
  public init(on loop: EventLoop, socket: ListeningSocket, identity: TLSIdentity, responder: Responder) throws(TLSError) {
    self.socket = socket
    self.responder = responder
    context = try .server(ServerOptions(identity: identity))
    super.init()
    _ = loop.register(socket.descriptor, self, interest: CSYS_LEVEL_IN)
  }

  override public func ready(_ events: UInt32, on loop: EventLoop) {
    while case .connection(let descriptor, _) = socket.accept() {
      guard let tls = try? TLSConnection(context: context, accepting: descriptor) else {
        Socket.close(descriptor)
        continue
      }
      Socket.setNoDelay(descriptor)
      ServerConnection(descriptor, tls, responder).begin(on: loop)
    }
  }
}
