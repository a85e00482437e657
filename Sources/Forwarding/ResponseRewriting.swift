import HTTPWire

private let rewritable = FieldSet(.location, .contentLocation, .link, .setCookie)

/// `rewrite`: URLs below the origin and its path become URLs below the entry's match, so that the app's next request uses the proxy. Removes
/// `Secure` from cookies if configured.
extension ForwardingRules {
  /// Drops the fields that are replaced.
  /// - Parameter asked: the authority that the app requested.
  /// - Returns: the lines that replace them.
  @inline(__always)
  func rewritten(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, of origin: OriginAuthority, asked: @autoclosure () -> String
  ) -> [UInt8] {
    head.present.intersects(rewritable) ? rewrite(&head, bytes, urlRule(origin, asked())) : []
  }

  private func rewrite(_ head: inout ResponseHead, _ bytes: UnsafeRawBufferPointer, _ rule: URLRule?) -> [UInt8] {
    var lines: [UInt8] = []
    for index in head.fields.indices where !head.fields[index].dropped {
      let field = head.fields[index]
      let value = field.value.bytes(in: bytes)
      let replacement: [UInt8]?
      switch field.id {
      case .location where rewrite.location, .contentLocation where rewrite.location: replacement = rule?.replaced(value)
      case .link where rewrite.link: replacement = rule?.replacedLinks(value)
      case .setCookie where rewrite.secureCookies: replacement = withoutSecure(value)
      default: replacement = nil
      }
      guard let replacement else { continue }
      head.fields[index].dropped = true
      lines += Array(field.name.bytes(in: bytes)) + [UInt8(ascii: ":"), UInt8(ascii: " ")] + replacement + [13, 10]
    }
    return lines
  }

  func urlRule(_ origin: OriginAuthority, _ asked: String) -> URLRule? {
    guard rewritesURLs else { return nil }
    return URLRule(
      from: places(origin, asked),
      to: rewriteTo.last == UInt8(ascii: "/") ? rewriteTo + Array(asked.utf8) : rewriteTo, paths: paths)
  }

  /// What the origin may take for its own scheme and authority; an entry's other origins mean the same. With `host_header: app` that is
  /// also what the app asked for: with either scheme, as the origin does not know how the app came, or with the port that the origin
  /// listens on.
  private func places(_ origin: OriginAuthority, _ asked: String) -> [URLPlace] {
    let places = [URLPlace(origin)] + origins.filter { $0 != origin }.map { URLPlace($0) }
    guard keepsHost, let (host, port) = Self.parts(of: asked) else { return places }
    let plain = OriginAuthority(isTLS: false, host: host, port: port ?? 80)
    let secure = OriginAuthority(isTLS: true, host: host, port: port ?? 443)
    let listening = OriginAuthority(isTLS: origin.isTLS, host: host, port: origin.port)
    return places + [URLPlace(plain), URLPlace(secure), URLPlace(listening)]
  }

  /// - Returns: the host as `OriginAuthority` takes it; no port for the default ones.
  private static func parts(of asked: String) -> (host: String, port: UInt16?)? {
    var asked = asked.lowercased()
    return asked.withUTF8 { text in
      let bytes = UnsafeRawBufferPointer(text)
      guard let authority = try? Authority(ByteSlice(start: 0, count: bytes.count), in: bytes) else { return nil }
      let port = authority.port.flatMap { $0 == 80 || $0 == 443 ? nil : $0 }
      return (String(decoding: authority.host.bytes(in: bytes), as: UTF8.self), port)
    }
  }
}

/// nil: the cookie has no `Secure`.
func withoutSecure(_ value: UnsafeRawBufferPointer) -> [UInt8]? {
  let parts = value.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
  let kept = parts.enumerated().filter { index, part in
    index == 0 || !equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: part[part.trimmed]), "secure")
  }
  return kept.count == parts.count ? nil : Array(kept.map(\.element).joined(separator: [UInt8(ascii: ";")]))
}

extension Slice where Base == UnsafeRawBufferPointer {
  /// The indices without white space at both ends.
  fileprivate var trimmed: Range<Int> {
    var (start, end) = (startIndex, endIndex)
    while start < end, self[start] == 32 || self[start] == 9 { start += 1 }
    while end > start, self[end - 1] == 32 || self[end - 1] == 9 { end -= 1 }
    return start..<end
  }
}
