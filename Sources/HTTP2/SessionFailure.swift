/// Why a whole connection cannot be used any more. The session sends GOAWAY, and ends all its streams.
public enum SessionFailure: Error, Sendable, Hashable {
  /// The peer broke the protocol in a way that ends connections. nghttp2 found it; the code is the one of our GOAWAY.
  case protocolError(ErrorCode)
  /// A frame of PUSH_PROMISE, which our SETTINGS refuse.
  case push
  /// More than `FrameBudget.capacity` frames without a byte of a message.
  case emptyFrames
  /// A header block of more than four times the limit of header sections, or of more than eight CONTINUATION frames.
  case headerBlock
  /// The peer reads too little: control frames in answer to its own have piled up.
  case unread
  /// An app reset, or provoked the reset of, too many of its requests.
  case resets
  /// The transport ended or failed; nothing can be sent. Set by `connectionLost`.
  case lost
  /// Out of memory, or a fault of ours.
  case internalError

  /// The code of our GOAWAY.
  public var code: ErrorCode {
    switch self {
    case .protocolError(let code): code
    case .push: .protocolError
    case .emptyFrames, .headerBlock, .unread, .resets: .enhanceYourCalm
    case .lost: .noError
    case .internalError: .internalError
    }
  }

  /// Whether the peer overburdened us, which is counted.
  public var isAbuse: Bool { code == .enhanceYourCalm }
}
