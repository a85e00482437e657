import HTTPWire

/// The names whose fields may go into the dynamic table (RFC 7541), where a peer that sees lengths could guess them. All other fields
/// are sent as never-indexed literals.
public struct IndexedNames: OptionSet, Sendable, Hashable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  public static let authority = IndexedNames(rawValue: 1 << 0)
  public static let userAgent = IndexedNames(rawValue: 1 << 1)
  public static let accept = IndexedNames(rawValue: 1 << 2)
  public static let acceptEncoding = IndexedNames(rawValue: 1 << 3)
  public static let acceptLanguage = IndexedNames(rawValue: 1 << 4)
  public static let contentType = IndexedNames(rawValue: 1 << 5)
  public static let via = IndexedNames(rawValue: 1 << 6)

  /// Empty for names that are never indexed.
  @inline(__always)
  init(_ id: FieldName, _ name: UnsafeRawBufferPointer) {
    switch id {
    case .userAgent: self = .userAgent
    case .accept: self = .accept
    case .acceptEncoding: self = .acceptEncoding
    case .contentType: self = .contentType
    case .via: self = .via
    case .other: self = name.count == 15 && equalsIgnoringCase(name, "accept-language") ? .acceptLanguage : []
    default: self = []
    }
  }
}
