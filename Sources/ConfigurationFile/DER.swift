/// As much of DER (X.690) as it takes to know a certificate or CRL by its outline, and to find the key in a certificate.
struct DER {
  private var rest: ArraySlice<UInt8>
  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  struct Element {
    var tag: UInt8
    var content: ArraySlice<UInt8>
    /// Tag, length and content.
    var whole: ArraySlice<UInt8>
  }

  var isAtEnd: Bool { rest.isEmpty }
  var nextTag: UInt8? { rest.first }

  /// nil at the end, and where the bytes are no element with a definite length.
  mutating func next() -> Element? {
    let start = rest.startIndex
    guard rest.count >= 2 else { return nil }
    let tag = rest[start]
    var header = 2
    var length = Int(rest[start + 1])
    if length >= 0x80 {
      let count = length & 0x7f
      guard (1...4).contains(count), rest.count >= 2 + count else { return nil }
      length = rest[(start + 2)..<(start + 2 + count)].reduce(0) { $0 << 8 | Int($1) }
      header += count
    }
    guard tag & 0x1f != 0x1f, rest.count - header >= length else { return nil }
    let whole = rest[start..<(start + header + length)]
    rest = rest[(start + header + length)...]
    return Element(tag: tag, content: whole[(start + header)...], whole: whole)
  }

  mutating func next(_ tag: UInt8) -> Element? { next().flatMap { $0.tag == tag ? $0 : nil } }

  static let sequence: UInt8 = 0x30
  static let bitString: UInt8 = 0x03

  /// The content of `bytes` as one SEQUENCE of three, the signed thing, its algorithm and the signature: the common outline of
  /// certificates and CRLs (RFC 5280 sections 4.1 and 5.1).
  private static func signed(_ bytes: [UInt8]) -> Element? {
    var outer = DER(bytes[...])
    guard let all = outer.next(sequence), outer.isAtEnd else { return nil }
    var parts = DER(all.content)
    guard let inner = parts.next(sequence), parts.next(sequence) != nil, parts.next(bitString) != nil, parts.isAtEnd else {
      return nil
    }
    return inner
  }

  /// SubjectPublicKeyInfo of an X.509 certificate; nil where the bytes are none.
  static func subjectPublicKeyInfo(_ certificate: [UInt8]) -> ArraySlice<UInt8>? {
    guard let inner = signed(certificate) else { return nil }
    var fields = DER(inner.content)
    if fields.nextTag == 0xa0 { _ = fields.next() }  // version
    // serialNumber, signature, issuer, validity, subject.
    guard fields.next(0x02) != nil, fields.next(sequence) != nil, fields.next(sequence) != nil, fields.next(sequence) != nil,
      fields.next(sequence) != nil, let key = fields.next(sequence)
    else { return nil }
    var parts = DER(key.content)
    guard parts.next(sequence) != nil, parts.next(bitString) != nil, parts.isAtEnd else { return nil }
    return key.whole
  }

  /// version?, signature, issuer, thisUpdate, ...
  static func isRevocationList(_ bytes: [UInt8]) -> Bool {
    guard let inner = signed(bytes) else { return false }
    var fields = DER(inner.content)
    if fields.nextTag == 0x02 { _ = fields.next() }
    guard fields.next(sequence) != nil, fields.next(sequence) != nil, let time = fields.next() else { return false }
    return time.tag == 0x17 || time.tag == 0x18
  }
}
