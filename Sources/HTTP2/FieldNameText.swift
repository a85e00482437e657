import HTTPWire

/// Spells field names as HTTP/1.1 servers do: HTTP/2 has them in lower case, and old apps compare exactly.
enum FieldNameText {
  /// Writes the name in its usual spelling: as registered, or with a capital after each hyphen.
  /// - Parameters:
  ///   - id: the known name, or `other`.
  ///   - place: has room for it. No spelling changes its length.
  @inline(__always)
  static func write(_ name: UnsafeRawBufferPointer, _ id: FieldName, to place: UnsafeMutablePointer<UInt8>) {
    if let known = id != .other ? id.text : odd(name) {
      return place.update(from: known.utf8Start, count: name.count)
    }
    var capital = true
    for index in 0..<name.count {
      let byte = name[index]
      place[index] = capital && byte &- 0x61 < 26 ? byte ^ 0x20 : byte
      capital = byte == UInt8(ascii: "-")
    }
  }

  /// Names with abbreviations, by length.
  private static func odd(_ name: UnsafeRawBufferPointer) -> StaticString? {
    @inline(__always)
    func match(_ text: StaticString) -> StaticString? { equalsIgnoringCase(name, text) ? text : nil }
    switch name.count {
    case 3: return match("DNT") ?? match("NEL") ?? match("P3P") ?? match("RTT") ?? match("DPR")
    case 4: return match("DPoP")
    case 7: return match("Sec-GPC")
    case 9: return match("Expect-CT") ?? match("SourceMap")
    case 10: return match("DPoP-Nonce")
    case 11: return match("Content-MD5")
    case 15: return match("X-UA-Compatible")
    case 16: return match("X-XSS-Protection")
    case 22: return match("X-DNS-Prefetch-Control")
    default: return nil
    }
  }
}
