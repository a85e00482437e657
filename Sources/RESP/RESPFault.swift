/// Why bytes are no RESP3, or more than is read. The connection is of no use after it.
public enum RESPFault: Error, Sendable, Hashable, CustomStringConvertible {
  case unknownType(UInt8)
  /// A line that does not end in CR LF, or has one of them inside.
  case badLine
  case badNumber
  case badLength
  /// A string that is not followed by CR LF.
  case unendedString
  /// A push inside of a reply.
  case misplacedPush
  /// A string or aggregate of unknown length. Redis and Valkey send none.
  case streamed
  case tooLarge
  case tooDeep
  case tooManyValues

  /// Completes the sentence "the server's reply ...".
  public var description: String {
    switch self {
    case .unknownType, .badLine, .badNumber, .badLength, .unendedString, .misplacedPush: "is not RESP3"
    case .streamed: "has no length"
    case .tooLarge: "is too large"
    case .tooDeep: "is nested too deeply"
    case .tooManyValues: "has too many values"
    }
  }
}
