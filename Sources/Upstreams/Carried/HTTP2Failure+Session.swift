import HTTP2

extension HTTP2Failure {
  init(_ end: StreamEnd) {
    switch end {
    case .reset(let code): self = .reset(code.rawValue)
    case .refused: self = .notProcessed(byGoAway: false)
    case .goneAway: self = .notProcessed(byGoAway: true)
    case .http11Required: self = .wantsHTTP1
    case .malformed(let code): self = .malformed("a malformed response (\(code.name))")
    case .headTooLarge: self = .headTooLarge
    case .tooManyInterimHeads: self = .flood("interim responses")
    case .connection(_, sent: false): self = .notProcessed(byGoAway: true)
    case .connection(let failure, sent: true): self.init(failure)
    }
  }

  init(_ failure: SessionFailure) {
    switch failure {
    case .protocolError(let code): self = .malformed("no HTTP/2 (\(code.name))")
    case .push: self = .malformed("PUSH_PROMISE (PROTOCOL_ERROR)")
    case .lost: self = .goneAway(0)
    case .internalError: self = .malformed("INTERNAL_ERROR")
    case .emptyFrames, .headerBlock, .unread, .resets: self = .flood("\(failure)")
    }
  }
}
