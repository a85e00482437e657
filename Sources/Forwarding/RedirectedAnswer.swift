import HTTPWire

/// What redirects that the proxy followed change in the answer at their end, as the app knows nothing of them.
extension ForwardingRules {
  /// The cookies of an answer whose redirect is followed, as lines for the app.
  /// - Parameter head: the app gets nothing else of it.
  public func cookies(of head: inout ResponseHead, in bytes: UnsafeRawBufferPointer) -> [UInt8] {
    guard head.contains(.setCookie) else { return [] }
    responseHeaders?.mark(&head.fields, in: bytes)
    var lines: [UInt8] = []
    for field in head.fields where field.id == .setCookie && !field.dropped {
      let value = field.value.bytes(in: bytes)
      lines += line(field, rewrite.secureCookies ? withoutSecure(value) ?? Array(value) : Array(value), bytes)
    }
    return lines
  }

  /// References are relative to what was asked of the origin. The app would resolve them against what it asked for itself, so they get
  /// absolute where both differ. Cookies of another entry's origin are none of the host that the app asked.
  /// - Parameters:
  ///   - url: what this is the answer to.
  ///   - isOwn: the entry is the one that the app asked.
  ///   - asked: the authority that an app would have asked.
  /// - Returns: the lines that replace the fields that were dropped.
  public func settled(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, at url: HTTPURL, isOwn: Bool, of origin: OriginAuthority,
    asked: String
  ) -> [UInt8] {
    responseHeaders?.mark(&head.fields, in: bytes)
    let rule = urlRule(origin, asked)
    func absolute(_ reference: UnsafeRawBufferPointer, _ isRewritten: Bool) -> [UInt8]? {
      guard !isOwn || HTTPURL.isRelativeToPath(reference), !isAbsolute(reference),
        let target = try? url.resolving(reference).text
      else { return nil }
      // What the fragment means is the app's business.
      let fragment = reference.firstIndex(of: UInt8(ascii: "#")).map { Array(reference[$0...]) } ?? []
      let whole = Array(target.utf8) + fragment
      return isRewritten ? whole.withUnsafeBytes { rule?.replaced($0) } ?? whole : whole
    }
    var lines: [UInt8] = []
    for index in head.fields.indices where !head.fields[index].dropped {
      let field = head.fields[index]
      let value = field.value.bytes(in: bytes)
      let replacement: [UInt8]?
      switch field.id {
      case .setCookie where !isOwn:
        head.fields[index].dropped = true
        continue
      case .location, .contentLocation: replacement = absolute(value, rewrite.location)
      case .link: replacement = URLRule.replacingLinks(value) { absolute($0, rewrite.link) }
      default: replacement = nil
      }
      guard let replacement else { continue }
      head.fields[index].dropped = true
      lines += line(field, replacement, bytes)
    }
    return lines
  }

  private func isAbsolute(_ reference: UnsafeRawBufferPointer) -> Bool {
    reference.first != UInt8(ascii: "/") && !HTTPURL.isRelativeToPath(reference)
  }

  private func line(_ field: Field, _ value: [UInt8], _ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    Array(field.name.bytes(in: bytes)) + [UInt8(ascii: ":"), UInt8(ascii: " ")] + value + [13, 10]
  }
}
