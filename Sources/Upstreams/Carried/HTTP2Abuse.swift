import HTTP2

/// The bound that a peer has broken, for which its connection was ended. From a fixed list, as it becomes a metric's label.
public enum HTTP2Abuse: String, Sendable, Hashable, CaseIterable {
  /// Too many frames without a byte of a message.
  case emptyFrames = "empty_frames"
  /// A header block that is too large, or in too many frames.
  case headerBlock = "header_block"
  /// The peer does not read what must be answered.
  case unread
  /// An app began and reset too many requests.
  case resets

  /// nil: the connection failed for another reason.
  public init?(_ failure: SessionFailure) {
    switch failure {
    case .emptyFrames: self = .emptyFrames
    case .headerBlock: self = .headerBlock
    case .unread: self = .unread
    case .resets: self = .resets
    case .protocolError, .push, .lost, .internalError: return nil
    }
  }
}
