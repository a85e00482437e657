import HTTPWire

/// What `rewrite` makes of a response's fields: the originals are dropped from the head, these lines stand instead.
struct Rewriting { var extra: [UInt8] = [] }

/// URLs under one place become URLs under another.
struct URLRule {
  /// `scheme://host[:port]` in lower case, the port left out where it is the scheme's own.
  var from: [UInt8]
  /// `:port` where `from` leaves it out: it may be written out all the same.
  var defaultPort: [UInt8]
  var to: [UInt8]

  /// nil where the URL is not under `from`.
  func replaced(_ url: UnsafeRawBufferPointer) -> [UInt8]? {
    guard url.count >= from.count, equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: url[..<from.count]), from) else {
      return nil
    }
    var rest = url[from.count...]
    if !defaultPort.isEmpty, rest.starts(with: defaultPort) { rest = rest.dropFirst(defaultPort.count) }
    // `https://api.example.com.evil` and `https://api.example.com:444` are other places.
    if let next = rest.first, next != UInt8(ascii: "/"), next != UInt8(ascii: "?"), next != UInt8(ascii: "#") { return nil }
    return to + Array(rest)
  }

  /// `Link: <url>; rel=next, <url>; rel=last` (RFC 8288 section 3).
  func replacedLinks(_ value: UnsafeRawBufferPointer) -> [UInt8]? {
    var result: [UInt8] = []
    var hasChanged = false
    var index = 0
    while index < value.count {
      let byte = value[index]
      result.append(byte)
      index += 1
      guard byte == UInt8(ascii: "<"), let end = value[index...].firstIndex(of: UInt8(ascii: ">")) else { continue }
      let url = UnsafeRawBufferPointer(rebasing: value[index..<end])
      if let replacement = replaced(url) {
        result += replacement
        hasChanged = true
      } else {
        result += Array(url)
      }
      index = end
    }
    return hasChanged ? result : nil
  }
}

private let rewritable = FieldSet(.location, .contentLocation, .link, .setCookie)

extension Request {
  /// URLs under the entry's origin become `http://<match>`, so that the app's next request comes here; `Secure` is taken off
  /// cookies where that was asked for.
  func rewriteFields(_ bytes: UnsafeRawBufferPointer) -> Rewriting {
    var result = Rewriting()
    guard let entry, worker.responseHead.present.intersects(rewritable) else { return result }
    let rewrite = entry.settings.rewrite
    for (index, field) in worker.responseHead.fields.enumerated() where !field.dropped {
      let value = field.value.bytes(in: bytes)
      let replacement: [UInt8]?
      switch field.id {
      case .location where rewrite.location, .contentLocation where rewrite.location:
        replacement = urlRule(entry)?.replaced(value)
      case .link where rewrite.link: replacement = urlRule(entry)?.replacedLinks(value)
      case .setCookie where rewrite.secureCookies: replacement = withoutSecure(value)
      default: replacement = nil
      }
      guard let replacement else { continue }
      worker.responseHead.fields[index].dropped = true
      result.extra += Array(field.name.bytes(in: bytes)) + [UInt8(ascii: ":"), UInt8(ascii: " ")] + replacement + [13, 10]
    }
    return result
  }

  private func urlRule(_ entry: Entry) -> URLRule? {
    guard let origin = pool?.origin.identity, !entry.isUnlisted else { return nil }
    // Below a wildcard there is no one host to come back to but the one that was asked for.
    let to = entry.rewriteTo.isEmpty ? Array("http://\(summary.authority)".utf8) : entry.rewriteTo
    let hasDefaultPort = origin.port == (origin.isTLS ? 443 : 80)
    return URLRule(
      from: Array("\(origin.scheme.rawValue)://\(origin.authority)".utf8),
      defaultPort: hasDefaultPort ? Array(":\(origin.port)".utf8) : [],
      to: to)
  }

  private func withoutSecure(_ value: UnsafeRawBufferPointer) -> [UInt8]? {
    let parts = value.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
    let kept = parts.enumerated().filter { index, part in
      index == 0 || !equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: part[part.trimmed]), "secure")
    }
    return kept.count == parts.count ? nil : Array(kept.map(\.element).joined(separator: [UInt8(ascii: ";")]))
  }
}

extension Swift.Slice where Base == UnsafeRawBufferPointer {
  /// The indices without the white space at both ends.
  fileprivate var trimmed: Range<Int> {
    var (start, end) = (startIndex, endIndex)
    while start < end, self[start] == 32 || self[start] == 9 { start += 1 }
    while end > start, self[end - 1] == 32 || self[end - 1] == 9 { end -= 1 }
    return start..<end
  }
}
