/// The field lines of a head or of a trailer section, including the empty line. It stops where the bytes end and continues
/// there, so it reads each byte once. Its result does not depend on how the bytes arrived.
struct FieldSection: Sendable {
  /// The next byte to read.
  var position = 0
  private var lineStart = 0
  /// Offset of the current line's colon; -1 while its name is being read.
  private var colon = -1

  mutating func start(at offset: Int) {
    position = offset
    lineStart = offset
    colon = -1
  }

  /// Appends to `fields` and records names in `present`. Once complete, `position` is the section's end.
  @inline(__always)
  mutating func parse(
    _ base: UnsafePointer<UInt8>, _ count: Int, into fields: inout ContiguousArray<Field>, _ present: inout FieldSet
  ) -> HeadOutcome {
    var index = position
    while true {
      if colon < 0 {
        if index == lineStart {
          if let field = plainField(base, count), fields.count < fieldCountLimit {
            present.insert(field.id)
            fields.append(field)
            index = field.value.end &+ 2
            lineStart = index
            continue
          }
          guard index < count else { break }
          switch base[index] {
          case ASCII.cr:
            guard index + 1 < count else {
              position = index
              return .incomplete
            }
            guard base[index + 1] == ASCII.lf else { return .invalid(.bareCR) }
            position = index + 2
            return .complete
          case ASCII.space, ASCII.tab: return .invalid(.foldedLine)
          default: break
          }
        }
        while index < count, ASCII.isToken(base[index]) { index &+= 1 }
        guard index < count else { break }
        guard base[index] == ASCII.colon else { return .invalid(nameError(base[index])) }
        guard index > lineStart else { return .invalid(.fieldName) }
        colon = index
        index &+= 1
      }
      index = firstControl(base, from: index, to: count)
      while index < count, base[index] == ASCII.tab { index = firstControl(base, from: index &+ 1, to: count) }
      guard index < count else { break }
      guard base[index] == ASCII.cr else { return .invalid(lineError(base[index])) }
      guard index &+ 1 < count else { break }
      guard base[index &+ 1] == ASCII.lf else { return .invalid(.bareCR) }
      guard fields.count < fieldCountLimit else { return .invalid(.tooManyFields) }
      let field = field(base, lineEnd: index)
      present.insert(field.id)
      fields.append(field)
      index &+= 2
      lineStart = index
      colon = -1
    }
    position = index
    return .incomplete
  }

  /// The field of the line that begins at `lineStart`, if all of it has arrived, and it is written as nearly all are: a name, a colon,
  /// one space, a value without controls, CRLF. Eight bytes at a time.
  /// - Returns: nil for every other line: it is read byte by byte, and may be an error.
  @inline(__always)
  private func plainField(_ base: UnsafePointer<UInt8>, _ count: Int) -> Field? {
    let colon = firstControlOrColon(base, from: lineStart, to: count)
    let start = colon &+ 2
    guard start < count, base[colon] == ASCII.colon, base[colon &+ 1] == ASCII.space, base[start] != ASCII.space else {
      return nil
    }
    // Whatever equals a known name, and has no controls, is a token.
    let id = FieldName(base + lineStart, colon &- lineStart)
    guard id != .other || isToken(base + lineStart, colon &- lineStart) else { return nil }
    let end = firstControl(base, from: start, to: count)
    guard end &+ 1 < count, base[end] == ASCII.cr, base[end &+ 1] == ASCII.lf, base[end &- 1] != ASCII.space else { return nil }
    return Field(name: ByteSlice(lineStart, to: colon), value: ByteSlice(start, to: end), id: id)
  }

  @inline(__always)
  private func isToken(_ name: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    var index = 0
    while index < count, ASCII.isToken(name[index]) { index &+= 1 }
    return index == count && count > 0
  }

  @inline(__always)
  private func field(_ base: UnsafePointer<UInt8>, lineEnd: Int) -> Field {
    var start = colon &+ 1
    var end = lineEnd
    while start < end, ASCII.isBlank(base[start]) { start &+= 1 }
    while end > start, ASCII.isBlank(base[end &- 1]) { end &-= 1 }
    let id = FieldName(base + lineStart, colon &- lineStart)
    return Field(name: ByteSlice(lineStart, to: colon), value: ByteSlice(start, to: end), id: id)
  }

  private func nameError(_ byte: UInt8) -> HeadError {
    switch byte {
    case ASCII.space, ASCII.tab: .spaceBeforeColon
    case ASCII.cr: .missingColon
    default: ASCII.isControl(byte) ? lineError(byte) : .fieldName
    }
  }
}

/// The error for a control character.
func lineError(_ byte: UInt8) -> HeadError {
  switch byte {
  case 0: .nul
  case ASCII.lf: .bareLF
  case ASCII.cr: .bareCR
  default: .control
  }
}
