import HTTPWire

/// The beginning of paths that an entry and its origin exchange: requests lose the match's and get the origin's, the origin's URLs the
/// other way round. Neither ends in a slash; either may be empty.
public struct PathExchange: Sendable {
  public let match: [UInt8]
  public let origin: [UInt8]

  public init(match: String, origin: String) {
    self.match = Array(match.utf8)
    self.origin = Array(origin.utf8)
  }

  /// The reference of an answer, from its path on, as the app must write it; nil: it is not below the origin's path.
  /// - Parameter rest: what follows the authority; empty, or from `/`, `?` or `#` on.
  func returned(_ rest: Slice<UnsafeRawBufferPointer>) -> [UInt8]? {
    guard rest.starts(with: origin) else { return nil }
    let below = rest.dropFirst(origin.count)
    switch below.first {
    case nil, UInt8(ascii: "?"), UInt8(ascii: "#"): return (match.isEmpty ? [UInt8(ascii: "/")] : match) + Array(below)
    case UInt8(ascii: "/"): return match + Array(below)
    // `/v10` is not below `/v1`.
    default: return nil
    }
  }
}

extension ForwardingRules {
  /// Path and query as the origin gets them, without the credential; `*` for OPTIONS without a path.
  public func sent(_ target: RequestTarget, method: Method, in bytes: UnsafeRawBufferPointer) -> [UInt8] {
    let size = target.pathAndQuery.count + (paths?.origin.count ?? 0) + 1
    return withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { space in
      var writer = ByteWriter(space)
      if let paths {
        writer.append(target.pathAndQuery.bytes(in: bytes), through: paths, withoutSignature: false)
      } else {
        writer.append(originFormOf: target, method: method, in: bytes)
      }
      return Array(writer.written)
    }
  }
}

extension ByteWriter {
  /// A target whose path begins with the match's prefix, as the origin gets it. Behind the prefix every byte stays.
  /// - Parameter target: path and query.
  mutating func append(_ target: UnsafeRawBufferPointer, through paths: PathExchange, withoutSignature: Bool) {
    append(paths.origin)
    let rest = UnsafeRawBufferPointer(rebasing: target.dropFirst(paths.match.count))
    // An empty path is `/`. One that is the prefix and nothing else becomes the origin's path and nothing else.
    if rest.first != UInt8(ascii: "/"), paths.origin.isEmpty || paths.match.isEmpty { append("/") }
    if withoutSignature { append(withoutSignature: rest) } else { append(rest) }
  }
}
