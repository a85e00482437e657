import Crypto
import EventIO
import JSON
import SmallHTTP
import TLS

/// Answers requests. Lives on its server's loop and is called there; must not block.
open class Responder {
  public init() {}
  open func answer(_ request: ServedRequest) -> ServedAnswer {
    ServedAnswer(404, json: ["error": .string("nothing is here")])
  }

  /// Serves from the next turn of the loop, until the process ends.
  /// - Parameters:
  ///   - socket: bound and listening.
  ///   - identity: for TLS; nil = clear text.
  public final func serve(on loop: EventLoop, socket: ListeningSocket, identity: TLSIdentity?) throws(OpenSSLError) {
    let context: TLSContext? = if let identity { try .server(ServerOptions(identity: identity)) } else { nil }
    HTTPServer(on: loop, socket: socket, context: context) { [self] request, reply in reply(answer(request)) }
  }

  /// The same over HTTP/2 and nothing else.
  /// - Parameter tell: is told of each connection.
  public final func serveMultiplexed(
    on loop: EventLoop, socket: ListeningSocket, identity: TLSIdentity, tell: @escaping (DemoEvent) -> Void
  ) throws(OpenSSLError) {
    _ = try MultiplexedServer(on: loop, socket: socket, identity: identity, self) {
      tell(DemoEvent(source: .events, text: "has a new connection, for HTTP/2"))
    }
  }
}

extension ServedAnswer {
  init(_ status: Int, fields: [(name: String, value: String)] = [], json: JSONValue) {
    self.init(status, type: "application/json", fields: fields, body: json.text + [UInt8(ascii: "\n")])
  }
}

/// What happened on a demo server, for people to read.
public struct DemoEvent: Sendable {
  public enum Source: Sendable { case api, events, camera, store, tokenServer, loginServer, responder }
  public var source: Source
  /// One line; never a token or a secret.
  public var text: String
}
