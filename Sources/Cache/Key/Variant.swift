import HTTPWire

/// What tells requests for one target apart: fields that are not known to be harmless, and those that Vary names (RFC 9111 section
/// 4.1). Only a digest of the values is kept.
public final class VariantReader: Sendable {
  private let ignored: IgnoredFields
  private let servesSeveral: Bool
  private let written: [[UInt8]]
  private let credential: [[UInt8]]

  /// - Parameters:
  ///   - written: names of the fields that the entry's credential writes; empty if the app's own goes on. The partition has the
  ///     credential's identity, so they tell nothing more.
  ///   - credential: names of the fields in which an app's own credential goes on, besides Authorization.
  public init(_ rules: CacheRules, written: [[UInt8]] = [], credential: [[UInt8]] = []) {
    self.credential = credential.map { $0.map(lowerCase) }
    ignored = rules.ignored
    servesSeveral = rules.servesSeveralClients
    self.written = written.map { $0.map(lowerCase) }
  }

  /// Costs no allocation if no field tells.
  /// - Parameters:
  ///   - fields: after `client_authorization` and `request_headers`; dropped ones do not count.
  ///   - own: lines that `request_headers` writes and that differ between requests of a partition.
  ///   - vary: of the stored answer, or of the last one for the target.
  ///   - recent: of the loop, if the digest may be known.
  public func variant(
    of fields: UnsafeBufferPointer<Field>, in head: UnsafeRawBufferPointer, own: [(name: [UInt8], value: [UInt8])] = [],
    vary: VaryNames, recent: RecentVariants? = nil
  ) -> CacheDigest {
    let lines = own.isEmpty ? [] : own.flatMap { $0.name + $0.value }
    return lines.withUnsafeBytes { lines in
      withUnsafeTemporaryAllocation(of: ToldLine.self, capacity: fields.count + own.count) { told in
        var count = 0
        // Nothing else is kept in the clear.
        var negotiates = own.isEmpty
        func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isList: Bool) {
          told.initializeElement(at: count, to: ToldLine(name: name, value: value, isList: isList, order: count))
          count += 1
        }
        for field in fields where !field.dropped {
          let reading = tells(field, in: head, vary)
          guard reading != .nothing else { continue }
          add(field.name.bytes(in: head), field.value.bytes(in: head), isList: reading == .list)
          if field.id != .accept, field.id != .acceptEncoding { negotiates = false }
        }
        var start = 0
        for line in own {
          let end = start + line.name.count
          let name = UnsafeRawBufferPointer(rebasing: lines[start..<end])
          start = end + line.value.count
          add(name, UnsafeRawBufferPointer(rebasing: lines[end..<start]), isList: vary.contains(name))
        }
        if count == 0 { return .none }
        return ToldLine.digest(UnsafeMutableBufferPointer(rebasing: told[..<count]), negotiates ? recent : nil)
      }
    }
  }

  /// The same for the fields of a head.
  public func variant(
    of fields: ContiguousArray<Field>, in head: UnsafeRawBufferPointer, own: [(name: [UInt8], value: [UInt8])] = [],
    vary: VaryNames, recent: RecentVariants? = nil
  ) -> CacheDigest {
    fields.withUnsafeBufferPointer { variant(of: $0, in: head, own: own, vary: vary, recent: recent) }
  }

  private enum Reading { case nothing, exact, list }

  private func tells(_ field: Field, in head: UnsafeRawBufferPointer, _ vary: VaryNames) -> Reading {
    let name = field.name.bytes(in: head)
    if vary.contains(name) { return isWritten(name) ? .nothing : .list }
    // Never ignored: an app's own credential says who asks.
    if field.id == .authorization || isOfCredential(name) { return isWritten(name) ? .nothing : .exact }
    if ignored.ignoresAll || HarmlessFields.contains(field, in: head, servesSeveral: servesSeveral) { return .nothing }
    return ignored.contains(name) || isWritten(name) ? .nothing : .exact
  }

  /// An app's own credential goes on in a field of this name.
  func isOfCredential(_ name: UnsafeRawBufferPointer) -> Bool {
    for known in credential where equalsIgnoringCase(name, known) { return true }
    return false
  }

  private func isWritten(_ name: UnsafeRawBufferPointer) -> Bool {
    for known in written where equalsIgnoringCase(name, known) { return true }
    return false
  }

  /// The names that tell this request apart without any Vary: for `explain`.
  public func names(of fields: ContiguousArray<Field>, in head: UnsafeRawBufferPointer) -> [[UInt8]] {
    var names: [[UInt8]] = []
    for field in fields where !field.dropped && tells(field, in: head, .none) != .nothing {
      let name = field.name.bytes(in: head).map(lowerCase)
      if !names.contains(name) { names.append(name) }
    }
    return names
  }
}

/// A field line that tells a request apart.
private struct ToldLine {
  let name: UnsafeRawBufferPointer
  let value: UnsafeRawBufferPointer
  /// Vary names it, so it is read as RFC 9111 section 4.1 permits: lines together, blanks around commas do not count. Every other field
  /// counts byte for byte: its commas may be anything, part of a person's name for example.
  let isList: Bool
  /// Among all lines: those of one name keep theirs.
  let order: Int

  private func isBefore(_ other: ToldLine) -> Bool {
    var index = 0
    while index < name.count, index < other.name.count {
      let (one, another) = (lowerCase(name[index]), lowerCase(other.name[index]))
      if one != another { return one < another }
      index &+= 1
    }
    return name.count == other.name.count ? order < other.order : name.count < other.name.count
  }

  /// Over names and values with their lengths, by name, so that different requests have different digests.
  static func digest(_ lines: UnsafeMutableBufferPointer<ToldLine>, _ recent: RecentVariants?) -> CacheDigest {
    var lines = lines
    if lines.count == 2 {
      // As browsers do it: Accept and Accept-Language.
      if lines[1].isBefore(lines[0]) { lines.swapAt(0, 1) }
    } else if lines.count > 2 {
      lines.sort { $0.isBefore($1) }
    }
    // Two lengths, and a comma.
    var limit = 0
    for line in lines { limit += line.name.count + line.value.count + 9 }
    return withUnsafeTemporaryAllocation(byteCount: limit, alignment: 8) { message in
      var end = 0
      var index = 0
      while index < lines.count {
        let line = lines[index]
        message.storeBytes(of: UInt32(truncatingIfNeeded: line.name.count), toByteOffset: end, as: UInt32.self)
        end += 4
        for byte in line.name {
          message[end] = lowerCase(byte)
          end += 1
        }
        let start = end + 4
        var last = start
        line.append(to: message, from: start, &last)
        index += 1
        while line.isList, index < lines.count, equalsIgnoringCase(lines[index].name, line.name) {
          message[last] = UInt8(ascii: ",")
          last += 1
          lines[index].append(to: message, from: last, &last)
          index += 1
        }
        message.storeBytes(of: UInt32(truncatingIfNeeded: last - start), toByteOffset: end, as: UInt32.self)
        end = last
      }
      let bytes = UnsafeRawBufferPointer(rebasing: message[..<end])
      return recent?.digest(of: bytes) ?? CacheDigest(of: bytes)
    }
  }

  /// A list without blanks around it and around commas; anything else as it is.
  private func append(to message: UnsafeMutableRawBufferPointer, from start: Int, _ end: inout Int) {
    guard isList else {
      if !value.isEmpty { UnsafeMutableRawBufferPointer(rebasing: message[start...]).copyMemory(from: value) }
      end = start + value.count
      return
    }
    end = start
    for byte in value {
      if isBlank(byte), end == start || message[end - 1] == UInt8(ascii: ",") { continue }
      if byte == UInt8(ascii: ",") { while end > start, isBlank(message[end - 1]) { end -= 1 } }
      message[end] = byte
      end += 1
    }
    while end > start, isBlank(message[end - 1]) { end -= 1 }
  }
}
