import HTTP2

/// Why an HTTP/2 stream, or the connection under it, gave no answer. Without secrets.
public enum HTTP2Failure: Sendable, Hashable {
  /// The origin does not choose HTTP/2, and nothing else is wanted.
  case notSpoken
  /// It chose HTTP/2 over a cipher that RFC 9113 appendix A excludes.
  case weakCipher
  /// What it sent is no HTTP/2, or no HTTP message.
  case malformed(String)
  case headTooLarge
  /// It reset the stream, with this code.
  case reset(UInt32)
  /// It ended the connection, with this code.
  case goneAway(UInt32)
  /// It broke a bound of the proxy's.
  case flood(String)
  /// It did not answer a PING.
  case dead
  /// It has not processed the request, as it says by REFUSED_STREAM or GOAWAY.
  /// - Parameter repeats: how often it was repeated before.
  case notProcessed(byGoAway: Bool, repeats: UInt8 = 0)
  /// It wants HTTP/1.1 for it.
  case wantsHTTP1

  /// The request may be sent again, whatever its method.
  public var isUnprocessed: Bool {
    switch self {
    case .notProcessed, .wantsHTTP1: true
    default: false
    }
  }

  /// The exchange ended without an answer, and so will not another one: what an idempotent request may meet once.
  public var isLoss: Bool {
    switch self {
    case .reset, .goneAway, .dead: true
    default: false
    }
  }

  /// The connection under it has ended, perhaps because of this request.
  public var isLossOfConnection: Bool { mayBeStaleConnection }

  /// What the connection's end left behind is what a closed HTTP/1.1 connection leaves.
  var mayBeStaleConnection: Bool {
    switch self {
    case .goneAway, .dead: true
    default: false
    }
  }

  public var text: String {
    switch self {
    case .notSpoken: "offers no HTTP/2: http_version auto or 1.1"
    case .weakCipher: "HTTP/2 over a TLS 1.2 cipher that RFC 9113 excludes"
    case .malformed(let what): what
    case .headTooLarge: "the head is too large"
    case .reset(let code): "the upstream reset the stream: \(Self.name(ofCode: code))"
    case .goneAway(let code): "the upstream ended the connection: \(Self.name(ofCode: code))"
    case .flood(let what): "ENHANCE_YOUR_CALM: \(what)"
    case .dead: "the connection is dead: no answer to PING"
    case .notProcessed(let byGoAway, let repeats):
      (byGoAway ? "GOAWAY" : "REFUSED_STREAM") + (repeats > 0 ? ", \(repeats) times" : "")
    case .wantsHTTP1: "HTTP_1_1_REQUIRED"
    }
  }

  /// As RFC 9113 section 7 names it.
  public static func name(ofCode code: UInt32) -> String { ErrorCode(rawValue: code).name }
}
