import HTTPWire

/// `ignore_headers`: request fields that do not tell requests apart.
public struct IgnoredFields: Sendable, Hashable {
  /// `["*"]`: only Vary tells requests apart, and Authorization always does.
  public let ignoresAll: Bool
  private let names: [[UInt8]]
  private let prefixes: [[UInt8]]

  public var isEmpty: Bool { !ignoresAll && names.isEmpty && prefixes.isEmpty }

  /// - Parameter names: in any case; one that ends in `*` stands for every name that begins so.
  public init(_ names: [String] = []) {
    ignoresAll = names.contains("*")
    self.names = names.filter { !$0.hasSuffix("*") }.map { $0.utf8.map(lowerCase) }
    prefixes = names.filter { $0.hasSuffix("*") && $0 != "*" }.map { $0.utf8.dropLast().map(lowerCase) }
  }

  /// Whether it ignores a field of that name.
  func contains(_ name: UnsafeRawBufferPointer) -> Bool {
    if ignoresAll { return true }
    for known in names where equalsIgnoringCase(name, known) { return true }
    for prefix in prefixes where hasPrefix(name, prefix) { return true }
    return false
  }

  /// Whether it would ignore a field of that name: for the errors of a configuration.
  public func contains(_ name: String) -> Bool { Array(name.utf8).withUnsafeBytes { contains($0) } }
}

private func hasPrefix(_ name: UnsafeRawBufferPointer, _ prefix: [UInt8]) -> Bool {
  name.count >= prefix.count && equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: name[..<prefix.count]), prefix)
}

extension IgnoredFields: CustomStringConvertible {
  public var description: String {
    if ignoresAll { return "all fields that Vary does not name" }
    func text(_ name: [UInt8]) -> String { String(decoding: name, as: UTF8.self) }
    return (names.map(text) + prefixes.map { text($0) + "*" }).joined(separator: ", ")
  }
}

/// Fields that say nothing about which answer is right, or that the cache itself obeys. All others count as if Vary listed them: an
/// answer for one cookie, user or tenant then never serves another, also where an origin forgets Vary.
enum HarmlessFields {
  static func contains(_ field: Field, in head: UnsafeRawBufferPointer, servesSeveral: Bool) -> Bool {
    switch field.id {
    case .acceptEncoding, .userAgent, .cacheControl, .pragma, .date, .range, .ifMatch, .ifModifiedSince, .ifNoneMatch, .ifRange,
      .ifUnmodifiedSince, .host, .connection, .te, .contentLength:
      return true
    // Where an answer serves one client, its app asks for the representation that it understands.
    case .accept: return !servesSeveral
    case .other: return contains(field.name.bytes(in: head), servesSeveral: servesSeveral)
    default: return false
    }
  }

  /// An app says it with each request in the same words, and it is no secret.
  static func lasts(_ field: Field, in head: UnsafeRawBufferPointer) -> Bool {
    switch field.id {
    case .accept, .acceptEncoding, .cacheControl, .host, .pragma, .userAgent: return true
    case .other:
      let name = field.name.bytes(in: head)
      return equalsIgnoringCase(name, "Accept-Language") || begins(name, "Sec-Fetch-")
    default: return false
    }
  }

  private static func begins(_ name: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    return name.count >= count && equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: name[..<count]), text)
  }

  /// By length, so that an unknown name is compared with few.
  private static func contains(_ name: UnsafeRawBufferPointer, servesSeveral: Bool) -> Bool {
    func named(_ text: StaticString) -> Bool { equalsIgnoringCase(name, text) }
    let isKnown =
      switch name.count {
      case 3: named("DNT")
      case 8: named("Priority")
      case 10: named("tracestate")
      case 11: named("traceparent")
      case 12: named("X-Request-Id") || named("sentry-trace")
      case 14: named("Accept-Charset")
      case 15: named("X-Amzn-Trace-Id") || named("amz-sdk-request") || !servesSeveral && named("Accept-Language")
      case 21: named("X-Cloud-Trace-Context") || named("amz-sdk-invocation-id")
      case 22: named("x-ms-client-request-id")
      default: false
      }
    return isKnown || begins(name, "If-") || begins(name, "Sec-Fetch-") || begins(name, "X-B3-") || begins(name, "x-datadog-")
  }
}
