/// Look-ups by name, for both kinds of heads.
extension ContiguousArray where Element == Field {
  /// The first field of that name.
  public func first(_ id: FieldName) -> Field? {
    for index in indices where self[index].id == id { return self[index] }
    return nil
  }

  /// Number of field lines with that name.
  public func count(of id: FieldName) -> Int {
    var count = 0
    for field in self where field.id == id { count &+= 1 }
    return count
  }

  /// The values of all fields of that name, joined by commas (RFC 9110 section 5.3).
  public func joinedValues(of id: FieldName, in head: UnsafeRawBufferPointer) -> [UInt8] {
    var joined: [UInt8] = []
    for field in self where field.id == id {
      if !joined.isEmpty { joined.append(UInt8(ascii: ",")) }
      joined.append(contentsOf: field.value.bytes(in: head))
    }
    return joined
  }

  /// The only field of that name, ignoring case; nil if there is none, or if there are several.
  public func only(_ name: StaticString, in head: UnsafeRawBufferPointer) -> Field? {
    var found: Field?
    for field in self where field.name.equalsIgnoringCase(name, in: head) {
      if found != nil { return nil }
      found = field
    }
    return found
  }

  /// Marks every field of that name as dropped.
  public mutating func drop(_ id: FieldName) {
    for index in indices where self[index].id == id { self[index].dropped = true }
  }

  /// Marks every field whose name is `name` as dropped, ignoring case and `_` against `-`, as some servers do. Returns whether
  /// there was one.
  @discardableResult
  public mutating func drop(named name: [UInt8], in head: UnsafeRawBufferPointer) -> Bool {
    var found = false
    for index in indices where self[index].name.count == name.count {
      guard fieldNameEquals(self[index].name.bytes(in: head), name) else { continue }
      self[index].dropped = true
      found = true
    }
    return found
  }

  /// Whether a list-valued field of that name has the member, ignoring case.
  public func hasMember(_ member: StaticString, in id: FieldName, of head: UnsafeRawBufferPointer) -> Bool {
    for index in indices where self[index].id == id {
      var members = ListMembers(self[index].value, in: head)
      while let slice = members.next() {
        if slice.equalsIgnoringCase(member, in: head) { return true }
      }
    }
    return false
  }

  /// Number of bytes that `ByteWriter.append(fieldsOf:)` writes: names, values, and four bytes per line.
  public var keptSize: Int {
    var size = 0
    for field in self where !field.dropped { size &+= field.name.count &+ field.value.count &+ 4 }
    return size
  }
}
