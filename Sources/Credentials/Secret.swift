/// Bytes that must not be seen: no description, no mirror, no interpolation shows them.
public struct Secret: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public let bytes: [UInt8]
  public init(_ bytes: [UInt8]) { self.bytes = bytes }
  public var description: String { "<secret>" }
  public var debugDescription: String { "<secret>" }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Secret {
  public init(_ text: String) { self.init(Array(text.utf8)) }

  public var isEmpty: Bool { bytes.isEmpty }
}
