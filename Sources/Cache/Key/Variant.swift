import HTTPWire

/// What tells requests for one target apart: fields that are not known to be harmless, and those that Vary names (RFC 9111 section
/// 4.1). Only a digest of the values is kept.
public struct VariantReader: Sendable {
  private let ignored: IgnoredFields
  private let servesSeveral: Bool
  private let written: [[UInt8]]

  /// - Parameter written: names of the fields that the entry's credential writes; empty if the app's own goes on. The partition has the
  ///   credential's identity, so they tell nothing more.
  public init(_ rules: CacheRules, written: [[UInt8]] = []) {
    ignored = rules.ignored
    servesSeveral = rules.servesSeveralClients
    self.written = written.map { $0.map(lowerCase) }
  }

  /// - Parameters:
  ///   - fields: after `client_authorization` and `request_headers`; dropped ones do not count.
  ///   - own: lines that `request_headers` writes and that differ between requests of a partition.
  ///   - vary: of the stored answer, or of the last one for the target.
  public func variant(
    of fields: ContiguousArray<Field>, in head: UnsafeRawBufferPointer, own: [(name: [UInt8], value: [UInt8])] = [],
    vary: VaryNames
  ) -> CacheDigest {
    var told: [(name: [UInt8], value: [UInt8])] = []
    for field in fields where !field.dropped && tells(field, in: head, vary) {
      told.append((field.name.bytes(in: head).map(lowerCase), Self.normal(field.value.bytes(in: head))))
    }
    for line in own {
      told.append((line.name.map(lowerCase), line.value.withUnsafeBytes { Self.normal($0) }))
    }
    if told.isEmpty { return .none }
    // By name; lines of one name keep their order.
    let order = told.indices.sorted {
      told[$0].name == told[$1].name ? $0 < $1 : told[$0].name.lexicographicallyPrecedes(told[$1].name)
    }
    var message: [UInt8] = []
    var index = 0
    while index < order.count {
      let name = told[order[index]].name
      var value = told[order[index]].value
      index += 1
      while index < order.count, told[order[index]].name == name {
        value.append(UInt8(ascii: ","))
        value += told[order[index]].value
        index += 1
      }
      message.append(part: name)
      message.append(part: value)
    }
    return message.withUnsafeBytes { CacheDigest(of: $0) }
  }

  private func tells(_ field: Field, in head: UnsafeRawBufferPointer, _ vary: VaryNames) -> Bool {
    let name = field.name.bytes(in: head)
    // Never ignored: an app's own credential says who asks.
    if field.id == .authorization { return !isWritten(name) }
    if !vary.names.isEmpty, vary.names.contains(where: { equalsIgnoringCase(name, $0) }) { return !isWritten(name) }
    return !ignored.ignoresAll && !HarmlessFields.contains(field, in: head, servesSeveral: servesSeveral)
      && !ignored.contains(name)
      && !isWritten(name)
  }

  private func isWritten(_ name: UnsafeRawBufferPointer) -> Bool {
    for known in written where equalsIgnoringCase(name, known) { return true }
    return false
  }

  /// Without blanks around the value and around commas.
  static func normal(_ value: UnsafeRawBufferPointer) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(value.count)
    for byte in value {
      if isBlank(byte), text.isEmpty || text.last == UInt8(ascii: ",") { continue }
      if byte == UInt8(ascii: ",") { while let last = text.last, isBlank(last) { text.removeLast() } }
      text.append(byte)
    }
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text
  }

  /// The names that tell this request apart without any Vary: for `explain`.
  public func names(of fields: ContiguousArray<Field>, in head: UnsafeRawBufferPointer) -> [[UInt8]] {
    var names: [[UInt8]] = []
    for field in fields where !field.dropped && tells(field, in: head, .none) {
      let name = field.name.bytes(in: head).map(lowerCase)
      if !names.contains(name) { names.append(name) }
    }
    return names
  }
}
