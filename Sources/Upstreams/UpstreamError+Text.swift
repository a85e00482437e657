import EventIO

extension UpstreamError {
  /// What went wrong, in a few words, for messages about the proxy's own requests. Without secrets.
  public var text: String {
    switch self {
    case .nameNotFound(let host): "\(host) was not found"
    case .resolverFailed(let host, let why): "\(host): \(why)"
    case .resolverTimeout(let host): "\(host) was not resolved in time"
    case .addressForbidden(let host): "\(host) has forbidden addresses only"
    case .connectFailed(let error): Socket.text(ofError: error)
    case .connectTimeout: "no connection in time"
    case .familyExcluded(let host): "\(host) has no address of a family that may be used"
    case .badSource(let address, let error): "bind \(address): \(Socket.text(ofError: error))"
    case .outOfDescriptors: "out of file descriptors"
    case .tlsFailed(let why): "TLS: \(why)"
    case .untrusted(let evaluator, let reason, let detail): "not trusted: \(detail) (\(evaluator): \(reason))"
    case .connectionLost: "the connection was closed"
    case .badResponse(let error): "\(error.reason)"
    case .responseHeadTooLarge: "the head is too large"
    case .responseTimeout: "no answer in time"
    case .spokeFirst: "it sent data before any request"
    case .parent(let failure): failure.text
    case .http2(let failure): failure.text
    }
  }
}

extension ParentFailure {
  fileprivate var text: String {
    let said = status.map { ", \($0)" } ?? reply.map { ", reply \($0)" } ?? ""
    let what =
      switch reason {
      case .unreached(let error): error.text
      case .badAnswer(let why): why
      case .loginUnanswered: ParentFailure.unansweredText
      case .loginRefused: "it refuses the credential \(credential ?? "that it has not got")"
      case .loginMissing(let why): "its credential: \(why)"
      case .traceWithLogin: "TRACE would show its credential"
      case .unaskable: "SOCKS cannot ask it for this"
      case .refused: "it does not let this through"
      case .unreachable: "it could not reach the host"
      case .loop: "the way leads back here"
      case .origin(let error): error.text
      }
    return "the parent proxy \(parent): \(what)\(said)"
  }
}
