import HTTPWire

/// In one word: `cache` of the access log, and `result` of the metric.
public enum CacheResult: String, Sendable, CaseIterable {
  case hit
  /// A stale answer: while it is validated, or because the origin fails.
  case stale
  /// The origin said that the stored answer is still right.
  case revalidated
  /// It got the answer to an identical request.
  case collapsed
  case miss
  /// It went by the store.
  case bypass
}

/// What the store did for a request: Cache-Status (RFC 9211), the access log and metrics say it with the same words.
public enum CacheOutcome: Sendable, Hashable {
  /// Why a request went to the origin: `fwd`.
  public enum Forward: String, Sendable, Hashable {
    case method, bypass, request, stale
    case targetMiss = "uri-miss"
    case variantMiss = "vary-miss"

    /// The same without a String.
    fileprivate var text: StaticString {
      switch self {
      case .method: "method"
      case .bypass: "bypass"
      case .request: "request"
      case .stale: "stale"
      case .targetMiss: "uri-miss"
      case .variantMiss: "vary-miss"
      }
    }
  }

  /// `ttl`: negative while it is validated in the background.
  case hit(ttl: Int64)
  /// - status: of the origin; 0: not said.
  case forwarded(Forward, status: Int, isStored: Bool, refusal: StoreRefusal?)
  /// It got the answer to another request.
  case collapsed(Forward)
  /// - status: of the origin; 0: it gave none.
  case staleIfError(status: Int)

  public var result: CacheResult {
    switch self {
    case .hit(let ttl): ttl < 0 ? .stale : .hit
    case .staleIfError: .stale
    case .collapsed: .collapsed
    case .forwarded(.stale, 304, _, _): .revalidated
    case .forwarded(.method, _, _, _), .forwarded(.bypass, _, _, _): .bypass
    case .forwarded: .miss
    }
  }

  /// Why the answer was not stored, or why a stale one was used; nil: there is nothing to say.
  public var detail: String? {
    switch self {
    // `fwd` says it.
    case .forwarded(.method, _, _, _): nil
    case .forwarded(_, _, isStored: false, let refusal): refusal?.rawValue
    case .staleIfError: "stale-if-error"
    case .hit, .forwarded, .collapsed: nil
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
    case .forwarded(let reason, let status, let isStored, _):
      append(forward: reason, status: status)
      if isStored { append("; stored") }
    case .collapsed(let reason):
      append(forward: reason, status: 0)
      append("; collapsed")
    case .staleIfError(let status): append(forward: .stale, status: status)
    }
    if let detail = outcome.detail {
      append("; detail=")
      append(Array(detail.utf8))
    }
    appendCRLF()
  }

  private mutating func append(forward reason: CacheOutcome.Forward, status: Int) {
    append("; fwd=")
    append(reason.text)
    guard status > 0 else { return }
    append("; fwd-status=")
    appendDecimal(status)
  }
}
