import HTTPWire

/// Names a stream of one session. Calls with the ticket of a stream that was released do nothing.
public struct StreamTicket: Sendable, Hashable {
  /// Small and dense: a driver may keep its own values in an array with this index. A later stream gets it again.
  public let index: UInt32
  /// The stream's number on the wire, unique within the session.
  public let id: Int32
}

/// A GOAWAY frame of the peer.
public struct GoAway: Sendable, Hashable {
  /// Requests above it were not processed; 2^31-1: only no new ones, please.
  public let lastStream: Int32
  public let code: ErrorCode
}

/// What happened on a connection. Read all of them with `Session.nextEvent` after each `receive` and each `send`.
///
/// A client's stream gives, in this order: interim heads, a head, data, trailers, then exactly one of `end` and `ended`. A server's stream
/// gives a head (or `refused`), data, trailers and `end` for the request, `sent` for the answer, and `ended` instead of whatever is
/// missing of these when the app gives up or the connection fails.
public enum SessionEvent: Sendable, Hashable {
  /// A 1xx head, as HTTP/1.1 text: `Session.bytes(of:_:)`.
  case interimHead(StreamTicket, ByteSlice)
  /// The head of the answer (of the request, in a server), as HTTP/1.1 text. `ends`: no body and no trailers follow.
  case head(StreamTicket, ByteSlice, ends: Bool)
  /// Server: a request that goes nowhere. The driver answers it with an error, then releases it.
  case refused(StreamTicket, RefusedRequest)
  /// The body grew: `Session.body(of:)`. Not repeated before the driver has read this event.
  case data(StreamTicket)
  /// Field lines and an empty line, as behind the last chunk of HTTP/1.1.
  case trailers(StreamTicket, ByteSlice)
  /// The message is whole. Bytes of its body may still wait in `Session.body(of:)`.
  case end(StreamTicket)
  /// The message will not be whole, or, in a server, the app gave up.
  case ended(StreamTicket, StreamEnd)
  /// There is room for more of the body that we send, after `Session.append` had taken less than it got.
  case room(StreamTicket)
  /// Server: the answer was written whole.
  case sent(StreamTicket)
  /// The peer takes no new streams (`goAwayText` has its debug data). Those above its last stream also get `ended(goneAway)`.
  case goAway(GoAway)
  /// The peer's SETTINGS changed how many streams it takes at once.
  case settings
  /// The answer to `Session.ping`.
  case pong
  /// The connection is finished: send what `send` gives, then close it. All its streams got `ended` before.
  case failed(SessionFailure)
}

extension SessionEvent {
  /// nil: it concerns the connection.
  public var ticket: StreamTicket? {
    switch self {
    case .interimHead(let ticket, _), .head(let ticket, _, _), .refused(let ticket, _), .data(let ticket),
      .trailers(let ticket, _),
      .end(let ticket), .ended(let ticket, _), .room(let ticket), .sent(let ticket):
      ticket
    case .goAway, .settings, .pong, .failed: nil
    }
  }
}
