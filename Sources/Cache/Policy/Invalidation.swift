import HTTPWire

/// Which targets an answer to an unsafe request makes invalid (RFC 9111 section 4.4).
public enum Invalidation {
  /// Whether the answer invalidates at all. A method that is not known as safe is unsafe; a failure changed nothing.
  public static func happens(method: Method, status: Int) -> Bool { !method.isSafe && 200..<400 ~= status }

  /// The path and query of Location and Content-Location, where they are under the same origin; the request's own target is not among
  /// them. The head is the origin's, or as rewritten for the app.
  /// - Parameters:
  ///   - target: the request's target in origin-form, to resolve references.
  ///   - bases: forms of the origin, lower-case, such as `https://api.example.com`, each with and without its default port.
  public static func paths(
    _ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, target: [UInt8], bases: [[UInt8]]
  ) -> [[UInt8]] {
    var paths: [[UInt8]] = []
    for field in head.fields where field.id == .location || field.id == .contentLocation {
      guard let path = resolve(field.value.bytes(in: bytes), target: target, bases: bases), !paths.contains(path) else {
        continue
      }
      paths.append(path)
    }
    return paths
  }

  /// Path and query of a reference (RFC 3986 section 5.2); nil: it is under another origin, or no reference.
  static func resolve(_ reference: UnsafeRawBufferPointer, target: [UInt8], bases: [[UInt8]]) -> [UInt8]? {
    var text = Array(reference)
    if let hash = text.firstIndex(of: UInt8(ascii: "#")) { text.removeSubrange(hash...) }
    let path = Array(target.prefix { $0 != UInt8(ascii: "?") })
    guard let first = text.first else { return target }
    if first == UInt8(ascii: "?") { return path + text }
    if text.starts(with: Array("//".utf8)) {
      // Of the same scheme.
      for base in bases {
        guard let colon = base.firstIndex(of: UInt8(ascii: ":")) else { continue }
        if let path = under(Array(base[...colon]) + text, base) { return path }
      }
      return nil
    }
    if first == UInt8(ascii: "/") { return withoutDots(text) }
    if hasScheme(text) {
      for base in bases { if let path = under(text, base) { return path } }
      return nil
    }
    // Below the folder of the target.
    let folder = path.lastIndex(of: UInt8(ascii: "/")).map { Array(path[...$0]) } ?? [UInt8(ascii: "/")]
    return withoutDots(folder + text)
  }

  private static func under(_ text: [UInt8], _ base: [UInt8]) -> [UInt8]? {
    guard text.count >= base.count, zip(text, base).allSatisfy({ lowerCase($0) == lowerCase($1) }) else { return nil }
    let rest = Array(text[base.count...])
    guard let first = rest.first else { return [UInt8(ascii: "/")] }
    if first == UInt8(ascii: "/") { return withoutDots(rest) }
    return first == UInt8(ascii: "?") ? [UInt8(ascii: "/")] + rest : nil
  }

  private static func hasScheme(_ text: [UInt8]) -> Bool {
    guard let end = text.firstIndex(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") })
    else { return false }
    return end > 0 && text[end] == UInt8(ascii: ":")
  }

  /// remove_dot_segments; the query stays as it is.
  private static func withoutDots(_ text: [UInt8]) -> [UInt8] {
    let queryStart = text.firstIndex(of: UInt8(ascii: "?")) ?? text.count
    let dot = UInt8(ascii: ".")
    var segments: [ArraySlice<UInt8>] = []
    let all = text[..<queryStart].split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
    for (index, segment) in zip(all.indices, all) {
      let isLast = index == all.endIndex - 1
      let isUp = segment.elementsEqual([dot, dot])
      if isUp { _ = segments.popLast() }
      if isUp || segment.elementsEqual([dot]) {
        if isLast { segments.append([]) }
        continue
      }
      segments.append(segment)
    }
    var path: [UInt8] = []
    for segment in segments { path += [UInt8(ascii: "/")] + segment }
    return (path.isEmpty ? [UInt8(ascii: "/")] : path) + text[queryStart...]
  }
}
