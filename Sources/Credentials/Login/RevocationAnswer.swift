/// What a revocation endpoint answered (RFC 7009 section 2.2).
enum RevocationAnswer: Hashable {
  /// Also for a token that the server no longer knows, or of a type that it cannot revoke.
  case revoked
  case refused(LoginEnd)
  /// `retryAfter`: milliseconds.
  case unavailable(LoginEnd, retryAfter: Int64?)

  init(_ answer: EndpointAnswer, hiding secrets: [Secret]) {
    switch answer.read(hiding: secrets) {
    case .object: self = .revoked
    case .refused(let error):
      let end = LoginEnd(error)
      if error.code == .unsupportedTokenType {
        self = .revoked
      } else {
        self = end.exit == .unavailable ? .unavailable(end, retryAfter: nil) : .refused(end)
      }
    case .failed(let failure, let retryAfter):
      // Nobody needs the body of a success.
      if case .response(200..<300, _, _, _) = answer {
        self = .revoked
      } else if case .status(let status) = failure, (400..<500).contains(status), status != 429 {
        self = .refused(LoginEnd(.refused, "\(failure)"))
      } else {
        let end = LoginEnd(failure)
        self = end.exit == .unavailable ? .unavailable(end, retryAfter: retryAfter) : .refused(end)
      }
    }
  }
}
