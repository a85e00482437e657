import HTTPWire

/// What redirects that the proxy followed change in the answer at their end, as the app knows nothing of them.
extension ForwardingRules {
  /// Fields that speak for a whole host, or have the app ask its host for something else. Alt-Svc reaches no app at all.
  private static let ofHost = [
    "refresh", "strict-transport-security", "clear-site-data", "set-cookie2", "nel", "report-to", "reporting-endpoints",
    "public-key-pins", "public-key-pins-report-only", "expect-ct", "service-worker-allowed", "accept-ch", "critical-ch",
    "origin-agent-cluster", "set-login", "use-as-dictionary",
  ].map { Array($0.utf8) }

  /// Whether an app takes a field for the host that it asked, and not for the answer alone.
  static func speaksForHost(_ name: UnsafeRawBufferPointer) -> Bool { ofHost.contains { fieldNameEquals(name, $0) } }

  /// Bytes of URLs that are read for an answer's references. Each may become as long as what was asked for, and a head has room for
  /// thousands: one answer would be hundreds of megabytes.
  static let resolved = 256 << 10

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
  /// absolute where both differ. Cookies of another entry's origin are none of the host that the app asked, and nothing else that it says
  /// of its whole host is about that one.
  /// - Parameters:
  ///   - url: what this is the answer to.
  ///   - isOwn: the entry is the one that the app asked, and so is the host.
  ///   - asked: the authority that an app would have asked.
  ///   - caching: what the redirects on the way leave of the answer's own word; `asSaid` for one that is not the last.
  /// - Returns: the lines that replace the fields that were dropped. A field with too many references is dropped.
  public func settled(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, at url: HTTPURL, isOwn: Bool, of origin: OriginAuthority,
    asked: String, caching: RedirectedCaching = .asSaid
  ) -> [UInt8] {
    responseHeaders?.mark(&head.fields, in: bytes)
    let rule = urlRule(origin, asked)
    let length = url.text.utf8.count
    var left = Self.resolved
    func absolute(_ reference: UnsafeRawBufferPointer, _ isRewritten: Bool) -> [UInt8]? {
      guard !isOwn || HTTPURL.isRelativeToPath(reference), !isAbsolute(reference) else { return nil }
      left -= length + reference.count
      guard left >= 0, let target = try? url.resolving(reference).text else { return nil }
      // What the fragment means is the app's business.
      let fragment = reference.firstIndex(of: UInt8(ascii: "#")).map { Array(reference[$0...]) } ?? []
      let whole = Array(target.utf8) + fragment
      // A relative reference stays with the host that it was found at, which the app knows by another name.
      return isRewritten || isOwn ? whole.withUnsafeBytes { rule?.replaced($0) } ?? whole : whole
    }
    var lines = caching.settle(&head, in: bytes)
    // A Link with too many references leaves no room for others, so it comes last.
    let fields = head.fields.indices.filter { !head.fields[$0].dropped }
    for index in fields.filter({ head.fields[$0].id != .link }) + fields.filter({ head.fields[$0].id == .link }) {
      let field = head.fields[index]
      let value = field.value.bytes(in: bytes)
      let replacement: [UInt8]?
      switch field.id {
      case .setCookie where !isOwn:
        head.fields[index].dropped = true
        continue
      case .location, .contentLocation: replacement = absolute(value, rewrite.location)
      case .link:
        // Whoever replaces one reference replaces all: the field's own rewriting will not see them.
        replacement = URLRule.replacingLinks(value) {
          absolute($0, rewrite.link) ?? (rewrite.link ? rule?.replaced($0) : nil)
        }
      case .other where Self.speaksForHost(field.name.bytes(in: bytes)):
        if !isOwn {
          head.fields[index].dropped = true
          continue
        }
        guard field.name.equalsIgnoringCase("refresh", in: bytes) else { continue }
        let place = RefreshReference(value).place
        replacement =
          place.isEmpty
          ? nil
          : absolute(UnsafeRawBufferPointer(rebasing: value[place]), rewrite.location).map {
            Array(value[..<place.lowerBound]) + $0 + Array(value[place.upperBound...])
          }
      default: replacement = nil
      }
      let isCut = left < 0
      left = max(left, 0)
      guard replacement != nil || isCut else { continue }
      head.fields[index].dropped = true
      if !isCut, let replacement { lines += line(field, replacement, bytes) }
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
