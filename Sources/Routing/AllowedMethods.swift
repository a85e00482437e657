import HTTPWire

/// The methods that an entry serves.
public struct AllowedMethods: Sendable, Hashable {
  public static let all = AllowedMethods(known: .max, names: [])

  /// A bit for each known method.
  @usableFromInline let known: UInt16
  /// As they are written; empty for all.
  public let names: [String]

  private init(known: UInt16, names: [String]) {
    self.known = known
    self.names = names
  }

  /// - Parameter names: case counts (RFC 9110 section 9.1).
  public init(_ names: [String]) {
    var known: UInt16 = 0
    for name in names {
      let method = Array(name.utf8).withUnsafeBytes { Method($0) }
      if method != .other { known |= 1 << UInt16(method.rawValue) }
    }
    self.init(known: known, names: names)
  }

  /// - Parameter text: the method as it came.
  @inlinable @inline(__always)
  public func contains(_ method: Method, _ text: ByteSlice, in bytes: UnsafeRawBufferPointer) -> Bool {
    known & (1 << UInt16(method.rawValue)) != 0 || method == .other && isNamed(text.bytes(in: bytes))
  }

  @usableFromInline
  func isNamed(_ text: UnsafeRawBufferPointer) -> Bool { names.contains { text.elementsEqual($0.utf8) } }
}
