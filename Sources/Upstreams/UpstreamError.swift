import HTTPWire

/// Why the proxy could not reach an origin or get its response.
public enum UpstreamError: Error, Sendable {
  case nameNotFound(String)
  case resolverFailed(String, String)
  case resolverTimeout(String)
  /// All addresses of that host are in `forbidden_addresses`, or the proxy's own.
  case addressForbidden(String)
  /// errno.
  case connectFailed(Int32)
  case connectTimeout
  /// All addresses of that host are of families that `bind` or `address_family` excludes.
  case familyExcluded(String)
  /// An address of `bind` that this machine does not have; errno.
  case badSource(String, Int32)
  /// On the way through a parent proxy.
  indirect case parent(ParentFailure)
  case outOfDescriptors
  case tlsFailed(String)
  case untrusted(evaluator: String, reason: String, detail: String)
  /// errno; 0: the stream ended without an error.
  case connectionLost(Int32)
  case badResponse(HeadError)
  case responseHeadTooLarge
  case responseTimeout
  /// A new connection had bytes, or part of a TLS record, before any request was sent over it.
  case spokeFirst
  case http2(HTTP2Failure)

  /// The error of a head that could not be parsed.
  public init(head error: HeadError) {
    self = error == .headTooLarge || error == .tooManyFields ? .responseHeadTooLarge : .badResponse(error)
  }

  /// Whether the origin may just have closed a pooled connection: that looks like this.
  public var mayBeStaleConnection: Bool {
    switch self {
    case .connectionLost: true
    case .http2(let failure): failure.mayBeStaleConnection
    default: false
    }
  }

  /// The origin has not processed the request, as it says itself: sending it again is harmless.
  public var isUnprocessed: Bool { if case .http2(let failure) = self { failure.isUnprocessed } else { false } }

  /// Instead of an answer, the origin closed the connection or sent what is no HTTP.
  public var isNoAnswer: Bool {
    switch self {
    case .connectionLost, .badResponse: true
    case .http2(let failure): !failure.isUnprocessed && failure != .notSpoken && failure != .weakCipher
    default: false
    }
  }

  /// Time was up before there was a connection: with more of it there might have been one.
  var isTimeUp: Bool {
    switch self {
    case .connectTimeout, .resolverTimeout: true
    case .parent(let failure):
      switch failure.reason {
      case .unreached(let error), .origin(let error): error.isTimeUp
      case .unreachable(.timeout): true
      default: false
      }
    default: false
    }
  }

  /// Whether another attempt may succeed: the origin could not be reached, or answered nothing.
  public var isWorthRepeating: Bool {
    switch self {
    case .connectFailed, .connectTimeout, .connectionLost, .responseTimeout, .resolverFailed, .resolverTimeout, .spokeFirst:
      true
    case .nameNotFound, .addressForbidden, .outOfDescriptors, .tlsFailed, .untrusted, .badResponse, .responseHeadTooLarge,
      .familyExcluded, .badSource:
      false
    case .parent(let failure): failure.isWorthRepeating
    case .http2(let failure):
      switch failure {
      case .reset, .goneAway, .dead, .notProcessed: true
      case .notSpoken, .weakCipher, .malformed, .headTooLarge, .flood, .wantsHTTP1: false
      }
    }
  }
}
