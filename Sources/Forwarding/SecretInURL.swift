import HTTPWire

/// Looks for a credential's secret in a URL that an origin wrote: the request that follows a redirect must not carry one entry's secret
/// to another's origin. `EchoedSecret` takes secrets out of what an app gets.
public enum SecretInURL {
  /// What signs a request has at least so many bytes: SHA-1 in base64 without padding. Times and names of a field that has it have fewer.
  private static let leastProof = 27

  /// Whether a URL holds the secret of a credential's line: the whole value, what is in it behind names and the scheme, or a word of it.
  /// - Parameter line: field and CRLF.
  public static func isSecret(of line: UnsafeRawBufferPointer, in url: HTTPURL) -> Bool {
    parts(of: line).contains { isSecret($0, in: url) }
  }

  /// The same of a line that a signature or a token made for one request is in.
  /// - Parameter parameter: which part of the value proves something; nil: all of it does.
  public static func isProof(of line: UnsafeRawBufferPointer, _ parameter: [UInt8]?, in url: HTTPURL) -> Bool {
    guard let parameter else { return parts(of: line).contains { $0.count >= leastProof && isSecret($0, in: url) } }
    return value(of: line).split { " ,".utf8.contains($0) }.contains { word in
      guard let equals = word.firstIndex(of: UInt8(ascii: "=")) else { return false }
      return word[..<equals].elementsEqual(parameter) && isSecret(bare(word[(equals + 1)...]), in: url)
    }
  }

  private static func value(of line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    var value = line[(colon + 1)...]
    while let byte = value.first, " \t".utf8.contains(byte) { value.removeFirst() }
    while let byte = value.last, " \t\r\n".utf8.contains(byte) { value.removeLast() }
    return UnsafeRawBufferPointer(rebasing: value)
  }

  private static func words(of value: UnsafeRawBufferPointer) -> [[UInt8]] {
    value.split { " ;,\"'\t".utf8.contains($0) }.map { Array($0) }
  }

  private static func parts(of line: UnsafeRawBufferPointer) -> Set<[UInt8]> {
    let value = value(of: line)
    var words = words(of: value)
    var texts = [Array(value)]
    // The scheme of Authorization, or another beginning that says how to read the rest.
    if words.count > 1, !words[0].contains(UInt8(ascii: "=")) {
      texts.append(Array(value.dropFirst(words.removeFirst().count).drop { $0 == UInt8(ascii: " ") }))
    }
    var parts: Set<[UInt8]> = []
    for text in texts + words {
      parts.insert(text)
      // `name=value`; an equals sign at the end is base64's.
      guard let equals = text.firstIndex(of: UInt8(ascii: "=")) else { continue }
      let value = text[(equals + 1)...]
      guard value.contains(where: { $0 != UInt8(ascii: "=") }) else { continue }
      parts.insert(Array(value))
      parts.insert(bare(value))
    }
    return parts
  }

  /// Without quotation marks, or the colons of bytes (RFC 9651 section 3.3.5).
  private static func bare(_ value: some BidirectionalCollection<UInt8>) -> [UInt8] {
    guard value.count > 1, let mark = value.first, "\":".utf8.contains(mark), value.last == mark else { return Array(value) }
    return Array(value.dropFirst().dropLast())
  }

  /// The same of a secret, however often it is percent-encoded. A host's case means nothing. A plus sign is one, or a space of a form.
  public static func isSecret(_ secret: [UInt8], in url: HTTPURL) -> Bool {
    // Fewer may be there by chance.
    guard secret.count >= EchoedSecret.leastLength else { return false }
    if contains(Array(String(decoding: secret, as: UTF8.self).lowercased().utf8), in: Array(url.host.utf8)) { return true }
    let secret = withoutPluses(secret)
    var text = Array(url.text.utf8)
    for _ in 0...EchoedSecret.depth {
      if contains(secret, in: withoutPluses(text)) { return true }
      guard text.contains(UInt8(ascii: "%")) else { return false }
      text = decoded(text)
    }
    return false
  }

  /// Reads each byte about twice (Knuth, Morris and Pratt), whatever an origin sends that knows what is wanted.
  private static func contains(_ wanted: [UInt8], in text: [UInt8]) -> Bool {
    // By how many bytes of `wanted`: how many of its first bytes these end with, which is fewer.
    var borders = [0, 0]
    var matched = 0
    func next(_ byte: UInt8) {
      while matched > 0, wanted[matched] != byte { matched = borders[matched] }
      if wanted[matched] == byte { matched += 1 }
    }
    for byte in wanted.dropFirst() {
      next(byte)
      borders.append(matched)
    }
    matched = 0
    for byte in text {
      next(byte)
      if matched == wanted.count { return true }
    }
    return false
  }

  private static func withoutPluses(_ text: [UInt8]) -> [UInt8] {
    text.contains(UInt8(ascii: "+")) ? text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 } : text
  }

  private static func decoded(_ text: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var index = 0
    while index < text.count {
      if text[index] == UInt8(ascii: "%"), index + 2 < text.count,
        let high = hexadecimalValue(text[index + 1]), let low = hexadecimalValue(text[index + 2])
      {
        result.append(high << 4 | low)
        index += 3
      } else {
        result.append(text[index])
        index += 1
      }
    }
    return result
  }
}
