import CSystem
import EventIO
import TLS

/// An HTTP/1.1 server on one loop: for the demo, so plain where the proxy is fast. Bodies are held in memory, pipelined requests are
/// answered in order.
public final class DemoServer: EventHandler {
  private let socket: ListeningSocket
  /// nil: clear HTTP.
  private let context: TLSContext?
  private let responder: Responder

  /// Serves from the next turn of the loop on, until the process ends.
  /// - Parameters:
  ///   - socket: bound and listening; owned from here on.
  ///   - identity: for TLS; nil = clear HTTP.
  @discardableResult
  public init(on loop: EventLoop, socket: ListeningSocket, identity: TLSIdentity?, responder: Responder) throws(TLSError) {
    self.socket = socket
    self.responder = responder
    if let identity { context = try .server(ServerOptions(identity: identity)) } else { context = nil }
    super.init()
    guard loop.register(socket.descriptor, self, interest: CSYS_LEVEL_IN) != nil else {
      throw TLSError(.configuration, "no room for another epoll registration: see /proc/sys/fs/epoll/max_user_watches")
    }
  }

  override public func ready(_ events: UInt32, on loop: EventLoop) {
    while case .connection(let descriptor, _) = socket.accept() {
      let tls = context.flatMap { try? TLSConnection(context: $0, accepting: descriptor) }
      if context != nil, tls == nil {
        Socket.close(descriptor)
        continue
      }
      ServerConnection(descriptor, tls, responder).begin(on: loop)
    }
  }
}
