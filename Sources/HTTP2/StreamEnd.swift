/// How a stream ended, other than by the whole message.
public enum StreamEnd: Error, Sendable, Hashable {
  /// RST_STREAM by the peer. With `noError`, a server wants no more of the request's body, but its answer is not whole, either.
  case reset(ErrorCode)
  /// REFUSED_STREAM before any byte of an answer.
  case refused
  /// Our request is above the last stream of the peer's GOAWAY.
  case goneAway
  /// RST_STREAM with HTTP_1_1_REQUIRED.
  case http11Required
  /// What came is malformed, and the stream was reset with this code.
  case malformed(ErrorCode)
  /// The header section is above the limit, and the stream was reset.
  case headTooLarge
  /// More interim heads than an answer may have.
  case tooManyInterimHeads
  /// The connection failed or ended. `sent`: whether the request's head was written; without it, the peer cannot have seen it.
  case connection(SessionFailure, sent: Bool)

  /// The peer surely did nothing for this request, so that it can be repeated, whatever its method (RFC 9113 section 8.7).
  public var wasSurelyNotProcessed: Bool {
    switch self {
    case .refused, .goneAway, .http11Required, .connection(_, sent: false): true
    case .reset, .malformed, .headTooLarge, .tooManyInterimHeads, .connection(_, sent: true): false
    }
  }
}
