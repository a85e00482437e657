import HTTPWire

/// The head of an app's request, as if the app itself had asked for what a redirect leads to.
public struct RedirectedHead: Sendable {
  public var method: String
  /// As an app asks for it.
  public var url: HTTPURL
  /// The next request has no content.
  public var dropsContent: Bool
  /// The body leaves with its length, which leaves no place for trailers.
  public var dropsTrailer: Bool
  /// Besides Authorization and Cookie, the fields that the target must not get, as another entry serves it than the one that the app
  /// asked; nil: the same one does.
  public var withheld: [[UInt8]]?

  public init(method: String, url: HTTPURL, dropsContent: Bool, dropsTrailer: Bool, withheld: [[UInt8]]?) {
    self.method = method
    self.url = url
    self.dropsContent = dropsContent
    self.dropsTrailer = dropsTrailer
    self.withheld = withheld
  }

  private static let contentPrefix = Array("content-".utf8)
  /// RFC 9110 section 15.4, and RFC 9530: fields that describe content without saying so in their name.
  private static let ofContent = ["transfer-encoding", "trailer", "expect", "digest", "repr-digest", "last-modified"].map {
    Array($0.utf8)
  }
  /// What an app sends for the origin that it asks.
  public static let ofOneEntry = ["authorization", "cookie", "cookie2"].map { Array($0.utf8) }

  /// - Parameters:
  ///   - head: the app's, whole.
  ///   - bytes: that it was parsed from.
  public func text(of head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer) -> [UInt8] {
    let target = url.text
    let start = target.index(target.startIndex, offsetBy: url.isHTTPS ? 8 : 7)
    let authority = target[start...].prefix { $0 != "/" }
    var text = Array("\(method) \(target) HTTP/1.\(head.minorVersion)\r\nHost: \(authority)\r\n".utf8)
    for field in head.fields where goesOn(field, bytes) {
      text += field.name.bytes(in: bytes)
      text += [UInt8(ascii: ":"), UInt8(ascii: " ")]
      text += field.value.bytes(in: bytes)
      text += [13, 10]
    }
    return text + [13, 10]
  }

  /// Whether a URL holds the secret of a credential's line, as it is or percent-encoded: the last word of the value.
  /// - Parameter line: field and CRLF.
  public static func isSecret(of line: UnsafeRawBufferPointer, in url: HTTPURL) -> Bool {
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return false }
    return isSecret(
      Array(line[(colon + 1)...].filter { $0 != 13 && $0 != 10 }.split(separator: UInt8(ascii: " ")).last ?? []), in: url)
  }

  /// The same of a secret.
  public static func isSecret(_ secret: [UInt8], in url: HTTPURL) -> Bool {
    // Fewer may be there by chance.
    guard secret.count >= EchoedSecret.leastLength else { return false }
    let text = Array(url.text.utf8)
    return contains(secret, in: text) || contains(secret, in: decoded(text)) || contains(secret, in: decoded(decoded(text)))
  }

  private static func contains(_ wanted: [UInt8], in text: [UInt8]) -> Bool {
    guard text.count >= wanted.count else { return false }
    return (0...(text.count - wanted.count)).contains { text[$0] == wanted[0] && text[$0...].starts(with: wanted) }
  }

  private static func decoded(_ text: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var index = 0
    while index < text.count {
      if text[index] == UInt8(ascii: "%"), index + 2 < text.count,
        let byte = UInt8(String(decoding: text[(index + 1)...(index + 2)], as: UTF8.self), radix: 16)
      {
        result.append(byte)
        index += 3
      } else {
        result.append(text[index])
        index += 1
      }
    }
    return result
  }

  private func goesOn(_ field: Field, _ bytes: UnsafeRawBufferPointer) -> Bool {
    // Who asks is known.
    if field.id == .host || field.id == .proxyAuthorization { return false }
    if dropsTrailer, field.id == .trailer { return false }
    let name = field.name.bytes(in: bytes)
    if dropsContent {
      if name.count >= Self.contentPrefix.count,
        fieldNameEquals(UnsafeRawBufferPointer(rebasing: name[..<Self.contentPrefix.count]), Self.contentPrefix)
      {
        return false
      }
      if Self.ofContent.contains(where: { fieldNameEquals(name, $0) }) { return false }
    }
    guard let withheld else { return true }
    // It would name trailers that do not go on.
    if field.id == .trailer { return false }
    return !(Self.ofOneEntry + withheld).contains { fieldNameEquals(name, $0) }
  }
}
