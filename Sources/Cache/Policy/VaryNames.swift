import HTTPWire

/// The request fields that an answer's Vary names: lower-case, in order, each once.
public final class VaryNames: Sendable {
  public static let countLimit = 16
  /// Bytes of the names together.
  public static let sizeLimit = 1024
  public static let none = VaryNames([])

  public let names: [[UInt8]]
  /// All of them, to compare lists at once: no name has a comma.
  private let text: [UInt8]

  init(_ names: [[UInt8]]) {
    self.names = names
    text = Array(names.joined(separator: [UInt8(ascii: ",")]))
  }

  public func isEqual(to other: VaryNames) -> Bool { self === other || text == other.text }

  /// - Parameter name: in any case.
  func contains(_ name: UnsafeRawBufferPointer) -> Bool {
    for known in names where equalsIgnoringCase(name, known) { return true }
    return false
  }
}

/// What Vary says.
public enum VaryReading: Sendable {
  case names(VaryNames)
  /// `*`: no later request is known to match.
  case everything
  /// Over a limit of `VaryNames`, or no list of names.
  case tooMuch

  init(_ fields: ContiguousArray<Field>, _ present: FieldSet, in head: UnsafeRawBufferPointer) {
    self = .names(.none)
    guard present.contains(.vary) else { return }
    var names: [[UInt8]] = []
    var size = 0
    for field in fields where field.id == .vary && !field.dropped {
      var members = ListMembers(field.value, in: head)
      while let member = members.next() {
        let name = member.bytes(in: head).map(lowerCase)
        if name == [UInt8(ascii: "*")] {
          self = .everything
          return
        }
        // Another reader may find a field's name in it.
        guard name.allSatisfy(isTokenByte) else {
          self = .tooMuch
          return
        }
        size += name.count
        if names.count <= VaryNames.countLimit, !names.contains(name) { names.append(name) }
      }
    }
    if names.count > VaryNames.countLimit || size > VaryNames.sizeLimit {
      self = .tooMuch
    } else if !names.isEmpty {
      self = .names(VaryNames(names.sorted { $0.lexicographicallyPrecedes($1) }))
    }
  }
}
