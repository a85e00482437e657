import HTTPWire

/// What the store did for a request: Cache-Status (RFC 9211), the access log and metrics say it with the same words.
public enum CacheOutcome: Sendable, Hashable {
  /// Why a request went to the origin: `fwd`.
  public enum Forward: String, Sendable, Hashable {
    case method, bypass, request, stale
    case targetMiss = "uri-miss"
    case variantMiss = "vary-miss"
  }

  /// `ttl`: negative while it is validated in the background.
  case hit(ttl: Int64)
  /// - status: of the origin; 0: not said.
  case forwarded(Forward, status: Int, isStored: Bool, refusal: StoreRefusal?)
  /// It got the answer to another request.
  case collapsed(Forward)
  /// - status: of the origin; 0: it gave none.
  case staleIfError(status: Int)

  /// `cache` of the access log, and `result` of the metric.
  public var word: String {
    switch self {
    case .hit(let ttl): ttl < 0 ? "stale" : "hit"
    case .staleIfError: "stale"
    case .collapsed: "collapsed"
    case .forwarded(.stale, 304, _, _): "revalidated"
    case .forwarded(.method, _, _, _), .forwarded(.bypass, _, _, _): "bypass"
    case .forwarded: "miss"
    }
  }
}

extension ByteWriter {
  /// Most bytes of the line, without the name.
  public static let cacheStatusLimit = 120

  /// `Cache-Status: <name>; ...`. Never with a key: that would be a query or a cookie.
  public mutating func append(cacheStatus outcome: CacheOutcome, name: [UInt8]) {
    append("Cache-Status: ")
    append(name)
    switch outcome {
    case .hit(let ttl):
      append("; hit; ttl=")
      if ttl < 0 { append("-") }
      appendDecimal(Int64(min(ttl.magnitude, UInt64(CacheDirectives.longest))))
    case .forwarded(let reason, let status, let isStored, let refusal):
      append(forward: reason, status: status)
      if isStored { append("; stored") }
      if let refusal, !isStored {
        append("; detail=")
        append(Array(refusal.rawValue.utf8))
      }
    case .collapsed(let reason):
      append(forward: reason, status: 0)
      append("; collapsed")
    case .staleIfError(let status):
      append(forward: .stale, status: status)
      append("; detail=stale-if-error")
    }
    appendCRLF()
  }

  private mutating func append(forward reason: CacheOutcome.Forward, status: Int) {
    append("; fwd=")
    append(Array(reason.rawValue.utf8))
    guard status > 0 else { return }
    append("; fwd-status=")
    appendDecimal(status)
  }
}
