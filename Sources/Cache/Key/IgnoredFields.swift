import HTTPWire

/// `ignore_headers`: request fields that do not tell requests apart.
public struct IgnoredFields: Sendable, Hashable {
  /// `["*"]`: only Vary tells requests apart, and Authorization always does.
  public let ignoresAll: Bool
  private let names: [[UInt8]]
  private let prefixes: [[UInt8]]

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

/// Fields that say nothing about which answer is right, or that the cache itself obeys. All others count as if Vary listed them: an
/// answer for one cookie, user or tenant then never serves another, also where an origin forgets Vary.
enum HarmlessFields {
  private static let names: [[UInt8]] = lower([
    "Accept-Charset", "Accept-Encoding", "User-Agent", "Cache-Control", "Pragma", "Date", "Range", "DNT", "Priority", "Host",
    "Connection", "TE", "Content-Length", "traceparent", "tracestate", "X-Request-Id", "X-Amzn-Trace-Id",
    "X-Cloud-Trace-Context",
    "sentry-trace", "x-ms-client-request-id", "amz-sdk-invocation-id", "amz-sdk-request",
  ])
  private static let prefixes: [[UInt8]] = lower(["If-", "Sec-Fetch-", "X-B3-", "x-datadog-"])
  /// Where an answer serves one client, its app asks for the representation that it understands.
  private static let ofOneClient: [[UInt8]] = lower(["Accept", "Accept-Language"])

  private static func lower(_ names: [String]) -> [[UInt8]] { names.map { $0.utf8.map(lowerCase) } }

  static func contains(_ field: Field, in head: UnsafeRawBufferPointer, servesSeveral: Bool) -> Bool {
    switch field.id {
    case .acceptEncoding, .userAgent, .cacheControl, .date, .range, .ifMatch, .ifNoneMatch, .ifRange, .host, .connection, .te,
      .contentLength:
      return true
    case .accept: return !servesSeveral
    case .other: break
    default: return false
    }
    let name = field.name.bytes(in: head)
    for known in names where equalsIgnoringCase(name, known) { return true }
    for prefix in prefixes where hasPrefix(name, prefix) { return true }
    if !servesSeveral { for known in ofOneClient where equalsIgnoringCase(name, known) { return true } }
    return false
  }
}
