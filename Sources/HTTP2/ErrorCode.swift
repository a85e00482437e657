/// An error code of RST_STREAM and GOAWAY (RFC 9113 section 7). Unknown codes are kept as they came.
public struct ErrorCode: RawRepresentable, Sendable, Hashable {
  public let rawValue: UInt32

  public init(rawValue: UInt32) { self.rawValue = rawValue }

  public static let noError = ErrorCode(rawValue: 0x0)
  public static let protocolError = ErrorCode(rawValue: 0x1)
  public static let internalError = ErrorCode(rawValue: 0x2)
  public static let flowControlError = ErrorCode(rawValue: 0x3)
  public static let settingsTimeout = ErrorCode(rawValue: 0x4)
  public static let streamClosed = ErrorCode(rawValue: 0x5)
  public static let frameSizeError = ErrorCode(rawValue: 0x6)
  public static let refusedStream = ErrorCode(rawValue: 0x7)
  public static let cancel = ErrorCode(rawValue: 0x8)
  public static let compressionError = ErrorCode(rawValue: 0x9)
  public static let connectError = ErrorCode(rawValue: 0xa)
  public static let enhanceYourCalm = ErrorCode(rawValue: 0xb)
  public static let inadequateSecurity = ErrorCode(rawValue: 0xc)
  public static let http11Required = ErrorCode(rawValue: 0xd)

  /// The name in the RFC; others are numbers.
  public var name: String {
    switch rawValue {
    case 0x0: "NO_ERROR"
    case 0x1: "PROTOCOL_ERROR"
    case 0x2: "INTERNAL_ERROR"
    case 0x3: "FLOW_CONTROL_ERROR"
    case 0x4: "SETTINGS_TIMEOUT"
    case 0x5: "STREAM_CLOSED"
    case 0x6: "FRAME_SIZE_ERROR"
    case 0x7: "REFUSED_STREAM"
    case 0x8: "CANCEL"
    case 0x9: "COMPRESSION_ERROR"
    case 0xa: "CONNECT_ERROR"
    case 0xb: "ENHANCE_YOUR_CALM"
    case 0xc: "INADEQUATE_SECURITY"
    case 0xd: "HTTP_1_1_REQUIRED"
    default: "code \(rawValue)"
    }
  }
}
