import HTTPWire

/// What a request's Cache-Control and Pragma ask for (RFC 9111 section 5.2.1).
public struct RequestNeeds: Sendable, Hashable {
  public var noStore = false
  /// Nothing stored without validation.
  public var noCache = false
  public var onlyIfCached = false
  /// Seconds; nil: no wish.
  public var maxAge, minFresh, maxStale: Int64?

  public init() {}

  /// - Parameter rules: with `client_directives: ignore` there are no needs.
  public init(_ head: borrowing RequestHead, in bytes: UnsafeRawBufferPointer, _ rules: CacheRules) {
    guard rules.honoursClientDirectives else { return }
    guard head.contains(.cacheControl) else {
      // RFC 9111 section 5.4.
      guard head.contains(.pragma) else { return }
      for field in head.fields where field.id == .pragma {
        var members = ListMembers(field.value, in: bytes)
        while let member = members.next() { if member.equalsIgnoringCase("no-cache", in: bytes) { noCache = true } }
      }
      return
    }
    let directives = CacheDirectives(head.fields, in: bytes)
    noStore = directives.flags.contains(.noStore)
    noCache = directives.flags.contains(.noCache) || directives.isMalformed
    onlyIfCached = directives.flags.contains(.onlyIfCached)
    maxAge = directives.maxAge
    minFresh = directives.minFresh
    maxStale = directives.maxStale
    // Whoever says so wants a new answer.
    if maxAge == 0, maxStale == nil { noCache = true }
  }
}

/// How a stored answer may be used for a request.
public enum StoredUse: Sendable, Hashable {
  /// At once. `timeLeft`: negative if the request accepts stale answers.
  case now(timeLeft: Int64)
  /// At once, while one validation runs in the background.
  case whileRevalidating(timeLeft: Int64)
  /// After validation. `ifError`: it may be used if that fails.
  case afterValidation(ifError: Bool)
}

extension StoredTimes {
  public func use(for needs: RequestNeeds, now: Int64) -> StoredUse {
    let age = age(now)
    let left = lifetime - age
    // Whoever asks for validation does not get what is not validated.
    if needs.noCache { return .afterValidation(ifError: false) }
    let onError = !neverStale && -left <= staleIfError && staleIfError > 0
    if !isFresh(now), neverStale { return .afterValidation(ifError: false) }
    // RFC 9111 sections 5.2.1.1 and 5.2.1.3.
    let overAge = needs.maxAge.map { max(0, age - $0) } ?? 0
    if let least = needs.minFresh, left < least { return .afterValidation(ifError: false) }
    if isFresh(now), overAge == 0 { return .now(timeLeft: left) }
    if let most = needs.maxStale, !neverStale, max(-left, overAge) <= most { return .now(timeLeft: left) }
    if overAge > 0 { return .afterValidation(ifError: false) }
    if staleWhileRevalidate > 0, -left <= staleWhileRevalidate { return .whileRevalidating(timeLeft: left) }
    return .afterValidation(ifError: onError)
  }

  /// Stale by `stale-if-error` (RFC 5861 section 4).
  public func mayServeOnError(now: Int64, needs: RequestNeeds) -> Bool {
    switch use(for: needs, now: now) {
    case .now, .whileRevalidating: true
    case .afterValidation(let ifError): ifError
    }
  }
}
