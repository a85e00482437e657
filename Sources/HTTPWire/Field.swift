/// One field line of a head or trailer section, as ranges over its bytes.
public struct Field: Sendable, Hashable {
  /// As the sender spelled it.
  public var name: ByteSlice
  /// Without the white space around it.
  public var value: ByteSlice
  public var id: FieldName
  /// Not to be forwarded. Set by the hop-by-hop pass, and by code that replaces a field.
  public var dropped: Bool

  @inlinable
  public init(name: ByteSlice, value: ByteSlice, id: FieldName, dropped: Bool = false) {
    self.name = name
    self.value = value
    self.id = id
    self.dropped = dropped
  }
}

/// The known names in a head, so that passes without work can be skipped.
public struct FieldSet: Sendable, Hashable {
  @usableFromInline var bits: UInt64 = 0
  @inlinable public init() {}
  @inlinable public init(_ names: FieldName...) { for name in names { insert(name) } }
  @inlinable @inline(__always)
  public func contains(_ name: FieldName) -> Bool { bits & (1 &<< UInt64(name.rawValue)) != 0 }
  @inlinable @inline(__always)
  public mutating func insert(_ name: FieldName) { bits |= 1 &<< UInt64(name.rawValue) }
  @inlinable public func intersects(_ other: FieldSet) -> Bool { bits & other.bits != 0 }
}

/// Most field lines in a head or trailer section. A separate limit, as some passes take time in fields times members of
/// Connection.
public let fieldCountLimit = 256
