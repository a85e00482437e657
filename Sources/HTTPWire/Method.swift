/// A request's method. Case-sensitive (RFC 9110 section 9.1), so `get` is `other`.
public enum Method: UInt8, Sendable, Hashable {
  case get, head, post, put, delete, options, patch, trace, connect, other

  /// RFC 9110 section 9.2.1.
  public var isSafe: Bool {
    switch self {
    case .get, .head, .options, .trace: true
    case .post, .put, .delete, .patch, .connect, .other: false
    }
  }

  /// RFC 9110 section 9.2.2: several identical requests have the same intended effect as one.
  public var isIdempotent: Bool { isSafe || self == .put || self == .delete }

  public init(_ text: UnsafeRawBufferPointer) {
    guard let base = text.baseAddress else {
      self = .other
      return
    }
    self.init(base.assumingMemoryBound(to: UInt8.self), text.count)
  }

  init(_ text: UnsafePointer<UInt8>, _ count: Int) {
    func equals(_ name: StaticString) -> Bool {
      var index = 0
      while index < count {
        if text[index] != name.utf8Start[index] { return false }
        index &+= 1
      }
      return true
    }
    switch count {
    case 3: self = equals("GET") ? .get : equals("PUT") ? .put : .other
    case 4: self = equals("POST") ? .post : equals("HEAD") ? .head : .other
    case 5: self = equals("PATCH") ? .patch : equals("TRACE") ? .trace : .other
    case 6: self = equals("DELETE") ? .delete : .other
    case 7: self = equals("OPTIONS") ? .options : equals("CONNECT") ? .connect : .other
    default: self = .other
    }
  }
}
