/// Lifetime and age (RFC 9111 section 4.2). Seconds.
extension ResponseFacts {
  /// Statuses that may be stored without explicit freshness (RFC 9110 section 15.1), without 206.
  public var isHeuristicallyCacheable: Bool {
    switch status {
    case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
    default: false
    }
  }

  /// A lifetime that the origin gives, readable or not.
  public func hasExplicitLifetime(isShared: Bool) -> Bool {
    directives.maxAge != nil || isShared && directives.sharedMaxAge != nil || expiry != .none
  }

  /// The lifetime before `minimum_ttl`. s-maxage, max-age, Expires, then what the operator says.
  public func lifetime(_ rules: CacheRules, wall: Int64) -> Int64 {
    if rules.isShared, let age = directives.sharedMaxAge { return age }
    if let age = directives.maxAge { return age }
    switch expiry {
    case .unreadable: return 0
    case .at(let time): return max(0, Self.difference(time, date ?? wall))
    case .none: break
    }
    guard isHeuristicallyCacheable, !directives.isMalformed else { return 0 }
    switch rules.defaultLifetime {
    case .seconds(let seconds): return seconds
    case .heuristic:
      guard let lastModifiedTime else { return 0 }
      return min(86_400, max(0, Self.difference(date ?? wall, lastModifiedTime)) / 10)
    }
  }

  /// corrected_initial_age of section 4.2.3.
  /// - Parameters:
  ///   - asked: when the request was sent, by the steady clock.
  ///   - received: when the head came.
  public func initialAge(asked: Int64, received: CacheTime) -> Int64 {
    let apparent = max(0, Self.difference(received.wall, date ?? received.wall))
    return max(apparent, age + seconds(from: asked, to: received.steady))
  }

  private static func difference(_ one: Int64, _ other: Int64) -> Int64 {
    let (result, isOver) = one.subtractingReportingOverflow(other)
    return isOver ? CacheDirectives.longest : min(result, CacheDirectives.longest)
  }
}

/// When a stored answer may be used. Made once, when the answer is stored or renewed.
public struct StoredTimes: Sendable, Hashable {
  public let lifetime: Int64
  /// Age when it was received.
  public let initialAge: Int64
  /// By the steady clock.
  public let received: Int64
  /// Up to this age it counts as fresh, whatever the origin says.
  public let minimumLifetime: Int64
  /// no-cache: validated at each use.
  public let alwaysValidates: Bool
  /// It is never used stale: must-revalidate, no-cache, and where shared s-maxage and proxy-revalidate.
  public let neverStale: Bool
  /// Seconds of staleness within which it is used while a validation runs, and if one fails.
  public let staleWhileRevalidate, staleIfError: Int64
  public let hasValidator: Bool

  public init(_ facts: ResponseFacts, _ rules: CacheRules, asked: Int64, received: CacheTime) {
    let directives = facts.directives
    minimumLifetime = rules.minimumLifetime
    lifetime = max(rules.minimumLifetime, facts.lifetime(rules, wall: received.wall))
    initialAge = facts.initialAge(asked: asked, received: received)
    self.received = received.steady
    alwaysValidates = directives.flags.contains(.noCache)
    neverStale =
      directives.isMalformed || alwaysValidates || directives.flags.contains(.mustRevalidate)
      || rules.isShared && (directives.flags.contains(.proxyRevalidate) || directives.sharedMaxAge != nil)
    staleWhileRevalidate = neverStale ? 0 : max(rules.staleWhileRevalidate, directives.staleWhileRevalidate ?? 0)
    staleIfError = neverStale ? 0 : max(rules.staleIfError, directives.staleIfError ?? 0)
    hasValidator = facts.hasValidator
  }

  public func age(_ now: Int64) -> Int64 { initialAge + seconds(from: received, to: now) }

  /// Seconds until it is stale; negative: since when it is.
  public func timeLeft(_ now: Int64) -> Int64 { lifetime - age(now) }

  /// It is fresh for a request that asks for nothing special.
  public func isFresh(_ now: Int64) -> Bool {
    let age = age(now)
    return age < minimumLifetime || age < lifetime && !alwaysValidates
  }

  /// No request has a use for it any more.
  public func isUseless(_ now: Int64) -> Bool {
    !hasValidator && !isFresh(now) && age(now) > lifetime + max(staleWhileRevalidate, staleIfError)
  }

  /// Whether it may ever be of use.
  public var isUseful: Bool {
    hasValidator || !alwaysValidates && max(lifetime, staleWhileRevalidate, staleIfError) > initialAge
      || minimumLifetime > initialAge
  }
}
