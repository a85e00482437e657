import HTTPWire

/// Why an answer is not stored: `detail=` in Cache-Status.
public enum StoreRefusal: String, Sendable, Hashable, CaseIterable {
  case method, body, range
  case status
  case noStore = "no-store"
  case isPrivate = "private"
  /// Shared, and the origin does not permit it for requests with a credential (RFC 9111 section 3.5).
  case authorized = "authorization"
  case setCookie = "set-cookie"
  case vary
  /// Neither freshness nor a validator.
  case noFreshness = "no-freshness"
  case tooLarge = "too-large"
  case eventStream = "event-stream"
  case trailers
  /// It was asked for before an invalidation, a purge or a reload, or a newer one came while it was validated.
  case invalidated
  /// The store has no room.
  case full
  /// The credential needs an operator.
  case credential
  case cut

  /// With `collapse: all` those who wait may read the answer, although it is not stored.
  public var lacksOnlyFreshness: Bool { self == .noFreshness }
}

/// How a request is authorized towards the origin.
public struct Authorizing: Sendable, Hashable {
  /// The entry's credential is written into the request.
  public var byProxy: Bool
  /// The app's own Authorization goes on.
  public var byApp: Bool
  public init(byProxy: Bool, byApp: Bool) {
    self.byProxy = byProxy
    self.byApp = byApp
  }
}

extension ResponseFacts {
  /// Whether an answer to a GET may be stored; nil: yes.
  /// - Parameters:
  ///   - needs: of the request.
  ///   - times: of the answer, by these facts.
  public func storeRefusal(
    _ rules: CacheRules, _ needs: RequestNeeds, _ authorizing: Authorizing, _ times: StoredTimes
  ) -> StoreRefusal? {
    let flags = directives.flags
    if needs.noStore { return .noStore }
    guard isStorableStatus else { return .status }
    // Section 5.2.2.3: with must-understand, no-store is for caches that don't know the status.
    if flags.contains(.mustUnderstand), !isUnderstood { return .status }
    if flags.contains(.noStore), !flags.contains(.mustUnderstand) || directives.isMalformed { return .noStore }
    if rules.isShared {
      if flags.contains(.isPrivate) { return .isPrivate }
      let isAuthorized = authorizing.byApp || authorizing.byProxy && rules.share != .all
      if isAuthorized, !flags.contains(.permitsSharing) { return .authorized }
    }
    if setsCookie { return .setCookie }
    guard case .names = vary else { return .vary }
    if isEventStream { return .eventStream }
    if announcesTrailers { return .trailers }
    if let length, length > Int64(rules.maxObject) { return .tooLarge }
    let isAllowedStatus = hasExplicitLifetime(isShared: rules.isShared) || isHeuristicallyCacheable
    guard isAllowedStatus, times.isUseful else { return .noFreshness }
    return nil
  }

  /// 206 and 304 are parts; the others are evidence about who asked (RFC 6585), or about this connection.
  private var isStorableStatus: Bool {
    switch status {
    case ..<200, 600...: false
    case 206, 304, 401, 403, 407, 421, 425, 428, 429, 431, 511: false
    default: true
    }
  }

  /// The status is in the registry, and this cache does what it asks for.
  private var isUnderstood: Bool {
    switch status {
    case 200...205, 207, 208, 226, 300...303, 305, 307, 308, 400, 402, 404...406, 408...418, 422...424, 426, 451, 500...508,
      510:
      true
    default: false
    }
  }
}
