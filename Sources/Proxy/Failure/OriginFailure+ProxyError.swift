import Cache
import Upstreams

extension ProxyError {
  /// Whether a stale answer may take the place of this error (RFC 5861 section 4): the origin, or a token server, has a fault that passes.
  var permitsStale: Bool {
    let failure: OriginFailure
    switch self {
    case .upstream(let error): failure = error.failure
    case .connectTimeout, .upstreamStalled, .connectionLimit, .noStreams: failure = .timeout
    case .bodyBroken, .unexpectedUpgrade, .tooManyInterims: failure = .connection
    case .credentialUnavailable: failure = .noToken
    case .credentialMissing, .loginMissing: failure = .needsOperator
    default: failure = .refused
    }
    return failure.permitsStale
  }
}

extension UpstreamError {
  fileprivate var failure: OriginFailure {
    switch self {
    case .untrusted: .untrusted
    case .addressForbidden, .familyExcluded, .badSource: .refused
    case .connectTimeout, .responseTimeout, .resolverTimeout: .timeout
    case .parent(let failure): failure.originFailure
    case .nameNotFound, .resolverFailed, .connectFailed, .outOfDescriptors, .tlsFailed, .connectionLost, .badResponse,
      .responseHeadTooLarge, .spokeFirst, .http2:
      .connection
    }
  }
}

extension ParentFailure {
  fileprivate var originFailure: OriginFailure {
    switch reason {
    case .unreached(let error), .origin(let error): error.failure
    case .badAnswer, .loginUnanswered, .unreachable: .connection
    case .loginRefused, .loginMissing, .traceWithLogin, .refused, .loop, .unaskable: .refused
    }
  }
}
