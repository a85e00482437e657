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
    guard let below = Self.below(origin, in: rest) else { return nil }
    switch below.first {
    case nil, UInt8(ascii: "?"), UInt8(ascii: "#"): return (match.isEmpty ? [UInt8(ascii: "/")] : match) + Array(below)
    case UInt8(ascii: "/"): return match + Array(below)
    // `/v10` is not below `/v1`.
    default: return nil
    }
  }

  /// What the origin is asked for where an app asks for this path and query; nil: that is not below the match.
  public func sent(_ asked: [UInt8]) -> [UInt8]? {
    guard asked.starts(with: match) else { return nil }
    let rest = asked.dropFirst(match.count)
    switch rest.first {
    case nil, UInt8(ascii: "?"): return (origin.isEmpty || match.isEmpty ? origin + [UInt8(ascii: "/")] : origin) + rest
    case UInt8(ascii: "/"): return origin + rest
    default: return nil
    }
  }

  /// What follows the path in a reference, which may spell it in another way: digits of percent-encoding in either case, and unreserved
  /// characters encoded or not (RFC 3986 section 6.2.2).
  private static func below(
    _ path: [UInt8], in reference: Slice<UnsafeRawBufferPointer>
  ) -> Slice<UnsafeRawBufferPointer>? {
    path.withUnsafeBytes { path in
      let text = UnsafeRawBufferPointer(rebasing: reference)
      var (index, place) = (0, 0)
      while place < path.count {
        guard index < text.count else { return nil }
        let (wanted, width) = decodedByte(at: place, in: path)
        let (found, taken) = decodedByte(at: index, in: text)
        guard found == wanted, taken == width || isUnreserved(found) else { return nil }
        place += width
        index += taken
      }
      return reference.dropFirst(index)
    }
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
    default: false
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
