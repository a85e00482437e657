import HTTPWire

/// What the redirects on its way leave of an answer's own word on caching. The app, or a cache before it, keeps the answer for the URL
/// that it asked for, and that one led there only as long as its redirect holds.
public enum RedirectedCaching: Int, Sendable, Comparable {
  case asSaid, noCache, noStore

  public static func < (one: RedirectedCaching, other: RedirectedCaching) -> Bool { one.rawValue < other.rawValue }

  private static let targeted = ["cdn-cache-control", "surrogate-control", "pragma"].map { Array($0.utf8) }

  /// Of a redirect that is followed. RFC 9111 section 4.2.2: without a word of its own only a permanent one may be kept.
  /// - Parameter isAuthorized: the app has sent Authorization. Its redirect is for that user, and the last answer, to a request without it,
  ///   would be taken for one that every user may have (section 3.5).
  public init(_ redirect: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, isAuthorized: Bool) {
    if Self.forbidsStoring(redirect, in: bytes) {
      self = .noStore
    } else if !isAuthorized, redirect.status == 301 || redirect.status == 308, !redirect.contains(.cacheControl),
      !redirect.contains(.expires), !redirect.contains(.vary), !redirect.fields.contains(where: { Self.isTargeted($0, bytes) })
    {
      self = .asSaid
    } else {
      self = .noCache
    }
  }

  /// - Returns: lines in place of the fields that were dropped.
  func settle(_ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer) -> [UInt8] {
    if self == .asSaid { return [] }
    let isForbidden = self == .noStore || Self.forbidsStoring(head, in: bytes)
    for index in head.fields.indices {
      let field = head.fields[index]
      switch field.id {
      case .cacheControl, .expires, .pragma: head.fields[index].dropped = true
      case .other where Self.isTargeted(field, bytes): head.fields[index].dropped = true
      default: break
      }
    }
    return Array("Cache-Control: \(isForbidden ? "no-store" : "no-cache")\r\n".utf8)
  }

  private static func isTargeted(_ field: Field, _ bytes: UnsafeRawBufferPointer) -> Bool {
    targeted.contains { fieldNameEquals(field.name.bytes(in: bytes), $0) }
  }

  /// What is for one user alone is not kept for the next one either.
  private static func forbidsStoring(_ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer) -> Bool {
    for field in head.fields where !field.dropped && (field.id == .cacheControl || isTargeted(field, bytes)) {
      var members = ListMembers(field.value, in: bytes, quotedStrings: true)
      while let member = members.next() {
        let text = member.bytes(in: bytes)
        let name = UnsafeRawBufferPointer(rebasing: text[..<(text.firstIndex(of: UInt8(ascii: "=")) ?? text.count)])
        if equalsIgnoringCase(name, "no-store") || equalsIgnoringCase(name, "private") { return true }
      }
    }
    return false
  }
}
