import HTTPWire

/// What `request_headers` or `response_headers` of an entry does to a head: takes fields out, then writes its own. Compiled once with
/// the configuration. An entry without such rules has none of these objects, so that its heads cost a comparison with nil.
public final class HeaderRules: Sendable {
  /// Whole names to take out. A field that the rules write takes the place of every field with its name.
  private let removed: [[UInt8]]
  /// Beginnings of names to take out.
  private let prefixes: [[UInt8]]
  /// The lines to write, cut where the client's name stands. At least one text.
  private let texts: [[UInt8]]
  private let length: Int
  /// The known names among the fields that the rules write.
  let written: FieldSet

  /// - Parameters:
  ///   - remove: names; one that ends in `*` stands for every name that begins so.
  ///   - set: each field with the texts before, between and behind its placeholders for the client's name; at least one text.
  public init(remove: [String], set: [(name: String, texts: [String])]) {
    removed = remove.filter { !$0.hasSuffix("*") }.map { Array($0.utf8) } + set.map { Array($0.name.utf8) }
    prefixes = remove.filter { $0.hasSuffix("*") }.map { Array($0.utf8.dropLast()) }
    var texts: [[UInt8]] = [[]]
    var written = FieldSet()
    for field in set {
      texts[texts.count - 1] += Array("\(field.name): ".utf8)
      for (index, text) in field.texts.enumerated() {
        if index > 0 { texts.append([]) }
        texts[texts.count - 1] += Array(text.utf8)
      }
      texts[texts.count - 1] += [13, 10]
      written.insert(Array(field.name.utf8).withUnsafeBytes { FieldName($0) })
    }
    self.texts = texts
    self.written = written
    length = texts.reduce(0) { $0 + $1.count }
  }

  /// Drops the fields that the rules take out or replace, however they are spelled: case does not count, and `_` is `-`.
  public func mark(_ fields: inout ContiguousArray<Field>, in bytes: UnsafeRawBufferPointer) {
    for index in fields.indices where !fields[index].dropped && takes(fields[index].name.bytes(in: bytes)) {
      fields[index].dropped = true
    }
  }

  private func takes(_ name: UnsafeRawBufferPointer) -> Bool {
    for known in removed where fieldNameEquals(name, known) { return true }
    for prefix in prefixes where name.count >= prefix.count {
      if fieldNameEquals(UnsafeRawBufferPointer(rebasing: name[..<prefix.count]), prefix) { return true }
    }
    return false
  }

  /// Some line has the client's name.
  public var namesClient: Bool { texts.count > 1 }

  /// Bytes that `ByteWriter.append(_:client:)` writes.
  func size(client: String?) -> Int { length + (texts.count - 1) * (client?.utf8.count ?? 0) }

  fileprivate func write(client: String?, into writer: inout ByteWriter) {
    writer.append(texts[0])
    for text in texts.dropFirst() {
      if let client { writer.append(utf8: client) }
      writer.append(text)
    }
  }
}

extension ByteWriter {
  /// The fields that the rules write.
  /// - Parameter client: its name; nil: unknown, and nothing is written in its place.
  mutating func append(_ rules: HeaderRules, client: String?) { rules.write(client: client, into: &self) }

  fileprivate mutating func append(utf8 text: String) {
    let isWritten: Void? = text.utf8.withContiguousStorageIfAvailable { append(UnsafeRawBufferPointer($0)) }
    if isWritten == nil { for byte in text.utf8 { append(byte: byte) } }
  }
}
